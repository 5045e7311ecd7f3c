"""A copy made in the middle of an episode plays what the original would have played."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl import Belief, Cage2Env, Cage2VectorEnv, load_policy
from workflow_rl.agents.greedy import DEFAULT_ORDER
from workflow_rl.agents.named import make_agent
from workflow_rl.config import OBSERVATIONS, GameConfig
from workflow_rl.envs.episode import Episode
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.world import SimulatorWorld

ENVS = 3
WAYS: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
}


def assert_same(a: Any, b: Any) -> None:
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, tuple):
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    else:
        np.testing.assert_array_equal(a, b)


KINDS: dict[str, Callable[[GameConfig], Any]] = {
    "single": lambda game: Cage2Env(game=game, seed=1),
    "registered": lambda game: gymnasium.make("workflow_rl/Cage2-v0", game=game),
    "vector": lambda game: Cage2VectorEnv(ENVS, game=game, seed=1),
    "vector without copies": lambda game: Cage2VectorEnv(ENVS, game=game, seed=1, copy=False),
    "episode": lambda game: Episode(game, 1),
    "batch": lambda game: make_batch(ENVS, game),
    "world": lambda game: SimulatorWorld(make_batch(ENVS, game)),
}


def step(thing: Any, actions: Any) -> Any:
    """Takes a step by ENVS actions and returns all that it gives."""
    if isinstance(thing, Cage2VectorEnv):
        return copy.deepcopy(thing.step(actions))
    if isinstance(thing, gymnasium.Env):
        given = thing.step(int(actions[0]))
        return (given, thing.reset()) if given[3] else given
    if isinstance(thing, Episode):
        thing.act(int(actions[0]))
        moment = thing.moment
        return moment.observation, moment.action_mask, moment.total, moment.saved
    thing.step(actions)
    if isinstance(thing, SimulatorWorld):
        shown = thing.observation, thing.action_mask, thing.table, thing.removable, thing.held
        return copy.deepcopy((*shown, thing.reward, thing.ended, thing.state()))
    return thing.saved()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("observation", OBSERVATIONS)
@settings(max_examples=5, deadline=None)
@given(
    st.sampled_from(sorted(WAYS)),
    st.integers(0, 2**32),
    st.integers(0, 20),
    st.sampled_from(["bline", "meander", "mixed"]),
    st.sampled_from(["main", "competition"]),
)
def test_a_copy_of_an_environment(
    observation: Any, kind: str, way: str, seed: int, steps: int, red_agent: Any, rules: Any
) -> None:
    game = GameConfig(red_agent=red_agent, rules=rules, observation=observation, episode_length=25)
    played = KINDS[kind](game)
    if kind != "episode":
        played.reset(seed=1)
    length = 24 if kind == "episode" else 36
    actions = np.random.default_rng(seed).integers(0, 145, (length, ENVS))
    for row in actions[:steps]:
        step(played, row)
    twin = WAYS[way](played)
    expected = [step(played, row) for row in actions[steps:]]
    assert_same(tuple(expected), tuple(step(twin, row) for row in actions[steps:]))


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_of_a_belief_shows_its_own(way: str) -> None:
    twin = WAYS[way](Belief(ENVS))  # how it goes on: in the environments above
    assert twin.access is twin.marginals.access


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_of_a_policy_in_the_middle_of_an_episode(way: str) -> None:
    policy, env = load_policy("best"), Cage2Env(red_agent="meander", seed=2)
    seen, _ = env.reset()
    for _ in range(20):
        seen, *_ = env.step(policy.get_action(seen))
    twin, other = WAYS[way](policy), WAYS[way](env)
    mine = theirs = seen
    for _ in range(40):
        action = policy.get_action(mine)
        assert twin.get_action(theirs) == action
        mine, theirs = env.step(action)[0], other.step(action)[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("name", ["random", "greedy", "best", "cardiff", "universal"])
def test_a_copy_of_an_agent(name: str, sampled: bool, way: str) -> None:
    order = DEFAULT_ORDER if name == "universal" else None
    agent: Any = make_agent(name, order, sampled=sampled)
    env = Cage2VectorEnv(ENVS, red_agent="mixed", observation=agent.observation, seed=5)
    seen, infos = env.reset()
    agent.begin(ENVS, seed=7)
    for step in range(40):
        if step == 2:  # before the attacker is recognised
            twin = WAYS[way](agent)
        actions = agent.act(seen, infos["action_mask"], step)
        if step >= 2:
            assert_same(twin.act(seen, infos["action_mask"], step), actions)
        seen, *_, infos = env.step(actions)
