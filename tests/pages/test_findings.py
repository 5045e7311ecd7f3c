import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.pages.runs import log_rows, trial, write_run
from workflow_rl.pages.findings import Findings, cost_of, find, reason_of, search_path
from workflow_rl.pages.rundata import read_run
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES
from workflow_rl.workflow.units import TYPE_UNITS

POSITIONS = TYPES.positions(range(NUM_ORDERS))


def found(folder: Path, *trials: Any, **run: Any) -> Findings:
    """What a run written by hand has found."""
    return find(read_run(write_run(folder / "run", trials, **run)))


# --- the answer


def test_a_search_under_way_has_a_recommendation_so_far(tmp_path: Path) -> None:
    failed = trial(3, 80, None) | {"failed": "it diverged"}
    told = found(tmp_path, trial(0, 5, -30.0), trial(1, 60, -20.0), trial(2, 70, None), failed)
    mine = told.recommended
    assert mine is not None
    assert (mine.order, mine.scores, mine.result.reward.mean) == (60, (), -20.0)
    status = {row.order: row.status for row in told.orders}
    assert [status[k] for k in (5, 70, 71, 80)] == ["compliant", "interrupted", "untried", "failed"]
    live = find(replace(told.run, is_live=True))
    assert {row.order: row.status for row in live.orders}[70] == "under way"


# --- all orders


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


def test_places_that_no_clear_effect_concerns_are_worth_nothing(tmp_path: Path) -> None:
    values = np.where(POSITIONS[:, 1] < POSITIONS[:, 4], -10.0, -20.0)  # enterprise before user
    trials = [trial(k, o, values[o] + 0.1 * (k % 3)) for k, o in enumerate(range(0, 120, 5))]
    positions = found(tmp_path, *trials).positions
    assert positions is not None
    by_unit = dict(zip(TYPE_UNITS.names, positions.tolist(), strict=True))
    for unit in ("defender", "op_server", "op_host"):
        assert by_unit[unit] == pytest.approx([0.0] * 5, abs=1e-9)
    assert by_unit["enterprise"] == pytest.approx([5, 2.5, 0, -2.5, -5], abs=0.3)
    assert by_unit["user"] == pytest.approx([-5, -2.5, 0, 2.5, 5], abs=0.3)


# --- the path

TRIALS = [
    trial(0, 5, -30.0),
    trial(1, 60, -10.0, compliance=0.4),
    trial(2, 119, -20.0, reason="explore", mean=-25.0, deviation=3.0, ucb=-19.0),
    trial(3, 5, -31.0, reason="exploit", mean=-20.5, deviation=0.5, ucb=-19.5),
    trial(4, 7, None, reason="explore", compliance_chance=0.42),
    trial(5, 8, None, reason="by feel", mean=-3.0, deviation=1.0, ucb=-1.0),
]


def test_the_best_so_far_is_that_of_compliant_trials_only(tmp_path: Path) -> None:
    steps = search_path(read_run(write_run(tmp_path / "run", TRIALS)))
    assert [step.best for step in steps] == [-30.0, -30.0, -20.0, -20.0, -20.0, -20.0]
    assert [step.is_compliant for step in steps] == [True, False, True, True, False, False]
    assert [math.isnan(step.got.mean) for step in steps] == [False] * 4 + [True] * 2
    assert all(math.isnan(step.regret) for step in steps)
    (alone,) = search_path(read_run(write_run(tmp_path / "other", TRIALS[1:2])))
    assert math.isnan(alone.best)  # before anything complied


def test_every_decision_is_given_in_words(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", TRIALS))
    first, _, explored, exploited, likely, other = (reason_of(t.decision) for t in run.trials)
    assert "initial design" in first
    assert "not the highest predicted reward" in explored
    assert "predicted -25.00 ± 3.00, upper bound -19.00" in explored
    assert "highest predicted reward" in exploited
    assert "most likely to comply; probability of compliance 42 %" in likely
    assert other.startswith("by feel")  # of another strategy


# --- the cost


def test_a_run_costs_what_its_trainings_did(tmp_path: Path) -> None:
    rows = log_rows("base", None, 4) + log_rows("trial_000", 3, 2)
    cost = cost_of(read_run(write_run(tmp_path / "run", rows=rows)))
    assert cost is not None
    assert cost.transitions == 6_000  # the second training counts from 0 again
    assert cost.seconds == pytest.approx(6.0)
    assert cost.clock == pytest.approx([1, 2, 3, 4, 5, 6])
    assert cost.speed == pytest.approx([1_000] * 6)
    assert cost_of(read_run(write_run(tmp_path / "begun"))) is None
