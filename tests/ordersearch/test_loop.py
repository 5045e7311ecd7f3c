import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from workflow_rl.ordersearch.loop import Done, Failed, SerialExecutor, Trial, search
from workflow_rl.ordersearch.recommend import recommend
from workflow_rl.ordersearch.strategies import Decision, Observation, Strategy, make_strategy
from workflow_rl.workflow.orders import NUM_ORDERS, PAIRS, PRECEDENCE

Objective = Callable[[Trial], Observation]


@dataclass
class SideBySide:
    """Works on several trials at a time; they end in the order of their ranks, if given."""

    objective: Objective
    capacity: int = 3
    under_way: list[Trial] = field(default_factory=list)
    most: int = 0
    ranks: Sequence[int] = ()
    fails: Collection[int] = ()

    def submit(self, trial: Trial) -> None:
        self.under_way.append(trial)
        self.most = max(self.most, len(self.under_way))

    def wait(self, among: Sequence[Trial]) -> tuple[Trial, Observation | Failed]:
        trial = min(among, key=lambda t: self.ranks[t.number] if self.ranks else t.number)
        self.under_way.remove(trial)
        if trial.number in self.fails:
            return trial, Failed("too slow")
        return trial, self.objective(trial)


def landscape(kind: str, seed: int) -> NDArray[np.float64]:
    """Values of all orders with mean -30 and standard deviation 3.

    "pairs" adds up what each pair's arrangement is worth; "peak" falls off from one order.
    """
    rng = np.random.default_rng([seed, 7])
    if kind == "pairs":
        values = PRECEDENCE @ rng.normal(size=len(PAIRS))
    else:
        peak = PRECEDENCE[rng.integers(NUM_ORDERS)].astype(int)
        values = np.exp(-(len(PAIRS) - PRECEDENCE @ peak) / 2 / 3.0)
    return np.asarray(-30.0 + 3.0 * (values - values.mean()) / values.std())


def objective(kind: str, seed: int, noise: float = 1.0) -> Objective:
    """A landscape seen through noise that depends on the trial alone, as a training's does."""
    values = landscape(kind, seed)

    def value(trial: Trial) -> Observation:
        rng = np.random.default_rng([seed, trial.order, trial.repeat])
        return Observation(trial.order, float(values[trial.order] + noise * rng.normal()), 1, True)

    return value


def strategy(name: str = "gp-ucb", seed: int = 0) -> Strategy:
    return make_strategy(name, beta=2.0, threshold=0.95, design=4, seed=seed)


def same(observation: Observation) -> Observation:
    return observation


