import json
import shutil
from collections import abc
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from workflow_rl.ordersearch.loop import Failed, Trial
from workflow_rl.runs.api import Silent, search
from workflow_rl.runs.run import SearchOutcome, SearchRun
from workflow_rl.runs.tasks import News, SerialWorkers, Task, Workers

from tests.runs.toy import (
    assert_same,
    csv_rows,
    findings,
    run_tiny,
    the_run,
    tiny,
    without_costs,
)
from workflow_rl.agents.policy import load_policy
from workflow_rl.errors import InvalidInputError
from workflow_rl.runs.store import RunDirectory
from workflow_rl.train.job import TrainResult
from workflow_rl.workflow.orders import format_order, kendall_distance


def numbers(result: TrainResult) -> dict[str, Any]:
    return {k: v for k, v in vars(result).items() if k not in ("best", "final")}


def same_result(a: TrainResult, b: TrainResult) -> bool:
    return numbers(a) == numbers(b) and all((a.best[k] == b.best[k]).all() for k in a.best)


# --- where a trial starts from


def trained(folder: Path, order: int, position: int, **changes: Any) -> TrainResult:
    """The result of an order that is tried as the n-th."""
    others = [o for o in (3, 50, 119) if o != order]
    sequence = [*others[: position - 1], order, *others[position - 1 :]][:3]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workflow_rl.runs.run.make_strategy", lambda name, **_: Sequence(sequence))
        outcome = run_tiny(folder, **changes)
    done = outcome.trials[position - 1]
    assert done.trial.order == order
    return done.result


class Sequence:
    """A strategy that picks given orders."""

    def __init__(self, orders: list[int]) -> None:
        self.orders = orders

    def pick(self, seen: Any, pending: Any) -> Any:
        from workflow_rl.ordersearch.strategies import Decision

        return Decision(self.orders[len(seen) + len(pending)], "given")


@pytest.mark.parametrize("mode", ["common", "none"])
def test_what_an_order_gives_does_not_depend_on_when_it_is_tried(tmp_path: Path, mode: str) -> None:
    first = trained(tmp_path / "1", 77, 1, warm_start=mode)
    third = trained(tmp_path / "3", 77, 3, warm_start=mode)
    assert same_result(first, third)


@pytest.mark.parametrize("mode", ["previous", "nearest"])
def test_with_an_inherited_policy_it_does_depend_on_that(tmp_path: Path, mode: str) -> None:
    first = trained(tmp_path / "1", 77, 1, warm_start=mode)
    third = trained(tmp_path / "3", 77, 3, warm_start=mode)
    assert not same_result(first, third)
    assert first.env_reward != third.env_reward


@pytest.mark.parametrize("mode", ["common", "previous", "nearest", "none"])
def test_only_the_common_start_trains_a_base_policy(tmp_path: Path, mode: str) -> None:
    outcome = run_tiny(tmp_path, warm_start=mode)
    trainings = {row["training"] for row in csv_rows(outcome.path / "training_log.csv")}
    assert ("base" in trainings) == (mode == "common")
    assert (outcome.path / "policies" / "base.safetensors").exists() == (mode == "common")


def starts(outcome: SearchOutcome) -> list[str | None]:
    return [entry["start"] for entry in json.loads((outcome.path / "trials.json").read_text())]


def test_each_trial_goes_on_from_where_its_mode_says(tmp_path: Path) -> None:
    orders = [0, 119, 1, 118]
    assert kendall_distance(0, 1) == kendall_distance(118, 119) == 1
    expected = {
        "common": ["base"] * 4,
        "none": [None] * 4,
        "previous": [None, "trial_000", "trial_001", "trial_002"],
        "nearest": [None, "trial_000", "trial_000", "trial_001"],
    }
    for mode, names in expected.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("workflow_rl.runs.run.make_strategy", lambda name, **_: Sequence(orders))
            outcome = run_tiny(tmp_path / mode, n_workflows=4, warm_start=mode)
        assert starts(outcome) == names


def test_the_first_policy_of_a_trial_is_the_best_one_of_its_start(tmp_path: Path) -> None:
    outcome = run_tiny(tmp_path, max_episodes=1)
    base = load_policy(outcome.path / "policies" / "base.safetensors")
    for done in outcome.trials:  # one update: the best policy met is the one that played it
        assert all((done.result.best[k] == base._weights[k]).all() for k in done.result.best)


# --- side by side


def test_trials_side_by_side_give_what_they_give_one_by_one(tmp_path: Path) -> None:
    serial = run_tiny(tmp_path / "1")
    parallel = run_tiny(tmp_path / "2", parallel_workflows=2)
    ours, theirs = findings(parallel.path), findings(serial.path)
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []


class Unlucky(SerialWorkers):
    """Several at a time: the last one begun ends first, and some trainings fail."""

    def __init__(self, number: int = 1, fails: Collection[str] = ()) -> None:
        self.capacity = number
        self._fails = fails

    def wait(self, among: abc.Sequence[Task], news: News) -> tuple[Task, TrainResult | Failed]:
        if among[-1].name in self._fails:
            return among[-1], Failed("it rained")
        return super().wait(among[::-1], news)


class Notes(Silent):
    """A listener that remembers."""

    def __init__(self) -> None:
        self.finishes: list[int] = []
        self.notices: list[str] = []

    def finished(self, trial: Trial, result: TrainResult, done: int) -> None:
        self.finishes.append(trial.number)

    def noticed(self, text: str) -> None:
        self.notices.append(text)


def run_with(workers: Workers, folder: Path, **changes: Any) -> tuple[SearchOutcome, Notes]:
    directory = RunDirectory.create(folder, tiny(**changes), [])
    notes = Notes()
    try:
        return SearchRun(directory, notes, workers).run(), notes
    finally:
        directory.close()


@pytest.mark.parametrize("ordered", [False, True])
def test_results_count_when_they_arrive_or_in_the_order_of_picks(
    tmp_path: Path, ordered: bool
) -> None:
    outcome, notes = run_with(
        Unlucky(2), tmp_path / "2", parallel_workflows=2, ordered_results=ordered
    )
    assert notes.finishes == ([0, 1, 2] if ordered else [1, 2, 0])
    assert [d.trial.number for d in outcome.trials] == [0, 1, 2]
    serial = run_tiny(tmp_path / "1")
    assert findings(outcome.path) == findings(serial.path)


def test_a_failed_trial_is_left_out_and_noted_with_its_reason(tmp_path: Path) -> None:
    outcome, notes = run_with(Unlucky(1, {"trial_001"}), tmp_path / "1", n_workflows=4)
    assert [d.trial.number for d in outcome.trials] == [0, 2, 3]
    (notice,) = notes.notices
    assert notice.startswith("trial_001 failed and is left out: it rained (")
    summary = json.loads((outcome.path / "summary.json").read_text())
    assert summary["failed"] == [{"workflow": format_order(1), "reason": "it rained"}]
    assert summary["workflows"] == 3
    without = {row["training"] for row in csv_rows(outcome.path / "training_log.csv")}
    assert "trial_001" not in without
    decisions = csv_rows(outcome.path / "gp_sampling_log.csv")
    assert [row["workflow"] for row in decisions] == [format_order(n) for n in range(4)]
    before = findings(outcome.path)
    again = search(resume=outcome.path)  # it stays failed
    assert [d.trial.number for d in again.trials] == [0, 2, 3]
    assert findings(outcome.path) == before


def test_where_every_trial_fails_there_is_nothing_to_recommend(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="every workflow failed; the last: it rained"):
        run_with(Unlucky(1, {f"trial_00{n}" for n in range(3)}), tmp_path)
    with pytest.raises(InvalidInputError, match="every workflow failed"):
        search(resume=the_run(tmp_path))


def test_a_training_done_again_counts_once(tmp_path: Path) -> None:
    class Forgetful(SerialWorkers):
        """Loses every training once, with what it had written."""

        def wait(self, among: abc.Sequence[Task], news: News) -> tuple[Task, TrainResult | Failed]:
            super().wait(among, news)
            shutil.rmtree(among[0].folder)
            news.again(among[0], "the node went away")
            kept = csv_rows(the_run(tmp_path / "2") / "training_log.csv")
            assert among[0].name not in {row["training"] for row in kept}
            return super().wait(among, news)

    outcome, notes = run_with(Forgetful(), tmp_path / "2")
    assert notes.notices == [f"trial_00{n} is done again: the node went away" for n in range(3)]
    serial = run_tiny(tmp_path / "1")
    assert outcome.transitions == serial.transitions
    assert_same(outcome.path, serial.path)


def test_a_finished_run_stays_as_it_is_when_resumed(tmp_path: Path) -> None:
    outcome = run_tiny(tmp_path)
    before = findings(outcome.path)
    again = search(resume=outcome.path)
    assert findings(outcome.path) == before
    assert again.recommendation == outcome.recommendation
    assert again.transitions == outcome.transitions
    assert again.seconds >= outcome.seconds
    assert without_costs([numbers(d.result) for d in again.trials]) == without_costs(
        [numbers(d.result) for d in outcome.trials]
    )
