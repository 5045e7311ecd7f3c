import numpy as np
import pytest

from tests.ppo.rollouts import new_network
from workflow_rl.agents.outputs import make_outputs
from workflow_rl.config import GameConfig
from workflow_rl.envs.world import SimulatorWorld
from workflow_rl.ppo.rollout import Player
from workflow_rl.scenario.actions import NUM_ACTIONS, parse_action
from workflow_rl.scenario.cardiff import NUM_OUTPUTS, DecoyLists
from workflow_rl.sim.batch import Batch

START = [
    parse_action(name)
    for name in ("DecoyFemitter User2", "DecoyTomcat User2", "DecoyHarakaSMPT Enterprise0")
]


def test_by_default_an_output_is_an_action() -> None:
    outputs = make_outputs("all", 3)
    assert outputs.count == NUM_ACTIONS
    assert outputs.actions(np.array([0, 7, 144])).tolist() == [0, 7, 144]
    outputs.end(np.ones(3, np.bool_))
    outputs.load_state(outputs.state())


def test_every_episode_of_the_winners_kind_begins_with_three_fixed_decoys() -> None:
    outputs = make_outputs("cardiff", 2)
    assert outputs.count == NUM_OUTPUTS
    rng = np.random.default_rng(0)
    for _ in range(2):
        for action in START:
            assert outputs.actions(rng.integers(0, NUM_OUTPUTS, 2)).tolist() == [action] * 2
        outputs.actions(rng.integers(0, NUM_OUTPUTS, 2))
        outputs.end(np.ones(2, np.bool_))


def test_after_the_start_its_outputs_go_on_with_the_lists() -> None:
    outputs, lists = make_outputs("cardiff", 1), DecoyLists(1)
    for output in (31, 31, 27):
        lists.actions(np.array([output]))
    for _ in START:
        outputs.actions(np.array([5]))
    for output in (31, 31, 31, 27, 0, 27, 17, 31, 35):
        expected = lists.actions(np.array([output]))
        assert outputs.actions(np.array([output])).tolist() == expected.tolist()


def test_an_episodes_end_starts_over_where_it_ended_only() -> None:
    outputs = make_outputs("cardiff", 2)
    for _ in range(4):
        outputs.actions(np.array([31, 31]))
    outputs.end(np.array([True, False]))
    ended, going_on = outputs.actions(np.array([27, 27]))
    assert ended == START[0]
    assert going_on == parse_action("DecoyTomcat Enterprise0")


def test_it_goes_on_exactly_from_a_kept_state() -> None:
    one, other = make_outputs("cardiff", 4), make_outputs("cardiff", 4)
    rng = np.random.default_rng(0)
    for _ in range(9):
        one.actions(rng.integers(0, NUM_OUTPUTS, 4))
        one.end(rng.random(4) < 0.2)
    other.load_state(one.state())
    for _ in range(9):
        chosen = rng.integers(0, NUM_OUTPUTS, 4)
        assert one.actions(chosen).tolist() == other.actions(chosen).tolist()


@pytest.mark.parametrize("conditioned", [True, False])
def test_a_rollout_holds_the_outputs_and_judges_the_actions(conditioned: bool) -> None:
    game = GameConfig(red_agent="meander", episode_length=20, observation="cardiff")
    player = Player(
        SimulatorWorld(Batch(6, game)),
        3,
        0,
        conditioned=conditioned,
        outputs=make_outputs("cardiff", 6),
    )
    network = new_network(player.width, NUM_OUTPUTS)
    rollout = player.collect(network, 40)
    assert rollout.probabilities.shape[1] == NUM_OUTPUTS
    assert rollout.actions.max() < NUM_OUTPUTS
    # The same outputs, performed beside it, give the same rewards and fixes.
    batch, outputs = Batch(6, game), make_outputs("cardiff", 6)
    batch.reset(0)
    for t in range(40):
        actions = outputs.actions(rollout.actions[t])
        is_fix = (actions >= 15) & (actions < 28) | (actions >= 132)
        np.testing.assert_array_equal(rollout.verdict[t, :, 0] != 0, is_fix)
        batch.step(actions)
        np.testing.assert_array_equal(rollout.env_reward[t], batch.out.reward.astype(np.float32))
        outputs.end(batch.out.truncated)
