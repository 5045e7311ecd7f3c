"""Rollouts under orders of any units: what is drawn, what is shown, what is masked."""

import numpy as np
import pytest
import torch

from workflow_rl.belief.observation import make_batch
from workflow_rl.config import GameConfig, OrderEncodingName, TrainConfig
from workflow_rl.envs.world import SimulatorWorld
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.rollout import Player, Rollout
from workflow_rl.sim.table import packed_tables
from workflow_rl.workflow.compliance import VIOLATION
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.episode_orders import EpisodeOrders, episode_orders_of
from workflow_rl.workflow.orders import Orders

GAME = GameConfig(red_agent="meander", episode_length=12)
ENVS, STEPS = 8, 30
JEWELS = {"jewels": ("Op_Server0",), "laptops": ("User1", "User2")}


def player_of(
    orders: EpisodeOrders, encoding: OrderEncodingName, *, shielded: bool = False
) -> Player:
    world = SimulatorWorld(make_batch(ENVS, GAME))
    units = orders.units if isinstance(orders, Orders) else None
    shown = OrderEncoding(encoding, units)
    return Player(world, None, 5, orders=orders, encoding=shown, shielded=shielded)


def collected(player: Player, *, masked: bool = False) -> Rollout:
    torch.manual_seed(0)
    network = ActorCritic(player.width, player.action_space.size, (8,))
    return player.collect(network, STEPS, masked=masked)


@pytest.mark.parametrize("units", ["types", "hosts", "any", JEWELS])
@pytest.mark.parametrize("encoding", ["ranks+due", "precedence", "due"])
def test_every_input_shows_the_order_in_force_and_what_is_due(
    units: object, encoding: OrderEncodingName
) -> None:
    orders = episode_orders_of(TrainConfig(units=units))  # type: ignore[arg-type]
    rollout = collected(player_of(orders, encoding))
    shown = OrderEncoding(encoding, None)
    inputs = rollout.inputs[rollout.rows].reshape(-1, rollout.inputs.shape[1])
    ranks = orders.host_ranks(rollout.orders.ravel())
    tables = packed_tables(inputs)
    expected = np.hstack([shown.order_bits(ranks), shown.step_bits(tables, ranks)])
    np.testing.assert_array_equal(inputs[:, -shown.size :], expected)
    assert len(set(rollout.orders[0].tolist()) & set(rollout.orders[-1].tolist())) < ENVS


def test_drawn_orders_are_as_required() -> None:
    config = TrainConfig(units="hosts", require=("Op_Server0 > User1",))
    orders = episode_orders_of(config)
    assert isinstance(orders, Orders)
    rollout = collected(player_of(orders, "ranks"))
    assert all(orders.holds(order) for order in np.unique(rollout.orders).tolist())


@pytest.mark.parametrize("units", ["types", "any"])
def test_a_shield_leaves_no_violation_by_what_blue_sees(units: str) -> None:
    orders = episode_orders_of(TrainConfig(units=units))
    open_play = collected(player_of(orders, "ranks+due"), masked=True)
    shielded = collected(player_of(orders, "ranks+due", shielded=True), masked=True)
    assert (open_play.verdict[:, :, 0] == VIOLATION).any()
    assert not (shielded.verdict[:, :, 0] == VIOLATION).any()


def test_a_player_goes_on_from_a_kept_state_with_the_same_orders() -> None:
    orders = episode_orders_of(TrainConfig(units="any"))
    first, second = (player_of(orders, "ranks+due", shielded=True) for _ in range(2))
    collected(first, masked=True)
    second.load_state(first.state())
    one, other = collected(first, masked=True), collected(second, masked=True)
    np.testing.assert_array_equal(one.orders, other.orders)
    np.testing.assert_array_equal(one.actions, other.actions)
    np.testing.assert_array_equal(one.verdict, other.verdict)
