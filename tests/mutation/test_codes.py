from tests.mutation.codes import changed_functions, statement_lines

SOURCE = """\
LIMIT = 3

def outer(x):
    def inner(y):
        return y + 1
    if (x
            > LIMIT):
        return inner(x)
    else:
        return [
            inner(k)
            for k in range(x)
        ]
"""


def changed(before: str, after: str) -> set[str]:
    codes = [compile(text, "rules.py", "exec") for text in (SOURCE, SOURCE.replace(before, after))]
    return {function.name for function in changed_functions(*codes)}


def test_only_the_function_that_does_something_else_has_changed() -> None:
    assert changed("y + 1", "y + 2") == {"outer.<locals>.inner"}
    assert changed("> LIMIT", ">= LIMIT") == {"outer"}
    assert changed("LIMIT = 3", "LIMIT = 4") == {"<module>"}
    assert changed("y + 1", "y + 1.0") == {"outer.<locals>.inner"}


def test_what_compiles_to_the_same_has_not_changed() -> None:
    assert changed("LIMIT = 3", "LIMIT = 1 + 2") == set()
    assert changed("y + 1", "y + (1)") == set()


def test_a_function_that_uses_other_variables_around_it_is_not_exchanged_alone() -> None:
    assert "<module>" in changed("return y + 1", "return y + x")
    assert "<module>" in changed("return y + 1", "return (lambda: y + 1)()")


def test_a_line_belongs_to_its_innermost_statement_or_to_the_head_of_a_block() -> None:
    lines = SOURCE.splitlines()
    found = {line: statement_lines(SOURCE, line) for line in range(1, len(lines) + 1)}
    assert found[1] == range(1, 2)
    assert found[3] == range(3, 4)
    assert found[5] == range(5, 6)
    assert found[6] == found[7] == range(6, 8)
    assert found[8] == range(8, 9)
    assert found[11] == found[10] == found[13] == range(10, 14)
