from dataclasses import replace
from pathlib import Path

import pytest

from tests.pages.runs import POLICY, trial, write_run
from workflow_rl.pages import words
from workflow_rl.pages.rundata import read_run


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (119, "119 s"),
        (125, "2 min 05 s"),
        (7_199.6, "2 h 00 min"),
        (90_000, "25 h 00 min"),
        (float("nan"), "unknown"),
    ],
)
def test_durations_are_readable(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


@pytest.mark.parametrize("start", ["common", "universal"])
@pytest.mark.parametrize("program", [["parallel_train_workflow_rl.py"], ["workflow-rl", "search"]])
def test_the_command_of_a_search_from_a_base_policy_says_so(program: list[str], start: str) -> None:
    noted = {"config": {"search": {"warm_start": start}}}
    told = " --warm-start common" if start == "common" else ""
    given = {"command": [*program, "--seed", "3"]}
    assert words.command_of(noted | given) == f"workflow-rl search{told} --seed 3"
    given = {"command": [*program, "--warm-start", start]}
    assert words.command_of(noted | given) == f"workflow-rl search --warm-start {start}"


def test_a_finished_search_is_finished_while_its_process_writes_the_report(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", [trial(0, 5, -30.0)], policy=POLICY))
    assert words.status_of(replace(run, is_live=True)) == "finished"
    assert words.status_of(replace(run, is_live=True, is_finished=False)) == "under way"
    assert words.status_of(replace(run, is_finished=False)) == "interrupted"


def test_numbers_keep_their_signs() -> None:
    assert words.kept_together("3 ± 1, 95 %") == "3 ±\u00a01, 95\u00a0%"


def test_a_slow_training_has_a_speed_too() -> None:
    rates = (0.4, 412.3, 1_400.0, 10_000.0, 1_234_567.0)
    assert [words.speed(rate) for rate in rates] == [
        f"{number} steps/s" for number in ("0", "412", "1,400", "10k", "1,235k")
    ]


def test_a_sparkline_rises_with_its_numbers() -> None:
    assert words.sparkline([-3.0, float("nan"), -1.0, -2.0]) == "▁█▅"
    assert words.sparkline([1.0, 1.0]) == "▁▁"
    assert words.sparkline([float("nan")]) == ""
