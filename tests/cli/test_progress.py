"""What is shown of a search: its phases, its events away from a terminal, its outcome."""

import io
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.cli.run import Patch
from tests.evaluation.scores import scored
from tests.runs.test_trials import tried as trial
from tests.runs.toy import tiny
from tests.runs.work import job, outcome
from workflow_rl.cli.console import (
    Bars,
    make_console,
    make_table,
    print_fitting,
    print_sentence,
    print_whole,
    unbroken,
)
from workflow_rl.cli.progress import SearchProgress, print_outcome
from workflow_rl.evaluation.selection import Games, Score
from workflow_rl.ordersearch.finding import conclude
from workflow_rl.ordersearch.recommendation import recommend
from workflow_rl.ordersearch.strategies import Decision
from workflow_rl.runs.pool import Done, Retried, Rows, Started
from workflow_rl.runs.store import RunDirectory
from workflow_rl.runs.training import TrainTask
from workflow_rl.runs.trials import HandedOver, SearchOutcome, Trial, tried_in
from workflow_rl.workflow.orders import TYPES

TRIAL = TrainTask("order_7", job(7), Path("nowhere"))
ROW: dict[str, Any] = {
    "training": "base",
    "update": 3,
    "transitions": 360,
    "episodes": 6,
    "env_reward": -20.0,
    "compliance_observed": 0.5,
}


@pytest.fixture
def screen() -> Console:
    return make_console(file=io.StringIO(), width=200)


@pytest.fixture
def every_line(monkeypatch: Patch) -> None:
    """Lines of progress however fast they follow each other."""
    monkeypatch.setattr("workflow_rl.cli.console._LINE_EVERY", -1.0)


def shown(screen: Console) -> list[str]:
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue().splitlines()


@pytest.mark.usefixtures("every_line")
def test_a_search_shows_what_begins_how_it_ends_and_what_was_done_before(screen: Console) -> None:
    earlier = Trial(0, 5, 0, Decision(5, "given"), None, 0.0, 0.0, outcome=outcome(5, -9.0))
    with SearchProgress(screen, tiny(), [earlier]) as progress:
        progress.show(Started(TRIAL))
        progress.show(Rows(TRIAL, [ROW]))
        progress.show(Retried(TRIAL, "it rained"))
        progress.show(Done(TRIAL, outcome(7, -3.0, compliance=0.5, good=False)))
        progress.show(Games("scoring", 60, 180))
    lines = shown(screen)
    assert lines[:3] == [
        "workflows 1/3: best -9.0",
        f"1/3 {TYPES[5].short}: -9.00 ± 0.49, compliance 1.000",
        f"order_7: {TYPES[7].short}",
    ]
    assert lines[3].startswith("order_7 3/3: reward -20.0 compliance 0.500 ")
    assert lines[3].endswith(" steps/s")
    assert lines[4] == "order_7 is done again: it rained"
    assert lines[-2] == f"2/3 {TYPES[7].short}: -3.00 ± 0.49, compliance 0.500, too low"
    assert lines[-1].startswith("scoring 60/180")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("width", [80, 60])
def test_a_narrow_screen_shows_fewer_columns_and_no_half_ones(width: int) -> None:
    table = make_table("a title", ("name", "least", "more"))
    table.add_row("x" * 40, "y" * 20, "z" * 10)
    screen = make_console(file=io.StringIO(), width=width, force_terminal=True)
    print_fitting(screen, table, "least", "more")
    text = "\n".join(shown(screen))
    assert ("y" * 20 in text) == (width == 80)
    assert "x" * 40 in text
    assert "z" * 10 in text
    assert "…" not in text


@pytest.mark.parametrize("width", [80, 60])
def test_no_path_and_no_command_is_broken_at_a_terminal(width: int) -> None:
    terminal = make_console(file=io.StringIO(), width=width, force_terminal=True)
    path = Path("logs/exp_20261118_042905_31352")
    command = f"workflow-rl search --resume {path}"
    print_whole(terminal, f"red bline, rules main, seed 0; run directory {unbroken(path)}")
    print_whole(terminal, f"stopped; go on with: {unbroken(command)}")
    print_sentence(terminal, f"written, for whoever reads it: {path}/landscape-of-all.json")
    lines = shown(terminal)
    assert max(map(len, lines)) <= width
    for whole in (str(path), command, f"{path}/landscape-of-all.json"):
        assert sum(whole in line for line in lines) >= 1, lines
    print_whole(terminal, f"a longer one: {'x' * 90}")
    assert shown(terminal)[-2:] == ["a longer one:", "x" * 90]


def test_without_a_terminal_bars_are_lines_now_and_then(
    screen: Console, monkeypatch: Patch
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


# --- phases and outcome


def score(red_agent: str, reward: float, untrained: float) -> Score:
    return scored(red_agent, (reward, reward - 1, untrained), 0.5, (0.97, 0.95))


SCORES = (score("bline", -14.25, -40.0), score("meander", -300.0, -80.0), score("sleep", 0.0, 0.0))


def told(trials: list[Trial], folder: Path, *, further: bool = False) -> str:
    """What is printed of a search against bline."""
    out = io.StringIO()
    seen = tried_in(trials)
    finding = conclude(TYPES, seen, "bline")
    chosen = recommend(TYPES, seen, finding.best)
    with closing(RunDirectory.create(folder, tiny(), [])) as directory:
        policy = HandedOver(further, SCORES, 12.0)
        outcome = SearchOutcome(directory.path, trials, finding, chosen, None, policy, 3_456)
        print_outcome(make_console(file=out, width=80), outcome, directory)
    text = out.getvalue()
    assert all(len(line) <= 80 for line in text.splitlines() if str(folder) not in line), text
    return text


def test_where_nothing_complied_the_answer_says_so_first(tmp_path: Path) -> None:
    shown = told([trial(k, -1.0 - k, good=False) for k in range(5)], tmp_path)
    _, answer = shown.split("\n\n")
    assert answer.startswith("found: No workflow complied: none of the 5 tried reached")
    assert f"recommended: none; closest: {TYPES.format(0)}" in answer
