"""A copy made in the middle of an episode plays what the original would have played."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl import Belief, Cage2Env, Cage2VectorEnv, load_policy
from workflow_rl.config import OBSERVATIONS, GameConfig
from workflow_rl.envs.episode import Episode
from workflow_rl.envs.observations import make_batch, make_tracker
from workflow_rl.sim.memory import BEGIN

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


class Played:
    """Something that takes a step by ENVS actions and shows all that it gives."""

    def __init__(self, kind: str, game: GameConfig) -> None:
        self._kind = kind
        make: dict[str, Callable[[], Any]] = {
            "single": lambda: Cage2Env(game=game, seed=1),
            "vector": lambda: Cage2VectorEnv(ENVS, game=game, seed=1),
            "vector without copies": lambda: Cage2VectorEnv(ENVS, game=game, seed=1, copy=False),
            "episode": lambda: Episode(game, 1),
            "batch": lambda: make_batch(ENVS, game),
        }
        self._thing = make[kind]()
        if kind == "batch":
            self._thing.reset(1)
        elif kind != "episode":
            self._thing.reset()

    def step(self, actions: Any) -> Any:
        if self._kind.startswith("vector"):
            return copy.deepcopy(self._thing.step(actions))
        if self._kind == "batch":
            self._thing.step(actions)
            return self._thing.saved()
        if self._kind == "episode":
            self._thing.act(int(actions[0]))
            moment = self._thing.moment
            return moment.observation, moment.action_mask, moment.total, moment.saved
        return self._thing.step(int(actions[0]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["single", "vector", "vector without copies", "episode", "batch"])
@pytest.mark.parametrize("observation", OBSERVATIONS)
@settings(max_examples=4, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(0, 20),
    st.sampled_from(["bline", "meander", "mixed"]),
    st.sampled_from(["main", "competition"]),
)
def test_a_copy_of_an_environment(
    observation: Any, kind: str, way: str, seed: int, steps: int, red_agent: Any, rules: Any
) -> None:
    game = GameConfig(red_agent=red_agent, rules=rules, observation=observation, episode_length=40)
    played, rng = Played(kind, game), np.random.default_rng(seed)
    actions = rng.integers(0, 145, (36, ENVS))
    for row in actions[:steps]:
        played.step(row)
    twin = WAYS[way](played)
    expected = [played.step(row) for row in actions[steps:]]
    assert_same(tuple(expected), tuple(twin.step(row) for row in actions[steps:]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("observation", ["memory", "belief"])
def test_a_copy_of_what_tracks_an_episode_and_of_a_belief(observation: Any, way: str) -> None:
    game = GameConfig(red_agent="mixed", observation=observation)
    env, tracker, belief = Cage2VectorEnv(ENVS, game=game), make_tracker(ENVS, game), Belief(ENVS)
    tables, _ = env.reset(seed=3)
    tracker.update(tables[:, :52].copy(), np.full(ENVS, BEGIN))
    actions = np.random.default_rng(0).integers(0, 145, (40, ENVS))
    twins: tuple[Any, Any] = (None, None)
    for step, row in enumerate(actions):
        if step == 20:
            twins = WAYS[way](tracker), WAYS[way](belief)
        shown = env.step(row)[0]
        rows = tracker.update(shown[:, :52].copy(), row)
        belief.update(shown[:, :52], row)
        if twins[0] is not None:
            assert_same(rows, twins[0].update(shown[:, :52].copy(), row))
            twins[1].update(shown[:, :52], row)
            assert_same(tuple(belief.marginals), tuple(twins[1].marginals))
            assert twins[1].access is twins[1].marginals.access


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
