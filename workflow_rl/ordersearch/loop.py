"""The search: pick an order, have it valued, learn, repeat; several at a time if wanted."""

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


@dataclass(frozen=True)
class Failed:
    """A trial that gave nothing, and why."""

    reason: str


class Executor(Protocol[Given_co]):
    """Values trials, perhaps several side by side."""

    @property
    def capacity(self) -> int:
        """Trials it can work on at the same time."""
        ...

    def submit(self, trial: Trial) -> None:
        """Begins a trial."""
        ...

    def wait(self, among: Sequence[Trial]) -> tuple[Trial, Given_co | Failed]:
        """Waits until one of these trials is over; returns it with what it gave."""
        ...


class SerialExecutor(Generic[Result]):
    """Values each trial when its result is waited for."""

    capacity = 1

    def __init__(self, objective: Callable[[Trial], Result]) -> None:
        """Notes the objective."""
        self._objective = objective

    def submit(self, trial: Trial) -> None:
        """Does nothing yet."""

    def wait(self, among: Sequence[Trial]) -> tuple[Trial, Result | Failed]:
        """Values the first of the trials."""
        return among[0], self._objective(among[0])


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
    ordered: bool = False,
    earlier: Sequence[Done[Result]] = (),
    failed: Sequence[Trial] = (),
    begun: Sequence[tuple[Trial, Decision]] = (),
    on_pick: Callable[[Trial, Decision], None] = lambda trial, decision: None,
    on_done: Callable[[Done[Result]], bool] = lambda done: True,
    on_failed: Callable[[Trial, Failed], None] = lambda trial, failure: None,
) -> list[Done[Result]]:
    """Tries `number` orders and returns the trials that gave a result, in the order of decisions.

    As many trials are under way as the executor has room for. A result is taken when it arrives;
    taken in the order of decisions, the sequence of picks depends on the strategy, the objective
    and the executor's capacity alone. To the strategy a failed trial stays one that is under way:
    it tells nothing, and is not tried again at once.

    Args:
        strategy: picks orders.
        executor: values them.
        observe: what the strategy is told of a result.
        number: trials in total, earlier and failed ones included.
        ordered: whether results are taken in the order of decisions.
        earlier: trials already done, when a search is resumed.
        failed: trials already failed.
        begun: trials already decided but not over.
        on_pick: told of every decision before its trial begins.
        on_done: told of every result; False ends the search after the trials under way.
        on_failed: told of every failure.
    """
    done = sorted(earlier, key=lambda d: d.trial.number)
    lost = list(failed)
    under_way: list[tuple[Trial, Decision]] = []
    for trial, decision in begun:
        executor.submit(trial)
        under_way.append((trial, decision))
    go_on = True

    def has_room() -> bool:
        decided = len(done) + len(lost) + len(under_way)
        return go_on and len(under_way) < executor.capacity and decided < number

    while under_way or has_room():
        while has_room():
            pending = [trial.order for trial, _ in under_way] + [trial.order for trial in lost]
            decision = strategy.pick([observe(d.result) for d in done], pending)
            tried = [d.trial.order for d in done] + pending
            trial = Trial(len(tried), decision.order, tried.count(decision.order))
            on_pick(trial, decision)
            executor.submit(trial)
            under_way.append((trial, decision))
        among = under_way[:1] if ordered else under_way
        trial, result = executor.wait([trial for trial, _ in among])
        place = next(i for i, (other, _) in enumerate(under_way) if other == trial)
        _, decision = under_way.pop(place)
        if isinstance(result, Failed):
            lost.append(trial)
            on_failed(trial, result)
            continue
        finished = Done(trial, decision, result)
        done.append(finished)
        done.sort(key=lambda d: d.trial.number)
        go_on = on_done(finished) and go_on
    return done
