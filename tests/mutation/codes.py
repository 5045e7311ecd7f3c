"""Where a change is: in which functions, and on which lines."""

import ast
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple


class Function(NamedTuple):
    """A function, a class or a module, as its code knows itself."""

    file: str
    name: str
    line: int


def function_of(code: CodeType) -> Function:
    """Returns what a code is the code of."""
    return Function(code.co_filename, code.co_qualname, code.co_firstlineno)


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yields a code and those of everything defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def changed_functions(before: CodeType, after: CodeType) -> set[Function]:
    """Returns what does something else than before, itself and not only what is defined in it.

    The whole module is among it where functions have come or gone, or use other variables of those
    around them: such functions cannot be exchanged one by one.
    """
    old = {function_of(code): _essence(code) for code in codes_in(before)}
    new = {function_of(code): _essence(code) for code in codes_in(after)}
    found = {function for function in old | new if old.get(function) != new.get(function)}
    variables = [
        {function_of(code): code.co_freevars for code in codes_in(module)}
        for module in (before, after)
    ]
    return found if variables[0] == variables[1] else found | {function_of(before)}


def _essence(code: CodeType) -> tuple[object, ...]:
    constants = tuple(
        (type(constant), repr(constant))  # 1 is no 1.0, 0.0 no -0.0
        for constant in code.co_consts
        if not isinstance(constant, CodeType)
    )
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_exceptiontable


def statement_lines(source: str, line: int) -> range:
    """Returns the lines of the innermost statement around one; of a block, its head."""
    found = range(line, line + 1)
    for node in ast.walk(ast.parse(source)):  # from the outside inwards
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line):
            body = getattr(node, "body", None)
            is_head = body and line < body[0].lineno
            last = body[0].lineno - 1 if body and is_head else node.end_lineno or line
            found = range(node.lineno, max(last, node.lineno) + 1)
    return found
