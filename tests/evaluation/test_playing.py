from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.agents.policies import ORDER, new_policy
from tests.evaluation.slow import play_slowly
from workflow_rl import Cage2Env
from workflow_rl.agents.agent import BlueAgent
from workflow_rl.agents.fingerprint import FingerprintAgent
from workflow_rl.agents.greedy import GreedyAgent
from workflow_rl.agents.policy_agent import policy_agent
from workflow_rl.agents.simple import RandomAgent, SleepAgent
from workflow_rl.evaluation.playing import (
    RED_NAMES,
    UNKNOWN_ACTION,
    EpisodesPlayed,
    Game,
    play_batch,
    play_one_by_one,
)
from workflow_rl.evaluation.results import Cell
from workflow_rl.workflow.orders import ORDERS


def cardiff() -> BlueAgent:
    return FingerprintAgent(
        policy_agent(new_policy(62, 36), "a"), policy_agent(new_policy(62, 36, seed=1), "b")
    )


def conditioned() -> BlueAgent:
    return policy_agent(new_policy(order=ORDER, conditioned=True), "it")


def game(red_agent: str = "meander", steps: int = 40, **changes: Any) -> Game:
    made: dict[str, Any] = {"rules": "main", "seed": 4, "order": ORDERS[ORDER]} | changes
    return Game(steps, red_agent, **made)


@pytest.mark.parametrize("new_agent", [GreedyAgent, conditioned, cardiff])
@pytest.mark.parametrize(("red", "rules"), [("bline", "competition"), ("meander", "main")])
def test_a_batch_is_what_single_environments_play(
    new_agent: Callable[[], BlueAgent], red: str, rules: str
) -> None:
    what = game(red, rules=rules)
    cell = play_batch(new_agent(), what, 8, 0)
    returns, observed, true = play_slowly(new_agent, what, 8)
    assert cell.returns.tolist() == returns
    np.testing.assert_allclose(cell.compliance["observed"], observed)
    np.testing.assert_allclose(cell.compliance["true"], true)


@pytest.mark.parametrize("new_agent", [GreedyAgent, RandomAgent, cardiff])
def test_one_by_one_is_the_plain_loop(new_agent: Callable[[], BlueAgent]) -> None:
    what = game("bline", 30)
    *told, cell = play_one_by_one(new_agent(), what, 5, 2, Cage2Env)
    assert isinstance(cell, Cell)
    returns, observed, _ = play_slowly(new_agent, what, 5, same_env=True)
    assert cell.returns.tolist() == returns
    np.testing.assert_allclose(cell.compliance["observed"], observed)
    assert set(cell.compliance) == {"observed"}
    assert told == [EpisodesPlayed(1)] * 5
    assert cell.log.blue.shape == (30, 2)
    assert cell.log.red_names == (UNKNOWN_ACTION,)


def test_an_episode_does_not_depend_on_how_many_are_played() -> None:
    for agent in (RandomAgent(), conditioned()):
        few, many = (play_batch(agent, game(), n, 0) for n in (3, 40))
        assert few.returns.tolist() == many.returns[:3].tolist()


def test_cells_and_seeds_play_different_games_and_agents_meet_the_same() -> None:
    seeds = {
        (what.cell_seed, what.agent_seed)
        for what in (game(), game(steps=41), game("bline"), game(seed=5))
    }
    assert len({number for pair in seeds for number in pair}) == 8
    one, other = (play_batch(agent, game(), 5, 5) for agent in (SleepAgent(), GreedyAgent()))
    assert one.seed == other.seed
    assert (one.log.red[:6] == other.log.red[:6]).all()  # Meander's first scans


def test_without_a_workflow_nothing_is_judged() -> None:
    assert play_batch(SleepAgent(), game(order=None), 3, 0).compliance == {}


def test_what_both_sides_did_is_kept_of_the_first_episodes() -> None:
    cell = play_batch(SleepAgent(), game("bline", 20), 5, 2)
    assert cell.log.blue.shape == cell.log.red.shape == (20, 2)
    for episode in (0, 1):
        done = [RED_NAMES[code] for code in cell.log.red[:, episode]]
        assert done[0] == "DiscoverRemoteSystems User"
        assert done[1].startswith("DiscoverNetworkServices User")
        assert done[2] == f"ExploitRemoteService {done[1].split()[1]}"
        assert "Impact Op_Server0" in done or "ExploitRemoteService" in done[-1]
    asleep = play_batch(SleepAgent(), game("sleep", 3), 2, 2)
    assert [RED_NAMES[code] for code in asleep.log.red[:, 0]] == ["Sleep"] * 3
