from contextlib import closing
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from tests.envs.played import PlayedEnv
from tests.ppo.rollouts import new_network, new_player, played, probabilities_of
from tests.workflow.reference import judge_by_marks, judge_by_truth
from workflow_rl.config import GameConfig, PPOConfig
from workflow_rl.envs.python_world import INFO_ARRAYS, PythonWorld
from workflow_rl.envs.vectors import make_vector
from workflow_rl.envs.world import SimulatorWorld
from workflow_rl.ppo.rollout import Player, Rollout
from workflow_rl.ppo.update import Learner, samples_of
from workflow_rl.scenario.actions import ACTION_HOST, ACTION_KIND, ACTION_NAMES, ActionKind
from workflow_rl.scenario.tables import HOST_NAMES
from workflow_rl.sim.batch import Batch
from workflow_rl.train.episodes import Scorekeeper
from workflow_rl.workflow.compliance import COMPLIANT, NOT_A_FIX, REPEAT, VIOLATION
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS, TYPES

ENCODINGS = OrderEncoding("onehot", TYPES.units).order_bits(TYPES.host_ranks(range(NUM_ORDERS)))


def assert_same(a: Rollout, b: Rollout) -> None:
    for f in fields(Rollout):
        if f.name == "simulate_seconds":  # measured
            continue
        one, other = getattr(a, f.name), getattr(b, f.name)
        assert (one is None) == (other is None)
        if one is not None:
            assert (one.dtype, one.shape) == (other.dtype, other.shape), f.name
            assert one.tobytes() == other.tobytes(), f.name


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


def two_rollouts(**arguments: Any) -> tuple[Player, list[Rollout]]:
    """Two rollouts, neither of which ends with an episode."""
    masked = arguments.pop("masked", False)
    player = new_player(**arguments)
    network = new_network(player.width)
    return player, [player.collect(network, 33, masked=masked) for _ in range(2)]


# --- what a rollout holds


@pytest.mark.parametrize(
    ("conditioned", "observation", "width"),
    [(True, "challenge", 77), (False, "challenge", 52), (True, "cardiff", 87)],
)
def test_shapes(conditioned: bool, observation: str, width: int) -> None:
    rollout = played(30, 6, conditioned=conditioned, observation=observation)
    distinct = len(rollout.inputs)
    assert rollout.transitions == 180
    assert rollout.inputs.shape == (distinct, width)
    assert rollout.last_values.shape == (6,)
    for array in (rollout.rows, rollout.actions, rollout.env_reward, rollout.ends, rollout.orders):
        assert array.shape == (30, 6)
    assert rollout.log_probability.shape == rollout.values.shape == (30, 6)
    assert rollout.any_open.shape == rollout.verdict.shape == (30, 6, 2)
    assert rollout.masks is None


