"""What a search decides on whichever pool, and how it goes on; see also test_search_files."""

import json
import shutil
from collections import abc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ordersearch.quick import tried
from tests.ordersearch.test_synthetic import pairs
from tests.runs.synthetic import PAIRS, Recorder, Valued, opened, searched, settings
from tests.runs.toy import assert_same, csv_rows, run_search, run_tiny, tiny, without_costs
from tests.runs.work import Losing, number_of
from workflow_rl.agents.policy import load_policy
from workflow_rl.cli.progress import notice_of
from workflow_rl.evaluation.selection import Games
from workflow_rl.nets.policy_file import Weights
from workflow_rl.ordersearch.strategies import Decision, TriedOrder
from workflow_rl.runs.folder import TrainingFolder
from workflow_rl.runs.pool import Done, Failed, Pool, Retried, SerialPool, Started
from workflow_rl.runs.trials import SearchOutcome, Trial, tried_in
from workflow_rl.train.job import TrainOutcome
from workflow_rl.workflow.orders import TYPES

# --- what is decided when: nothing is trained


class Given:
    """A strategy that picks given orders."""

    def __init__(self, orders: list[int]) -> None:
        self.orders = orders

    def pick(self, seen: abc.Sequence[TriedOrder], pending: abc.Sequence[int]) -> Decision:
        return Decision(self.orders[len(seen) + len(pending)], "given")


Asked = list[tuple[list[int], list[int]]]  # trials that are done, and those under way
ONE_BY_ONE: Asked = [([], []), ([0], []), ([0, 1], []), ([0, 1, 2], [])]
FIRST_THREE: Asked = [([], []), ([], [0]), ([], [0, 1])]
SIDE_BY_SIDE = [*FIRST_THREE, ([0], [1, 2]), ([0, 1], [2, 3]), ([0, 1, 2], [3, 4])]
AS_THEY_ARRIVE = [*FIRST_THREE, ([1], [0, 2]), ([1, 2], [0, 3]), ([1, 2, 3], [0, 4])]


@pytest.mark.parametrize(
    ("pool", "asked", "arrived"),
    [
        (Valued(), ONE_BY_ONE, [0, 1, 2, 3]),
        (Valued(3), SIDE_BY_SIDE, [0, 1, 2, 3, 4, 5]),
        (Valued(3, ranks=[9, 0, 1, 2, 3, 4]), AS_THEY_ARRIVE, [1, 2, 3, 4, 5, 0]),
        (Valued(fails={1}), [([], []), ([0], []), ([0], [1]), ([0, 2], [1])], [0, 2, 3]),
    ],
    ids=["one by one", "side by side", "as they arrive", "failed: pending for ever"],
)
def test_a_strategy_is_told_of_every_result_and_of_what_is_under_way(
    tmp_path: Path, pool: Valued, asked: Asked, arrived: list[int]
) -> None:
    recorder = Recorder()
    with opened(tmp_path, settings(len(asked)), pool, recorder) as search:
        names = [event.task.name for event in search.events() if isinstance(event, Done)]
    assert names == [f"trial_{n:03d}" for n in arrived]
    assert recorder.asked == asked
    assert pool.most == pool.capacity
    assert search.outcome is not None
    assert [trial.number for trial in search.outcome.trials] == sorted(arrived)  # as decided


def decided(outcome: SearchOutcome) -> list[Any]:
    """The trials, but for what they cost."""
    found: list[Any] = without_costs([trial.as_json() for trial in outcome.trials])
    return found


def test_in_order_the_picks_do_not_depend_on_who_is_fast(tmp_path: Path) -> None:
    ways = [np.random.default_rng(k).permutation(7).tolist() for k in range(3)]

    def found(ordered: bool) -> Iterator[Any]:
        config = settings(7, strategy="gp-ucb", initial_design=4, ordered_results=ordered)
        for k, ranks in enumerate(ways):
            pool = Valued(3, pairs(4).trial, ranks=ranks)
            yield decided(searched(tmp_path / f"{ordered}{k}", config, pool))

    first, *others = found(ordered=True)
    assert all(other == first for other in others)
    assert any(other != first for other in found(ordered=False))


