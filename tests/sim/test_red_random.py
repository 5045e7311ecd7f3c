from typing import Any

import numpy as np

from tests.sim.board import View
from workflow_rl.config import GameConfig
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.draws import WORDS
from workflow_rl.sim.red_given import legal_red_actions, red_action_numbers
from workflow_rl.sim.red_random import random_chooses


def test_random_takes_each_legal_action_equally_often() -> None:
    view = View(red_agent="random").put("addresses_known", "U0", "U3")  # 8 actions are legal
    taken = []
    for word in range(WORDS // 1600, WORDS, WORDS // 800):
        random_chooses(view.state, word)
        taken += [int(red_action_numbers(view.state["red_action"], view.state["red_target"]))]
    legal = [a for a in range(56) if legal_red_actions(view.state) >> a & 1]
    assert {action: taken.count(action) for action in taken} == dict.fromkeys(legal, 100)


def test_random_takes_legal_actions_in_every_game() -> None:
    batch: Any = Batch(50, GameConfig(red_agent="random"), autoreset=False)
    batch.reset(seed=1)
    kinds = set()
    for _ in range(100):
        legal = np.array([legal_red_actions(env) for env in batch.state])
        batch.step(np.zeros(50, np.int64))
        taken = red_action_numbers(batch.state["red_action"], batch.state["red_target"])
        assert (legal >> taken & 1).all()
        kinds |= set(batch.state["red_action"].tolist())
    assert kinds == set(range(6))
