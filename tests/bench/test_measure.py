import os
import signal
import subprocess
import sys
import time

import psutil

from workflow_rl.bench.measure import busy_processes, measure


def children(pid: int) -> set[psutil.Process]:
    return set(psutil.Process(pid).children())


def test_a_rate_counts_the_steps_that_the_work_reports() -> None:
    def work() -> int:
        time.sleep(0.01)
        return 5

    rates = measure({"a": work, "b": work}, repeats=3, seconds=0.03)
    assert set(rates) == {"a", "b"}
    assert len(rates["a"].repeats) == 3
    assert 0 < rates["a"].median <= 500  # a sleep may take longer, never shorter


def test_works_take_turns_so_that_a_slow_moment_hits_all() -> None:
    order: list[str] = []
    measure({"a": lambda: 1, "b": lambda: 1}, repeats=2, seconds=0.001, progress=order.append)
    assert order == ["a", "b", "a", "b"]


def test_busy_processes_end_with_the_block() -> None:
    before = children(os.getpid())
    with busy_processes(2):
        running = children(os.getpid()) - before
        assert len(running) == 2
    assert not running & children(os.getpid())


def test_busy_processes_end_when_their_parent_is_killed() -> None:
    code = (
        "import time\nfrom workflow_rl.bench.measure import busy_processes\n"
        "with busy_processes(1):\n    print('ready', flush=True)\n    time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    busy = children(parent.pid)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 20
    while any(_runs(process) for process in busy) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_runs(process) for process in busy)


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
