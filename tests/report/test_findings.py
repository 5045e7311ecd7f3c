import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.runs import log_rows, trial, write_run
from workflow_rl.agents.shipped import WITHOUT_ORDER
from workflow_rl.cli import main
from workflow_rl.config import RED_AGENTS, ExperimentConfig, GameConfig
from workflow_rl.files import read_json
from workflow_rl.report.findings import cost_of, find
from workflow_rl.report.rundata import read_run
from workflow_rl.report.words import about_recommendation, status_of
from workflow_rl.scenario.units import UNITS
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

POSITIONS = TYPES.positions(range(NUM_ORDERS))


def test_the_recommendation_is_the_run_s_own(real_run: Path) -> None:
    found, summary = find(read_run(real_run)), read_json(real_run / "summary.json")
    mine = found.recommended
    assert mine is not None
    assert TYPES.format(mine.order) == summary["recommended"]
    assert mine.is_final
    source = summary["polished"] if mine.polished else None
    if source is not None:
        assert mine.reward.mean == source["env_reward"]
        assert mine.reward.half_width == pytest.approx(1.96 * source["env_reward_error"], rel=1e-3)
        assert mine.episodes == source["objective_episodes"]
    assert found.beliefs is not None
    assert found.beliefs.of(mine.order).mean == pytest.approx(summary["recommendation"]["mean"])


def test_every_order_has_a_row_and_tried_ones_what_they_gave(real_run: Path) -> None:
    run = read_run(real_run)
    rows = find(run).orders
    assert sorted(row.order for row in rows) == list(range(NUM_ORDERS))
    assert [row.rank for row in rows] == list(range(1, NUM_ORDERS + 1))
    means = [row.believed.mean for row in rows]
    assert means == sorted(means, reverse=True)
    for row in rows:
        seen = [o for o in run.seen if o.order == row.order]
        assert row.rewards == tuple(o.value for o in seen)
        assert (row.status == "untried") == (not seen)
        assert math.isnan(row.compliance) == (not seen)


def test_a_search_under_way_has_a_recommendation_so_far(tmp_path: Path) -> None:
    trials = [trial(0, 5, -30.0), trial(1, 60, -20.0), trial(2, 70, None)]
    found = find(read_run(write_run(tmp_path / "run", trials)))
    mine = found.recommended
    assert mine is not None
    assert (mine.order, mine.is_final, mine.polished) == (60, False, False)
    assert mine.reward.mean == -20.0
    status = {row.order: row.status for row in found.orders}
    assert (status[5], status[70], status[71]) == ("compliant", "interrupted", "untried")
    live = replace(found.run, is_live=True)
    assert {row.order: row.status for row in find(live).orders}[70] == "under way"


def test_a_trial_that_failed_is_not_called_under_way(tmp_path: Path) -> None:
    failed = trial(1, 70, None) | {"failed": "it diverged"}
    run = read_run(write_run(tmp_path / "run", [trial(0, 5, -30.0), failed], summary={}))
    assert {row.order: row.status for row in find(run).orders}[70] == "failed"


