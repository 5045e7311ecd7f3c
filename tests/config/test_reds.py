from typing import Any

import pytest

from tests.refused import refused
from workflow_rl.config import GameConfig, red_agent_name
from workflow_rl.config.reds import reds_of

NAMES = {
    "bline": "bline",
    "B_lineAgent": "bline",
    "RedMeanderAgent": "meander",
    " MEANDER ": "meander",
    "SleepAgent": "sleep",
    "mixed": "mixed",
    "Bait": "bait",
    "random": "random",
    "Path": "path",
    "patient:2:path": "patient:2:path",
    "patient": "patient:3:bline",
    "patient:05": "patient:5:bline",
    "Patient:7:Meander": "patient:7:meander",
    "runs/Red.safetensors": "runs/Red.safetensors",
    "bline=1, b_line=0.5,bait=3,sleep=0": "bline=1.5,bait=3",
    "a=b.safetensors=2,patient=1": "a=b.safetensors=2,patient:3:bline=1",
}


@pytest.mark.parametrize("given", NAMES)
def test_every_red_agent_has_one_name(given: str) -> None:
    name = GameConfig(red_agent=given).red_agent
    assert name == NAMES[given] == red_agent_name(name)


def test_a_game_lists_its_reds_with_their_probabilities() -> None:
    reds = reds_of("bline=1.5,patient:7:meander=0.5,x.safetensors=1,bait=1")
    assert [(r.name, r.agent, r.wait, r.weight, r.is_policy) for r in reds] == [
        ("bline", "bline", 0, 0.375, False),
        ("patient:7:meander", "meander", 7, 0.125, False),
        ("x.safetensors", "given", 0, 0.25, True),
        ("bait", "bait", 0, 0.25, False),
    ]
    game = GameConfig(red_agent="bait=1,meander=3")
    assert game.scored_reds == ("bline", "meander", "sleep", "bait")
    assert game.red_weights == (0.0, 0.75, 0.0, 0.25)
    assert (game.unmodelled_reds, GameConfig(red_agent="mixed").unmodelled_reds) == (("bait",), ())


PART = "is no part of a mixture of red agents: write NAME=WEIGHT with a weight of at least 0"


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        *((name, "unknown red agent .*: choose .*bline, meander, sleep, bait") for name in (3, "")),
        ("brain", "unknown red agent 'brain': choose from .*a mixture such as bline=1,bait=2"),
        *(
            (f"patient:{text}", "patient:STEPS:SCRIPT with 1 to 100 steps and a script of bline")
            for text in ("", "0", "101", "x", "-1", "9" * 5000, "3:", "3:patient", "3:bline:4")
        ),
        *((f"bline=1,{part}", PART) for part in ("bait", "bait=x", "bait=", "bait=-1", "bait=nan")),
        ("bline=1,", PART),
        ("bline=1,nobody=1", "unknown red agent 'nobody'"),
        ("bline=1,mixed=1", "mixed is a mixture itself: name its red agents instead"),
        ("bline=0", "needs 1 to 32 red agents and a weight above 0"),
        ("bline=1e300,bline=1e300", "needs 1 to 32 red agents"),
        (",".join(f"patient:{n}=1" for n in range(1, 34)), "needs 1 to 32 red agents"),
    ],
)
def test_what_is_no_red_agent_is_refused_by_a_sentence(wrong: Any, sentence: str) -> None:
    refused(sentence, red_agent_name, wrong)


@pytest.mark.parametrize(
    "red", ["bait", "patient:2", "random", "path", "x.safetensors", "bline=1,bait=1"]
)
def test_the_belief_says_of_whom_it_has_no_model(red: str) -> None:
    sentence = "a model of bline, meander, sleep, and none of '.*': choose another observation"
    refused(sentence, GameConfig, red_agent=red, observation="belief")
    refused(sentence, GameConfig(observation="belief").changed, red_agent=red)