def test_a_resumed_search_remembers_what_failed(tmp_path: Path) -> None:
    with opened(tmp_path, settings(3), Valued(fails={0}), Recorder()) as search:
        events = search.events()
        assert any(isinstance(event, Failed) for event in events)
        events.close()  # type: ignore[attr-defined]
    recorder = Recorder()
    outcome = searched(tmp_path, settings(3), Valued(), recorder)
    assert recorder.asked == [([], [0]), ([0], [0])]
    assert [trial.number for trial in outcome.trials] == [1, 2]


def test_trials_of_an_order_are_counted_and_trained_differently(tmp_path: Path) -> None:
    outcome = searched(tmp_path, settings(5), Valued(3), Given([42] * 5))
    assert [(t.order, t.repeat) for t in outcome.trials] == [(42, n) for n in range(5)]
    assert len({one.value for one in tried_in(outcome.trials)}) == 5


def test_a_decision_is_on_disk_before_its_trial_begins_and_a_result_when_it_is_told(
    tmp_path: Path,
) -> None:
    with opened(tmp_path, settings(2), Valued(), Recorder()) as search:
        run = search.directory.path
        told = []
        for event in search.events():
            noted = json.loads((run / "trials.json").read_text())
            decisions = csv_rows(run / "gp_sampling_log.csv")
            assert [row["trial"] for row in decisions] == [str(n) for n in range(len(noted))]
            told.append((type(event), len(noted), search.trials[-1].status))
    expected = [(kind, n, s) for n in (1, 2) for kind, s in ((Started, "running"), (Done, "done"))]
    assert told[:4] == expected
    assert {kind for kind, *_ in told[4:]} == {Games}


@pytest.mark.parametrize(("capacity", "trials"), [(1, 3), (3, 5)])
def test_a_budget_of_episodes_ends_the_search_after_the_trials_under_way(
    tmp_path: Path, capacity: int, trials: int
) -> None:
    # Every trial takes 6 environments x 3 episodes; the third result is beyond 37.
    config = settings(10, strategy="random", total_episodes=37)
    assert len(searched(tmp_path, config, Valued(capacity)).trials) == trials


@pytest.mark.parametrize("capacity", [1, 3])
@pytest.mark.parametrize(("name", "number"), [("gp-ucb", 6), ("random", 8)])
def test_a_resumed_search_picks_as_one_never_interrupted(
    tmp_path: Path, name: str, number: int, capacity: int
) -> None:
    config = settings(number, strategy=name, initial_design=4)
    whole = decided(searched(tmp_path / "whole", config, Valued(capacity)))
    assert whole == decided(searched(tmp_path / "again", config, Valued(capacity)))
    for last in range(1, 2 * number, 3):
        where = tmp_path / str(last)
        with opened(where, config, Valued(capacity)) as search:
            events = search.events()
            for _ in range(last):
                next(events)
            events.close()  # type: ignore[attr-defined]
        assert decided(searched(where, config, Valued(capacity))) == whole


def test_what_failed_is_left_out_and_noted_with_its_reason(tmp_path: Path) -> None:
    with opened(tmp_path, settings(4), Valued(fails={1}), Recorder()) as search:
        notices = [text for event in search.events() if (text := notice_of(event))]
    assert notices == [f"trial_001 failed and is left out: it rained ({TYPES.format(1)})"]
    run = search.directory.path
    summary = json.loads((run / "summary.json").read_text())
    assert summary["failed"] == [{"workflow": TYPES.format(1), "reason": "it rained"}]
    assert summary["workflows"] == 3
    decisions = csv_rows(run / "gp_sampling_log.csv")
    assert [row["workflow"] for row in decisions] == [TYPES.format(n) for n in range(4)]


