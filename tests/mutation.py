"""Changes the rules one by one and tells which changes no test notices (`make mutation`).

cosmic-ray makes the changes. Each is tried in a process of its own, forked from one that has the
libraries but no module of ours: it imports the changed source in place of the one on disk and runs
the tests until one fails, those of the module first, the recordings, then those of the other
rules. The rules are interpreted (`tests/interpreted.py`), so that nothing is compiled for a change.
What was tried is kept in `.mutation/`: a second start goes on, with modules that were edited
meanwhile from their beginning. docs/testing.md says more.
"""

import argparse
import difflib
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import multiprocessing
import os
import resource
import sqlite3
import subprocess
import sys
import time
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".mutation"
PACKAGES = ("scenario", "sim", "ordersearch")
MODULES = ("workflow/compliance",)
RECORDINGS = "tests/parity/test_replay.py::test_the_recordings_replay_without_a_mismatch"
PYTEST = (
    *("-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=interpreted"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # the libraries are there already
    *("-m", "not slow and not cyborg and not compiled"),
)
LIBRARIES = ("gymnasium", "hypothesis", "numba", "numpy", "pydantic", "pytest", "xdist")
SEARCH_LIBRARIES = ("scipy.optimize", "threadpoolctl", "torch")
CPU_LIMIT = 400  # seconds of processor time of all tests of a change; a change may loop for ever
# Of the eleven replacements of an operator the two nearest: those that notice them notice the rest.
NEAREST = {
    "Add": "Sub|BitOr",
    "Sub": "Add|BitXor",
    "Mul": "Add|Div",
    "Div": "Mul|FloorDiv",
    "FloorDiv": "Div|Mod",
    "Mod": "FloorDiv|Mul",
    "Pow": "Mul|LShift",
    "LShift": "RShift|Mul",
    "RShift": "LShift|FloorDiv",
    "BitOr": "BitXor|BitAnd",
    "BitAnd": "BitOr|BitXor",
    "BitXor": "BitOr|BitAnd",
}
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
  "core/ReplaceBinaryOperator_(?!({nearest})$)",
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
    if "memory" not in source_of(module).read_text():  # slow, and nothing new to other rules
        files = [path for path in files if path.name != "test_memory.py"]
    files.sort(key=lambda path: path.name != f"test_{name}.py")  # stable: the others keep order
    found = list(dict.fromkeys(path.relative_to(ROOT).as_posix() for path in files))
    return found if package == "ordersearch" else [found[0], RECORDINGS, *found[1:]]


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
    nearest = "|".join(f"{before}_({after})" for before, after in NEAREST.items())
    settings = CONFIG.format(module=module, nearest=nearest)
    digest = hashlib.sha256(settings.encode() + source_of(module).read_bytes()).hexdigest()
    config.write_text(settings)
    if not session.exists() or not mark.exists() or mark.read_text() != digest:
        session.unlink(missing_ok=True)
        tool("cosmic-ray", "init", config, session, cwd=ROOT)
        tool("cr-filter-operators", session, config, cwd=ROOT)
        mark.write_text(digest)


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module, with another source than the one on disk."""

    def __init__(self, module: str, source: str) -> None:
        """Keeps the source."""
        self.name = f"workflow_rl.{module.replace('/', '.')}"
        self.code = compile(source, source_of(module), "exec")

    def find_spec(
        self, fullname: str, path: object, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Finds the one module."""
        is_it = fullname == self.name
        return importlib.machinery.ModuleSpec(fullname, self) if is_it else None

    def exec_module(self, module: types.ModuleType) -> None:
        """Runs the changed source."""
        exec(self.code, module.__dict__)


def passes(module: str, source: str) -> bool:
    """Tells whether every test passes with a source of a module, in a process of its own."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT, CPU_LIMIT))
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            sys.meta_path.insert(0, Changed(module, source))
            own, *others = selection(module)
            for tests in ([own], others):  # most changes die by the first file: collect no more
                if status := importlib.import_module("pytest").main([*PYTEST, *tests]):
                    break
        finally:
            os._exit(status)
    _, ended = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(ended) == 0


def try_changes(tasks: Any, results: Any) -> None:
    """Tries the changes it is given until there are no more; the body of a worker."""
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    for library in LIBRARIES:
        importlib.import_module(library)
    mutating = importlib.import_module("cosmic_ray.mutating")
    plugins = importlib.import_module("cosmic_ray.plugins")
    while (task := tasks.get()) is not None:
        module, job, operator, occurrence, arguments = task
        if module.startswith("ordersearch"):
            for library in SEARCH_LIBRARIES:
                importlib.import_module(library)
        before = source_of(module).read_text()
        after = before
        if operator:
            change = plugins.get_operator(operator)(**arguments)
            after = mutating.mutate_code(before, change, occurrence)
        diff = "\n".join(difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm=""))
        results.put((module, job, "SURVIVED" if passes(module, after) else "KILLED", diff))


def pending(module: str) -> list[tuple[Any, ...]]:
    """Returns the changes of a module that were not tried yet, behind no change at all."""
    work_db = importlib.import_module("cosmic_ray.work_db")
    with work_db.use_db(str(session_of(module)), work_db.WorkDB.Mode.open) as session:
        items = [(item.job_id, item.mutations[0]) for item in session.pending_work_items]
    found = [
        (module, job, one.operator_name, one.occurrence, one.operator_args) for job, one in items
    ]
    return [(module, "", "", 0, {}), *found] if found else []


def mutate(modules: Sequence[str], workers: int) -> None:
    """Tries the changes that were not tried yet.

    Raises:
        SystemExit: the tests of a module fail without any change.
    """
    for module in modules:
        prepare(module)
    work = [task for module in modules for task in pending(module)]
    os.environ |= {"NUMBA_DISABLE_JIT": "1", "OMP_NUM_THREADS": "1"}
    context = multiprocessing.get_context("spawn")
    tasks, results = context.Queue(), context.Queue()
    for task in [*work, *[None] * workers]:
        tasks.put(task)
    crew = [
        context.Process(target=try_changes, args=(tasks, results), daemon=True)
        for _ in range(workers)
    ]
    for worker in crew:
        worker.start()
    start = time.monotonic()
    for done in range(1, len(work) + 1):
        module, job, outcome, diff = results.get()
        if not job and outcome != "SURVIVED":
            for worker in crew:
                worker.terminate()
            raise SystemExit(f"{module}: its tests fail without any change")
        if job:
            keep(module, job, outcome, diff)
        if done % 50 == 0:
            each = (time.monotonic() - start) / done
            left = each * (len(work) - done) / 60
            print(f"{done} of {len(work)}: {each:.1f} s for each, {left:.0f} min left", flush=True)


def keep(module: str, job: str, outcome: str, diff: str) -> None:
    """Stores what became of a change, as cosmic-ray does."""
    with sqlite3.connect(session_of(module)) as session:
        session.execute(
            "INSERT INTO work_results (worker_outcome, test_outcome, diff, job_id) "
            "VALUES ('NORMAL', ?, ?, ?)",
            (outcome, diff, job),
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
        mutate(args.modules, args.workers)
    text = "\n".join(report(args.modules))
    (FOLDER / "report.txt").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
