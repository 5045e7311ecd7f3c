"""What a search leaves in its directory."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runs.toy import board_of, csv_rows, episode_rows, run_search, run_tiny
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.config import ExperimentConfig, GameConfig, SearchConfig, TrainConfig
from workflow_rl.envs.world import SimulatorWorld
from workflow_rl.evaluation.scoring import Score, choose, score_policy
from workflow_rl.ppo.rollout import Player
from workflow_rl.runs.store import TrainingFolder
from workflow_rl.runs.summary import SearchOutcome
from workflow_rl.runs.trial import Trial
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.sim.batch import Batch
from workflow_rl.train.episodes import Scorekeeper
from workflow_rl.train.job import TrainResult
from workflow_rl.train.loop import load_weights
from workflow_rl.workflow.orders import TYPES

TOY = ExperimentConfig(
    game=GameConfig(red_agent="meander", rules="competition"),
    train=TrainConfig(n_envs=20, max_episodes=6, min_updates=2, compliance_threshold=0.1),
    search=SearchConfig(
        n_workflows=3,
        initial_design=2,
        base_updates=6,
        polish="documented",
        polish_updates=3,
        score_games=20,
    ),
    seed=4,
)
TRAININGS = ["base", "trial_000", "trial_001", "trial_002", "polish"]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> SearchOutcome:
    """A search by Gaussian process, at the size of the tests."""
    return run_search(TOY, checkpoint_dir=tmp_path_factory.mktemp("logs"))


def ended(outcome: SearchOutcome) -> list[tuple[Trial, TrainResult]]:
    """The trials with their results."""
    return [(trial, trial.result) for trial in outcome.trials if trial.result is not None]


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
    for number, (trial, result) in enumerate(ended(toy)):
        name = TYPES.format(trial.order)
        expected += [(f"trial_{number:03d}", name, n) for n in range(1, result.updates + 1)]
    recommended = TYPES.format(toy.recommendation.order)
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
    orders = {f"trial_{i:03d}": TYPES.format(t.order) for i, t in enumerate(toy.trials)}
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
    assert [row["workflow"] for row in rows] == [TYPES.format(t.order) for t in toy.trials]
    assert [row["reason"] for row in rows[:2]] == ["design", "design"]
    last = rows[2]
    assert last["reason"] in ("explore", "exploit")
    assert last["top1"] == last["workflow"]
    assert float(last["ucb"]) == pytest.approx(float(last["mean"]) + 2 * float(last["std"]))
    scores = [float(last[f"top{i}_score"]) for i in (1, 2, 3)]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == float(last["score"])


def test_tensorboard_has_every_update_under_cleanrl_names(toy: SearchOutcome) -> None:
    board = board_of(toy.path / "tensorboard")
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
    assert TYPES.read(summary["recommended"]) == load_policy(toy.path).order
    assert summary["workflows"] == 3
    assert summary["transitions"] == toy.transitions
    assert summary["seconds"] == toy.seconds > 0
    for told, (trial, result) in zip(summary["trials"], ended(toy), strict=True):
        assert told["workflow"] == TYPES.format(trial.order)
        assert told["env_reward"] == result.env_reward
        assert told["env_reward_error"] == result.env_reward_error
        assert told["compliance"] == result.compliance
        assert told["stopped"] == result.stopped


def test_the_objective_is_the_mean_of_the_last_three_episodes_of_every_environment(
    toy: SearchOutcome,
) -> None:
    episodes = episode_rows(toy.path)
    for number, (_, result) in enumerate(ended(toy)):
        mine = [e for e in episodes if e["training"] == f"trial_{number:03d}"]
        last = [e["env_reward"] for e in mine if e["update"] > result.updates - 3]
        assert result.objective_episodes == len(last)
        assert result.env_reward == pytest.approx(np.mean(last))
        error = np.std(last, ddof=1) / math.sqrt(len(last))
        assert result.env_reward_error == pytest.approx(error)


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
    assert policy.order == TYPES.read(TYPES.format(order))
    from workflow_rl.ppo.network import ActorCritic

    player = Player(SimulatorWorld(Batch(400, game)), order, seed=1)
    network = ActorCritic(player.width, NUM_ACTIONS, told["hidden"])
    load_weights(network, policy.weights)
    rollout = player.collect(network, told["episode_length"])
    _, episodes = Scorekeeper(400).score(rollout, 1.0, told["compliance_view"])
    for value, claim in (
        (episodes.compliance(told["compliance_view"]), told["compliance"]),
        (episodes.env_reward, told["env_reward"]),
    ):
        # The claim is a mean of 20 episodes, and the best of a few such means.
        assert abs(float(value.mean()) - claim) < 4 * float(value.std()) / math.sqrt(20)


def test_the_handed_over_policy_is_the_better_one_of_before_and_after_polishing(
    toy: SearchOutcome,
) -> None:
    of_order = [t.name for t, _ in ended(toy) if t.order == toy.recommendation.order]
    policies = []
    for name in (*of_order, "polish"):
        _, weights = TrainingFolder(toy.path / "trainings" / name).load_result()
        policies.append(Policy(weights, load_policy(toy.path).description))
    best = policies[choose(policies, TOY.game, TOY.train.compliance_threshold, 20)]
    handed_over = load_policy(toy.path)
    assert all((handed_over.weights[k] == best.weights[k]).all() for k in best.weights)


def test_terminal_summary_and_policy_tell_the_score_of_the_saved_file_on_fresh_games(
    toy: SearchOutcome,
) -> None:
    summary = json.loads((toy.path / "summary.json").read_text())
    policy, game = load_policy(toy.path), TOY.game
    again = list(score_policy(policy, game, TOY.search.score_games))
    told = [Score.from_json(score) for score in summary["policy_scores"]]
    assert [score.red_agent for score in told] == ["bline", "meander", "sleep"]
    assert json.dumps([s.as_json() for s in told]) == json.dumps([s.as_json() for s in again])
    assert summary["policy_env_reward"] == told[1].deterministic.mean
    assert summary["policy_compliance"] == told[1].compliance
    assert summary["policy_score_games"] == TOY.search.score_games
    assert policy.description["scores"] == summary["policy_scores"]


def test_what_is_handed_over_is_universal_tuned_for_the_order_or_as_it_was(tmp_path: Path) -> None:
    outcome = run_tiny(tmp_path)
    handed_over, order = load_policy(outcome.path), outcome.recommendation.order
    assert handed_over.order == TYPES[order]
    told = handed_over.description
    assert [told[name] for name in ("red_agent", "observation")] == ["mixed", "memory"]
    assert told["follow"] == "shielded"
    kept = outcome.path / "trainings" / "polish" / "snapshots" / "update_000002.safetensors"
    tuned = load_policy(kept).weights
    before = load_policy("universal").weights
    same = [
        all((handed_over.weights[name] == weights[name]).all() for name in before)
        for weights in (tuned, before)
    ]
    assert same == [outcome.trained_further, not outcome.trained_further]
    assert (
        json.loads((outcome.path / "summary.json").read_text())["policy_trained_further"]
        is outcome.trained_further
    )
    assert any((tuned[name] != before[name]).any() for name in before)
    (trial, *_) = outcome.trials  # the trials stay the documented network's
    assert load_policy(outcome.path / f"policies/{trial.name}.safetensors").observation_size == 52


def test_trials_can_start_from_universal_and_need_no_base(tmp_path: Path) -> None:
    config = ExperimentConfig.preset(
        "parallel200",
        game={"episode_length": 10},
        train={"n_envs": 4, "max_episodes": 2},
        search={"warm_start": "universal", "n_workflows": 2, "score_games": 5}
        | {"polish_updates": 1},
    )
    outcome = run_search(config, checkpoint_dir=tmp_path)
    assert not (outcome.path / "trainings" / "base").exists()
    assert {trial.start for trial in outcome.trials} == {"universal"}
    first = load_result_of(outcome, outcome.trials[0].name)  # the best of two, so the start or near
    assert {k: v.shape for k, v in first.items()} == {
        k: v.shape for k, v in load_policy("universal").weights.items()
    }


def test_one_order_that_is_left_is_trained_from_universal_if_that_is_asked_for(
    tmp_path: Path,
) -> None:
    config = ExperimentConfig.preset(
        "parallel200",
        game={"episode_length": 10},
        train={"n_envs": 4, "max_episodes": 1, "units": "subnets"}
        | {"require": ("operational > enterprise > user",)},
        search={"warm_start": "universal", "polish_updates": 0, "score_games": 5},
    )
    (trial,) = run_search(config, checkpoint_dir=tmp_path).trials
    assert trial.start == "universal"


def load_result_of(outcome: SearchOutcome, name: str) -> dict[str, Any]:
    return TrainingFolder(outcome.path / "trainings" / name).load_result()[1]


def test_without_polish_the_best_trial_is_handed_over(tmp_path: Path) -> None:
    outcome = run_tiny(tmp_path, polish_updates=0)
    assert outcome.polished is None
    best = next(t for t in outcome.trials if t.order == outcome.recommendation.order)
    handed_over = load_policy(outcome.path)
    _, weights = TrainingFolder(outcome.path / "trainings" / best.name).load_result()
    assert all((handed_over.weights[k] == weights[k]).all() for k in weights)
    assert json.loads((outcome.path / "summary.json").read_text())["polished"] is None
