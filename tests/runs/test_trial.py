import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.runs.work import result
from workflow_rl.errors import InvalidInputError
from workflow_rl.ordersearch.strategies import Decision, Observation
from workflow_rl.runs.trial import Trial, TrialFile, with_status
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

WHY = Decision(7, "explore", 1.5, -3.0, -4.0, 0.5, top=((7, 1.5), (9, 1.0)))


def trial(number: int = 0, **changes: Any) -> Trial:
    return replace(Trial(number, 7, 0, WHY, "base", 0.25, 10.0), **changes)


DONE = trial(1, result=result(7, -12.5, compliance=0.97))
FAILED = trial(2, failure="it rained")


def through_json(one: Trial) -> Trial:
    return Trial.from_json(json.loads(json.dumps(json_data(one))), TYPES)


def json_data(one: Trial) -> Any:
    """As it stands in a file, where NaN is null."""
    return json.loads(json.dumps(one.as_json()).replace("NaN", "null"))


@pytest.mark.parametrize("one", [trial(), DONE, FAILED], ids=["running", "done", "failed"])
def test_a_trial_survives_json(one: Trial) -> None:
    again = through_json(one)
    assert again.status == one.status
    assert again.name == f"trial_{one.number:03d}"
    assert json_data(again) == json_data(one)
    assert math.isnan(again.decision.compliance_chance)
    assert again.result == one.result
    assert again.decision.top == WHY.top


def test_what_was_not_known_of_a_result_is_not_known_when_read() -> None:
    unknown = replace(result(7, -12.5), env_reward_error=math.nan, best_compliance=math.nan)
    again = through_json(trial(result=unknown)).result
    assert again is not None
    assert math.isnan(again.env_reward_error)
    assert math.isnan(again.best_compliance)


def test_only_a_trial_that_is_done_is_an_observation() -> None:
    assert trial().observation is None
    assert FAILED.observation is None
    assert DONE.observation == Observation(7, -12.5, 0.97, True)
    everything = [trial(), DONE, FAILED]
    assert with_status(everything, "running") == everything[:1]
    assert with_status(everything, "done") == [DONE]
    assert with_status(everything, "failed") == [FAILED]


def test_the_row_of_a_decision_lists_its_reasons_and_the_best_three() -> None:
    row = trial(4).decision_row(TYPES)
    assert (row["trial"], row["workflow"], row["reason"]) == (4, TYPES.format(7), "explore")
    assert (row["ucb"], row["mean"], row["std"], row["score"]) == (-3.0, -4.0, 0.5, 1.5)
    assert row["pick_seconds"] == 0.25
    assert [row[f"top{n}"] for n in (1, 2, 3)] == [TYPES.format(7), TYPES.format(9), ""]
    assert [row[f"top{n}_score"] for n in (1, 2, 3)] == [1.5, 1.0, ""]


WRONG: list[dict[str, Any]] = [
    {"trial": {"number": 0, "order": NUM_ORDERS, "repeat": 0}},
    {"trial": {"number": 0, "order": -1, "repeat": 0}},
    {"trial": 3},
    {"decision": None},
    {"result": {"env_reward": "low"}},
    {"result": json_data(DONE)["result"] | {"env_reward": None}},
    {"result": json_data(DONE)["result"] | {"compliance": 7.0}},
]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_no_trial_can_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        Trial.from_json(json_data(DONE) | wrong, TYPES)


# --- the file


def test_every_change_is_on_disk_at_once_and_read_again(tmp_path: Path) -> None:
    file = TrialFile(tmp_path / "trials.json", TYPES)
    file.read()
    assert file.trials == []
    file.put(trial(0))
    file.put(trial(1))
    file.put(DONE)
    file.put(FAILED)
    stored = json.loads((tmp_path / "trials.json").read_text())
    assert stored == [json_data(t) for t in (trial(0), DONE, FAILED)]
    again = TrialFile(tmp_path / "trials.json", TYPES)
    again.read()
    assert [t.status for t in again.trials] == ["running", "done", "failed"]
    again.put(trial(0, failure="rain"))  # and what was read is not lost
    assert len(json.loads((tmp_path / "trials.json").read_text())) == 3


def test_failed_trials_may_be_tried_once_more(tmp_path: Path) -> None:
    file = TrialFile(tmp_path / "trials.json", TYPES)
    for one in (trial(0), DONE, FAILED):
        file.put(one)
    file.read(retry_failed=True)
    assert [t.status for t in file.trials] == ["running", "done", "running"]
    file.put(trial(0))
    assert "failed" not in json.loads((tmp_path / "trials.json").read_text())[2]


@pytest.mark.parametrize(
    "entries", [{}, 3, [3], [[]], [None], [json_data(DONE)], [json_data(trial(0))] * 2]
)
def test_what_is_no_list_of_trials_is_said_to_be_damaged(tmp_path: Path, entries: Any) -> None:
    path = tmp_path / "trials.json"
    path.write_text(json.dumps(entries))
    with pytest.raises(InvalidInputError, match=r"trials\.json is damaged"):
        TrialFile(path, TYPES).read()
