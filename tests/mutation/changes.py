"""The changes of each module, as cosmic-ray makes them, and what became of them.

What was tried is kept in `.mutation/`, a file for each module: a second start goes on, with modules
that were edited meanwhile from their beginning.
"""

import difflib
import hashlib
import importlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / ".mutation"
PACKAGES = ("scenario", "sim", "ordersearch")
MODULES = ("workflow/compliance",)
LEFT_OUT = re.compile(
    r"core/(RemoveDecorator|"  # what is interpreted need not be compiled
    r"ReplaceComparisonOperator_.*_Is(Not)?)"  # small integers that are equal are the same
)


def all_modules() -> list[str]:
    """Returns what is to be changed, such as `sim/reward`."""
    package = ROOT / "workflow_rl"
    paths = [path for name in PACKAGES for path in sorted((package / name).glob("*.py"))]
    found = [path.relative_to(package).with_suffix("").as_posix() for path in paths]
    return [name for name in found if not name.endswith("__init__")] + list(MODULES)


def source_of(module: str) -> Path:
    return ROOT / "workflow_rl" / f"{module}.py"


class Change(NamedTuple):
    """A change of a module."""

    module: str
    line: int
    operator: str
    occurrence: int

    @property
    def name(self) -> str:
        return f"{self.operator.removeprefix('core/')} {self.occurrence}"

    def source(self) -> str:
        """Returns the module's source with the change."""
        operator = importlib.import_module("cosmic_ray.plugins").get_operator(self.operator)
        mutating = importlib.import_module("cosmic_ray.mutating")
        before = source_of(self.module).read_text()
        return str(mutating.mutate_code(before, operator(), self.occurrence))

    def lines(self) -> str:
        """Returns the changed lines, before and after."""
        before = source_of(self.module).read_text().split("\n")
        return changed_lines(difflib.unified_diff(before, self.source().split("\n")))


def changed_lines(diff: Iterator[str]) -> str:
    found = [line for line in diff if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return "  ->  ".join(line[1:].strip() for line in found)


def changes_of(module: str, share: float = 1.0) -> Iterator[Change]:
    """Yields the changes of a module, or so large a share of them, always the same."""
    tree = importlib.import_module("cosmic_ray.ast").get_ast_from_path(source_of(module))
    nodes = list(importlib.import_module("cosmic_ray.ast").ast_nodes(tree))
    plugins = importlib.import_module("cosmic_ray.plugins")
    for name in sorted(plugins.operator_names()):
        operator: Any = plugins.get_operator(name)
        if LEFT_OUT.fullmatch(name) or operator.arguments():
            continue
        starts = [start for node in nodes for start, _ in operator().mutation_positions(node)]
        for occurrence, (line, _) in enumerate(starts):
            change = Change(module, line, name, occurrence)
            if Random(f"{module} {change.name}").random() < share:
                yield change


class Tried:
    """What became of a module's changes, by name: the test that noticed it, or nothing."""

    def __init__(self, module: str) -> None:
        FOLDER.mkdir(exist_ok=True)
        self.file = FOLDER / f"{module.replace('/', '.')}.json"
        self.digest = hashlib.sha256(source_of(module).read_bytes()).hexdigest()
        stored = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.noticed_by: dict[str, str] = (
            stored["noticed_by"] if stored.get("digest") == self.digest else {}
        )

    def keep(self, change: Change, noticed_by: str) -> None:
        self.noticed_by[change.name] = noticed_by
        self._write()

    def forget_survivors(self) -> None:
        """Makes them count as not tried, so that new tests are tried on them."""
        self.noticed_by = {name: by for name, by in self.noticed_by.items() if by}
        self._write()

    def _write(self) -> None:
        text = json.dumps({"digest": self.digest, "noticed_by": self.noticed_by})
        self.file.with_suffix(".tmp").write_text(text)
        self.file.with_suffix(".tmp").replace(self.file)


def report(modules: Sequence[str]) -> Iterator[str]:
    """Yields the lines of the result: a module each, the whole, and every survivor."""
    survivors, totals = [], [0, 0, 0]
    for module in modules:
        noticed_by = Tried(module).noticed_by
        changes = list(changes_of(module))
        lived = [change for change in changes if noticed_by.get(change.name) == ""]
        counts = len(noticed_by), len(lived), len(changes) - len(noticed_by)
        totals = [a + b for a, b in zip(totals, counts, strict=True)]
        survivors += lived
        if noticed_by:
            yield score(module, *counts)
    yield score("all", *totals)
    for change in survivors:
        yield f"survived: {change.module}.py:{change.line} {change.name}: {change.lines()}"


def score(name: str, tried: int, lived: int, left: int) -> str:
    share = f"{(tried - lived) / tried:.1%}" if tried else "-"
    rest = f", {left} not tried yet" if left else ""
    return f"{name}: {tried - lived} of {tried} died ({share}){rest}"
