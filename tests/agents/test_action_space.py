from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ppo.rollouts import new_network
from tests.scenario.test_cardiff import MACROS, PLAIN
from workflow_rl.agents.action_space import (
    ActionSpace,
    action_space_of,
    draw,
    make_action_space,
)
from workflow_rl.config import ACTION_SPACES, GameConfig
from workflow_rl.envs.world import SimulatorWorld
from workflow_rl.errors import InvalidInputError
from workflow_rl.ppo.rollout import Player
from workflow_rl.scenario.actions import ACTION_NAMES, NUM_ACTIONS, parse_action
from workflow_rl.scenario.cardiff import NUM_OUTPUTS
from workflow_rl.sim.batch import Batch

START = [
    parse_action(name)
    for name in ("DecoyFemitter User2", "DecoyTomcat User2", "DecoyHarakaSMPT Enterprise0")
]
RESTORED = {133: 0, 134: 1, 135: 2, 141: 3, 142: 4, 143: 5, 144: 6, 132: 7, 139: 8}


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


def started(num_envs: int) -> ActionSpace:
    """The winner's action space after its fixed start."""
    space = make_action_space("cardiff", num_envs)
    for action in START:
        assert space.is_fixed
        assert space.actions(np.zeros(num_envs, np.int64)).tolist() == [action] * num_envs
    assert not space.is_fixed
    return space


def best(space: ActionSpace, scores: Any, rows: Any) -> list[int]:
    actions: list[int] = space.best_actions(scores.argmax(axis=1)[rows], scores, rows).tolist()
    return actions


# --- which there are


def test_a_policy_s_action_space_is_told_by_its_outputs() -> None:
    for name in ACTION_SPACES:
        assert action_space_of(make_action_space(name, 1).size) == name
    with pytest.raises(InvalidInputError, match="54 outputs cannot play"):
        action_space_of(54)


def test_by_default_an_output_is_an_action() -> None:
    space = make_action_space("all", 3)
    assert space.size == NUM_ACTIONS
    assert not space.is_fixed
    outputs = np.array([0, 7, 144])
    assert space.actions(outputs).tolist() == [0, 7, 144]
    assert space.best_actions(outputs, np.zeros((1, 145)), np.zeros(3, int)).tolist() == [0, 7, 144]
    space.end(np.ones(3, np.bool_))
    space.load_state(space.state())


# --- those that can matter


def test_an_output_of_the_useful_space_is_an_action_and_masked_like_it() -> None:
    space = make_action_space("useful", 2)
    names = [ACTION_NAMES[a] for a in space.actions(np.arange(space.size))]
    assert names[0] == "Sleep"
    assert len(set(names)) == space.size == 62
    assert not any("User0" in name or "Monitor" in name for name in names)
    mask = np.ones((2, NUM_ACTIONS), np.bool_)
    mask[1, parse_action("DecoyApache User1")] = False
    allowed = space.allowed(mask)
    assert allowed[0].all()
    assert [names[i] for i in np.flatnonzero(~allowed[1])] == ["DecoyApache User1"]
    assert (
        space.best_actions(np.array([3, 3]), np.zeros((2, 62)), np.array([0, 1])).tolist()
        == [parse_action(names[3])] * 2
    )


def test_every_decoy_that_is_left_out_is_refused_or_stands_where_nobody_goes() -> None:
    space = make_action_space("useful", 1)
    useful = set(space.actions(np.arange(space.size)).tolist())
    batch = Batch(1, GameConfig())
    batch.reset(0)
    accepted = np.flatnonzero(batch.out.action_mask[0])
    left_out = {ACTION_NAMES[a] for a in accepted if a not in useful} - {"Monitor"}
    assert all("User0" in name or name.startswith("Decoy") for name in left_out)
    assert all("User0" in name or "Op_Host" in name for name in left_out)


# --- the winner's


def test_a_macro_is_allowed_until_its_list_is_used_up() -> None:
    space, mask = started(2), np.ones((2, NUM_ACTIONS), np.bool_)
    assert space.allowed(mask).shape == (2, NUM_OUTPUTS)
    assert space.allowed(mask).all()
    space.actions(np.array([28, 0]))  # the one decoy of Enterprise1; a Restore
    assert np.flatnonzero(~space.allowed(mask)[0]).tolist() == [28]
    assert space.allowed(mask)[1].all()
    space.actions(np.array([1, 0]))  # restoring Enterprise1 starts its list over
    assert space.allowed(mask).all()


def test_every_episode_of_the_winners_kind_begins_with_three_fixed_decoys() -> None:
    space = make_action_space("cardiff", 2)
    assert space.size == NUM_OUTPUTS
    rng = np.random.default_rng(0)
    for _ in range(2):
        for action in START:
            assert space.actions(rng.integers(0, NUM_OUTPUTS, 2)).tolist() == [action] * 2
        space.actions(rng.integers(0, NUM_OUTPUTS, 2))
        space.end(np.ones(2, np.bool_))


