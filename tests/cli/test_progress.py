"""What is shown of events, away from a terminal."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.runs.toy import tiny
from tests.runs.work import job, result
from workflow_rl.cli.progress import LandscapeProgress, SearchProgress, notice_of, speed_words
from workflow_rl.ordersearch.strategies import Decision
from workflow_rl.runs.pool import Done, Failed, Retried, Rows, Started
from workflow_rl.runs.training import TrainTask
from workflow_rl.runs.trial import Trial
from workflow_rl.workflow.orders import TYPES
from workflow_rl.workflow.short_names import short_order

TRIAL = TrainTask("order_7", job(7), Path("nowhere"))
ROW: dict[str, Any] = {
    "training": "base",
    "update": 3,
    "episodes": 6,
    "env_reward": -20.0,
    "compliance_observed": 0.5,
}


@pytest.fixture
def screen() -> Console:
    return Console(file=io.StringIO(), width=200, highlight=False)


def shown(screen: Console) -> list[str]:
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue().splitlines()


def test_only_what_is_out_of_the_ordinary_is_noticed() -> None:
    assert notice_of(Retried(TRIAL, "it rained")) == "order_7 is done again: it rained"
    assert notice_of(Failed(TRIAL, "it rained")) == (
        f"order_7 failed and is left out: it rained ({TYPES.format(7)})"
    )
    for event in (Started(TRIAL), Rows(TRIAL, [ROW]), Done(TRIAL, result(7, -3.0))):
        assert notice_of(event) is None


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (0.4, "0 steps/s"),
        (412.3, "412 steps/s"),
        (1_400.0, "1,400 steps/s"),
        (10_000.0, "10k steps/s"),
        (1_234_567.0, "1,235k steps/s"),
    ],
)
def test_a_slow_training_has_a_speed_too(rate: float, words: str) -> None:
    assert speed_words(rate) == words


def test_a_search_shows_what_begins_how_it_ends_and_what_was_done_before(screen: Console) -> None:
    earlier = Trial(0, 5, 0, Decision(5, "given"), None, 0.0, 0.0, result(5, -9.0))
    with SearchProgress(screen, tiny(), [earlier]) as progress:
        progress.show(Started(TRIAL))
        progress.show(Rows(TRIAL, [ROW]))
        progress.show(Retried(TRIAL, "it rained"))
        progress.show(Done(TRIAL, result(7, -3.0, compliance=0.5, good=False)))
    lines = shown(screen)
    told = f"1/3 {short_order(TYPES[5])}: -9.00 ± 0.49, compliance 1.000"
    assert lines[:2] == [told, f"order_7: {short_order(TYPES[7])}"]
    assert lines[2].startswith("base update 3: reward -20.0 compliance 0.500 ")
    assert lines[2].endswith(" steps/s")
    assert lines[3] == "order_7 is done again: it rained"
    assert lines[4] == f"2/3 {short_order(TYPES[7])}: -3.00 ± 0.49, compliance 0.500, too low"
    assert max(map(len, lines)) <= 80


def test_a_landscape_shows_how_many_orders_are_trained_earlier_ones_included(
    screen: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflow_rl.cli.progress._LANDSCAPE_LINE_EVERY", -1.0)
    with LandscapeProgress(screen, tiny(), seeds=2) as progress:
        progress.show(0, Started(TRIAL), 61)
        progress.show(0, Done(TRIAL, result(7, -3.0, good=False)), 62)
        progress.show(0, Done(TRIAL, result(7, -3.0)), 63)
        progress.show(0, Retried(TRIAL, "it rained"), 63)
        progress.show(1, Done(TRIAL, result(7, -4.0)), 121)
    assert shown(screen) == [
        "61 of 240 trainings; seed 1 of 2",
        "62 of 240 trainings; seed 1 of 2, none compliant yet",
        "63 of 240 trainings; seed 1 of 2, best -3.00",
        "order_7 is done again: it rained",
        "121 of 240 trainings; seed 2 of 2",
        "121 of 240 trainings; seed 2 of 2, best -4.00",
    ]