def test_repeats_of_a_good_order_recommend_it_and_hand_over_its_best_trial(tmp_path: Path) -> None:
    def value(order: int, seed: int) -> TriedOrder:
        seen = PAIRS(order, seed)
        return tried(order, seen.value + (100 if order == 7 else 0), 1, True)

    outcome = searched(tmp_path, settings(3), Valued(of=value), Given([7, 7, 9]))
    assert outcome.recommendation.order == 7
    assert outcome.polished is None
    best = max((t for t in outcome.trials if t.order == 7), key=lambda t: t.tried.value)  # type: ignore[union-attr]
    _, weights = TrainingFolder(outcome.path / "trainings" / best.name).load_result()
    handed_over = load_policy(outcome.path)
    assert all((handed_over.weights[k] == weights[k]).all() for k in weights)


# --- where a trial starts from


QUICK: dict[str, Any] = {"n_envs": 4, "episode_length": 10, "base_updates": 1, "polish_updates": 0}


def given(folder: Path, orders: list[int], pool: Pool | None = None, **changes: Any) -> Any:
    """A search that tries given orders."""
    config = tiny(**(QUICK | {"n_workflows": len(orders)} | changes))
    return searched(folder, config, pool or SerialPool(), Given(orders))


def best_of(outcome: SearchOutcome, trial: Trial) -> tuple[TrainOutcome, Weights]:
    return TrainingFolder(outcome.path / "trainings" / trial.name).load_result()


def test_each_trial_goes_on_from_where_its_mode_says(tmp_path: Path) -> None:
    orders = [0, 119, 1, 118]
    assert TYPES.distance(0, 1) == TYPES.distance(118, 119) == 1
    expected = {
        "common": ["base"] * 4,
        "none": [None] * 4,
        "previous": [None, "trial_000", "trial_001", "trial_002"],
        "nearest": [None, "trial_000", "trial_000", "trial_001"],
    }
    for mode, names in expected.items():
        outcome = given(tmp_path / mode, orders, warm_start=mode)
        assert [trial.start for trial in outcome.trials] == names
        trainings = {row["training"] for row in csv_rows(outcome.path / "training_log.csv")}
        assert ("base" in trainings) == (mode == "common")
        assert (outcome.path / "policies" / "base.safetensors").exists() == (mode == "common")


def test_the_first_policy_of_a_trial_is_the_best_one_of_its_start(tmp_path: Path) -> None:
    outcome = given(tmp_path, [3, 50], max_episodes=1, base_updates=2)
    base = load_policy(outcome.path / "policies" / "base.safetensors")
    for trial in outcome.trials:  # one update: the best policy met is the one that played it
        _, best = best_of(outcome, trial)
        assert all((best[k] == base.weights[k]).all() for k in best)


# --- side by side: trainings


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> SearchOutcome:
    """The smallest search, in this process."""
    return run_tiny(tmp_path_factory.mktemp("logs"))


@pytest.mark.slow
def test_trials_in_processes_give_what_they_give_one_by_one(
    tmp_path: Path, serial: SearchOutcome
) -> None:
    assert_same(run_tiny(tmp_path, parallel_workflows=2).path, serial.path)


def test_a_training_done_again_counts_once(tmp_path: Path, serial: SearchOutcome) -> None:
    pool, notices = Losing(1), []
    with opened(tmp_path, tiny(), pool) as search:
        for event in search.events():
            if isinstance(event, Retried):
                assert pool.begun.count(number_of(event.task)) == 1  # told before it begins again
                kept = csv_rows(search.directory.path / "training_log.csv")
                assert event.task.name not in {row["training"] for row in kept}
                notices.append(notice_of(event))
    assert notices == [f"trial_00{n} is done again: rain" for n in range(3)]
    assert search.outcome is not None
    assert search.outcome.transitions == serial.transitions
    assert_same(search.outcome.path, serial.path)


# --- resuming


def test_a_finished_run_stays_as_it_is_when_resumed(tmp_path: Path, serial: SearchOutcome) -> None:
    run = Path(shutil.copytree(serial.path, tmp_path / "run"))
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*") if path.name != ".lock"}
    again = run_search(resume=run)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert again.recommendation == serial.recommendation
    assert again.transitions == serial.transitions
    assert again.handed_over == serial.handed_over
    assert [t.outcome for t in again.trials] == [t.outcome for t in serial.trials]
