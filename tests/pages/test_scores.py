import json
from pathlib import Path

import pytest

from workflow_rl.config import GameConfig, red_agent_name
from workflow_rl.estimates import Estimate
from workflow_rl.pages.scores import evaluated_scores, known_scores

REFERENCE = json.loads(
    (Path(__file__).parent.parent / "parity" / "reference_returns.json").read_text()
)
RECORDED = {
    "sleep": "sleep",
    "random": "random145",
    "restore the first marked host": "react_restore",
}


def game(red: str, steps: int) -> GameConfig:
    return GameConfig(red_agent=red_agent_name(red), episode_length=steps)


@pytest.mark.parametrize("red", ["bline", "meander"])
@pytest.mark.parametrize("steps", [30, 50, 100])
def test_recorded_scores_are_those_of_the_recordings(red: str, steps: int) -> None:
    checked = 0
    for score in known_scores(game(red, steps)):
        if score.source.startswith("the real CybORG"):
            recorded = REFERENCE[f"{red}/{RECORDED[score.who]}"]
            assert score.rules == "main"
            assert score.result.reward.mean == pytest.approx(
                recorded["mean_return_after_steps"][str(steps)], abs=0.006
            )
            error = recorded["std_return_after_steps"][str(steps)] / recorded["n"] ** 0.5
            assert score.result.reward.error == pytest.approx(error, abs=0.006)
            assert f"{recorded['n']} episodes" in score.source
            checked += 1
    assert checked == len(RECORDED)


def test_the_published_leaderboard_belongs_to_the_competition_and_adds_up() -> None:
    games = [game(red, steps) for red in ("bline", "meander") for steps in (30, 50, 100)]
    scores = [score for one in games for score in known_scores(one)]
    published = [score for score in scores if "leaderboard" in score.source]
    assert {score.rules for score in published} == {"competition"}
    winner = sum(s.result.reward.mean for s in published if s.who.startswith("winner"))
    assert winner == pytest.approx(-54.57)  # against the sleeping red agent it lost nothing


def test_games_nobody_published_have_no_scores() -> None:
    assert known_scores(game("mixed", 100)) == known_scores(game("bline", 70)) == []
    assert known_scores(GameConfig(green_agent="active")) == []  # in none of them Green acts


def test_evaluations_in_the_run_are_found_and_other_files_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "evaluations" / "one"
    folder.mkdir(parents=True)
    cells = [{"red_agent": "bline", "steps": 100, "mean": -15.5, "half_width_95": 0.4}]
    cells += [{"red_agent": "meander", "steps": 30, "mean": -5.0}]
    good = {"rules": "main", "agent": "greedy", "policy": "sampled", "cells": cells}
    good["deviating"] = [{"red_agent": "bait", "steps": 100, "mean": -80.0}]
    (folder / "greedy.json").write_text(json.dumps(good))
    for name, text in {
        "cut.json": '{"rules": "main", "cel',
        "other.json": "[1, 2]",
        "house.json": json.dumps(good | {"rules": "house"}),
        "cell.json": json.dumps(good | {"cells": [{"mean": "low"}]}),
    }.items():
        (folder / name).write_text(text)
    (found,) = evaluated_scores(tmp_path, GameConfig())
    assert (found.who, found.rules, found.steps) == ("greedy", "main", 100)
    assert found.result.reward == Estimate(-15.5, 0.4)
    assert found.source == "evaluated here, sampled"
    for red, steps, mean in (("meander", 30, -5.0), ("bait", 100, -80.0)):
        (other,) = evaluated_scores(tmp_path, game(red, steps))
        assert other.result.reward.mean == mean
    assert evaluated_scores(tmp_path, GameConfig(green_agent="active")) == []
    assert evaluated_scores(tmp_path / "nowhere", GameConfig()) == []
