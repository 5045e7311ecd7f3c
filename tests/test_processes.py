"""Worker processes and their parent."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from workflow_rl.processes import interrupts_blocked, one_thread

CHILD = """
import ctypes, multiprocessing, time
from workflow_rl.processes import end_with_parent

def work(busy):
    end_with_parent()
    if busy:
        ctypes.PyDLL(None).sleep(100)  # no other thread of Python's runs meanwhile
    time.sleep(100)

if __name__ == "__main__":
    process = multiprocessing.get_context("fork").Process(target=work, args=({busy},))
    process.start()
    print(process.pid, flush=True)
    process.join()
"""


@pytest.mark.parametrize("busy", [False, True])
def test_a_worker_ends_with_its_parent_even_in_the_middle_of_compiled_code(busy: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD.format(busy=busy)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        int(parent.stdout.readline())
        time.sleep(0.2)
        parent.kill()
        assert parent.stdout.read() == ""  # comes when no process has the pipe any more


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGHUP])
def test_children_do_not_hear_what_a_terminal_sends(sent: signal.Signals) -> None:
    with interrupts_blocked():
        process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0.3,))
        process.start()
    assert process.pid is not None
    os.kill(process.pid, sent)
    process.join()
    assert process.exitcode == 0
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_torch_has_one_thread_in_the_block_and_the_callers_choice_after_it() -> None:
    import torch

    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            with pytest.raises(ZeroDivisionError), one_thread():  # noqa: PT012
                assert torch.get_num_threads() == 1
                raise ZeroDivisionError
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


GIVEN_BACK = """
import numpy as np
from workflow_rl.processes import UsageMeter, peak_rss_mb, reset_peak

def use(megabytes):
    return np.ones(megabytes * 10**6, np.uint8).sum()

use(90)
high = peak_rss_mb()
reset_peak()
low = peak_rss_mb()
use(40)
print(high, low, peak_rss_mb(), UsageMeter().look()["rss_mb"])
"""


def test_the_peak_remembers_memory_that_was_given_back_until_it_is_reset() -> None:
    result = subprocess.run(
        [sys.executable, "-c", GIVEN_BACK], capture_output=True, text=True, check=True
    )
    high, low, again, held = map(float, result.stdout.split())
    assert high > held + 80
    assert low < high - 80
    assert again > held + 30
