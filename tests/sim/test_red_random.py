from typing import Any

import numpy as np

from tests.sim.board import View
from workflow_rl.config import GameConfig
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.draws import WORDS
from workflow_rl.sim.red_given import legal_actions, red_actions_of
from workflow_rl.sim.red_random import random_chooses

ACTIONS = red_actions_of(SCENARIO2)


def test_random_takes_each_legal_action_equally_often() -> None:
    view = View(red_agent="random").put("addresses_known", "U0", "U3")  # 8 actions are legal
    taken = []
    for word in range(WORDS // 1600, WORDS, WORDS // 800):
        random_chooses(view.state, view.net, word)
        taken += [int(ACTIONS.numbers(view.state["red_action"], view.state["red_target"]))]
    legal = np.flatnonzero(legal_actions(SCENARIO2, view.state)).tolist()
    assert {action: taken.count(action) for action in taken} == dict.fromkeys(legal, 100)


def test_random_takes_legal_actions_in_every_game() -> None:
    batch: Any = Batch(50, GameConfig(red_agent="random"), autoreset=False)
    batch.reset(seed=1)
    kinds = set()
    for _ in range(100):
        legal = np.array([legal_actions(SCENARIO2, env) for env in batch.state])
        batch.step(np.zeros(50, np.int64))
        taken = ACTIONS.numbers(batch.state["red_action"], batch.state["red_target"])
        assert legal[np.arange(50), taken].all()
        kinds |= set(batch.state["red_action"].tolist())
    assert kinds == set(range(6))
