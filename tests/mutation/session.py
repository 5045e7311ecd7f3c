"""Sessions of pytest that run chosen tests, in a chosen order, until one fails.

Each lives in a process of its own and writes what came out, as one line, to a pipe. What a change
costs is what its tests cost: where only functions change, the tests were imported and collected
before, and the functions are exchanged in place.
"""

import contextlib
import gc
import hashlib
import json
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import FrameType, FunctionType
from typing import IO, NamedTuple, NoReturn

import coverage
import pytest

from tests.mutation.changes import FOLDER, ROOT
from tests.mutation.codes import Function, codes_in, function_of

PYTEST = (
    *("-q", "-s", "--assert=plain", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"),
    *("--hypothesis-profile=interpreted", "-m", "not slow and not cyborg and not compiled"),
)
PATIENCE = 5.0  # a test that takes so many times its usual time, and a second, has failed
_OURS = ("__main__", "__mp_main__", "tests", "workflow_rl")


class Facts(NamedTuple):
    """What is known of a test that passes."""

    seconds: float  # of processor time
    lines: dict[str, list[int]]  # those that it runs, by file


class Request(NamedTuple):
    """Tests to run, in order, with the usual seconds of each."""

    file: str  # of the changed module
    source: str  # changed
    tests: dict[str, float]


def say(pipe: int, what: object) -> None:
    os.write(pipe, json.dumps(what).encode() + b"\n")


def in_child(body: Callable[[], None]) -> int:
    """Runs a function in a child process that ends with it; returns the child's number."""
    if pid := os.fork():
        return pid
    try:
        body()
    finally:
        os._exit(1)


class FirstFailure:
    """Runs the given tests in their order and ends the process as soon as one has failed.

    A test whose name has changed, since a parameter of it comes from the module, is not run.
    """

    def __init__(self, pipe: int, tests: dict[str, float]) -> None:
        self.pipe = pipe
        self.tests = tests

    def end(self, noticed_by: str) -> NoReturn:
        say(self.pipe, noticed_by)
        os._exit(0)

    def run(self, session: pytest.Session) -> NoReturn:
        items = {item.nodeid: item for item in session.items}
        chosen = [items[name] for name in self.tests if name in items]
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        self.end("")

    def pytest_runtestloop(self, session: pytest.Session) -> NoReturn:
        self.run(session)

    @pytest.hookimpl(wrapper=True, trylast=True)  # within the limit that the tests have themselves
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Fails a test that goes on for ever."""
        signal.signal(signal.SIGVTALRM, lambda *_: self.end(item.nodeid))
        signal.setitimer(signal.ITIMER_VIRTUAL, 1.0 + PATIENCE * self.tests[item.nodeid])
        yield

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.end(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.end(report.nodeid)


class Measure:
    """Finds out how long each test of a file takes and which lines it runs."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.lines = coverage.Coverage(
            data_file=None, config_file=False, include=[f"{ROOT}/workflow_rl/*"]
        )
        self.lines.set_option("run:disable_warnings", ["no-data-collected"])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self.lines.switch_context(item.nodeid)
        start = time.process_time()
        yield
        self.seconds[item.nodeid] = time.process_time() - start

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def facts(self) -> dict[str, Facts]:
        data = self.lines.get_data()
        lines: dict[str, dict[str, list[int]]] = defaultdict(dict)
        for file in data.measured_files():
            for line, tests in data.contexts_by_lineno(file).items():
                for test in tests:
                    lines[test].setdefault(str(Path(file).relative_to(ROOT)), []).append(line)
        return {test: Facts(seconds, lines[test]) for test, seconds in self.seconds.items()}


class Collected:
    """Imports and collects tests once, then runs them for one change after the other."""

    def __init__(self, requests: IO[str], pipe: int) -> None:
        self.requests = requests
        self.pipe = pipe
        self.at_import: set[Function] = set()
        sys.setprofile(self._note)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and "/workflow_rl/" in frame.f_code.co_filename:
            self.at_import.add(function_of(frame.f_code))

    def pytest_runtestloop(self, session: pytest.Session) -> NoReturn:
        """Says what is known of the tests, then answers requests."""
        sys.setprofile(None)
        gc.collect()
        functions = defaultdict(list)
        for thing in gc.get_objects():
            if type(thing) is FunctionType:
                functions[thing.__code__.co_filename].append(thing)
        gc.freeze()  # children share what nobody looks at again
        _, status = os.waitpid(in_child(partial(self.measure, session)), 0)
        if status:
            say(self.pipe, (["the measuring of the tests"], [], {}, []))
        for line in self.requests:
            request = Request(*json.loads(line))
            child = in_child(partial(self.answer, session, request, functions[request.file]))
            _, status = os.waitpid(child, 0)
            if status:
                say(self.pipe, "the process ended")
        os._exit(0)

    def measure(self, session: pytest.Session) -> None:
        """Finds out about the tests, those of a file that was changed, or all if a rule was."""
        failed: list[str] = []
        files = defaultdict(list)
        for item in session.items:
            files[item.path].append(item)
        for path, items in files.items():
            stored = facts_file(path)
            if not stored.exists():
                measure = Measure()
                session.config.pluginmanager.register(measure)
                measure.lines.start()
                for item in items:
                    session.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
                measure.lines.stop()
                session.config.pluginmanager.unregister(measure)
                failed += measure.failed
                if not measure.failed:
                    stored.parent.mkdir(exist_ok=True)
                    stored.write_text(json.dumps(measure.facts()))
        libraries = [name for name in sys.modules if name.split(".")[0] not in _OURS]
        tests = {item.nodeid: str(item.path) for item in session.items}
        say(self.pipe, (failed, libraries, tests, [*self.at_import]))
        os._exit(0)

    def answer(
        self, session: pytest.Session, request: Request, functions: Sequence[FunctionType]
    ) -> None:
        """Exchanges the functions of a module and runs the tests."""
        changed = compile(request.source, request.file, "exec")
        codes = {function_of(code): code for code in codes_in(changed)}
        for function in functions:
            function.__code__ = codes[function_of(function.__code__)]
        judge = FirstFailure(self.pipe, request.tests)
        session.config.pluginmanager.register(judge)
        judge.run(session)


def silently(*files: str, plugin: object) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    with contextlib.suppress(BaseException):
        pytest.main([*PYTEST, *files], plugins=[plugin])


def facts_file(tests: Path) -> Path:
    """Returns where the facts of a file of tests are kept: they hold for these tests and rules."""
    sources = sorted((ROOT / "workflow_rl").rglob("*.py"))
    helpers = [path for path in sorted((ROOT / "tests").rglob("*.py")) if is_helper(path)]
    digest = hashlib.sha256()
    for path in (tests, *sources, *helpers):
        digest.update(path.read_bytes())
    return FOLDER / "facts" / f"{tests.stem}-{digest.hexdigest()[:16]}.json"


def is_helper(path: Path) -> bool:
    """Tells whether tests may import a file of the folder of tests."""
    return not path.name.startswith("test_") and "mutation" not in path.parts


def facts_of(tests: dict[str, str]) -> dict[str, Facts]:
    """Returns what is known of tests, by name, that are given with their files."""
    stored = [json.loads(facts_file(Path(file)).read_text()) for file in set(tests.values())]
    known = {name: Facts(*facts) for one in stored for name, facts in one.items()}
    return {name: known[name] for name in tests}
