"""The trials of a search: on disk, with what their trainings gave, and what they sum up to."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.scores import scored
from tests.refused import refused
from tests.runs.work import job, outcome
from workflow_rl.config import RED_AGENTS, GameConfig
from workflow_rl.ordersearch.strategies import Decision
from workflow_rl.runs.folder import TrainingFolder
from workflow_rl.runs.trials import HandedOver, OrderSpread, Trial, TrialFile, spread_of, tried_in
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

WHY = Decision(7, "explore", 1.5, -3.0, -4.0, 0.5, top=((7, 1.5), (9, 1.0)))


def trial(number: int = 0, **changes: Any) -> Trial:
    return replace(Trial(number, 7, 0, WHY, "base", 0.25, 10.0), **changes)


DONE = trial(1, outcome=outcome(7, -12.5, compliance=0.97))
FAILED = trial(2, failure="it rained")


def stored(one: Trial) -> Any:
    """As it stands in a file, where NaN is null."""
    return json.loads(json.dumps(one.as_json()).replace("NaN", "null"))


def test_the_row_of_a_decision_lists_its_reasons_and_the_best_three() -> None:
    row = trial(4).decision_row(TYPES)
    assert (row["trial"], row["workflow"], row["reason"]) == (4, TYPES.format(7), "explore")
    assert (row["ucb"], row["mean"], row["std"], row["score"]) == (-3.0, -4.0, 0.5, 1.5)
    assert [row[f"top{n}"] for n in (1, 2, 3)] == [TYPES.format(7), TYPES.format(9), ""]
    assert [row[f"top{n}_score"] for n in (1, 2, 3)] == [1.5, 1.0, ""]


# --- the file, and the folders beside it


def trained(run: Path, number: int, **changes: Any) -> None:
    """Leaves what a trial's training gave in its folder."""
    folder = TrainingFolder(run / "trainings" / f"trial_{number:03d}")
    folder.path.mkdir(parents=True)
    given = outcome(7, -12.5) if not changes else replace(outcome(7, -12.5), **changes)
    folder.save_result(job(7), given, {})


def file_of(run: Path, *trials: Trial) -> None:
    file = TrialFile(run, TYPES)
    for one in trials:
        file.put(one)


def test_the_file_holds_decisions_and_failures_and_a_folder_what_a_training_gave(
    tmp_path: Path,
) -> None:
    assert TrialFile(tmp_path, TYPES).trials == []
    file_of(tmp_path, trial(0), DONE, FAILED)
    trained(tmp_path, 1)
    noted = json.loads((tmp_path / "trials.json").read_text())
    assert noted == [stored(one) for one in (trial(0), trial(1), FAILED)]
    file = TrialFile(tmp_path, TYPES)
    assert [t.status for t in file.trials] == ["running", "done", "failed"]
    assert file.trials[1].outcome == outcome(7, -12.5)
    assert [stored(one) for one in file.trials] == noted
    assert file.trials[0].decision.top == WHY.top
    assert [one.order for one in tried_in(file.trials)] == [7]
    file.put(trial(0, failure="rain"))  # and what was read is not lost
    assert len(json.loads((tmp_path / "trials.json").read_text())) == 3


def test_failed_trials_may_be_tried_once_more(tmp_path: Path) -> None:
    file_of(tmp_path, trial(0), trial(1), FAILED)
    file = TrialFile(tmp_path, TYPES, retry_failed=True)
    assert [t.status for t in file.trials] == ["running"] * 3
    file.put(trial(0))
    assert "failed" not in json.loads((tmp_path / "trials.json").read_text())[2]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"order": 8}, "is of another order than trial_000"),
        ({"objective": outcome(7, math.nan).objective}, "must be a number"),
        ({"objective": outcome(7, -1.0, compliance=7.0).objective}, "the compliance of order 7"),
    ],
)
def test_a_folder_that_is_not_the_trial_s_is_refused(
    tmp_path: Path, wrong: dict[str, Any], said: str
) -> None:
    file_of(tmp_path, trial(0))
    trained(tmp_path, 0, **wrong)
    refused(said, TrialFile, tmp_path, TYPES)


WRONG: list[dict[str, Any]] = [
    {"trial": {"number": 0, "order": NUM_ORDERS, "repeat": 0}},
    {"trial": {"number": 0, "order": -1, "repeat": 0}},
    {"trial": 3},
    {"decision": None},
]


@pytest.mark.parametrize(
    "entries",
    [{}, 3, [3], [[]], [None], [stored(DONE)], [stored(trial())] * 2]
    + [[stored(trial()) | wrong] for wrong in WRONG],
)
def test_what_is_no_list_of_trials_is_said_to_be_damaged(tmp_path: Path, entries: Any) -> None:
    (tmp_path / "trials.json").write_text(json.dumps(entries))
    refused(r"trials\.json is damaged", TrialFile, tmp_path, TYPES)


# --- what they sum up to


def tried(order: int, value: float, good: bool = True) -> Trial:
    return trial(order=order, outcome=outcome(order, value, good=good))


def spread(trials: list[Trial], red_agent: str = "bline") -> OrderSpread:
    return spread_of(tried_in(trials), red_agent)


def test_what_differs_between_orders_is_told_from_what_differs_between_equals() -> None:
    classes = TYPES.classes_of_equals("bline")
    first, twin = [order for order in range(120) if classes[order] == classes[0]][:2]
    other = next(order for order in range(120) if classes[order] != classes[0])
    trials = [tried(first, -10), tried(twin, -12), tried(other, -20), tried(other, -24)]
    found = spread([*trials, tried(other, -500, good=False)])
    assert found.between == pytest.approx(11 / math.sqrt(2))  # of the means -11 and -22
    assert found.within == pytest.approx(math.sqrt((2 + 8) / 2))
    assert (found.classes, found.equals) == (2, 2)


def test_where_nothing_repeats_or_complies_nothing_is_made_up() -> None:
    alone = spread([tried(0, -10)])
    assert (alone.classes, alone.equals) == (1, 0)
    assert (math.isnan(alone.between), math.isnan(alone.within)) == (True, True)
    none = spread([tried(0, -10, good=False), trial()])
    assert (none.classes, none.equals) == (0, 0)


def test_the_scores_of_the_policy_that_is_handed_over_are_read_as_they_were_written(
    tmp_path: Path,
) -> None:
    scores = tuple(scored(red, (-9.0, -10.0, -20.0), 0.5, (0.97, 0.9)) for red in RED_AGENTS)
    given = HandedOver(True, scores, 12.5)
    given.save(tmp_path)
    assert HandedOver.load(tmp_path) == given
    mixed = given.result(GameConfig(red_agent="mixed"))
    assert (mixed.red_agent, mixed.games, mixed.reward.mean) == ("mixed", 6_000, -9.0)
    assert given.result(GameConfig()) == scores[0].deterministic
    for text in ("", "{}", '{"seconds": null}'):
        (tmp_path / "scores.json").write_text(text)
        refused(r"scores\.json is damaged", HandedOver.load, tmp_path)
