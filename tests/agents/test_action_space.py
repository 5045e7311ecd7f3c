from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents.test_cardiff import MACROS, PLAIN
from tests.ppo.rollouts import new_network
from tests.refused import refused
from workflow_rl.agents.action_space import CARDIFF, Acting, ActionSpace, action_space_named
from workflow_rl.config import ActionSpaceName, GameConfig, TrainConfig
from workflow_rl.envs.world import SimulatorWorld
from workflow_rl.ppo.rollout import Player
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import ACTION_NAMES, NUM_ACTIONS, parse_action
from workflow_rl.sim.batch import Batch

START = [
    parse_action(name)
    for name in ("DecoyFemitter User2", "DecoyTomcat User2", "DecoyHarakaSMPT Enterprise0")
]
RESTORED = {133: 0, 134: 1, 135: 2, 141: 3, 142: 4, 143: 5, 144: 6, 132: 7, 139: 8}
SPACES = [action_space_named(name, SCENARIO2) for name in get_args(ActionSpaceName)]
USEFUL = action_space_named("useful", SCENARIO2)
EVERYTHING = np.ones((2, NUM_ACTIONS), np.bool_)


class Slow:
    """One environment by the winner's description: a list of used decoys for each macro."""

    def __init__(self) -> None:
        self.used: list[list[int]] = [[] for _ in MACROS]
        for output in (31, 31, 27):
            self.action(output)

    def left(self, output: int) -> list[int]:
        return [a for a in MACROS[output - 27] if a not in self.used[output - 27]]

    def action(self, output: int) -> int:
        if output < 27:
            if PLAIN[output] in RESTORED:
                self.used[RESTORED[PLAIN[output]]] = []
            return PLAIN[output]
        if not self.left(output):
            return MACROS[output - 27][0]
        self.used[output - 27].append(self.left(output)[0])
        return self.used[output - 27][-1]

    def evaluated(self, scores: Any) -> int:
        ranking = sorted(range(36), key=lambda output: -scores[output])
        if ranking[0] < 27 or self.left(ranking[0]):
            return self.action(ranking[0])
        for output in ranking:
            if output < 27 and PLAIN[output] < 132:
                return self.action(output)
            if output >= 27 and self.left(output):
                return self.action(output)
        raise AssertionError("there is always an Analyse")


def started(num_envs: int) -> Acting:
    """The winner's action space after its fixed start."""
    acting = CARDIFF.begin(num_envs)
    for action in START:
        assert acting.is_fixed
        assert acting.actions(np.zeros(num_envs, np.int64)).tolist() == [action] * num_envs
    assert not acting.is_fixed
    return acting


def best(acting: Acting, scores: Any, rows: Any) -> list[int]:
    actions: list[int] = acting.best_actions(scores.argmax(axis=1)[rows], scores, rows).tolist()
    return actions


# --- every action space


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_every_output_has_a_name_a_meaning_and_a_mask(space: ActionSpace) -> None:
    assert action_space_named(space.name, SCENARIO2) is space
    assert len(set(space.outputs)) == space.size
    rng, acting = np.random.default_rng(0), space.begin(5)
    for _ in range(60):
        meanings = np.broadcast_to(acting.meanings(), (5, space.size))
        mask = rng.random((5, NUM_ACTIONS)) < 0.5
        allowed = acting.allowed(mask)
        assert allowed.shape == (5, space.size)
        if space.is_direct:
            assert [ACTION_NAMES[a] for a in meanings[0]] == list(space.outputs)
            np.testing.assert_array_equal(allowed, mask[:, meanings[0]])
        elif not acting.is_fixed:
            for name, action in zip(space.outputs, meanings[4], strict=True):
                assert ACTION_NAMES[action] in name.removeprefix("next of ").split(", ")
        outputs = rng.integers(0, space.size, 5)
        if space.is_direct:  # the best output is always accepted
            scores, rows = np.zeros((1, space.size)), np.zeros(5, np.int64)
            found = acting.best_actions(outputs, scores, rows).tolist()
            assert found == meanings[0, outputs].tolist()
        assert acting.actions(outputs).tolist() == meanings[np.arange(5), outputs].tolist()


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_it_goes_on_exactly_from_a_kept_state(space: ActionSpace) -> None:
    one, other = space.begin(4), space.begin(4)
    rng = np.random.default_rng(0)
    for _ in range(9):
        one.actions(rng.integers(0, space.size, 4))
        one.end(rng.random(4) < 0.2)
    other.load_state(one.state())
    for _ in range(9):
        chosen = rng.integers(0, space.size, 4)
        assert one.actions(chosen).tolist() == other.actions(chosen).tolist()


