from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.envs.played import PlayedEnv
from tests.ppo.rollouts import new_network, new_player, outputs_of
from tests.workflow.reference import judge_by_marks, judge_by_truth
from workflow_rl.config import GameConfig, OrderEncodingName, PPOConfig, TrainConfig
from workflow_rl.envs.world import PythonWorld, SimulatorWorld, info_arrays, make_vector
from workflow_rl.ppo.acting import Networks
from workflow_rl.ppo.rollout import Player, Rollout
from workflow_rl.ppo.samples import samples_of
from workflow_rl.scenario.actions import ActionKind
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import ACTION_HOST, ACTION_KIND, ACTION_NAMES, HOST_NAMES
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.table import packed_tables
from workflow_rl.train.episodes import Scorekeeper
from workflow_rl.workflow.compliance import COMPLIANT, NOT_A_FIX, REPEAT, VIOLATION
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS, TYPES

ENCODINGS = OrderEncoding("onehot", TYPES.units).order_bits(TYPES.host_ranks(range(NUM_ORDERS)))


def assert_same(a: Rollout, b: Rollout) -> None:
    ours, theirs = a.arrays(), b.arrays()
    assert ours.keys() == theirs.keys()
    for name, one in ours.items():
        assert (one.dtype, one.shape) == (theirs[name].dtype, theirs[name].shape), name
        assert one.tobytes() == theirs[name].tobytes(), name


def replayed(player: Player, seed: int, rollouts: list[Rollout]) -> Any:
    """Plays the recorded actions in another batch; yields it before and after each step."""
    assert isinstance(player.world, SimulatorWorld)
    batch = Batch(player.world.num_envs, player.world.batch.config)
    batch.reset(seed)
    for rollout in rollouts:
        for t in range(len(rollout.actions)):
            yield "before", batch, rollout, t
            batch.step(rollout.actions[t])
            yield "after", batch, rollout, t


def two_rollouts(*, masked: bool = False, **arguments: Any) -> tuple[Player, list[Rollout]]:
    """Two rollouts, neither of which ends with an episode."""
    player = new_player(**arguments)
    network = new_network(player.width)
    return player, [player.collect(network, 33, masked=masked) for _ in range(2)]


# --- what a rollout holds


