"""The protocol on networks that are not Scenario2."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agents.policies import new_policy
from tests.envs.networks import OFFICE, OTHERS
from tests.refused import refused
from workflow_rl import Cage2Env, evaluate
from workflow_rl.agents.named import make_agent
from workflow_rl.config import VIEWS
from workflow_rl.evaluation.files import challenge_lines
from workflow_rl.evaluation.playing import agent_seed, game_seed, red_names
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.network import Network

NAMES = ("sleep", "random", "react-restore", "greedy")
REDS = ("bline", "meander", "sleep", "path")
EPISODES, STEPS = 4, 25


def slowly(name: str, network: Network, cell: Any, episodes: int) -> list[float]:
    """The return of each episode, one environment after the other."""
    returns = []
    for k in range(episodes):
        agent = make_agent(name, network=network)
        env = Cage2Env(game=replace(cell.game, observation=agent.observation))
        env.batch.state["index"] = k
        seen, info = env.reset(seed=game_seed(cell.game, 5))
        agent.begin(1, agent_seed(cell.game, 5) + k)
        total = 0.0
        for step in range(STEPS):
            action = int(agent.act(seen[None], info["action_mask"][None], step)[0])
            seen, reward, *_, info = env.step(action)
            total += reward
        returns.append(round(total, 1))
    return returns


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("network", OTHERS.values(), ids=OTHERS)
def test_a_cell_is_what_single_environments_play(network: Network, name: str) -> None:
    found = evaluate(
        name, network=network, steps=[STEPS], episodes=EPISODES, red_agents=REDS, seed=5
    )
    assert [cell.red_agent for cell in found.cells] == list(REDS)
    for cell in found.cells:
        assert cell.game.network == network
        episodes = 1 if name == "random" else EPISODES  # whose draws are those of a batch
        assert cell.returns.tolist()[:episodes] == slowly(name, network, cell, episodes)
        assert cell.behaviour is not None
        assert {a for phase in cell.behaviour.times for a in phase} <= set(
            actions_of(network).names
        )
    if name == "greedy":
        meander = found.cells[1]
        assert found.order is not None
        assert found.order.units.network == network
        assert all((meander.compliance[view] >= 0).all() for view in VIEWS)
        assert (meander.compliance["observed"] == 1).all()


@pytest.mark.compiled
def test_greedy_loses_less_than_who_sleeps() -> None:
    for network in (OFFICE, OTHERS["plant"], OTHERS["cage1"]):
        means = {
            name: evaluate(
                name, network=network, steps=[60], episodes=100, red_agents=["meander"]
            ).cells[0]
            for name in ("greedy", "sleep")
        }
        assert means["greedy"].result.reward.mean > means["sleep"].result.reward.mean + 5


def test_the_text_names_the_network_its_actions_and_its_hosts() -> None:
    found = evaluate("greedy", network="office", steps=[20], episodes=2, red_agents=["path"])
    text = "".join(challenge_lines(found))
    assert ", office, Commit Hash:" in text
    assert re.search(r"\('Decoy\w+ \w+', 'DiscoverRemoteSystems office'\)", text)
    (cell,) = found.cells
    assert cell.log.red_names == red_names(OFFICE)
    assert np.isin(cell.log.blue, np.arange(actions_of(OFFICE).size)).all()


def test_a_policy_is_evaluated_on_its_own_network_and_refused_on_another(tmp_path: Path) -> None:
    policy = new_policy(network=OFFICE)
    policy.save(tmp_path / "it.safetensors")
    few: Any = {"steps": [10], "episodes": 2, "red_agents": ["meander"]}
    for what in (policy, tmp_path / "it.safetensors"):
        found = evaluate(what, **few)
        assert found.cells[0].game.network == OFFICE
        again = evaluate(what, network="office", **few)
        assert again.cells[0].returns.tolist() == found.cells[0].returns.tolist()
        refused(
            "was trained on the network office, and the game is played on plant",
            evaluate,
            what,
            network="plant",
            **few,
        )
    says = "best was trained on the network scenario2, and the game is played on office"
    refused(says, evaluate, "best", network="office", **few)
    refused("there is no network 'nowhere'", evaluate, "sleep", network="nowhere", **few)
