"""Tries the changes of the rules, each in a process of its own.

A change that does not reach what runs when modules are imported is made in a session that has
imported and collected the tests already (`session.Collected`); any other in one that imports the
changed source in place of the one on disk. Of the tests those run that reach the changed
statement, until one fails: first those that noticed most of the module's changes so far, then the
module's own, then the quicker ones. The rules are interpreted (`tests/interpreted.py`), so that
nothing is compiled for a change.
"""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import json
import multiprocessing
import os
import resource
import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any

from tests.mutation.changes import FOLDER, ROOT, Change, source_of
from tests.mutation.codes import Function, changed_functions, statement_lines
from tests.mutation.session import (
    Collected,
    FirstFailure,
    Request,
    facts_of,
    in_child,
    say,
    silently,
)

MEMORY = "tests/sim/test_memory.py"
RECORDINGS = "tests/parity/test_replay.py::test_the_recordings_replay_without_a_mismatch"
ENVIRONMENT = {
    "NUMBA_DISABLE_JIT": "1",
    "OMP_NUM_THREADS": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}
CPU_LIMIT = 400  # seconds of processor time of all tests of a change
GAME = ("scenario", "sim")


def selection(module: str) -> list[str]:
    """Returns the tests that can notice a change of a module."""
    package, _, _ = module.partition("/")
    folders = GAME if package in GAME else (package,)
    files = [
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in sorted((ROOT / "tests" / folder).glob("test_*.py"))
    ]
    return [*files, RECORDINGS] if package in GAME else files


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module, with another source than the one on disk."""

    def __init__(self, module: str, code: types.CodeType) -> None:
        self.name = f"workflow_rl.{module.replace('/', '.')}"
        self.code = code

    def find_spec(
        self, fullname: str, path: object, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        is_it = fullname == self.name
        return importlib.machinery.ModuleSpec(fullname, self) if is_it else None

    def exec_module(self, module: types.ModuleType) -> None:
        exec(self.code, module.__dict__)


class Tester:
    """Tries changes that the same tests can notice, and remembers which test noticed them."""

    def __init__(self, tests: list[str]) -> None:
        """Imports and collects the tests and finds out about them.

        Raises:
            SystemExit: some fail without any change.
        """
        self.files = tests
        self.kills: dict[str, Counter[str]] = {}
        reading, answering = os.pipe()
        asked, asking = os.pipe()
        self.answers = os.fdopen(reading, encoding="utf-8")
        self.pipe = answering

        def collect() -> None:
            os.close(asking)
            requests = os.fdopen(asked, encoding="utf-8")
            silently(*tests, plugin=Collected(requests, answering))
            say(answering, (["the collecting of the tests"], [], {}, []))  # does not come back else

        in_child(collect)
        os.close(asked)
        self.requests = asking
        failed, libraries, tests_by_name, at_import = json.loads(self.answers.readline())
        if failed:
            raise SystemExit(f"without any change, {failed[0]} fails")
        self.facts = facts_of(tests_by_name)
        self.at_import = {Function(*function) for function in at_import}
        for library in libraries:  # once here instead of for every change
            with contextlib.suppress(Exception):
                importlib.import_module(library)

    def close(self) -> None:
        os.close(self.requests)
        os.close(self.pipe)
        self.answers.close()

    def noticed_by(self, change: Change, limit: float) -> str:
        """Returns the test that fails with a change; other modules' slower ones are left out."""
        path = str(source_of(change.module))
        before = Path(path).read_text()
        source = change.source()
        try:
            after = compile(source, path, "exec")
        except SyntaxError:
            return "the compiler"
        functions = changed_functions(compile(before, path, "exec"), after)
        if not functions:  # compiled it is the same
            return ""
        is_fresh = bool(functions & self.at_import)
        own = f"tests/{change.module.replace('/', '/test_')}.py"
        names = {
            name
            for name, facts in self.facts.items()
            if facts.seconds <= limit or name.startswith(own)
        }
        if "memory" not in before:  # slow, and nothing new to other rules
            names = {name for name in names if not name.startswith(MEMORY)}
        if not is_fresh:
            file, lines = f"workflow_rl/{change.module}.py", statement_lines(before, change.line)
            names = {
                name for name in names if set(lines) & set(self.facts[name].lines.get(file, ()))
            }
        kills = self.kills.setdefault(change.module, Counter())
        order = sorted(
            names,
            key=lambda name: (-kills[name], not name.startswith(own), self.facts[name].seconds),
        )
        if not order:  # no test comes there
            return ""
        tests = {name: self.facts[name].seconds for name in order}
        if is_fresh:  # its own tests first: the others need not be imported if they notice
            changed = Changed(change.module, after)
            noticed_by = self._fresh(changed, tests, [own]) or self._fresh(
                changed, tests, [file for file in self.files if file != own]
            )
        else:
            noticed_by = self._in_place(Request(path, source, tests))
        kills[noticed_by] += bool(noticed_by)
        return noticed_by

    def _in_place(self, request: Request) -> str:
        say(self.requests, request)
        return str(json.loads(self.answers.readline()))

    def _fresh(self, changed: Changed, tests: dict[str, float], files: list[str]) -> str:
        if not set(files) & set(self.files):
            return ""

        def run() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT, CPU_LIMIT))
            sys.meta_path.insert(0, changed)
            silently(*files, plugin=FirstFailure(self.pipe, tests))

        _, status = os.waitpid(in_child(run), 0)
        if status:
            return "the process ended"
        return str(json.loads(self.answers.readline()))


def try_changes(tasks: Any, results: Any, limit: float) -> None:
    """Tries the changes it is given until there are no more; the body of a worker.

    Each result is a change and the test that noticed it, or no change and what went wrong.
    """
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    sys.dont_write_bytecode, sys.pycache_prefix = False, str(FOLDER / "pycache")
    tester = None
    driver = multiprocessing.parent_process()
    while (task := tasks.get()) is not None and driver and driver.is_alive():
        change = Change(*task)
        tests = selection(change.module)
        try:
            if tester is None or tester.files != tests:
                if tester:
                    tester.close()
                tester = Tester(tests)
            results.put((change, tester.noticed_by(change, limit)))
        except SystemExit as failed:
            results.put((None, str(failed)))
            return