def test_the_inputs_are_distinct_and_all_of_them_were_met() -> None:
    rollout = played(40, 8)
    assert len(np.unique(rollout.inputs, axis=0)) == len(rollout.inputs) < 320
    met = set(rollout.rows.ravel())
    assert met <= set(range(len(rollout.inputs)))
    assert len(met) >= len(rollout.inputs) - 8  # the rest came after the last step


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
                with torch.no_grad():
                    _, last = new_network(player.width)(torch.from_numpy(after).float())
                np.testing.assert_allclose(rollout.last_values, last.numpy(), atol=1e-5)
    assert sum(rollout.ends.sum() for rollout in rollouts) == 6 * (2 * 33 // 20)


@pytest.mark.parametrize("red_agent", ["bline", "meander"])
def test_verdicts_are_the_references_on_the_states_that_were_played(red_agent: str) -> None:
    player, rollouts = two_rollouts(order=None, seed=4, red_agent=red_agent)
    marks = {(0, 0): "No", (1, 0): "Unknown", (0, 1): "User", (1, 1): "Privileged"}
    names = {(False, False): REPEAT, (True, False): VIOLATION, (True, True): COMPLIANT}
    fixes = 0
    for moment, batch, rollout, t in replayed(player, 4, rollouts):
        if moment == "after":
            continue
        for k, action in enumerate(rollout.actions[t]):
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
    removed = 0
    for moment, batch, _, t in replayed(player, 4, [rollout]):
        if moment == "before":
            targets = ACTION_HOST[rollout.actions[t]]
            ends = ACTION_KIND[rollout.actions[t]] == ActionKind.REMOVE
            ends &= batch.state["removable"] >> np.maximum(targets, 0) & 1 == 1
            np.testing.assert_array_equal(rollout.removed[t], ends)
            removed += ends.sum()
    assert removed > 5


def test_the_chosen_actions_could_be_chosen() -> None:
    rollout = played(60, 10)
    probabilities = probabilities_of(new_network(77), rollout.inputs)
    chosen = probabilities[rollout.rows, rollout.actions]
    np.testing.assert_allclose(rollout.log_probability, np.log(chosen), atol=1e-5)
    # Each action's count is a sum of independent draws given the inputs met.
    expected = probabilities[rollout.rows].sum(axis=(0, 1))
    counts = np.bincount(rollout.actions.ravel(), minlength=145)
    assert ((counts - expected) ** 2 / expected).sum() < 144 + 5 * np.sqrt(2 * 144)


# --- seeds


@pytest.mark.parametrize("masked", [False, True])
def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_game(masked: bool) -> None:
    first, again = (two_rollouts(order=None, seed=9, masked=masked)[1] for _ in range(2))
    for a, b in zip(first, again, strict=True):
        assert_same(a, b)
    other = two_rollouts(order=None, seed=10, masked=masked)[1]
    assert (first[0].actions != other[0].actions).any()
    assert (first[0].orders != other[0].orders).any()


def test_two_rollouts_of_a_player_differ() -> None:
    _, (first, second) = two_rollouts()
    assert (first.actions != second.actions).any()


def test_numpys_global_generator_is_neither_used_nor_moved() -> None:
    np.random.seed(1)
    before = np.random.get_state()[1].tolist()  # type: ignore[index]
    first = played(5)
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index]
    np.random.seed(2)
    assert_same(first, played(5))


# --- orders


def test_a_fixed_order_is_in_force_and_shown_throughout() -> None:
    _, rollouts = two_rollouts(order=119)
    for rollout in rollouts:
        assert (rollout.orders == 119).all()
        assert (rollout.inputs[:, 52:] == ENCODINGS[119]).all()


def test_without_a_fixed_order_every_episode_draws_one_and_keeps_it() -> None:
    _, rollouts = two_rollouts(order=None, envs=50)
    orders = np.concatenate([rollout.orders for rollout in rollouts])
    ends = np.concatenate([rollout.ends for rollout in rollouts])
    changed = orders[1:] != orders[:-1]
    assert not changed[~ends[:-1]].any()
    assert changed[ends[:-1]].mean() > 0.9  # 1 in 120 draws the same again
    for rollout in rollouts:
        shown = rollout.inputs[rollout.rows][:, :, 52:]
        np.testing.assert_array_equal(shown, ENCODINGS[rollout.orders])


def test_drawn_orders_are_spread_over_all_120() -> None:
    player = new_player(envs=400, order=None, episode_length=1)
    orders = player.collect(new_network(player.width), 30).orders
    counts = np.bincount(orders.ravel(), minlength=120)
    assert ((counts - 100) ** 2 / 100).sum() < 119 + 5 * np.sqrt(2 * 119)


def test_an_unconditioned_policy_is_judged_by_the_order_but_not_shown_it() -> None:
    rollout = played(20, 4, order=119, conditioned=False)
    assert (rollout.orders == 119).all()
    assert rollout.inputs.shape[1] == 52


# --- masks


def test_masked_rollouts_never_choose_a_decoy_that_would_be_refused() -> None:
    player, rollouts = two_rollouts(order=None, envs=12, seed=2, masked=True)
    refusals = 0
    for moment, batch, rollout, t in replayed(player, 2, rollouts):
        assert rollout.masks is not None
        probabilities = probabilities_of(new_network(player.width), rollout.inputs)
        if moment == "before":
            np.testing.assert_array_equal(rollout.masks[t], batch.out.action_mask)
            assert rollout.masks[t, np.arange(12), rollout.actions[t]].all()
            allowed = probabilities[rollout.rows[t]] * rollout.masks[t]
            among = allowed[np.arange(12), rollout.actions[t]] / allowed.sum(axis=1)
            np.testing.assert_allclose(rollout.log_probability[t], np.log(among), atol=1e-5)
            refusals += (~rollout.masks[t]).sum()
        else:
            placed = batch.state["decoy_placed"][~batch.out.truncated]
            tried = np.array(["Decoy" in ACTION_NAMES[a] for a in rollout.actions[t]])
            assert (placed[tried[~batch.out.truncated]] >= 0).all()
    assert refusals > 0


