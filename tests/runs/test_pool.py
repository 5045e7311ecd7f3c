import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runs.toys import NEVER, Deaf, Failing, Mortal, Toy
from tests.runs.work import SideBySide
from workflow_rl.errors import InvalidInputError, TrainingFailedError
from workflow_rl.runs.pool import (
    MAX_LOSSES,
    Done,
    Event,
    Failed,
    Pool,
    ProcessPool,
    Retried,
    Rows,
    SerialPool,
    Started,
    Task,
)

WRONG = InvalidInputError("this cannot be")  # somebody's mistake, the same in every process
DIVERGED = TrainingFailedError("the training diverged")


def told(events: Iterator[Event]) -> list[str]:
    """What happened, in the order in which it did: + begun, . a row, ! again, - ended, x failed."""
    sign = {Started: "+", Rows: ".", Retried: "!", Done: "-", Failed: "x"}
    return [f"{sign[type(event)]}{event.task.name}" for event in events]


def ended(events: Iterator[Event]) -> dict[str, Any]:
    """The result of every task, or its failure."""
    return {
        event.task.name: event.result if isinstance(event, Done) else event
        for event in events
        if isinstance(event, (Done, Failed))
    }


# --- in this process


def test_a_serial_pool_runs_one_task_after_the_other_here_and_goes_on_after_a_failed_one() -> None:
    failing = Failing("b", error=DIVERGED)
    events = list(SerialPool().events([Toy("a"), failing, Toy("c", 1)]))
    assert told(iter(events)) == ["+a", ".a", ".a", "-a", "+b", ".b", "xb", "+c", ".c", "-c"]
    failed = Failed(failing, "the training diverged")
    assert ended(iter(events)) == {"a": os.getpid(), "b": failed, "c": os.getpid()}
    rows = [row for event in events if isinstance(event, Rows) for row in event.rows]
    assert [(row["training"], row["update"]) for row in rows[:2]] == [("a", 1), ("a", 2)]


@pytest.mark.parametrize("pool", [SerialPool(), SideBySide(2)])
def test_a_mistake_ends_everything_with_its_error(pool: Pool) -> None:
    names: list[str] = []

    def made() -> Iterator[Task]:
        for task in (Failing("a_0", error=WRONG), Toy("b_1"), Toy("c_2")):
            names.append(task.name)
            yield task

    with pytest.raises(InvalidInputError, match="this cannot be"):
        list(pool.events(made()))
    assert names in (["a_0"], ["a_0", "b_1"])


# --- what pools of several tasks at a time have in common


def tasks(number: int, rows: int = 1) -> list[Toy]:
    return [Toy(f"t_{n}", rows) for n in range(number)]


def test_tasks_end_when_they_do_or_in_the_order_in_which_they_were_taken() -> None:
    free = told(SideBySide(3, ranks=[9, 8, 0, 1]).events(tasks(4)))
    assert free == [
        *("+t_0", "+t_1", "+t_2", ".t_2", "-t_2"),
        *("+t_3", ".t_3", "-t_3", ".t_1", "-t_1", ".t_0", "-t_0"),
    ]
    ordered = told(SideBySide(3, ranks=[9, 8, 0, 1]).events(tasks(4), ordered=True))
    assert ordered == [
        *("+t_0", "+t_1", "+t_2", ".t_2", ".t_1", ".t_0", "-t_0"),
        *("+t_3", "-t_1", "-t_2", ".t_3", "-t_3"),
    ]


@settings(max_examples=60, deadline=None)
@given(
    ranks=st.permutations(range(8)),
    capacity=st.integers(1, 5),
    fails=st.sets(st.integers(0, 7)),
    ordered=st.booleans(),
)
def test_every_task_ends_once_whatever_the_order_and_the_failures(
    ranks: list[int], capacity: int, fails: set[int], ordered: bool
) -> None:
    pool = SideBySide(capacity, ranks=ranks, fails=fails)
    names = told(pool.events(tasks(8), ordered=ordered))
    over = [name for name in names if name[0] in "-x"]
    assert sorted(over) == sorted(f"{'x' if n in fails else '-'}t_{n}" for n in range(8))
    assert [name for name in names if name[0] == "+"] == [f"+t_{n}" for n in range(8)]
    assert pool.most <= capacity
    if ordered:
        assert [name[1:] for name in over] == [f"t_{n}" for n in range(8)]