def test_a_finished_search_is_finished_while_its_process_writes_the_report(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", [trial(0, 5, -30.0)], summary={"seconds": 3.0}))
    assert status_of(replace(run, is_live=True)) == "finished"
    assert status_of(replace(run, is_live=True, summary={})) == "under way"
    assert status_of(replace(run, summary={})) == "interrupted"


def test_the_best_trial_counts_where_further_training_did_not_help(tmp_path: Path) -> None:
    trials = [trial(0, 5, -30.0), trial(1, 5, -20.0)]
    polished = trial(0, 5, -40.0)["result"]
    summary = {
        "recommendation": {"order": 5, "reason": "of two"},
        "policy_env_reward": -19.0,
        "polished": polished,
    }
    mine = find(read_run(write_run(tmp_path / "run", trials, summary=summary))).recommended
    assert mine is not None
    assert (mine.reward.mean, mine.polished, mine.is_final) == (-20.0, False, True)


def fresh(red_agent: str, reward: float, untrained: float) -> dict[str, Any]:
    def estimate(mean: float) -> dict[str, float]:
        return {"mean": mean, "half_width": 0.5}

    return {
        "red_agent": red_agent,
        "deterministic": estimate(reward),
        "drawn": estimate(reward - 1),
        "compliance": 0.97,
        "compliance_true": 0.95,
        "untrained": estimate(untrained),
    }


def test_the_policy_is_what_it_is_worth_on_fresh_games(tmp_path: Path) -> None:
    scores = [fresh("bline", -14.0, -40.0), fresh("meander", -300.0, -80.0), fresh("sleep", 0, 0)]
    summary = {
        "recommendation": {"order": 5, "reason": "of two"},
        "policy_env_reward": -14.0,
        "policy_scores": scores,
        "policy_score_games": 2_000,
    }
    trials = [trial(0, 5, -30.0), trial(1, 5, -20.0)]
    found = find(read_run(write_run(tmp_path / "run", trials, summary=summary)))
    mine = found.recommended
    assert mine is not None
    assert (mine.reward.mean, mine.reward.half_width, mine.episodes) == (-14.0, 0.5, 2_000)
    assert (mine.compliance, mine.is_compliant) == (0.97, True)
    unfit = [text for text in about_recommendation(found) if text.startswith("Unfit")]
    assert unfit == [
        "Unfit for meander: -300.0, where repairing by the order without any training gets -80.0."
    ]


@pytest.mark.parametrize(
    ("further", "told"),
    [
        ({"policy_trained_further": True}, "any order, trained further for this one against all"),
        ({"policy_trained_further": False}, "any order, as it comes with the package: training"),
        ({}, "any order. The trials' own policies are others."),  # as earlier versions wrote
        ({"policy_trained_further": []}, "any order. The trials' own policies are others."),
    ],
)
def test_how_universal_came_to_be_the_policy_is_said(
    further: dict[str, object], told: str, tmp_path: Path
) -> None:
    summary = {
        "recommendation": {"order": 5, "reason": "of one"},
        "policy_kind": "universal",
        "policy_env_reward": -14.0,
        "policy_scores": [fresh(red_agent, -14.0, -40.0) for red_agent in RED_AGENTS],
        "policy_score_games": 2_000,
    }
    run = write_run(tmp_path / "run", [trial(0, 5, -30.0)], summary=summary | further)
    assert told in " ".join(about_recommendation(find(read_run(run))))


def test_without_a_trial_there_is_nothing_to_find(tmp_path: Path) -> None:
    found = find(read_run(tmp_path))
    assert found.recommended is None
    assert found.beliefs is None
    assert found.cost is None
    assert (found.orders, found.path, found.scores) == ([], [], [])
    assert found.finding.effects == ()
    assert found.positions is None


def test_a_training_of_all_orders_has_nothing_to_recommend(tmp_path: Path) -> None:
    found = find(read_run(write_run(tmp_path / "run", summary={"workflow": None}, purpose="train")))
    assert found.recommended is None
    assert about_recommendation(found)[0].startswith("This is not a search but a training")


def test_a_training_of_one_workflow_is_found_too(tmp_path: Path) -> None:
    flags = ["--n-envs", "6", "--max-episodes", "2", "--max-steps", "20", "--hidden", "8"]
    workflow = "user > enterprise > op_server > op_host > defender"
    folder = ["--checkpoint-dir", str(tmp_path)]
    assert main(["train", "--workflow", workflow, *flags, *folder]) == 0
    (run,) = tmp_path.iterdir()
    found = find(read_run(run))
    assert found.run.problems == ()
    mine = found.recommended
    assert mine is not None
    assert TYPES.format(mine.order) == workflow
    assert mine.reward.mean == read_json(run / "summary.json")["env_reward"]
    assert found.beliefs is None
    assert found.cost is not None


@pytest.mark.parametrize(("length", "published"), [(100, True), (30, True), (70, False)])
def test_scores_are_of_the_run_s_own_game(tmp_path: Path, length: int, published: bool) -> None:
    config = ExperimentConfig(game=GameConfig(episode_length=length))
    scores = find(read_run(write_run(tmp_path / "run", config=config))).scores
    assert {(score.red_agent, score.steps) for score in scores} == {("bline", length)}
    assert {score.rules for score in scores} == ({"main", "competition"} if published else {"main"})
    assert {score.who for score in scores} >= set(WITHOUT_ORDER)  # which play any game


def test_a_run_costs_what_its_trainings_did(tmp_path: Path) -> None:
    rows = log_rows("base", None, 4) + log_rows("trial_000", 3, 2)
    cost = cost_of(read_run(write_run(tmp_path / "run", rows=rows)))
    assert cost is not None
    assert cost.training == ["base"] * 4 + ["trial_000"] * 2
    assert cost.transitions == 6_000  # the second training counts from 0 again
    assert cost.seconds == pytest.approx(6.0)
    assert cost.clock == pytest.approx([1, 2, 3, 4, 5, 6])
    assert cost.speed == pytest.approx([1_000] * 6)


def test_before_the_first_update_nothing_was_spent(tmp_path: Path) -> None:
    assert cost_of(read_run(write_run(tmp_path / "run"))) is None


def test_places_that_no_clear_effect_concerns_are_worth_nothing(tmp_path: Path) -> None:
    values = np.where(POSITIONS[:, 1] < POSITIONS[:, 4], -10.0, -20.0)  # enterprise before user
    trials = [trial(k, o, values[o] + 0.1 * (k % 3)) for k, o in enumerate(range(0, 120, 5))]
    positions = find(read_run(write_run(tmp_path / "run", trials))).positions
    assert positions is not None
    by_unit = dict(zip(UNITS, positions.tolist(), strict=True))
    for unit in ("defender", "op_server", "op_host"):
        assert by_unit[unit] == pytest.approx([0.0] * 5, abs=1e-9)
    assert by_unit["enterprise"] == pytest.approx([5, 2.5, 0, -2.5, -5], abs=0.3)
    assert by_unit["user"] == pytest.approx([-5, -2.5, 0, 2.5, 5], abs=0.3)