def test_unmasked_rollouts_do_try_refused_decoys() -> None:
    player, rollouts = two_rollouts(order=None, envs=12, seed=2)
    refused = [
        ~batch.out.action_mask[np.arange(12), rollout.actions[t]]
        for moment, batch, rollout, t in replayed(player, 2, rollouts)
        if moment == "before"
    ]
    assert np.any(refused)


# --- inputs as they come


def long_episodes(**arguments: Any) -> Player:
    """Inputs of drawn orders hardly repeat in a few steps."""
    return new_player(12, order=None, episode_length=100, **arguments)


def test_inputs_that_hardly_repeat_are_held_as_they_came_and_played_alike() -> None:
    by_table, plainly = long_episodes(), long_episodes()
    network = new_network(by_table.width)
    for steps in (30, 20):
        expected = by_table.collect(network, steps, masked=True)
        rollout = plainly.collect(network, steps, masked=True, distinct=False)
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
    first = player.collect(network, 20, distinct=False)
    assert len(first.inputs) == 1_000
    resumed.load_state(player.state())
    second = player.collect(network, 20, distinct=False)
    assert len(second.inputs) < 300
    assert len(np.unique(second.inputs, axis=0)) == len(second.inputs)
    assert_same(resumed.collect(network, 20, distinct=False), second)


def test_environments_that_get_ready_one_by_one_use_the_table() -> None:
    player = python_player("shared", "async", None)
    with closing(player.world):
        rollout = player.collect(new_network(player.width), 20, distinct=False)
    assert len(np.unique(rollout.inputs, axis=0)) == len(rollout.inputs) < 100


# --- going on later


@pytest.mark.parametrize("order", [None, 5])
@pytest.mark.parametrize("distinct", [False, True])
def test_a_kept_state_goes_on_identically(order: int | None, distinct: bool) -> None:
    player, _ = two_rollouts(order=order, seed=6)
    kept = {name: array.copy() for name, array in player.state().items()}
    network = new_network(player.width, seed=1)
    played = [player.collect(network, 25, masked=True, distinct=distinct) for _ in range(2)]
    resumed = new_player(order=order, seed=6)
    resumed.load_state(kept)
    for rollout in played:
        assert_same(resumed.collect(network, 25, masked=True, distinct=distinct), rollout)


# --- episodes that are lost


class Fragile(SimulatorWorld):
    """Breaks off environment 1's episode in its given steps, as a worker that died would."""

    def __init__(self, batch: Batch, at: tuple[int, ...]) -> None:
        super().__init__(batch)
        self._play = self.step
        self.step = self._step
        self._at, self._played = at, 0

    def _step(self, *arguments: Any, **named: Any) -> int:
        ended = self._play(*arguments, **named)
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


def test_steps_left_out_are_not_learned_from() -> None:
    game = GameConfig(red_agent="bline", episode_length=20)
    player = Player(Fragile(Batch(3, game), at=(4,)), None, 0)
    rollout = player.collect(new_network(player.width), 40)
    reward = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    samples = samples_of([(rollout, reward)], PPOConfig())
    assert rollout.left_out is not None
    kept = ~rollout.left_out.ravel()
    assert len(samples) == kept.sum() == 115
    np.testing.assert_array_equal(samples.actions.numpy(), rollout.actions.ravel()[kept])
    stats = Learner(new_network(player.width), PPOConfig()).update(
        [(rollout, reward)], np.random.default_rng(0)
    )
    assert np.isfinite(stats.explained_variance)


# --- Python environments


def python_player(vector: str, mode: str, order: int | None) -> Player:
    make_env = partial(PlayedEnv, red_agent="meander", episode_length=20)
    settings = {"info_arrays": INFO_ARRAYS, "num_workers": 2} if vector == "shared" else {}
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
            played[way] = [player.collect(network, 33, masked=masked) for _ in range(2)]
    together = played["serial", "sync"]
    assert {len(np.unique(r.orders)) > 1 for r in together} == {order is None}
    for rollouts in played.values():
        for one, other in zip(together, rollouts, strict=True):
            for name in ("actions", "env_reward", "ends", "orders", "any_open", "verdict"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
            # Inputs are numbered as they were met.
            np.testing.assert_array_equal(one.inputs[one.rows], other.inputs[other.rows])
