import re
from pathlib import Path
from typing import Any

import pytest

from tests.report.runs import POLICY, pairwise, trial, write_run
from workflow_rl.config import ExperimentConfig, GameConfig
from workflow_rl.report import words
from workflow_rl.report.findings import Findings, find
from workflow_rl.report.rundata import read_run
from workflow_rl.workflow.orders import TYPES

PAIRS = TYPES.pairs


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "0 s"),
        (47.4, "47 s"),
        (119, "119 s"),
        (125, "2 min 05 s"),
        (7_199.6, "2 h 00 min"),
        (90_000, "25 h 00 min"),
        (float("nan"), "unknown"),
    ],
)
def test_durations_are_readable(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["/x/bin/workflow-rl", "search", "--seed", "3"], "workflow-rl search --seed 3"),
        (["/x/workflow_rl/__main__.py", "train"], "workflow-rl train"),
        (
            ["parallel_train_workflow_rl.py", "--checkpoint-dir", "my logs"],
            "python workflow_rl/parallel_train_workflow_rl.py --checkpoint-dir 'my logs'",
        ),
        (["/x/notebook.py"], None),
        ([], None),
        ("workflow-rl search", None),
        (None, None),
    ],
)
def test_the_command_is_what_one_would_type(command: Any, text: str | None) -> None:
    assert words.command_of({"command": command}) == text


def found(folder: Path, **run: Any) -> Findings:
    return find(read_run(write_run(folder / "run", **run)))


MEANDER = ExperimentConfig(game=GameConfig(red_agent="meander"))


def test_a_clear_effect_is_named_with_its_interval(tmp_path: Path) -> None:
    values = pairwise([0.0] * (len(PAIRS) - 1) + [8.0])  # op_host before user
    trials = [trial(k, o, values[o] + 0.1 * (k % 3)) for k, o in enumerate(range(0, 120, 5))]
    told = found(tmp_path, trials=trials, config=MEANDER)
    headline, worth, *_ = words.about_finding(told)
    assert headline == (
        "So far: op_host before user; the rest makes no difference that shows: 60 equal orders."
    )
    assert re.match(r"Worth [789]\.\d points an episode \(.* to .*\): op_host before user\.", worth)
    assert "effects that are clear" in words.about_pairs(told)
    assert words.about_example(told) == "One of the 60 equal orders, as an example:"


def test_without_a_clear_effect_none_is_named(tmp_path: Path) -> None:
    trials = [trial(k, 30 * k, -20.0 - k % 2) for k in range(4)]
    told = found(tmp_path, trials=trials, config=MEANDER)
    assert "no order is better than another" in words.about_finding(told)[0]
    assert "no effect is clear" in words.about_pairs(told)


def test_of_a_finished_search_in_which_nothing_complied_the_first_sentence_says_so(
    tmp_path: Path,
) -> None:
    trials = [trial(k, k, -20.0 - k, compliance=0.4) for k in range(3)]
    told = found(tmp_path, trials=trials, policy=POLICY)
    assert words.about_finding(told)[0].startswith("No workflow complied")
    assert words.about_example(told) == "The order that came closest to complying:"
    assert words.status_of(told.run) == "finished"


def test_a_recommendation_that_does_not_comply_is_given_with_care(tmp_path: Path) -> None:
    text = words.about_recommendation(found(tmp_path, trials=[trial(0, 5, -9.0, compliance=0.3)]))
    assert any("take it with care" in sentence for sentence in text)
    assert any("has not ended" in sentence for sentence in text)


def test_with_too_few_compliant_trials_the_belief_says_what_it_rests_on(tmp_path: Path) -> None:
    trials = [trial(0, 5, -9.0, compliance=0.3), trial(1, 50, -12.0)]
    text = words.about_beliefs(found(tmp_path, trials=trials))
    assert "all 2 trials, because fewer than two complied" in text


def test_every_section_has_a_sentence_even_of_nothing(tmp_path: Path) -> None:
    nothing = find(read_run(tmp_path))
    for sentence in (
        words.about_finding(nothing)[0],
        words.about_scores(nothing),
        words.about_beliefs(nothing),
        words.about_pairs(nothing),
        words.about_path(nothing),
        words.about_cost(nothing),
        words.about_trainings(nothing.run, 0),
        words.game_of(nothing.run),
    ):
        assert sentence
    assert words.status_of(nothing.run) == "interrupted"


def test_numbers_keep_their_signs() -> None:
    assert words.kept_together("3 ± 1, 95 %") == "3 ±\u00a01, 95\u00a0%"