def test_what_useful_leaves_out_is_refused_or_stands_where_nobody_goes() -> None:
    assert USEFUL.size == 62
    assert not any("User0" in name or "Monitor" in name for name in USEFUL.outputs)
    batch = Batch(1, GameConfig())
    batch.reset(0)
    accepted = {ACTION_NAMES[a] for a in np.flatnonzero(batch.out.action_mask[0])}
    left_out = accepted - set(USEFUL.outputs) - {"Monitor"}
    assert all("User0" in name or name.startswith("Decoy") for name in left_out)
    assert all("User0" in name or "Op_Host" in name for name in left_out)


# --- the winner's


def test_a_macro_is_allowed_until_its_list_is_used_up() -> None:
    acting = started(2)
    assert acting.allowed(EVERYTHING).all()
    acting.actions(np.array([28, 0]))  # the one decoy of Enterprise1; a Restore
    assert np.argwhere(~acting.allowed(EVERYTHING)).tolist() == [[0, 28]]
    acting.actions(np.array([1, 0]))  # restoring Enterprise1 starts its list over
    assert acting.allowed(EVERYTHING).all()


def test_an_episodes_end_starts_over_where_it_ended_only() -> None:
    acting = started(2)
    acting.actions(np.array([31, 31]))
    acting.end(np.array([True, False]))
    assert not acting.is_fixed  # one of them goes on
    ended, going_on = acting.actions(np.array([27, 27]))
    assert ended == START[0]
    assert going_on == parse_action("DecoyTomcat Enterprise0")


@settings(max_examples=40, deadline=None)
@given(outputs=st.lists(st.lists(st.integers(0, 35), min_size=4, max_size=4), max_size=60))
def test_training_equals_the_description(outputs: list[list[int]]) -> None:
    acting, slow = started(4), [Slow() for _ in range(4)]
    for step in outputs:
        expected = [one.action(output) for one, output in zip(slow, step, strict=True)]
        assert acting.actions(np.array(step)).tolist() == expected


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), few=st.integers(1, 9))
def test_evaluation_equals_the_description(seed: int, few: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.random((6, 36))
    scores[:, rng.choice(36, few, replace=False)] += 1  # a few favourites, so that lists run out
    acting, slow = CARDIFF.begin(6), [Slow() for _ in range(6)]
    assert [best(acting, scores, np.arange(6)) for _ in START] == [[action] * 6 for action in START]
    for _ in range(40):
        rows = rng.integers(0, 6, 6)
        expected = [one.evaluated(scores[row]) for one, row in zip(slow, rows, strict=True)]
        assert best(acting, scores, rows) == expected


@pytest.mark.parametrize("output", [-1, 36])
def test_what_is_no_output_is_refused_and_nothing_is_noted(output: int) -> None:
    acting = started(2)
    before = acting.state()
    sentence = rf"^outputs must be .* from 0 to 35 of shape \(2,\), not {output} at \(1\)$"
    refused(sentence, acting.actions, np.array([31, output]))
    for name, array in acting.state().items():
        np.testing.assert_array_equal(array, before[name])


def test_a_rollout_holds_the_outputs_and_judges_the_actions() -> None:
    game = GameConfig(red_agent="meander", episode_length=20, observation="cardiff")
    world = SimulatorWorld(Batch(6, game))
    player = Player(world, 3, 0, TrainConfig(action_space="cardiff"))
    rollout = player.collect(new_network(player.width, CARDIFF.size), 40)
    # The same outputs, performed in another batch, give the same rewards and fixes.
    batch, acting = Batch(6, game), CARDIFF.begin(6)
    batch.reset(0)
    for t in range(40):
        actions = acting.actions(rollout.actions[t])
        is_fix = (actions >= 15) & (actions < 28) | (actions >= 132)
        np.testing.assert_array_equal(rollout.verdict[t, :, 0] != 0, is_fix)
        batch.step(actions)
        np.testing.assert_array_equal(rollout.env_reward[t], batch.out.reward.astype(np.float32))
        acting.end(batch.out.truncated)
