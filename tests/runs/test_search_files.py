"""What a search leaves in its directory."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runs.toy import board_of, csv_rows, episode_rows, run_search, run_tiny
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.config import ExperimentConfig, GameConfig, SearchConfig, TrainConfig, stored
from workflow_rl.evaluation.selection import Score, choose, score_policy
from workflow_rl.runs.folder import TrainingFolder
from workflow_rl.runs.tables import SCALARS, SPEED
from workflow_rl.runs.trials import HandedOver, SearchOutcome, Trial
from workflow_rl.train.job import TrainOutcome
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


def ended(outcome: SearchOutcome) -> list[tuple[Trial, TrainOutcome]]:
    """The trials with their outcomes."""
    return [(trial, trial.outcome) for trial in outcome.trials if trial.outcome is not None]


# --- what is written


def test_the_training_log_has_a_row_for_every_update(toy: SearchOutcome) -> None:
    rows = csv_rows(toy.path / "training_log.csv")
    expected = [("base", "all", n) for n in range(1, 7)]
    for trial, outcome in ended(toy):
        name = TYPES.format(trial.order)
        expected += [(trial.name, name, n) for n in range(1, outcome.updates + 1)]
    recommended = TYPES.format(toy.recommendation.order)
    expected += [("polish", recommended, n) for n in range(1, 4)]
    assert [(r["training"], r["workflow"], int(r["update"])) for r in rows] == expected
    assert toy.transitions == 2_000 * len(rows)
    for row in rows:
        for phase in ("simulate", "infer", "update"):
            assert 0 < float(row[f"{phase}_seconds"]) < 60
        assert 0 <= float(row["cpu_percent"]) < 10_000
        assert 50 < float(row["rss_mb"]) < 50_000


def test_there_is_a_row_for_every_episode_and_their_means_are_the_training_log(
    toy: SearchOutcome,
) -> None:
    by_update: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in episode_rows(toy.path):
        by_update.setdefault((row["training"], row["update"]), []).append(row)
    log = csv_rows(toy.path / "training_log.csv")
    assert [(row["training"], int(row["update"])) for row in log] == list(by_update)
    for row, mine in zip(log, by_update.values(), strict=True):
        assert sorted(e["env"] for e in mine) == list(range(20))
        for column in ("env_reward", "compliance_observed", "compliance_true", "fixes"):
            mean = np.mean([e[column] for e in mine])
            assert mean == pytest.approx(float(row[column]), rel=1e-5, abs=1e-6)
        if row["training"] == "base":  # where each order has its own weight
            continue
        assert {e["workflow"] for e in mine} == {row["workflow"]}
        for e in mine:
            weighed = float(row["alignment_weight"]) * e["compliance_observed"]
            assert e["alignment"] == pytest.approx(weighed, rel=1e-6)
    base = {e["workflow"] for mine in by_update.values() for e in mine if e["training"] == "base"}
    assert len(base) > 50


def test_tensorboard_has_every_update_of_every_training(toy: SearchOutcome) -> None:
    rows = csv_rows(toy.path / "training_log.csv")
    for name in TRAININGS:
        board = board_of(toy.path / "tensorboard" / name)
        assert {*SCALARS, SPEED} == set(board.Tags()["scalars"])
        assert all(event.value > 0 for event in board.Scalars(SPEED))
        events = board.Scalars("charts/episodic_return")
        mine = [row for row in rows if row["training"] == name]
        assert [event.step for event in events] == [int(row["transitions"]) for row in mine]
        rewards = [float(row["env_reward"]) for row in mine]
        assert [event.value for event in events] == pytest.approx(rewards)


def test_every_training_leaves_a_policy_with_its_description_beside_it(toy: SearchOutcome) -> None:
    names = {path.name for path in (toy.path / "policies").iterdir()}
    expected = [*TRAININGS, "recommended"]
    assert names == {f"{n}.{end}" for n in expected for end in ("safetensors", "json")}
    for name in expected:
        policy = load_policy(toy.path / "policies" / f"{name}.safetensors")
        beside = json.loads((toy.path / "policies" / f"{name}.json").read_text())
        assert policy.facts | {"trained": stored(policy.config)} == beside
        assert policy.config.game == TOY.game


def test_the_summary_is_derived_from_what_was_measured(toy: SearchOutcome) -> None:
    summary = json.loads((toy.path / "summary.json").read_text())
    assert (summary["rules"], summary["red_agent"]) == ("competition", "meander")
    assert TYPES.read(summary["recommended"]) == load_policy(toy.path).order
    assert summary["workflows"] == 3
    assert summary["transitions"] == toy.transitions
    assert summary["seconds"] == toy.handed_over.seconds > 0
    assert [TrainOutcome.from_json(told) for told in summary["trials"]] == [
        outcome for _, outcome in ended(toy)
    ]
    episodes = episode_rows(toy.path)
    for trial, outcome in ended(toy):
        mine = [e for e in episodes if e["training"] == trial.name]
        last = np.array([e["env_reward"] for e in mine if e["update"] > outcome.updates - 3])
        reward = outcome.objective.reward
        assert outcome.objective.games == len(last)
        assert reward.mean == pytest.approx(last.mean())
        assert reward.error == pytest.approx(last.std(ddof=1) / math.sqrt(len(last)))


# --- what is handed over


def test_the_handed_over_policy_is_the_better_one_of_before_and_after_polishing(
    toy: SearchOutcome,
) -> None:
    of_order = [t.name for t, _ in ended(toy) if t.order == toy.recommendation.order]
    policies = []
    for name in (*of_order, "polish"):
        _, weights = TrainingFolder(toy.path / "trainings" / name).load_result()
        policies.append(Policy(weights, load_policy(toy.path).config))
    best = policies[choose(policies, TOY.game, TOY.train.compliance_threshold, 20)]
    handed_over = load_policy(toy.path)
    assert all((handed_over.weights[k] == best.weights[k]).all() for k in best.weights)


def test_terminal_summary_and_policy_tell_the_score_of_the_saved_file_on_fresh_games(
    toy: SearchOutcome,
) -> None:
    summary = json.loads((toy.path / "summary.json").read_text())
    again = list(score_policy(load_policy(toy.path), TOY.game, TOY.search.score_games))
    told = HandedOver.load(toy.path).scores
    assert [score.red_agent for score in told] == ["bline", "meander", "sleep"]
    assert list(told) == again
    assert [Score.from_json(score) for score in summary["policy_scores"]] == again
    assert summary["policy_env_reward"] == told[1].deterministic.reward.mean
    assert summary["policy_compliance"] == told[1].deterministic.compliance.mean
    assert summary["policy_score_games"] == TOY.search.score_games


def test_what_is_handed_over_is_universal_tuned_for_the_order_or_as_it_was(tmp_path: Path) -> None:
    outcome = run_tiny(tmp_path)
    handed_over, order = load_policy(outcome.path), outcome.recommendation.order
    assert handed_over.order == TYPES[order]
    trained = handed_over.config
    assert (trained.game.red_agent, trained.game.observation) == ("mixed", "recall")
    assert trained.train.follow == "shielded"
    kept = outcome.path / "trainings" / "polish" / "snapshots" / "update_000002.safetensors"
    tuned = load_policy(kept).weights
    before = load_policy("universal").weights
    same = [
        all((handed_over.weights[name] == weights[name]).all() for name in before)
        for weights in (tuned, before)
    ]
    summary, further = json.loads((outcome.path / "summary.json").read_text()), same[0]
    assert same == [further, not further]
    assert outcome.handed_over.trained_further is summary["policy_trained_further"] is further
    assert any((tuned[name] != before[name]).any() for name in before)
    (trial, *_) = outcome.trials  # the trials stay the documented network's
    own = load_policy(outcome.path / f"policies/{trial.name}.safetensors")
    assert own.observation.name == "challenge"