class Recorder:
    """A strategy that notes what it was told."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[int], list[int]]] = []

    def pick(self, seen: object, pending: object) -> Decision:
        self.asked.append(([o.order for o in seen], list(pending)))  # type: ignore[attr-defined,call-overload]
        return Decision(len(self.asked) - 1, "listed")


@pytest.mark.parametrize("number", [0, 1, 7])
def test_the_number_of_trials_is_respected(number: int) -> None:
    for executor in (SerialExecutor(objective("pairs", 0)), SideBySide(objective("pairs", 0))):
        done = search(strategy("random"), executor, same, number)
        assert [d.trial.number for d in done] == list(range(number))


def test_a_serial_search_learns_from_every_result_before_the_next_pick() -> None:
    recorder = Recorder()
    search(recorder, SerialExecutor(objective("pairs", 0)), same, 4)
    assert recorder.asked == [([], []), ([0], []), ([0, 1], []), ([0, 1, 2], [])]


def test_trials_under_way_are_told_to_the_strategy() -> None:
    recorder = Recorder()
    executor = SideBySide(objective("pairs", 0))
    search(recorder, executor, same, 6)
    assert executor.most == 3
    assert not executor.under_way
    assert recorder.asked == [
        ([], []),
        ([], [0]),
        ([], [0, 1]),
        ([0], [1, 2]),
        ([0, 1], [2, 3]),
        ([0, 1, 2], [3, 4]),
    ]


def test_results_are_taken_when_they_arrive_and_the_rest_stays_pending() -> None:
    recorder = Recorder()
    executor = SideBySide(objective("pairs", 0), ranks=[9, 0, 1, 2, 3, 4])
    arrived: list[int] = []

    def on_done(done: Done[Observation]) -> bool:
        arrived.append(done.trial.number)
        return True

    done = search(recorder, executor, same, 6, on_done=on_done)
    assert arrived == [1, 2, 3, 4, 5, 0]
    assert recorder.asked[3:] == [([1], [0, 2]), ([1, 2], [0, 3]), ([1, 2, 3], [0, 4])]
    assert [d.trial.number for d in done] == list(range(6))  # in the order of decisions


def test_in_order_the_picks_do_not_depend_on_who_is_fast() -> None:
    rng = np.random.default_rng(0)
    ways = [rng.permutation(9).tolist() for _ in range(4)]
    searches = [
        search(
            strategy(seed=4),
            SideBySide(objective("pairs", 4), ranks=ranks),
            same,
            9,
            ordered=True,
        )
        for ranks in ways
    ]
    assert all(found == searches[0] for found in searches)
    free = [
        search(strategy(seed=4), SideBySide(objective("pairs", 4), ranks=ranks), same, 9)
        for ranks in ways
    ]
    assert any(found != searches[0] for found in free)


@settings(max_examples=60, deadline=None)
@given(
    ranks=st.permutations(range(8)),
    capacity=st.integers(1, 5),
    fails=st.sets(st.integers(0, 7)),
    ordered=st.booleans(),
)
def test_every_trial_ends_once_whatever_the_order_and_the_failures(
    ranks: list[int], capacity: int, fails: set[int], ordered: bool
) -> None:
    executor = SideBySide(objective("pairs", 0), capacity, ranks=ranks, fails=fails)
    ended: list[int] = []
    failed: list[tuple[int, str]] = []
    done = search(
        strategy("random"),
        executor,
        same,
        8,
        ordered=ordered,
        on_done=lambda d: ended.append(d.trial.number) is None,
        on_failed=lambda trial, why: failed.append((trial.number, why.reason)),
    )
    assert sorted(ended) == [d.trial.number for d in done] == sorted(set(range(8)) - fails)
    assert sorted(failed) == [(number, "too slow") for number in sorted(fails)]
    assert executor.most <= capacity
    assert not executor.under_way
    orders = strategy("random")  # its list goes on as if nothing had failed
    listed = [orders.pick([], range(n)).order for n in range(8)]
    assert [d.trial.order for d in done] == [listed[d.trial.number] for d in done]


def test_a_failed_trial_stays_pending_to_the_strategy() -> None:
    recorder = Recorder()
    executor = SideBySide(objective("pairs", 0), capacity=1, fails={1})
    search(recorder, executor, same, 4)
    assert recorder.asked == [([], []), ([0], []), ([0], [1]), ([0, 2], [1])]


def test_the_gaussian_process_looks_elsewhere_after_a_failure() -> None:
    executor = SideBySide(objective("pairs", 0), capacity=1, fails=range(4, 8))
    orders: list[int] = []
    search(
        strategy(), executor, same, 8, on_pick=lambda trial, decision: orders.append(trial.order)
    )
    assert len(set(orders[4:])) == 4


def test_a_resumed_search_remembers_what_failed() -> None:
    recorder = Recorder()
    trial = Trial(0, 5, 0)
    done = search(recorder, SideBySide(objective("pairs", 0), capacity=1), same, 3, failed=[trial])
    assert recorder.asked == [([], [5]), ([0], [5])]
    assert [d.trial.number for d in done] == [1, 2]


def test_trials_of_an_order_are_counted() -> None:
    class Stubborn:
        def pick(self, seen: object, pending: object) -> Decision:
            return Decision(42, "stubborn")

    done = search(Stubborn(), SideBySide(objective("pairs", 0)), same, 5)
    assert [d.trial for d in done] == [Trial(number, 42, number) for number in range(5)]


def test_decisions_are_announced_before_their_trial_and_results_after() -> None:
    events: list[tuple[str, int]] = []

    def value(trial: Trial) -> Observation:
        events.append(("begun", trial.number))
        return objective("pairs", 0)(trial)

    def on_done(done: Done[Observation]) -> bool:
        events.append(("done", done.trial.number))
        return True

    search(
        strategy("random"),
        SerialExecutor(value),
        same,
        2,
        on_pick=lambda trial, decision: events.append(("picked", trial.number)),
        on_done=on_done,
    )
    assert events == [(what, n) for n in range(2) for what in ("picked", "begun", "done")]


def test_false_ends_the_search_after_the_trials_under_way() -> None:
    serial = search(
        strategy("random"),
        SerialExecutor(objective("pairs", 0)),
        same,
        10,
        on_done=lambda done: done.trial.number < 2,
    )
    assert len(serial) == 3
    executor = SideBySide(objective("pairs", 0))
    together = search(
        strategy("random"), executor, same, 10, on_done=lambda done: done.trial.number != 1
    )
    assert len(together) == 4  # trial 3 had begun when trial 1 ended
    assert not executor.under_way


@pytest.mark.parametrize("capacity", [1, 3])
def test_the_same_seed_gives_the_same_search(capacity: int) -> None:
    first, second = (
        search(strategy(seed=4), SideBySide(objective("pairs", 4), capacity), same, 9)
        for _ in range(2)
    )
    assert first == second


class StoppedError(Exception):
    """Stands for a kill."""


@pytest.mark.parametrize("capacity", [1, 3])
@pytest.mark.parametrize("name", ["gp-ucb", "random"])
def test_a_resumed_search_picks_as_one_never_interrupted(name: str, capacity: int) -> None:
    number = 9
    whole = search(strategy(name), SideBySide(objective("pairs", 1), capacity), same, number)
    for last_event in range(1, 2 * number):
        events = itertools.count(1)
        done: list[Done[Observation]] = []
        picked: list[tuple[Trial, Decision]] = []

        def happened(events: "itertools.count[int]" = events, last: int = last_event) -> None:
            if next(events) == last:
                raise StoppedError

        def on_pick(
            trial: Trial, decision: Decision, picked: list[tuple[Trial, Decision]] = picked
        ) -> None:
            picked.append((trial, decision))
            happened()

        def on_done(given: Done[Observation], done: list[Done[Observation]] = done) -> bool:
            done.append(given)
            happened()
            return True

        executor = SideBySide(objective("pairs", 1), capacity)
        with pytest.raises(StoppedError):
            search(strategy(name), executor, same, number, on_pick=on_pick, on_done=on_done)
        resumed = search(
            strategy(name),
            SideBySide(objective("pairs", 1), capacity),
            same,
            number,
            earlier=done,
            begun=picked[len(done) :],
        )
        assert resumed == whole


def test_a_finished_search_has_nothing_to_resume() -> None:
    whole = search(strategy("random"), SerialExecutor(objective("pairs", 0)), same, 3)
    recorder = Recorder()
    resumed = search(recorder, SerialExecutor(objective("pairs", 0)), same, 3, earlier=whole)
    assert resumed == whole
    assert not recorder.asked


def test_a_failing_objective_ends_the_search_with_its_error() -> None:
    def fails(trial: Trial) -> Observation:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        search(strategy("random"), SerialExecutor(fails), same, 3)


def regrets(name: str, kind: str, seeds: int, number: int, capacity: int = 1) -> list[float]:
    """How far the recommended order's true value is from the best one's, for each seed."""
    found = []
    for seed in range(seeds):
        values = landscape(kind, seed)
        executor = SideBySide(objective(kind, seed), capacity)
        done = search(strategy(name, seed), executor, same, number)
        given = recommend([d.result for d in done])
        found.append(float(values.max() - values[given.order]))
    return found


def clearly_less(ours: list[float], theirs: list[float]) -> bool:
    """Whether the mean difference of paired results is more than 2.5 standard errors."""
    difference = np.array(theirs) - np.array(ours)
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return bool(difference.mean() > 2.5 * error)


@pytest.mark.parametrize(("kind", "seeds", "number"), [("pairs", 20, 20), ("peak", 8, 12)])
def test_it_beats_random_search(kind: str, seeds: int, number: int) -> None:
    ours = regrets("gp-ucb", kind, seeds, number)
    theirs = regrets("random", kind, seeds, number)
    assert clearly_less(ours, theirs)
    assert np.mean(ours) < 0.5 * np.mean(theirs)


@pytest.mark.slow
@pytest.mark.parametrize("capacity", [1, 2, 4])
@pytest.mark.parametrize("kind", ["pairs", "peak"])
def test_it_beats_random_search_over_many_seeds_also_side_by_side(kind: str, capacity: int) -> None:
    seeds, number = 30, 20
    ours = regrets("gp-ucb", kind, seeds, number, capacity)
    for other in ("random", "round-robin"):
        theirs = regrets(other, kind, seeds, number, capacity)
        assert clearly_less(ours, theirs)
        assert np.mean(ours) < 0.6 * np.mean(theirs)


@pytest.mark.parametrize("seeds", [6, pytest.param(30, marks=pytest.mark.slow)])
def test_it_finds_a_good_order_that_complies_where_half_of_them_do_not(seeds: int) -> None:
    regret: dict[str, list[float]] = {"gp-ucb": [], "random": []}
    for seed in range(seeds):
        values = landscape("pairs", seed)
        complies = PRECEDENCE[:, seed % len(PAIRS)] > 0  # one pair's arrangement decides it
        noisy = objective("pairs", seed)

        def value(
            trial: Trial, noisy: Objective = noisy, complies: NDArray[np.bool_] = complies
        ) -> Observation:
            seen, good = noisy(trial), bool(complies[trial.order])
            return Observation(trial.order, seen.value, 0.97 if good else 0.6, good)

        for name, found in regret.items():
            done = search(strategy(name, seed), SerialExecutor(value), same, 20)
            given = recommend([d.result for d in done])
            assert given.is_compliant
            found.append(float(values[complies].max() - values[given.order]))
            if name == "gp-ucb":
                late = [d.trial.order for d in done[10:]]
                assert np.mean(complies[late]) >= 0.5
    assert np.mean(regret["gp-ucb"]) < 0.7 * np.mean(regret["random"])
