import json
import math
import shutil
from collections import abc
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.experiment.toy import (
    assert_same,
    csv_rows,
    episode_rows,
    findings,
    the_run,
    tiny,
    without_costs,
)
from workflow_rl.config import ExperimentConfig, GameConfig, SearchConfig, TrainConfig
from workflow_rl.envs.world import SimulatorWorld
from workflow_rl.errors import InvalidInputError
from workflow_rl.experiment.api import Silent, search
from workflow_rl.experiment.run import SearchOutcome, SearchRun
from workflow_rl.experiment.rundir import RunDirectory
from workflow_rl.experiment.tasks import News, SerialWorkers, Task, Workers
from workflow_rl.ordersearch.loop import Failed, Trial
from workflow_rl.ppo.policy import load_policy
from workflow_rl.ppo.rollout import Player
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.sim.batch import Batch
from workflow_rl.train.episodes import Scorekeeper
from workflow_rl.train.loop import TrainResult, load_weights
from workflow_rl.workflow.orders import format_order, kendall_distance, parse_order

TOY = ExperimentConfig(
    game=GameConfig(red_agent="meander", rules="competition"),
    train=TrainConfig(n_envs=20, max_episodes=6, min_episodes=2, compliance_threshold=0.1),
    search=SearchConfig(n_workflows=3, initial_design=2, base_updates=6, polish_updates=3),
    seed=4,
)
TRAININGS = ["base", "trial_000", "trial_001", "trial_002", "polish"]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> SearchOutcome:
    """A search by Gaussian process, at the size of the tests."""
    return search(TOY, checkpoint_dir=tmp_path_factory.mktemp("logs"))


def run_tiny(folder: Path, **changes: Any) -> SearchOutcome:
    return search(tiny(**changes), checkpoint_dir=folder)


def numbers(result: TrainResult) -> dict[str, Any]:
    return {k: v for k, v in vars(result).items() if k not in ("best", "final")}


def same_result(a: TrainResult, b: TrainResult) -> bool:
    return numbers(a) == numbers(b) and all((a.best[k] == b.best[k]).all() for k in a.best)


# --- what is written


def test_the_run_directory_holds_what_the_documents_name(toy: SearchOutcome) -> None:
    names = {path.name for path in toy.path.iterdir()}
    assert {
        "experiment_config.json",
        "training_log.csv",
        "episodes.parquet",
        "gp_sampling_log.csv",
        "tensorboard",
        "policies",
        "summary.json",
    } <= names
    assert list(toy.path.rglob("*.tmp")) == []


def test_the_configuration_is_noted_with_all_that_was_resolved(toy: SearchOutcome) -> None:
    noted = json.loads((toy.path / "experiment_config.json").read_text())
    assert ExperimentConfig.from_json(noted["config"]) == TOY
    assert noted["rules"] == "competition"
    assert noted["packages"]["torch"].startswith("2.")
    assert noted["command"]


def test_the_training_log_has_a_row_for_every_update(toy: SearchOutcome) -> None:
    rows = csv_rows(toy.path / "training_log.csv")
    expected = [("base", "all", n) for n in range(1, 7)]
    for number, done in enumerate(toy.trials):
        name = format_order(done.trial.order)
        expected += [(f"trial_{number:03d}", name, n) for n in range(1, done.result.updates + 1)]
    recommended = format_order(toy.recommendation.order)
    expected += [("polish", recommended, n) for n in range(1, 4)]
    found = [(row["training"], row["workflow"], int(row["update"])) for row in rows]
    assert found == expected
    assert toy.transitions == 2_000 * len(rows)


def test_the_training_log_tells_what_each_phase_took(toy: SearchOutcome) -> None:
    for row in csv_rows(toy.path / "training_log.csv"):
        for phase in ("simulate", "infer", "update"):
            assert 0 < float(row[f"{phase}_seconds"]) < 60
        assert 0 <= float(row["cpu_percent"]) < 10_000
        assert 50 < float(row["rss_mb"]) < 50_000
    for row in csv_rows(toy.path / "gp_sampling_log.csv"):
        assert 0 <= float(row["pick_seconds"]) < 60


def test_there_is_a_row_for_every_episode(toy: SearchOutcome) -> None:
    rows = episode_rows(toy.path)
    keys = {(row["training"], row["update"], row["env"]) for row in rows}
    updates = {
        (row["training"], int(row["update"])) for row in csv_rows(toy.path / "training_log.csv")
    }
    assert keys == {(*update, env) for update in updates for env in range(20)}
    assert len(rows) == len(keys)
    orders = {f"trial_{i:03d}": format_order(d.trial.order) for i, d in enumerate(toy.trials)}
    for row in rows:
        if row["training"] in orders:
            assert row["workflow"] == orders[row["training"]]
    assert len({row["workflow"] for row in rows if row["training"] == "base"}) > 50


