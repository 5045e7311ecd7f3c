"""The search: pick an order, have it valued, learn, repeat; several at a time if wanted."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from workflow_rl.ordersearch.strategies import Decision, Observation, Strategy

Result = TypeVar("Result")
Given_co = TypeVar("Given_co", covariant=True)


@dataclass(frozen=True)
class Trial:
    """One order to be valued."""

    number: int  # from 0, in the order of decisions
    order: int
    repeat: int  # how often this order was tried before


class Executor(Protocol[Given_co]):
    """Values trials, perhaps several side by side."""

    capacity: int  # trials it can work on at the same time

    def submit(self, trial: Trial) -> None:
        """Begins a trial."""
        ...

    def result(self, trial: Trial) -> Given_co:
        """Waits for a trial and returns what it gave."""
        ...


class SerialExecutor(Generic[Result]):
    """Values each trial when its result is asked for."""

    capacity = 1

    def __init__(self, objective: Callable[[Trial], Result]) -> None:
        """Notes the objective."""
        self._objective = objective

    def submit(self, trial: Trial) -> None:
        """Does nothing yet."""

    def result(self, trial: Trial) -> Result:
        """Values the trial."""
        return self._objective(trial)


@dataclass(frozen=True)
class Done(Generic[Result]):
    """A trial with its decision and its result."""

    trial: Trial
    decision: Decision
    result: Result


def search(
    strategy: Strategy,
    executor: Executor[Result],
    observe: Callable[[Result], Observation],
    number: int,
    *,
    earlier: Sequence[Done[Result]] = (),
    begun: Sequence[tuple[Trial, Decision]] = (),
    on_pick: Callable[[Trial, Decision], None] = lambda trial, decision: None,
    on_done: Callable[[Done[Result]], bool] = lambda done: True,
) -> list[Done[Result]]:
    """Tries `number` orders and returns all trials, in the order of decisions.

    Results are taken in the order of decisions, so the sequence of picks depends on the strategy,
    the objective and the executor's capacity alone.

    Args:
        strategy: picks orders.
        executor: values them.
        observe: what the strategy is told of a result.
        number: trials in total, earlier ones included.
        earlier: trials already done, when a search is resumed.
        begun: trials already decided but not done.
        on_pick: told of every decision before its trial begins.
        on_done: told of every result; False ends the search after the trials under way.
    """
    done = list(earlier)
    under_way: deque[tuple[Trial, Decision]] = deque()
    for trial, decision in begun:
        executor.submit(trial)
        under_way.append((trial, decision))
    go_on = True
    while under_way or (go_on and len(done) < number):
        while go_on and len(under_way) < executor.capacity and len(done) + len(under_way) < number:
            pending = [trial.order for trial, _ in under_way]
            decision = strategy.pick([observe(d.result) for d in done], pending)
            tried = [d.trial.order for d in done] + pending
            trial = Trial(len(tried), decision.order, tried.count(decision.order))
            on_pick(trial, decision)
            executor.submit(trial)
            under_way.append((trial, decision))
        trial, decision = under_way.popleft()
        finished = Done(trial, decision, executor.result(trial))
        done.append(finished)
        go_on = on_done(finished) and go_on
    return done