# --- in processes


@pytest.fixture
def one() -> Iterator[ProcessPool]:
    pool = ProcessPool(1)
    yield pool
    pool.close()
    assert not multiprocessing.active_children()


def test_a_process_is_used_again_outlived_replaced_and_its_errors_are_raised_here(
    one: ProcessPool,
) -> None:
    """One process after the other: warm for two tasks, dead when idle, met by a mistake."""
    events = list(one.events([Toy("a"), Toy("b"), Failing("x", error=DIVERGED), Deaf("c")]))
    assert told(iter(events[:-5])) == ["+a", ".a", ".a", "-a", "+b", ".b", ".b", "-b"]
    assert told(iter(events[-5:])) == ["+x", ".x", "xx", "+c", "-c"]
    found = ended(iter(events))
    assert found["a"] == found["b"] != os.getpid()
    assert found["c"]  # Ctrl-C is for the parent to answer
    os.kill(found["a"], signal.SIGKILL)
    with pytest.raises(InvalidInputError, match="this cannot be") as caught:
        list(one.events([Failing("d", error=WRONG), Toy("e")]))
    assert "in a worker process" in caught.value.__notes__[0]


def test_a_task_outlives_its_processes_but_not_any_number_of_them(
    one: ProcessPool, tmp_path: Path
) -> None:
    once, always = (
        Mortal(name, notes=tmp_path / name, deaths=deaths)
        for name, deaths in (("once", 1), ("always", 100))
    )
    events = list(one.events([once, always]))
    again = ["!always", ".always"] * (MAX_LOSSES - 1)
    assert told(iter(events)) == [
        *("+once", ".once", "!once", ".once", "-once", "+always", ".always", *again, "xalways")
    ]
    why = "its process was ended by SIGKILL"
    assert {event.reason for event in events if isinstance(event, Retried)} == {why}
    found = ended(iter(events))
    assert found["once"] == 2
    assert found["always"].reason == f"lost {MAX_LOSSES} times, at last because {why}"
    assert len(always.notes.read_text()) == MAX_LOSSES


def test_a_straggler_is_begun_anew_once_and_then_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workflow_rl.runs.pool._POLL_SECONDS", 0.05)
    pool = ProcessPool(1, time_limit=0.1)
    try:
        events = list(pool.events([Toy("slow", 1, NEVER)]))
    finally:
        pool.close()
    assert told(iter(events)) == ["+slow", ".slow", "!slow", ".slow", "xslow"]
    assert [event.reason for event in events if isinstance(event, (Retried, Failed))] == [
        "it took longer than 0.1 s",
        "not over after 0.1 s, in each of 2 attempts",
    ]


def test_fresh_processes_run_as_many_at_a_time_as_asked_for_and_end_with_their_task() -> None:
    pool = ProcessPool(2, fresh=True)
    events = list(pool.events([Toy("a", seconds=0.3), Toy("b", seconds=0.3), Toy("c")]))
    names = [name for name in told(iter(events)) if name[0] != "."]
    assert names[:2] == ["+a", "+b"]
    assert names.index("+c") > min(names.index("-a"), names.index("-b"))
    found = ended(iter(events))
    assert len({os.getpid(), *found.values()}) == 4
    for process in found.values():
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
    assert not multiprocessing.active_children()


def test_closing_ends_what_is_running() -> None:
    pool = ProcessPool(1)
    events = pool.events([Toy("a", 1, NEVER)])
    assert told(iter([next(events), next(events)])) == ["+a", ".a"]
    assert len(multiprocessing.active_children()) == 1
    pool.close()
    assert not multiprocessing.active_children()