def test_the_means_of_the_episodes_are_the_training_log(toy: SearchOutcome) -> None:
    episodes = episode_rows(toy.path)
    for row in csv_rows(toy.path / "training_log.csv"):
        mine = [
            e
            for e in episodes
            if e["training"] == row["training"] and e["update"] == int(row["update"])
        ]
        assert len(mine) == int(row["episodes"])
        for column in ("env_reward", "compliance_observed", "compliance_true", "fixes"):
            mean = np.mean([e[column] for e in mine])
            assert mean == pytest.approx(float(row[column]), rel=1e-5, abs=1e-6)


def test_the_alignment_of_an_episode_is_the_weight_times_its_compliance(
    toy: SearchOutcome,
) -> None:
    weights = {
        (row["training"], int(row["update"])): float(row["alignment_weight"])
        for row in csv_rows(toy.path / "training_log.csv")
    }
    assert len(set(weights.values())) > 5
    for row in episode_rows(toy.path):
        if row["training"] == "base":  # where each order has its own weight
            continue
        weight = weights[row["training"], row["update"]]
        assert row["alignment"] == pytest.approx(weight * row["compliance_observed"], rel=1e-6)


def test_alignment_follows_the_view_that_is_trained_on(tmp_path: Path) -> None:
    outcome = run_tiny(tmp_path, compliance_view="true", alignment="fixed", alignment_lambda=8.0)
    rows = episode_rows(outcome.path)
    assert any(row["compliance_true"] != row["compliance_observed"] for row in rows)
    for row in rows:
        assert row["alignment"] == pytest.approx(8 * row["compliance_true"], rel=1e-6)