def test_the_fixed_start_replaces_the_best_output_too() -> None:
    space = make_action_space("cardiff", 2)
    scores = np.random.default_rng(0).random((2, 36))
    rows = np.array([0, 1])
    assert [best(space, scores, rows) for _ in START] == [[action] * 2 for action in START]


def test_an_episodes_end_starts_over_where_it_ended_only() -> None:
    space = started(2)
    space.actions(np.array([31, 31]))
    space.end(np.array([True, False]))
    assert not space.is_fixed  # one of them goes on
    ended, going_on = space.actions(np.array([27, 27]))
    assert ended == START[0]
    assert going_on == parse_action("DecoyTomcat Enterprise0")


def test_it_goes_on_exactly_from_a_kept_state() -> None:
    one, other = make_action_space("cardiff", 4), make_action_space("cardiff", 4)
    rng = np.random.default_rng(0)
    for _ in range(9):
        one.actions(rng.integers(0, NUM_OUTPUTS, 4))
        one.end(rng.random(4) < 0.2)
    other.load_state(one.state())
    for _ in range(9):
        chosen = rng.integers(0, NUM_OUTPUTS, 4)
        assert one.actions(chosen).tolist() == other.actions(chosen).tolist()


@settings(max_examples=40, deadline=None)
@given(outputs=st.lists(st.lists(st.integers(0, 35), min_size=4, max_size=4), max_size=60))
def test_training_equals_the_description(outputs: list[list[int]]) -> None:
    space, slow = started(4), [Slow() for _ in range(4)]
    for step in outputs:
        expected = [one.action(output) for one, output in zip(slow, step, strict=True)]
        assert space.actions(np.array(step)).tolist() == expected


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), few=st.integers(1, 9))
def test_evaluation_equals_the_description(seed: int, few: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.random((6, 36))
    scores[:, rng.choice(36, few, replace=False)] += 1  # a few favourites, so that lists run out
    space, slow = started(6), [Slow() for _ in range(6)]
    for _ in range(40):
        rows = rng.integers(0, 6, 6)
        expected = [one.evaluated(scores[row]) for one, row in zip(slow, rows, strict=True)]
        assert best(space, scores, rows) == expected


def test_an_exhausted_favourite_gives_way_to_the_next_best_but_a_restore() -> None:
    scores = np.zeros((1, 36))
    scores[0, [28, 1, 0, 9]] = [4, 3, 2, 1]  # Femitter on Enterprise1, two Restores, Remove
    space, rows = started(1), np.array([0])
    assert [best(space, scores, rows) for _ in range(3)] == [[43], [17], [17]]


@pytest.mark.parametrize("output", [-1, 36])
def test_what_is_no_output_is_refused_and_nothing_is_noted(output: int) -> None:
    space = started(2)
    before = space.state()
    with pytest.raises(ValueError, match=f"output {output} is not one of 0 to 35"):
        space.actions(np.array([31, output]))
    for name, array in space.state().items():
        np.testing.assert_array_equal(array, before[name])


# --- drawing


def test_an_output_is_drawn_by_its_share_of_the_sum() -> None:
    rows = np.array([[1.0, 0.0, 3.0]] * 5)
    assert draw(rows, np.array([0.0, 0.2, 0.25, 0.5, 0.999])).tolist() == [0, 0, 2, 2, 2]
    assert draw(rows[:0], np.empty(0)).tolist() == []


# --- in training


@pytest.mark.parametrize("conditioned", [True, False])
def test_a_rollout_holds_the_outputs_and_judges_the_actions(conditioned: bool) -> None:
    game = GameConfig(red_agent="meander", episode_length=20, observation="cardiff")
    player = Player(
        SimulatorWorld(Batch(6, game)),
        3,
        0,
        conditioned=conditioned,
        action_space=make_action_space("cardiff", 6),
    )
    network = new_network(player.width, NUM_OUTPUTS)
    rollout = player.collect(network, 40)
    assert rollout.actions.max() < NUM_OUTPUTS
    # The same outputs, performed beside it, give the same rewards and fixes.
    batch, space = Batch(6, game), make_action_space("cardiff", 6)
    batch.reset(0)
    for t in range(40):
        actions = space.actions(rollout.actions[t])
        is_fix = (actions >= 15) & (actions < 28) | (actions >= 132)
        np.testing.assert_array_equal(rollout.verdict[t, :, 0] != 0, is_fix)
        batch.step(actions)
        np.testing.assert_array_equal(rollout.env_reward[t], batch.out.reward.astype(np.float32))
        space.end(batch.out.truncated)
