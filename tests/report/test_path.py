import math
from pathlib import Path

import numpy as np
import pytest

from tests.report.runs import pairwise, trial, write_run
from workflow_rl.files import write_json
from workflow_rl.report.findings import reason_of, search_path
from workflow_rl.report.rundata import read_run
from workflow_rl.workflow.orders import TYPES

TRIALS = [
    trial(0, 5, -30.0),
    trial(1, 60, -10.0, compliance=0.4),
    trial(2, 119, -20.0, reason="explore", mean=-25.0, deviation=3.0, ucb=-19.0),
    trial(3, 5, -31.0, reason="exploit", mean=-20.5, deviation=0.5, ucb=-19.5),
    trial(4, 7, None, reason="explore"),
]


def test_the_best_so_far_is_that_of_compliant_trials_only(tmp_path: Path) -> None:
    steps = search_path(read_run(write_run(tmp_path / "run", TRIALS)))
    assert [step.best for step in steps] == [-30.0, -30.0, -20.0, -20.0, -20.0]
    assert [step.is_compliant for step in steps] == [True, False, True, True, False]
    assert math.isnan(steps[-1].got.mean)
    assert all(math.isnan(step.regret) for step in steps)


def test_before_anything_complied_there_is_no_best(tmp_path: Path) -> None:
    steps = search_path(read_run(write_run(tmp_path / "run", TRIALS[1:2])))
    assert math.isnan(steps[0].best)


def test_regret_is_what_the_best_of_all_orders_is_truly_better(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", TRIALS)
    values = pairwise([1.0] * 10)
    write_json(run / "landscape.json", {TYPES.format(o): v for o, v in enumerate(values.tolist())})
    steps = search_path(read_run(run))
    best = float(np.max(values))
    expected = [best - values[o] for o in (5, 5, 119, 119, 119)]
    assert [step.regret for step in steps] == pytest.approx(expected)


def test_every_decision_is_given_in_words(tmp_path: Path) -> None:
    first, _, explored, exploited, _ = read_run(write_run(tmp_path / "run", TRIALS)).trials
    assert "first picks" in reason_of(first.decision)
    assert "not believed to be the best" in reason_of(explored.decision)
    assert "believed -25.00 ± 3.00, upper bound -19.00" in reason_of(explored.decision)
    assert "highest believed reward" in reason_of(exploited.decision)


def test_a_pick_by_the_chance_to_comply_says_so(tmp_path: Path) -> None:
    entry = trial(0, 5, None, reason="explore", compliance_chance=0.42)
    (picked,) = read_run(write_run(tmp_path / "run", [entry])).trials
    assert "most likely to comply; chance to comply 42 %" in reason_of(picked.decision)


def test_a_reason_of_another_strategy_is_passed_on(tmp_path: Path) -> None:
    entry = trial(0, 5, None, reason="by feel", mean=-3.0, deviation=1.0, ucb=-1.0)
    (picked,) = read_run(write_run(tmp_path / "run", [entry])).trials
    assert reason_of(picked.decision).startswith("by feel")
