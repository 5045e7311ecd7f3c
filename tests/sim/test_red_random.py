import numpy as np

from tests.sim.board import View
from workflow_rl.config import GameConfig
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.draws import WORDS
from workflow_rl.sim.red_given import RED_ACTION_NAMES, legal_red_actions, red_action_numbers
from workflow_rl.sim.red_random import random_chooses


def test_random_takes_each_legal_action_equally_often() -> None:
    view = View(red_agent="random").put("addresses_known", "U0", "U3").put("names_known", "U0")
    names = (
        "Sleep",
        "DiscoverRemoteSystems User",
        *(
            f"{do} {host}"
            for do, hosts in (
                ("DiscoverNetworkServices", ("User0", "User3")),
                ("ExploitRemoteService", ("User0", "User3")),
                ("PrivilegeEscalate", ("User0",)),
                ("Impact", ("User0",)),
            )
            for host in hosts
        ),
    )
    taken = []
    for word in range(WORDS // 1600, WORDS, WORDS // 800):
        random_chooses(view.state, word)
        number = red_action_numbers(view.state["red_action"], view.state["red_target"])
        taken.append(RED_ACTION_NAMES[int(number)])
    assert {name: taken.count(name) for name in taken} == dict.fromkeys(names, 100)


def test_random_takes_legal_actions_in_every_game() -> None:
    batch = Batch(50, GameConfig(red_agent="random"), autoreset=False)
    batch.reset(seed=1)
    kinds = set()
    for _ in range(100):
        legal = np.array([legal_red_actions(env) for env in batch.state])
        batch.step(np.zeros(50, np.int64))
        taken = red_action_numbers(batch.state["red_action"], batch.state["red_target"])
        assert (legal >> taken & 1).all()
        kinds |= set(batch.state["red_action"].tolist())
    assert kinds == set(range(6))
