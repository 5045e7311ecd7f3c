"""Red from outside: given its actions, or told what happened, it plays what it plays inside."""

from typing import Any

import numpy as np
import pytest

from tests.sim.games import random_actions
from workflow_rl.config import GameConfig
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.draws import WORDS
from workflow_rl.sim.red_given import red_action_numbers
from workflow_rl.sim.red_mirror import TOLD, RedMirror
from workflow_rl.sim.state import STATE_DTYPE, Outcome, RedAction

REDS = ("bline", "meander", "bait", "random", "patient:3:bline", "sleep")
PLAN = ("red_agent", "red_wait", "bline_", "meander_")
KEPT = [name for name in STATE_DTYPE.names or () if not name.startswith(PLAN)]


def reds_actions(batch: Batch) -> Any:
    return red_action_numbers(batch.state["red_action"], batch.state["red_target"])


@pytest.mark.parametrize("red_agent", REDS)
def test_a_red_whose_actions_are_given_plays_the_game_it_plays_inside(red_agent: str) -> None:
    inside, outside = (Batch(40, GameConfig(red, 60)) for red in (red_agent, "given"))
    inside.reset(seed=4)
    outside.reset(seed=4)
    for actions in random_actions(1, 0.3, 40, 59):  # the 60th begins the next episode
        inside.step(actions)
        outside.step(actions, red_actions=reds_actions(inside))
        for ours, theirs in zip(inside.out, outside.out, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert (inside.state[KEPT] == outside.state[KEPT]).all()


@pytest.mark.parametrize("red_agent", REDS)
def test_a_mirror_chooses_what_the_red_of_the_game_chooses(red_agent: str) -> None:
    game = GameConfig(red_agent, 100)
    batch, told_of = (Batch(1, game, autoreset=False, red_view=True) for _ in "ab")
    mirror = RedMirror(told_of)
    draws = np.random.default_rng(3).integers(0, WORDS, (300, 1, 4))
    for step, action in enumerate(random_actions(2, 0.2, 1, 300)):
        if step % 100 == 0:
            batch.reset(seed=step)
            mirror.begin(step)
        for ours, theirs in zip(mirror.batch.red, batch.red, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        chosen = mirror.choose(int(draws[step, 0, 0]))
        batch.step(action, draws[step])
        assert chosen == reds_actions(batch)[0]
        told = {name: batch.state[name][0] for name in TOLD}
        if batch.state["red_action"][0] != RedAction.DISCOVER_NETWORK_SERVICES:
            told["red_outcome"] = Outcome.NOTHING  # no other action's is told
        mirror.take_in(told)
