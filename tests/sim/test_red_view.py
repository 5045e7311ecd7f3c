"""Red's view holds what Red was told, and names no host before Red can."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.board import host_index
from tests.sim.games import SEEDS, random_actions
from workflow_rl.config import GameConfig
from workflow_rl.scenario.tables import NUM_HOSTS, SUBNET_HOSTS
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.red_given import NUM_RED_ACTIONS, legal_red_actions
from workflow_rl.sim.red_view import (
    RED_VIEW_LAYOUT,
    RED_VIEW_SIZE,
    actions_on_hosts,
    remember_red,
    write_legal,
    write_red_view,
)

N = 8
REDS = st.sampled_from(["random", "bline=1,meander=1,bait=1,random=2"])
TOLD = (  # what CybORG tells Red, its own action included
    *("step", "subnets_known", "addresses_known", "names_known", "ports_known", "ports"),
    *("ot_known", "red_action", "red_target", "red_success", "red_outcome", "red_exploit"),
)


def games(red: str, seed: int, steps: int = 60) -> Any:
    """Yields a batch with Red's view after each step of random play, and the memory before it."""
    batch = Batch(N, GameConfig(red_agent=red), autoreset=False, red_view=True)
    batch.reset(seed=seed)
    for actions in random_actions(seed, 0.3, N, steps):
        before = batch.red.memory.copy()
        batch.step(actions)
        yield batch, before


def rows_of(memories: Any, states: Any) -> tuple[Any, Any]:
    """What Red sees and may do."""
    view, legal = np.zeros((N, RED_VIEW_SIZE), np.int8), np.zeros((N, NUM_RED_ACTIONS), np.bool_)
    for k in range(N):
        write_red_view(memories[k], states[k], view, k)
        write_legal(memories[k], states[k], legal, k)
    return view, legal


def assert_same(batch: Batch, memories: Any, states: Any) -> None:
    for mine, its in zip(rows_of(memories, states), batch.red[1:3], strict=True):
        np.testing.assert_array_equal(mine, its)


@settings(deadline=None, max_examples=5)
@given(red=REDS, seed=SEEDS)
def test_games_that_agree_in_what_red_was_told_agree_in_its_view(red: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for batch, before in games(red, seed):
        other = rng.integers(0, 2, N * batch.state.itemsize, np.uint8).view(batch.state.dtype)
        for name in TOLD:
            other[name] = batch.state[name]
        for k in range(N):
            remember_red(before[k], other[k])
        assert_same(batch, before, other)


def renamed(rng: np.random.Generator, names_known: int) -> Any:
    """A permutation of the hosts of each subnet that have no known name."""
    to = np.arange(NUM_HOSTS)
    for hosts in SUBNET_HOSTS:
        unnamed = [h for h in range(NUM_HOSTS) if (int(hosts) & ~names_known) >> h & 1]
        to[unnamed] = rng.permutation(unnamed)
    return to


def moved(members: int, to: Any) -> int:
    return sum(1 << int(to[h]) for h in range(NUM_HOSTS) if int(members) >> h & 1)


@settings(deadline=None, max_examples=5)
@given(red=REDS, seed=SEEDS)
def test_which_of_its_subnets_hosts_an_unnamed_one_is_cannot_be_seen(red: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for batch, _ in games(red, seed):
        states, memories = batch.state.copy(), batch.red.memory.copy()
        for k in range(N):
            to = renamed(rng, int(states["names_known"][k]))
            for fields, sets in (
                (states[k], ("addresses_known", "ports_known")),
                (memories[k], ("revealed", "sessions", "privileged", "lost")),
            ):
                for name in sets:
                    fields[name] = moved(fields[name], to)
            if states["red_action"][k] > 1:
                states["red_target"][k] = to[states["red_target"][k]]
            states["ports"][k, to] = batch.state["ports"][k]
            for name in ("failures", "since_scan", "since_exploit"):
                memories[name][k, to] = batch.red.memory[name][k]
            memories["order"][k] = to[batch.red.memory["order"][k]]
        assert_same(batch, memories, states)


@settings(deadline=None, max_examples=5)
@given(red=REDS, seed=SEEDS)
def test_a_host_stands_at_its_own_position_once_it_is_named(red: str, seed: int) -> None:
    every = np.arange(NUM_HOSTS)
    drawn = set()
    for batch, before in games(red, seed):
        memory = batch.red.memory
        drawn |= {tuple(order) for order in before["order"].tolist()}
        np.testing.assert_array_equal(memory["named"], batch.state["names_known"])
        named = (memory["named"][:, None] >> every & 1).astype(bool)
        assert (memory["order"] == every)[named].all()
        assert (np.take_along_axis(memory["place"], memory["order"].astype(int), 1) == every).all()
        for hosts in SUBNET_HOSTS:  # nobody leaves its subnet
            inside = int(hosts) >> every & 1
            assert (inside[memory["order"]] == inside).all()
    assert len(drawn) > N / 2  # the order is drawn for the episode


def test_legal_actions_on_positions_are_those_on_the_hosts_that_stand_there() -> None:
    for batch, _ in games("random", 5):
        legal = np.array([legal_red_actions(env) for env in batch.state])
        for action in range(NUM_RED_ACTIONS):
            on_hosts = actions_on_hosts(np.full(N, action), batch.red.memory)
            np.testing.assert_array_equal(batch.red.legal[:, action], legal >> on_hosts & 1)


def test_the_layout_says_what_is_known_at_the_start() -> None:
    batch = Batch(1, GameConfig(red_agent="bline"), red_view=True)
    batch.reset(seed=0)
    per_host = RED_VIEW_LAYOUT[0].size // NUM_HOSTS
    hosts = batch.red.observation[0, : RED_VIEW_LAYOUT[0].size].reshape(NUM_HOSTS, per_host)
    assert not np.delete(hosts, host_index("U0"), axis=0).any()
    assert hosts[host_index("U0")].nonzero()[0].tolist() == [0, 1, 12, 13]  # address, name, root
    assert sum(entry.size for entry in RED_VIEW_LAYOUT) == RED_VIEW_SIZE