def test_every_decision_is_logged_with_its_reasons(toy: SearchOutcome) -> None:
    rows = csv_rows(toy.path / "gp_sampling_log.csv")
    assert [row["workflow"] for row in rows] == [format_order(d.trial.order) for d in toy.trials]
    assert [row["reason"] for row in rows[:2]] == ["design", "design"]
    last = rows[2]
    assert last["reason"] in ("explore", "exploit")
    assert last["top1"] == last["workflow"]
    assert float(last["ucb"]) == pytest.approx(float(last["mean"]) + 2 * float(last["std"]))
    scores = [float(last[f"top{i}_score"]) for i in (1, 2, 3)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == float(last["score"])


def test_tensorboard_has_every_update_under_cleanrl_names(toy: SearchOutcome) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = EventAccumulator(str(toy.path / "tensorboard"))
    board.Reload()
    rows = csv_rows(toy.path / "training_log.csv")
    returns = board.Scalars("charts/episodic_return")
    assert [event.step for event in returns] == [2_000 * (i + 1) for i in range(len(rows))]
    for event, row in zip(returns, rows, strict=True):
        assert event.value == pytest.approx(float(row["env_reward"]))
    assert {
        "charts/SPS",
        "losses/approx_kl",
        "losses/clipfrac",
        "losses/entropy",
        "losses/explained_variance",
        "losses/policy_loss",
        "losses/value_loss",
    } <= set(board.Tags()["scalars"])


def test_every_training_leaves_a_policy_with_its_description_beside_it(
    toy: SearchOutcome,
) -> None:
    names = {path.name for path in (toy.path / "policies").iterdir()}
    expected = [*TRAININGS, "recommended"]
    assert names == {f"{n}.{end}" for n in expected for end in ("safetensors", "json")}
    for name in expected:
        policy = load_policy(toy.path / "policies" / f"{name}.safetensors")
        beside = json.loads((toy.path / "policies" / f"{name}.json").read_text())
        assert policy.description == beside
        assert beside["rules"] == "competition"
        assert beside["red_agent"] == "meander"


def test_the_summary_tells_of_every_trial_and_the_recommendation(toy: SearchOutcome) -> None:
    summary = json.loads((toy.path / "summary.json").read_text())
    assert summary["rules"] == "competition"
    assert summary["red_agent"] == "meander"
    assert parse_order(summary["recommended"]) == load_policy(toy.path).order
    assert summary["workflows"] == 3
    assert summary["transitions"] == toy.transitions
    assert summary["seconds"] == toy.seconds > 0
    for told, done in zip(summary["trials"], toy.trials, strict=True):
        result = done.result
        assert told["workflow"] == format_order(done.trial.order)
        assert told["env_reward"] == result.env_reward
        assert told["env_reward_error"] == result.env_reward_error
        assert told["compliance"] == result.compliance
        assert told["stopped"] == result.stopped


def test_the_objective_is_the_mean_of_the_last_three_episodes_of_every_environment(
    toy: SearchOutcome,
) -> None:
    episodes = episode_rows(toy.path)
    for number, done in enumerate(toy.trials):
        mine = [e for e in episodes if e["training"] == f"trial_{number:03d}"]
        last = [e["env_reward"] for e in mine if e["update"] > done.result.updates - 3]
        assert done.result.objective_episodes == len(last)
        assert done.result.env_reward == pytest.approx(np.mean(last))
        error = np.std(last, ddof=1) / math.sqrt(len(last))
        assert done.result.env_reward_error == pytest.approx(error)


# --- what is handed over


def test_the_recommended_policy_plays_as_its_description_says(toy: SearchOutcome) -> None:
    policy = load_policy(toy.path)
    told = policy.description
    game = GameConfig(
        red_agent=told["red_agent"],
        rules=told["rules"],
        observation=told["observation"],
        episode_length=told["episode_length"],
    )
    order = toy.recommendation.order
    assert policy.order == parse_order(format_order(order))
    from workflow_rl.ppo.network import ActorCritic

    player = Player(SimulatorWorld(Batch(400, game)), order, seed=1)
    network = ActorCritic(player.width, NUM_ACTIONS, told["hidden"])
    load_weights(network, policy._weights)
    rollout = player.collect(network, told["episode_length"])
    _, episodes = Scorekeeper(400).score(rollout, 1.0, told["compliance_view"])
    for value, claim in (
        (episodes.compliance(told["compliance_view"]), told["compliance"]),
        (episodes.env_reward, told["env_reward"]),
    ):
        # The claim is a mean of 20 episodes, and the best of a few such means.
        assert abs(float(value.mean()) - claim) < 4 * float(value.std()) / math.sqrt(20)


def test_the_recommended_policy_is_the_better_one_of_before_and_after_polishing(
    toy: SearchOutcome,
) -> None:
    summary = json.loads((toy.path / "summary.json").read_text())
    of_order = [d.result for d in toy.trials if d.trial.order == toy.recommendation.order]
    best = max(r.best_env_reward for r in of_order)
    assert summary["policy_env_reward"] >= best
    assert toy.polished is not None
    assert summary["policy_env_reward"] in (best, toy.polished.best_env_reward)


def test_without_polish_the_best_trial_is_handed_over(tmp_path: Path) -> None:
    outcome = run_tiny(tmp_path, polish_updates=0)
    assert outcome.polished is None
    best = next(d for d in outcome.trials if d.trial.order == outcome.recommendation.order)
    handed_over = load_policy(outcome.path)
    assert all((handed_over._weights[k] == best.result.best[k]).all() for k in best.result.best)
    assert json.loads((outcome.path / "summary.json").read_text())["polished"] is None


# --- seeds and budgets


def test_same_seed_same_run(tmp_path: Path) -> None:
    first = run_tiny(tmp_path / "a", strategy="gp-ucb", compliance_threshold=0.05)
    second = run_tiny(tmp_path / "b", strategy="gp-ucb", compliance_threshold=0.05)
    assert_same(first.path, second.path)


def test_another_seed_another_run(tmp_path: Path) -> None:
    first = run_tiny(tmp_path / "a")
    second = run_tiny(tmp_path / "b", seed=1)
    for a, b in zip(first.trials, second.trials, strict=True):
        assert a.trial.order == b.trial.order
        assert a.result.env_reward != b.result.env_reward


def test_the_number_of_threads_changes_nothing(tmp_path: Path) -> None:
    import torch

    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            run_tiny(tmp_path / str(threads), strategy="gp-ucb", compliance_threshold=0.05)
    finally:
        torch.set_num_threads(before)
    assert_same(the_run(tmp_path / "1"), the_run(tmp_path / "2"))


def test_a_budget_of_episodes_ends_the_search(tmp_path: Path) -> None:
    # Every trial takes 6 environments x 3 episodes; the third is begun with 36 of 37 used.
    outcome = run_tiny(tmp_path, n_workflows=10, total_episodes=37)
    assert len(outcome.trials) == 3
    assert run_tiny(tmp_path, n_workflows=10, total_episodes=36).recommendation
    assert len(run_tiny(tmp_path, n_workflows=2, total_episodes=10**6).trials) == 2


# --- where a trial starts from


def trained(folder: Path, order: int, position: int, **changes: Any) -> TrainResult:
    """The result of an order that is tried as the n-th."""
    others = [o for o in (3, 50, 119) if o != order]
    sequence = [*others[: position - 1], order, *others[position - 1 :]][:3]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "workflow_rl.experiment.run.make_strategy", lambda name, **_: Sequence(sequence)
        )
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
            patch.setattr(
                "workflow_rl.experiment.run.make_strategy", lambda name, **_: Sequence(orders)
            )
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
