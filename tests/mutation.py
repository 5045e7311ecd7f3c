"""Changes the rules one by one and tells which changes no test notices (`make mutation`).

cosmic-ray makes the changes, in copies of the sources, one module and one process each. The rules
are interpreted (`tests/interpreted.py`), so that nothing is compiled for a change, and the tests
stop at the first failure: those of the module, the recordings, then those of the other rules.
What was tried is kept in `.mutation/`: a second start goes on, with modules that were edited
meanwhile from their beginning. docs/testing.md says more.
"""

import argparse
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".mutation"
PACKAGES = ("scenario", "sim", "ordersearch")
MODULES = ("workflow/compliance",)
COPIED = ("workflow_rl", "tests", "pyproject.toml")
RECORDINGS = "tests/parity/test_replay.py::test_the_recordings_replay_without_a_mismatch"
PYTEST = (
    f"{sys.executable} -m pytest -x -q -p no:cacheprovider --hypothesis-profile=interpreted "
    '-m "not slow and not cyborg and not compiled" '
)
TIME_LIMIT = 180.0  # seconds of all tests of a change; a change may loop for ever
CONFIG = r"""[cosmic-ray]
module-path = "workflow_rl/{module}.py"
timeout = {limit}
excluded-modules = []
test-command = '{command}'
[cosmic-ray.distributor]
name = "local"
[cosmic-ray.filters.operators-filter]
exclude-operators = [
  "core/RemoveDecorator",  # what is interpreted need not be compiled
  "core/ReplaceComparisonOperator_.*_Is(Not)?$",  # small integers that are equal are the same
]
"""


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


def selection(module: str) -> list[str]:
    """Returns the tests of a module, the likeliest to fail first."""
    package, _, name = module.partition("/")
    others = (package,) if package == "ordersearch" else (package, "scenario", "sim")
    files = [
        path for other in others for path in sorted((ROOT / "tests" / other).glob("test_*.py"))
    ]
    files.sort(key=lambda path: path.name != f"test_{name}.py")  # stable: the others keep order
    found = list(dict.fromkeys(path.relative_to(ROOT).as_posix() for path in files))
    return found if package == "ordersearch" else [found[0], RECORDINGS, *found[1:]]


def session_of(module: str) -> Path:
    """Returns the file that keeps what was tried."""
    return FOLDER / f"{module.replace('/', '.')}.sqlite"


def tool(name: str, *args: object, cwd: Path) -> None:
    """Runs a command of cosmic-ray.

    Raises:
        CalledProcessError: it failed.
    """
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(cwd)}
    program = Path(sys.executable).parent / name
    subprocess.run([program, *map(str, args)], cwd=cwd, env=environment, check=True)


def prepare(module: str) -> Path:
    """Lists a module's changes, unless that was done for the present source; returns the config."""
    FOLDER.mkdir(exist_ok=True)
    session, config = session_of(module), session_of(module).with_suffix(".toml")
    source = (ROOT / "workflow_rl" / f"{module}.py").read_bytes()
    mark = session.with_suffix(".sha256")
    digest = hashlib.sha256(source).hexdigest()
    command = PYTEST + " ".join(selection(module))
    config.write_text(CONFIG.format(module=module, limit=TIME_LIMIT, command=command))
    if not session.exists() or not mark.exists() or mark.read_text() != digest:
        session.unlink(missing_ok=True)
        tool("cosmic-ray", "init", config, session, cwd=ROOT)
        tool("cr-filter-operators", session, config, cwd=ROOT)
        mark.write_text(digest)
    return config


def mutate(module: str) -> str:
    """Tries the changes of a module that were not tried yet; returns how long it took."""
    config, session = prepare(module), session_of(module)
    before = score(module)
    if not before.left:
        return f"{before}; tried before"
    with tempfile.TemporaryDirectory(prefix="mutation-") as name:
        copy = Path(name)
        for part in COPIED:
            source = ROOT / part
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, copy / part, ignore=ignored) if source.is_dir() else (
                shutil.copy(source, copy / part)
            )
        # Compiled once for all changes; the one changed file is noticed by its content.
        compiled = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "."]
        subprocess.run([sys.executable, *compiled], cwd=copy, check=True)
        tool("cosmic-ray", "baseline", config, cwd=copy)  # unchanged, the tests pass
        start = time.monotonic()
        tool("cosmic-ray", "exec", config, session, cwd=copy)
        seconds = (time.monotonic() - start) / before.left
    return f"{score(module)}; {seconds:.1f} s for each"


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


def main() -> int:
    """Tries every change, prints what came out and writes it beside what was tried."""
    parser = argparse.ArgumentParser(prog="make mutation", description=__doc__)
    parser.add_argument("modules", nargs="*", default=all_modules(), metavar="MODULE")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--survivors", action="store_true", help="try those again that survived")
    parser.add_argument("--report", action="store_true", help="try nothing, tell what came out")
    args = parser.parse_args()
    if unknown := set(args.modules) - set(all_modules()):
        parser.error(f"unknown {', '.join(unknown)}: choose from {', '.join(all_modules())}")
    if not args.report:
        if args.survivors:
            for module in args.modules:
                forget_survivors(module)
        with ThreadPoolExecutor(args.workers) as pool:
            for line in pool.map(mutate, args.modules):
                print(line, flush=True)
    text = "\n".join(report(args.modules))
    (FOLDER / "report.txt").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
