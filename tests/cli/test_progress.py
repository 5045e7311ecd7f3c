"""What is shown of events, away from a terminal."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.runs.toy import tiny
from tests.runs.work import job, outcome
from workflow_rl.cli.console import Bars
from workflow_rl.cli.progress import SearchProgress, notice_of, show_task, speed_words
from workflow_rl.ordersearch.strategies import Decision
from workflow_rl.runs.pool import Done, Failed, Retried, Rows, Started
from workflow_rl.runs.training import TrainTask
from workflow_rl.runs.trials import Trial
from workflow_rl.workflow.orders import TYPES

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
    for event in (Started(TRIAL), Rows(TRIAL, [ROW]), Done(TRIAL, outcome(7, -3.0))):
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


def test_a_search_shows_what_begins_how_it_ends_and_what_was_done_before(
    screen: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflow_rl.cli.console._LINE_EVERY", -1.0)
    earlier = Trial(0, 5, 0, Decision(5, "given"), None, 0.0, 0.0, outcome=outcome(5, -9.0))
    with SearchProgress(screen, tiny(), [earlier]) as progress:
        progress.show(Started(TRIAL))
        progress.show(Rows(TRIAL, [ROW]))
        progress.show(Retried(TRIAL, "it rained"))
        progress.show(Done(TRIAL, outcome(7, -3.0, compliance=0.5, good=False)))
    lines = shown(screen)
    assert lines[:3] == [
        "workflows 1/3: best -9.0",
        f"1/3 {TYPES[5].short}: -9.00 ± 0.49, compliance 1.000",
        f"order_7: {TYPES[7].short}",
    ]
    assert lines[3].startswith("order_7 3/3: reward -20.0 compliance 0.500 ")
    assert lines[3].endswith(" steps/s")
    assert lines[4] == "order_7 is done again: it rained"
    assert lines[-1] == f"2/3 {TYPES[7].short}: -3.00 ± 0.49, compliance 0.500, too low"
    assert max(map(len, lines)) <= 80


def test_one_of_many_tasks_is_shown_beside_their_number(
    screen: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workflow_rl.cli.console._LINE_EVERY", -1.0)
    with Bars(screen) as bars:
        bars.begin("orders", 240)
        show_task(bars, "orders", Rows(TRIAL, [ROW | {"transitions": 1_200}]), 61, "seed 1 of 2, ")
        show_task(bars, "orders", Rows(TRIAL, [{"preset": "hybrid"}]), 61)
        show_task(bars, "orders", Retried(TRIAL, "it rained"), 61)
    assert shown(screen) == [
        "orders 61/240: seed 1 of 2, order_7, 1,200 transitions: reward -20.0",
        "orders 61/240: order_7",
        "order_7 is done again: it rained",
        "orders 61/240: order_7",
    ]


def test_bars_are_lines_now_and_then_where_there_is_no_terminal(
    screen: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Bars(screen) as bars:
        bars.begin("orders", 3)
        bars.move("orders", 1)  # too soon for a line
        monkeypatch.setattr("workflow_rl.cli.console._LINE_EVERY", -1.0)
        bars.move("orders", 2, "of [many]")
        bars.begin("orders", 99)  # it is there already
        bars.move("orders", 3)
        bars.end("orders")
        bars.end("orders")
    assert shown(screen) == ["orders 2/3: of [many]", "orders 3/3"]
