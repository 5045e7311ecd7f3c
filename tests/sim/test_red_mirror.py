import numpy as np
import pytest

from tests.sim.games import random_actions
from workflow_rl.config import GameConfig
from workflow_rl.config.reds import BUILT_IN
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.draws import WORDS
from workflow_rl.sim.red_given import red_actions_of
from workflow_rl.sim.red_mirror import TOLD, RedMirror
from workflow_rl.sim.state import Outcome, RedAction


@pytest.mark.parametrize("red_agent", [*BUILT_IN, "patient:3:bline"])
def test_a_mirror_chooses_what_the_red_of_the_game_chooses(red_agent: str) -> None:
    game = GameConfig(red_agent=red_agent, episode_length=100)
    batch, told_of = (Batch(1, game, autoreset=False, red_view=True) for _ in "ab")
    mirror = RedMirror(told_of)
    draws = np.random.default_rng(3).integers(0, WORDS, (300, 1, 5))
    for step, action in enumerate(random_actions(2, 0.2, 1, 300)):
        if step % 100 == 0:
            batch.reset(seed=step)
            mirror.begin(step)
        for ours, theirs in zip(mirror.batch.red, batch.red, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        chosen = mirror.choose(int(draws[step, 0, 0]))
        batch.step(action, draws[step])
        kinds, targets = batch.state["red_action"], batch.state["red_target"]
        assert chosen == red_actions_of(game.network).numbers(kinds, targets)[0]
        told = {name: batch.state[name][0] for name in (*TOLD, "ports")}
        if batch.state["red_action"][0] != RedAction.DISCOVER_NETWORK_SERVICES:
            told["red_outcome"] = Outcome.NOTHING  # no other action's is told
        mirror.take_in(told)
