import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.pages.runs import POLICY, log_rows, trial, write_run
from tests.runs.work import outcome
from workflow_rl.errors import InvalidInputError
from workflow_rl.pages.rundata import read_landscape, read_run
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

ROWS = log_rows("base", None, 3) + log_rows("trial_000", 7, 2)
TRIALS = [trial(0, 7, -20.0), trial(1, 30, None)]


@pytest.mark.parametrize("name", ["trials.json", "scores.json", "experiment_config.json"])
@pytest.mark.parametrize("damage", ["", "{", "3", '"text"', "\x00\xff"])
def test_a_damaged_file_is_named_the_rest_read(tmp_path: Path, name: str, damage: str) -> None:
    run = write_run(tmp_path / "run", TRIALS, ROWS, policy=POLICY)
    (run / name).write_text(damage, encoding="latin-1")
    read = read_run(run)
    assert [name in problem for problem in read.problems] == [True]
    assert len(read.curves) == 2
    assert bool(read.trials) == (name != "trials.json")
    assert (read.policy is None) == (name == "scores.json")
    assert (read.config is None) == (name == "experiment_config.json")


CANNOT_BE = [
    *(None, {}, {"trial": 3}, trial(2, NUM_ORDERS, None), trial(2, -1, None)),
    trial(2, 5, -3.0, top=[[400, 1.0]]),
]
NOT_ITS_OWN = [  # of its folder
    trial(2, 5, math.inf),
    trial(2, 5, -3.0, compliance=7.0),
    trial(2, 5, None) | {"outcome": outcome(6, 0)},
]


@pytest.mark.parametrize(
    ("entry", "said"),
    [(entry, "1 of its entries cannot be read and are left out.") for entry in CANNOT_BE]
    + [(entry, "This trial is left out.") for entry in NOT_ITS_OWN],
)
def test_a_trial_that_cannot_be_is_told_and_left_out(tmp_path: Path, entry: Any, said: str) -> None:
    run = read_run(write_run(tmp_path / "run", [*TRIALS, entry], ROWS, policy=POLICY))
    assert [t.order for t in run.trials] == [7, 30]
    (problem,) = run.problems
    assert problem.endswith(said)


def test_a_log_that_is_no_text_is_none_and_other_columns_leave_gaps(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", TRIALS, policy=POLICY)
    (run / "training_log.csv").write_bytes(b"training,update\n\xff\xfe,1\n")
    read = read_run(run)
    assert (read.curves, len(read.trials)) == ((), len(TRIALS))
    assert read.problems == ("There is no training_log.csv: no update has been made yet.",)
    (run / "training_log.csv").write_text("training,update\nbase,1\nbase,2\n")
    (curve,) = read_run(run).curves
    assert curve.columns["update"].tolist() == [1, 2]
    assert np.isnan(curve.columns["env_reward"]).all()


# --- the landscape


def test_a_landscape_is_read_in_every_form(tmp_path: Path) -> None:
    file = tmp_path / "landscape.json"
    pairs = {TYPES.format(3): -10.0, TYPES.format(80): -12.5}
    rows = [{"workflow": name, "mean": mean} for name, mean in pairs.items()]
    for data in (pairs, rows, {"orders": pairs}, {"red_agent": "bline", "orders": rows}):
        file.write_text(json.dumps(data))
        means = read_landscape(file)
        assert means.shape == (NUM_ORDERS,)
        assert (means[3], means[80]) == (-10.0, -12.5)
        assert np.isfinite(means).sum() == 2


@pytest.mark.parametrize("data", [{}, [], 3, {"user first": 3}, [{"mean": 3}], {"orders": [5]}])
def test_what_is_no_landscape_is_refused_or_told_when_found(tmp_path: Path, data: Any) -> None:
    run = write_run(tmp_path / "run", TRIALS, ROWS, policy=POLICY)
    (run / "landscape.json").write_text(json.dumps(data))
    with pytest.raises(InvalidInputError, match="does not give a mean"):
        read_run(run, run / "landscape.json")
    read = read_run(run)
    assert read.landscape is None
    assert read.problems[0].endswith("Regret is left out.")
