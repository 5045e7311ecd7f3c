"""The changes of each module, as cosmic-ray lists them, and what became of them.

What was tried is kept in `.mutation/`, a database for each module: a second start goes on, with
modules that were edited meanwhile from their beginning.
"""

import difflib
import hashlib
import importlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / ".mutation"
PACKAGES = ("scenario", "sim", "ordersearch")
MODULES = ("workflow/compliance",)
CONFIG = r"""[cosmic-ray]
module-path = "workflow_rl/{module}.py"
timeout = 1
excluded-modules = []
test-command = ""
[cosmic-ray.distributor]
name = "local"
[cosmic-ray.filters.operators-filter]
exclude-operators = [
  "core/RemoveDecorator",  # what is interpreted need not be compiled
  "core/ReplaceComparisonOperator_.*_Is(Not)?$",  # small integers that are equal are the same
]
"""


class Change(NamedTuple):
    """A change of a module that was not tried yet."""

    module: str
    job: str
    line: int
    operator: str
    occurrence: int
    arguments: dict[str, Any]

    def source(self) -> str:
        """Returns the module's source with the change."""
        change = importlib.import_module("cosmic_ray.plugins").get_operator(self.operator)
        mutating = importlib.import_module("cosmic_ray.mutating")
        before = source_of(self.module).read_text()
        after: str = mutating.mutate_code(before, change(**self.arguments), self.occurrence)
        return after


class Survivor(NamedTuple):
    """A change that every test passed."""

    module: str
    line: int
    operator: str
    change: str


class Score(NamedTuple):
    """What became of a module's changes."""

    module: str
    tried: int
    left: int
    survivors: list[Survivor]

    def __str__(self) -> str:
        """Says how many died."""
        died = self.tried - len(self.survivors)
        share = f"{died / self.tried:.1%}" if self.tried else "-"
        left = f", {self.left} not tried yet" if self.left else ""
        return f"{self.module}: {died} of {self.tried} died ({share}){left}"


def all_modules() -> list[str]:
    """Returns what is to be changed, such as `sim/reward`."""
    package = ROOT / "workflow_rl"
    paths = [path for name in PACKAGES for path in sorted((package / name).glob("*.py"))]
    found = [path.relative_to(package).with_suffix("").as_posix() for path in paths]
    return [name for name in found if not name.endswith("__init__")] + list(MODULES)


def source_of(module: str) -> Path:
    """Returns the file of a module."""
    return ROOT / "workflow_rl" / f"{module}.py"


def session_of(module: str) -> Path:
    """Returns the file that keeps what was tried."""
    return FOLDER / f"{module.replace('/', '.')}.sqlite"


def tool(name: str, *args: object, cwd: Path) -> None:
    """Runs a command of cosmic-ray.

    Raises:
        CalledProcessError: it failed.
    """
    program = Path(sys.executable).parent / name
    subprocess.run([program, *map(str, args)], cwd=cwd, check=True)


def prepare(module: str) -> None:
    """Lists a module's changes, unless that was done for the present source."""
    FOLDER.mkdir(exist_ok=True)
    session, config = session_of(module), session_of(module).with_suffix(".toml")
    mark = session.with_suffix(".sha256")
    settings = CONFIG.format(module=module)
    digest = hashlib.sha256(settings.encode() + source_of(module).read_bytes()).hexdigest()
    config.write_text(settings)
    if not session.exists() or not mark.exists() or mark.read_text() != digest:
        session.unlink(missing_ok=True)
        tool("cosmic-ray", "init", config, session, cwd=ROOT)
        tool("cr-filter-operators", session, config, cwd=ROOT)
        mark.write_text(digest)


def pending(module: str) -> list[Change]:
    """Returns the changes of a module that were not tried yet."""
    work_db = importlib.import_module("cosmic_ray.work_db")
    with work_db.use_db(str(session_of(module)), work_db.WorkDB.Mode.open) as session:
        items = [(item.job_id, item.mutations[0]) for item in session.pending_work_items]
    return [
        Change(
            *(module, job, one.start_pos[0]),
            *(one.operator_name, one.occurrence, one.operator_args),
        )
        for job, one in items
    ]


def keep(change: Change, noticed_by: str) -> None:
    """Stores what became of a change, as cosmic-ray does."""
    outcome, diff = "KILLED", ""
    if not noticed_by:
        before, after = source_of(change.module).read_text(), change.source()
        lines = difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="")
        outcome, diff = "SURVIVED", "\n".join(lines)
    with sqlite3.connect(session_of(change.module)) as session:
        session.execute(
            "INSERT INTO work_results (worker_outcome, output, test_outcome, diff, job_id) "
            "VALUES ('NORMAL', ?, ?, ?, ?)",
            (noticed_by, outcome, diff, change.job),
        )


def forget_survivors(module: str) -> None:
    """Makes the survivors count as not tried, so that new tests are tried on them."""
    if session_of(module).exists():
        with sqlite3.connect(session_of(module)) as session:
            session.execute("DELETE FROM work_results WHERE test_outcome = 'SURVIVED'")


def score(module: str) -> Score:
    """Returns what became of a module's changes so far."""
    with sqlite3.connect(session_of(module)) as session:
        rows = session.execute(
            "SELECT operator_name, start_pos_row, test_outcome, diff, worker_outcome "
            "FROM mutation_specs LEFT JOIN work_results USING (job_id) "
            "WHERE worker_outcome IS NULL OR worker_outcome != 'SKIPPED' ORDER BY start_pos_row"
        ).fetchall()
    survivors = [
        Survivor(module, line, operator.removeprefix("core/"), change_in(diff))
        for operator, line, outcome, diff, _ in rows
        if outcome == "SURVIVED"
    ]
    tried = sum(outcome is not None for _, _, outcome, _, _ in rows)
    return Score(module, tried, len(rows) - tried, survivors)


def change_in(diff: str) -> str:
    """Returns the changed line of a diff, before and after."""
    lines = [
        line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    return "  ->  ".join(line[1:].strip() for line in lines)


def report(modules: Sequence[str]) -> Iterator[str]:
    """Yields the lines of the result: a module each, the whole, and every survivor."""
    scores = [score(module) for module in modules if session_of(module).exists()]
    survivors = [survivor for one in scores for survivor in one.survivors]
    yield from map(str, scores)
    yield str(Score("all", sum(s.tried for s in scores), sum(s.left for s in scores), survivors))
    for one in survivors:
        yield f"survived: {one.module}.py:{one.line} {one.operator}: {one.change}"
