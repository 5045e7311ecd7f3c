"""What every test relies on."""

import os
import platform
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

# Before numpy, torch and numba are loaded, here and in every process that a test starts: tests run
# side by side, and threads that wait for each other on busy cores cost more than they compute.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # where a test does use several

from tests import interpreted

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"
if INTERPRETED:  # before any rule is defined
    interpreted.install()

from workflow_rl.envs.cyborg_import import load_cyborg  # noqa: E402
from workflow_rl.errors import InvalidInputError  # noqa: E402
from workflow_rl.provenance import package_versions  # noqa: E402

# A shell starts background jobs with SIGINT ignored, and children inherit that: the tests that
# interrupt a command would then wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes is the machine's affair.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

# For rules that are interpreted (docs/testing.md): fewer examples, the same in every run, the first
# that fails as it is, and a limit of processor time, since a changed rule may loop for ever.
CPU_SECONDS = 20.0
settings.register_profile(
    "interpreted",
    max_examples=10,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

# What a test may miss, as the reason of its skip names it, and the command that would run it.
HOW_TO_RUN = {
    "CybORG": "git clone https://github.com/cage-challenge/cage-challenge-2 && "
    ".venv/bin/pip install -e cage-challenge-2/CybORG && make test",
    "Chromium": "apt-get install chromium && make test",
    "Ray": "pip install '.[ray]'",
    "stable_baselines3": "pip install '.[sb3]'",
    "sb3_contrib": "pip install '.[sb3]'",
    "mkdocs": "pip install '.[docs]'",
    "RLlib": "pip install 'ray[rllib]'",
}


def _out_of_time(signum: int, frame: object) -> None:
    raise TimeoutError(f"interpreted, a test took more than {CPU_SECONDS:.0f} s of processor time")


def pytest_report_header() -> str:
    """Says in one line what the tests run on."""
    versions = {"Python": platform.python_version(), **package_versions()}
    return f"on {platform.platform()}: {', '.join(f'{k} {v}' for k, v in versions.items())}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Ends a test that never ends, where rules are interpreted."""
    if not INTERPRETED:
        return (yield)
    signal.signal(signal.SIGVTALRM, _out_of_time)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out what needs the real CybORG where there is none."""
    marked = [item for item in items if item.get_closest_marker("cyborg")]
    if not marked:
        return
    try:
        load_cyborg()
    except InvalidInputError as error:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=str(error)))


def skipped_line(reasons: list[str]) -> str:
    """Returns one line that says what was skipped and how it would run."""
    counts = Counter(
        next((name for name in HOW_TO_RUN if name in reason), reason.removeprefix("Skipped: "))
        for reason in reasons
    )
    parts = [
        f"{number} without {name} ({HOW_TO_RUN[name]})"
        if name in HOW_TO_RUN
        else f"{number} ({name})"
        for name, number in counts.items()
    ]
    return f"skipped: {'; '.join(parts)}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says in one line what was skipped, and by which command it would run."""
    reasons = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", ())]
    if reasons:
        terminalreporter.write_line(skipped_line(reasons))


@pytest.fixture(scope="session", autouse=True)
def sb3_logs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where Stable-Baselines3 writes: by itself it leaves a folder in /tmp for each training."""
    os.environ["SB3_LOGDIR"] = str(tmp_path_factory.mktemp("sb3"))


@pytest.fixture(scope="session")
def real_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the real search; nobody changes it."""
    from tests.pages.runs import searched  # what a search needs, only where one is asked for

    return searched(tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    """The operations on disk of the smallest search, and its run, which nobody changes."""
    from tests.chaos.points import SMALL, counted

    return counted(SMALL, tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")  # not longer: while it runs, no test can run a loop of asyncio
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    from tests.pages.browser import launched

    with launched() as opened:
        yield opened