@pytest.mark.parametrize("order", [None, 77])
@pytest.mark.parametrize("red_agent", ["bline", "meander", "mixed"])
def test_inputs_rewards_and_ends_are_the_batchs_own_from_rollout_to_rollout(
    order: int | None, red_agent: str
) -> None:
    player, rollouts = two_rollouts(order=order, seed=4, red_agent=red_agent)
    for moment, batch, rollout, t in replayed(player, 4, rollouts):
        if moment == "before":
            shown = rollout.inputs[rollout.rows[t]]
            np.testing.assert_array_equal(shown[:, :52], batch.observation)
            np.testing.assert_array_equal(shown[:, 52:], ENCODINGS[rollout.orders[t]])
        else:
            np.testing.assert_array_equal(rollout.env_reward[t], batch.out.reward.astype("f4"))
            np.testing.assert_array_equal(rollout.ends[t], batch.out.truncated)
            if t == len(rollout.actions) - 1 and order is not None:
                after = np.hstack([batch.observation, np.tile(ENCODINGS[order], (6, 1))])
                _, last = outputs_of(new_network(player.width), after)
                np.testing.assert_allclose(rollout.last_values, last, atol=1e-5)
    assert sum(rollout.ends.sum() for rollout in rollouts) == 6 * (2 * 33 // 20)
    orders = np.concatenate([rollout.orders for rollout in rollouts])
    ends = np.concatenate([rollout.ends for rollout in rollouts])[:-1]
    changed = orders[1:] != orders[:-1]
    assert not changed[~ends].any()  # every episode keeps its order
    assert (changed[ends].mean() > 0.7) == (order is None)


@pytest.mark.parametrize("red_agent", ["bline", "meander"])
def test_verdicts_are_the_references_on_the_states_that_were_played(red_agent: str) -> None:
    player, rollouts = two_rollouts(order=None, seed=4, red_agent=red_agent)
    marks = {(0, 0): "No", (1, 0): "Unknown", (0, 1): "User", (1, 1): "Privileged"}
    names = {(False, False): REPEAT, (True, False): VIOLATION, (True, True): COMPLIANT}
    fixes = 0
    for moment, batch, rollout, t in replayed(player, 4, rollouts):
        for k, action in enumerate(rollout.actions[t] if moment == "before" else ()):
            bits = batch.observation[k].reshape(13, 4)[:, 2:].tolist()
            believed = {h: marks[a, b] for h, (a, b) in zip(HOST_NAMES, bits, strict=True)}
            access = dict(zip(HOST_NAMES, batch.out.red_access[k].tolist(), strict=True))
            removable = int(batch.state["removable"][k])
            killable = {h for i, h in enumerate(HOST_NAMES) if removable >> i & 1}
            name, order = ACTION_NAMES[action], ORDERS[rollout.orders[t, k]]
            judged = (
                judge_by_marks(believed, name, order),
                judge_by_truth(access, killable, name, order),
            )
            fixes += judged[0].is_fix
            assert rollout.any_open[t, k].tolist() == [one.any_open for one in judged]
            assert rollout.verdict[t, k].tolist() == [
                names[one.counts, one.complies] if one.is_fix else NOT_A_FIX for one in judged
            ]
    assert fixes > 20


def test_removals_that_end_a_session_are_noted() -> None:
    player = new_player(300, seed=4, episode_length=50)
    rollout = player.collect(new_network(player.width), 50)
    for moment, batch, _, t in replayed(player, 4, [rollout]):
        if moment == "before":
            ends = ACTION_KIND[rollout.actions[t]] == ActionKind.REMOVE
            ends &= (
                batch.state["removable"] >> np.maximum(ACTION_HOST[rollout.actions[t]], 0) & 1 == 1
            )
            np.testing.assert_array_equal(rollout.removed[t], ends)
    assert rollout.removed.sum() > 5


# --- masks


@pytest.mark.parametrize("masked", [False, True])
def test_only_masked_rollouts_never_choose_a_decoy_that_would_be_refused(masked: bool) -> None:
    player, rollouts = two_rollouts(order=None, envs=12, seed=2, masked=masked)
    refused, everyone = 0, np.arange(12)
    for moment, batch, rollout, t in replayed(player, 2, rollouts):
        if moment == "after":
            continue
        chosen, mask = rollout.actions[t], batch.out.action_mask
        refused += int((~mask[everyone, chosen]).sum())
        probabilities, _ = outputs_of(new_network(player.width), rollout.inputs[rollout.rows[t]])
        if masked:
            np.testing.assert_array_equal(rollout.masks[t], mask)
            probabilities = probabilities * mask
        among = probabilities[everyone, chosen] / probabilities.sum(axis=1)
        np.testing.assert_allclose(rollout.log_probability[t], np.log(among), atol=1e-5)
    assert (refused == 0) == masked


# --- inputs as they come


def test_inputs_that_hardly_repeat_are_held_as_they_came_and_played_alike() -> None:
    by_table, plainly = (new_player(12, order=None, episode_length=100) for _ in range(2))
    network = new_network(by_table.width)
    for steps in (30, 20):
        expected = by_table.collect(network, steps, masked=True)
        rollout = plainly.collect(network, steps, masked=True, networks=Networks(network))
        assert len(expected.inputs) < len(rollout.inputs) == 12 * steps
        assert rollout.rows.T.tolist() == np.arange(12 * steps).reshape(12, steps).tolist()
        for name in ("actions", "env_reward", "ends", "orders", "any_open", "verdict", "masks"):
            np.testing.assert_array_equal(getattr(rollout, name), getattr(expected, name), name)
        shown = rollout.inputs[rollout.rows]
        np.testing.assert_array_equal(shown, expected.inputs[expected.rows])
        for name in ("values", "last_values", "log_probability"):
            ours, theirs = getattr(rollout, name), getattr(expected, name)
            np.testing.assert_allclose(ours, theirs, atol=1e-5, err_msg=name)


def test_inputs_that_turn_out_to_repeat_are_looked_up() -> None:
    player, resumed = (new_player(50, red_agent="sleep", episode_length=100) for _ in range(2))
    network = new_network(player.width)
    first = player.collect(network, 20, networks=Networks(network))
    assert len(first.inputs) == 1_000
    resumed.load_state(player.state())
    second = player.collect(network, 20, networks=Networks(network))
    assert len(second.inputs) < 300
    assert len(np.unique(second.inputs, axis=0)) == len(second.inputs)
    assert_same(resumed.collect(network, 20, networks=Networks(network)), second)


# --- orders of any units


def player_of(units: Any, encoding: OrderEncodingName, **train: Any) -> Player:
    world = SimulatorWorld(Batch(8, GameConfig(red_agent="meander", episode_length=12)))
    return Player(world, None, 5, TrainConfig(units=units, order_encoding=encoding, **train))


def collected(player: Player, *, masked: bool = False) -> Rollout:
    return player.collect(new_network(player.width), 30, masked=masked)


@pytest.mark.parametrize(
    "units", ["types", "hosts", "any", {"jewels": ("Op_Server0",), "laptops": ("User1", "User2")}]
)
@pytest.mark.parametrize("encoding", ["ranks+due", "precedence", "due"])
def test_every_input_shows_the_order_in_force_and_what_is_due(
    units: Any, encoding: OrderEncodingName
) -> None:
    player = player_of(units, encoding)
    rollout = collected(player)
    shown = OrderEncoding(encoding, None)
    inputs = rollout.inputs[rollout.rows].reshape(-1, rollout.inputs.shape[1])
    ranks = player.orders.host_ranks(rollout.orders.ravel())
    due = shown.step_bits(packed_tables(SCENARIO2, inputs), ranks)
    expected = np.hstack([shown.order_bits(ranks), due])
    np.testing.assert_array_equal(inputs[:, -shown.size :], expected)
    assert len(set(rollout.orders[0].tolist()) & set(rollout.orders[-1].tolist())) < 8


@pytest.mark.parametrize("units", ["types", "any"])
def test_a_shield_leaves_no_violation_by_what_blue_sees_and_goes_on_later(units: str) -> None:
    first, second = (player_of(units, "ranks+due", follow="shielded") for _ in range(2))
    free = collected(player_of(units, "ranks+due"), masked=True)
    assert (free.verdict[:, :, 0] == VIOLATION).any()
    shielded = collected(first, masked=True)
    assert not (shielded.verdict[:, :, 0] == VIOLATION).any()
    second.load_state(first.state())
    assert_same(collected(first, masked=True), collected(second, masked=True))


# --- episodes that are lost


class Fragile(SimulatorWorld):
    """Breaks off environment 1's episode in its given steps, as a worker that died would."""

    def __init__(self, batch: Batch, at: tuple[int, ...]) -> None:
        super().__init__(batch)
        self._at, self._played = at, 0

    def step(self, actions: Any) -> int:
        ended = super().step(actions)
        self.lost = None
        if self._played in self._at:
            self.lost = np.array([False, True, False])
            spare = Batch(3, self.batch.config)
            spare.reset(100 + self._played)
            self.batch.state[1] = spare.state[1]
            for name, rows in spare.out._asdict().items():
                getattr(self.batch.out, name)[1] = rows[1]
            ended += 1
        self._played += 1
        return ended


def test_an_episode_that_broke_off_is_left_out_and_a_new_one_begins() -> None:
    game = GameConfig(red_agent="bline", episode_length=20)
    world = Fragile(Batch(3, game), at=(4, 30))
    player = Player(world, None, 0)
    rollout = player.collect(new_network(player.width), 50)
    assert rollout.left_out is not None
    assert np.flatnonzero(rollout.left_out[:, 1]).tolist() == [*range(5), *range(25, 31)]
    assert not rollout.left_out[:, [0, 2]].any()
    assert np.flatnonzero(rollout.ends[:, 1]).tolist() == [4, 24, 30]
    _, episodes = Scorekeeper(3).score(rollout, 30.0, "observed")
    assert episodes.env.tolist() == [0, 2, 1, 0, 2]
    whole = rollout.env_reward[5:25, 1].sum()
    assert episodes.env_reward[2] == pytest.approx(whole)
    samples = samples_of([(rollout, rollout.env_reward)], PPOConfig())  # nor learned from
    kept = ~rollout.left_out.ravel()
    np.testing.assert_array_equal(samples.actions.numpy(), rollout.actions.ravel()[kept])


# --- Python environments


def python_player(vector: str, mode: str, order: int | None) -> Player:
    make_env = partial(PlayedEnv, red_agent="meander", episode_length=20)
    settings = (
        {"info_arrays": info_arrays(SCENARIO2), "num_workers": 2} if vector == "shared" else {}
    )
    vectors = make_vector([make_env] * 5, vector, **settings)
    return Player(PythonWorld(vectors, asynchronous=mode == "async"), order, seed=4)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("order", [None, 17])
def test_trajectories_do_not_depend_on_what_carries_the_environments(
    order: int | None, masked: bool
) -> None:
    played = {}
    for way in (("serial", "sync"), ("shared", "sync"), ("shared", "async")):
        player = python_player(*way, order)
        with closing(player.world):
            network = new_network(player.width)
            networks = Networks(network) if way == ("shared", "async") else None
            played[way] = [
                player.collect(network, 33, masked=masked, networks=networks) for _ in range(2)
            ]
    together = played["serial", "sync"]
    assert {len(np.unique(r.orders)) > 1 for r in together} == {order is None}
    # Where environments get ready one by one, inputs are always looked up.
    for rollout in played["shared", "async"]:
        assert len(np.unique(rollout.inputs, axis=0)) == len(rollout.inputs) < rollout.transitions
    for rollouts in played.values():
        for one, other in zip(together, rollouts, strict=True):
            for name in ("actions", "env_reward", "ends", "orders", "any_open", "verdict"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
            # Inputs are numbered as they were met.
            np.testing.assert_array_equal(one.inputs[one.rows], other.inputs[other.rows])
