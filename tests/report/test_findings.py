import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.evaluation.scores import scored
from tests.report.runs import POLICY, log_rows, trial, write_outcome, write_run
from tests.runs.work import outcome
from workflow_rl.agents.shipped import WITHOUT_ORDER
from workflow_rl.cli import main
from workflow_rl.config import ExperimentConfig, GameConfig
from workflow_rl.files import read_json
from workflow_rl.report.findings import cost_of, find
from workflow_rl.report.rundata import read_run
from workflow_rl.report.words import about_recommendation, status_of
from workflow_rl.runs.trials import HandedOver
from workflow_rl.scenario.units import UNITS
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

POSITIONS = TYPES.positions(range(NUM_ORDERS))


def test_the_recommendation_is_the_run_s_own(real_run: Path) -> None:
    found, summary = find(read_run(real_run)), read_json(real_run / "summary.json")
    mine = found.recommended
    assert mine is not None
    assert TYPES.format(mine.order) == summary["recommended"]
    assert mine.is_final
    assert mine.result.reward.mean == summary["policy_env_reward"]
    assert [score.as_json() for score in mine.scores] == summary["policy_scores"]
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
        seen = [o for o in run.tried if o.order == row.order]
        assert row.rewards == tuple(o.value for o in seen)
        assert (row.status == "untried") == (not seen)
        assert math.isnan(row.compliance) == (not seen)


def test_a_search_under_way_has_a_recommendation_so_far(tmp_path: Path) -> None:
    trials = [trial(0, 5, -30.0), trial(1, 60, -20.0), trial(2, 70, None)]
    found = find(read_run(write_run(tmp_path / "run", trials)))
    mine = found.recommended
    assert mine is not None
    assert (mine.order, mine.is_final, mine.scores) == (60, False, ())
    assert mine.result.reward.mean == -20.0
    status = {row.order: row.status for row in found.orders}
    assert (status[5], status[70], status[71]) == ("compliant", "interrupted", "untried")
    live = replace(found.run, is_live=True)
    assert {row.order: row.status for row in find(live).orders}[70] == "under way"


def test_a_trial_that_failed_is_not_called_under_way(tmp_path: Path) -> None:
    failed = trial(1, 70, None) | {"failed": "it diverged"}
    run = read_run(write_run(tmp_path / "run", [trial(0, 5, -30.0), failed]))
    assert {row.order: row.status for row in find(run).orders}[70] == "failed"


def test_a_finished_search_is_finished_while_its_process_writes_the_report(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", [trial(0, 5, -30.0)], policy=POLICY))
    assert status_of(replace(run, is_live=True)) == "finished"
    assert status_of(replace(run, is_live=True, is_finished=False)) == "under way"
    assert status_of(replace(run, is_finished=False)) == "interrupted"


def test_the_policy_is_what_it_is_worth_on_fresh_games(tmp_path: Path) -> None:
    rewards = {"bline": (-14.0, -40.0), "meander": (-300.0, -80.0), "sleep": (0.0, 0.0)}
    scores = tuple(scored(red, (a, a, b), 0.5, (0.97, 0.95)) for red, (a, b) in rewards.items())
    trials = [trial(0, 5, -30.0), trial(1, 5, -20.0)]
    run = write_run(tmp_path / "run", trials, policy=HandedOver(False, scores, 1.0))
    found = find(read_run(run))
    mine = found.recommended
    assert mine is not None
    assert (mine.result, mine.is_compliant) == (scores[0].deterministic, True)
    unfit = [text for text in about_recommendation(found) if text.startswith("Unfit")]
    assert unfit == [
        "Unfit for meander: -300.0, where repairing by the order without any training gets -80.0."
    ]


@pytest.mark.parametrize(
    ("further", "told"),
    [
        (True, "any order, trained further for this one against all"),
        (False, "any order, as it comes with the package: training"),
    ],
)
def test_how_universal_came_to_be_the_policy_is_said(
    further: bool, told: str, tmp_path: Path
) -> None:
    policy = replace(POLICY, trained_further=further)
    run = write_run(tmp_path / "run", [trial(0, 5, -30.0)], policy=policy)
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
    run = write_run(tmp_path / "run", policy=POLICY, purpose="train")
    write_outcome(run, "training", replace(outcome(7, -20.0), order=None, workflow=None))
    found = find(read_run(run))
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
    assert mine.result.as_json() == read_json(run / "summary.json")["objective"]
    assert found.beliefs is None
    assert found.cost is not None


@pytest.mark.parametrize(("length", "published"), [(100, True), (30, True), (70, False)])
def test_scores_are_of_the_run_s_own_game(tmp_path: Path, length: int, published: bool) -> None:
    config = ExperimentConfig(game=GameConfig(episode_length=length))
    scores = find(read_run(write_run(tmp_path / "run", config=config))).scores
    assert {(score.result.red_agent, score.steps) for score in scores} == {("bline", length)}
    assert {score.rules for score in scores} == ({"main", "competition"} if published else {"main"})
    assert {score.who for score in scores} >= set(WITHOUT_ORDER)  # which play any game


def test_a_run_costs_what_its_trainings_did(tmp_path: Path) -> None:
    rows = log_rows("base", None, 4) + log_rows("trial_000", 3, 2)
    cost = cost_of(read_run(write_run(tmp_path / "run", rows=rows)))
    assert cost is not None
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
