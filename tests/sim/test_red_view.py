"""Red's view holds what Red was told, and names no host before Red can."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scenario.drawn import networks
from tests.sim.games import SEEDS, random_actions
from workflow_rl.config import GameConfig
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.tables import tables_of
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.red_given import legal_actions, red_actions_of
from workflow_rl.sim.red_view import actions_on_hosts, remember_red, write_legal, write_red_view

N = 8
NETWORKS = st.one_of(st.just(SCENARIO2), networks())
REDS = st.sampled_from(["random", "bline=1,meander=1,bait=1,random=2"])
TOLD = (  # what CybORG tells Red, its own action included
    *("step", "subnets_known", "addresses_known", "names_known", "ports_known", "ports"),
    *("ot_known", "red_action", "red_target", "red_success", "red_outcome", "red_exploit"),
)


def games(red: str, seed: int, network: Network = SCENARIO2) -> Any:
    """Yields a batch with Red's view after each step of random play, and the memory before it."""
    config = GameConfig(network=network, red_agent=red)
    batch = Batch(N, config, autoreset=False, red_view=True)
    batch.reset(seed=seed)
    for actions in random_actions(seed, 0.3, N, 60, actions_of(network).size):
        before = batch.red.memory.copy()
        batch.step(actions)
        yield batch, before


def hosts_of_zones(network: Network) -> list[list[int]]:
    return [[network.number(host) for host in zone.hosts] for zone in network.zones]


def assert_same_view(batch: Batch, memories: Any, states: Any) -> None:
    net: Any = tables_of(batch.network)[0]
    view, legal = np.zeros_like(batch.red.observation), np.zeros_like(batch.red.legal)
    for k in range(N):
        write_red_view(memories[k], states[k], net, view, k)
        write_legal(memories[k], states[k], net, legal, k)
    np.testing.assert_array_equal(view, batch.red.observation)
    np.testing.assert_array_equal(legal, batch.red.legal)


@settings(deadline=None, max_examples=5)
@given(red=REDS, seed=SEEDS, network=NETWORKS)
def test_games_that_agree_in_what_red_was_told_agree_in_its_view(
    red: str, seed: int, network: Network
) -> None:
    rng = np.random.default_rng(seed)
    for batch, before in games(red, seed, network):
        other = rng.integers(0, 2, N * batch.state.itemsize, np.uint8).view(batch.state.dtype)
        for name in TOLD:
            other[name] = batch.state[name]
        for k in range(N):
            remember_red(before[k], other[k], tables_of(network)[0])
        assert_same_view(batch, before, other)


@settings(deadline=None, max_examples=5)
@given(red=REDS, seed=SEEDS, network=NETWORKS)
def test_which_of_its_subnets_hosts_an_unnamed_one_is_cannot_be_seen(
    red: str, seed: int, network: Network
) -> None:
    rng = np.random.default_rng(seed)
    for batch, _ in games(red, seed, network):
        every = np.arange(len(batch.red.memory["order"][0]))
        states, memories = batch.state.copy(), batch.red.memory.copy()
        for k, (state, memory) in enumerate(zip(states, memories, strict=True)):
            to = every.copy()  # another host for each that has no known name
            for hosts in hosts_of_zones(network):
                unnamed = [host for host in hosts if not state["names_known"] >> host & 1]
                to[unnamed] = rng.permutation(unnamed)
            for name in ("addresses_known", "ports_known"):
                state[name] = ((state[name] >> every & 1) << to).sum()
            for name in ("revealed", "sessions", "privileged", "lost"):
                memory[name] = ((memory[name] >> every & 1) << to).sum()
            for name in ("failures", "since_scan", "since_exploit"):
                memory[name][to] = batch.red.memory[name][k]
            state["ports"][to] = batch.state["ports"][k]
            memory["order"] = to[memory["order"]]
            if state["red_action"] > 1:
                state["red_target"] = to[state["red_target"]]
        assert_same_view(batch, memories, states)


@settings(deadline=None, max_examples=5)
@given(red=REDS, seed=SEEDS, network=NETWORKS)
def test_a_host_stands_at_its_own_position_once_it_is_named(
    red: str, seed: int, network: Network
) -> None:
    drawn = set()
    for batch, before in games(red, seed, network):
        memory = batch.red.memory
        drawn |= {tuple(order) for order in before["order"].tolist()}
        np.testing.assert_array_equal(memory["named"], batch.state["names_known"])
        every = np.arange(len(memory["order"][0]))
        named = (memory["named"][:, None] >> every & 1).astype(bool)
        assert (memory["order"] == every)[named].all()
        assert (np.take_along_axis(memory["place"], memory["order"].astype(int), 1) == every).all()
        for hosts in hosts_of_zones(network):  # nobody leaves its zone
            inside = np.isin(every, hosts)
            assert (inside[memory["order"]] == inside).all()
    if network == SCENARIO2:
        assert len(drawn) > N / 2  # the order is drawn for the episode


def test_legal_actions_on_positions_are_those_on_the_hosts_that_stand_there() -> None:
    for batch, _ in games("random", 5):
        legal = np.array([legal_actions(SCENARIO2, env) for env in batch.state])
        for action in range(red_actions_of(SCENARIO2).size):
            on_hosts = actions_on_hosts(SCENARIO2, np.full(N, action), batch.red.memory)
            np.testing.assert_array_equal(batch.red.legal[:, action], legal[np.arange(N), on_hosts])
