"""Agents and policies on networks that are not Scenario2."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents.policies import new_policy
from tests.envs.networks import OFFICE, OTHERS, STRANGE
from tests.refused import refused
from workflow_rl import Cage2Env, Cage2RedEnv, Cage2VectorEnv, load_policy
from workflow_rl.agents.action_space import action_space_named
from workflow_rl.agents.greedy import GreedyAgent
from workflow_rl.agents.named import REFERENCE_AGENTS, make_agent
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.agents.standing_orders import sentences_of, standing_orders_of
from workflow_rl.config import GameConfig
from workflow_rl.envs.observations import make_batch
from workflow_rl.scenario.actions import ActionKind, actions_of
from workflow_rl.scenario.network import Blue, Network
from workflow_rl.scenario.network_toml import toml_of
from workflow_rl.workflow.compliance import VIOLATION, judge_observed
from workflow_rl.workflow.orders import Orders
from workflow_rl.workflow.units import units_of

networks = pytest.mark.parametrize("network", OTHERS.values(), ids=OTHERS)


def played(agent: Any, network: Network, steps: int = 40, n: int = 8, **game: Any) -> Any:
    """The batch after so many steps, and the actions of each of them."""
    what = GameConfig(network=network, observation=agent.observation, **game)
    batch = make_batch(n, what, autoreset=False)
    batch.reset(seed=7)
    agent.begin(n, seed=7)
    done = []
    for step in range(steps):
        done.append(agent.act(batch.observation, batch.out.action_mask, step))
        batch.step(done[-1])
    return batch, np.array(done)


def named(network: Network, actions: Any) -> list[str]:
    names = actions_of(network).names
    return [names[action] for action in actions]


# --- agents without neural networks


@networks
def test_sleep_and_react_restore_play_by_the_names_of_the_network(network: Network) -> None:
    _, asleep = played(make_agent("sleep", network=network), network, 5)
    assert set(named(network, asleep.ravel())) == {"Sleep"}
    _, cycle = played(make_agent("react-restore", network=network), network, 30)
    hosts = [host for host in network.host_names if host != network.foothold]
    expected = ["Monitor", *(f"Restore {host}" for host in hosts)]
    assert named(network, cycle[:, 3]) == (expected * 30)[:30]


@networks
def test_random_takes_every_action(network: Network) -> None:
    size = actions_of(network).size
    _, done = played(make_agent("random", network=network), network, 60, n=400)
    times = np.bincount(done.ravel(), minlength=size)
    assert len(times) == size
    assert times.min() > 0.4 * done.size / size
    assert times.max() < 1.8 * done.size / size


@networks
def test_greedy_repairs_by_its_order_and_places_what_is_accepted(network: Network) -> None:
    agent: Any = make_agent("greedy", network=network)
    kinds, hosts = actions_of(network).kinds, actions_of(network).hosts
    game = GameConfig(network=network, red_agent="meander", observation="challenge")
    batch = make_batch(30, game)
    batch.reset(3)
    agent.begin(30, 0)
    ranks = np.tile(agent.order.host_ranks, (30, 1))
    repairs = 0
    for step in range(90):
        mask = batch.out.action_mask.copy()
        done = agent.act(batch.observation, mask, step)
        assert mask[np.arange(30), done].all()
        assert (hosts[done] != network.number(network.foothold)).all()
        verdicts = judge_observed(batch.state["table"].copy(), done, ranks, network).verdict
        assert not (verdicts == VIOLATION).any()
        repairs += int(np.isin(kinds[done], (ActionKind.REMOVE, ActionKind.RESTORE)).sum())
        batch.step(done)
    assert repairs > 100


@networks
def test_the_usual_rules_name_hosts_on_which_blue_acts(network: Network) -> None:
    rules = standing_orders_of(network)
    acted = {h.name for h in network.hosts if h.blue in (Blue.WATCHED, Blue.UNWATCHED)}
    assert set(rules.hosts) == acted - {network.foothold}
    sentences = sentences_of(rules)
    assert all(any(host in sentence for sentence in sentences) for host in rules.hosts)
    names = actions_of(network).names
    assert all(f"{decoy} {host}" in names for host, decoy in rules.decoys)


def test_greedy_follows_the_order_it_is_given() -> None:
    order = Orders(units_of("types", OFFICE)).read("desks > owner > servers > backup > billing")
    agent = GreedyAgent(order, network=OFFICE)
    assert agent.order == order
    first = GreedyAgent(network=OFFICE)
    assert first.order == ("billing", "backup", "servers", "owner", "desks")
    table = np.zeros((1, 4 * len(OFFICE.hosts)), np.int8)
    for host in ("clerk", "billing"):  # both marked User
        table[0, 4 * OFFICE.number(host) + 3] = 1
    everything = np.ones((1, actions_of(OFFICE).size), np.bool_)
    for one, host in ((agent, "clerk"), (first, "billing")):
        one.begin(1, 0)
        (done,) = named(OFFICE, one.act(table, everything, 0))
        assert done in (f"Remove {host}", f"Restore {host}")


@pytest.mark.parametrize("way", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
@pytest.mark.parametrize("name", REFERENCE_AGENTS)
def test_a_copy_of_an_agent_plays_on(name: str, way: Any) -> None:
    agent = make_agent(name, network=STRANGE)
    env = Cage2VectorEnv(3, network=STRANGE, red_agent="meander", seed=5)
    seen, infos = env.reset()
    agent.begin(3, seed=7)
    for step in range(20):
        if step == 5:
            twin = way(agent)
        done = agent.act(seen, infos["action_mask"], step)
        if step >= 5:
            np.testing.assert_array_equal(twin.act(seen, infos["action_mask"], step), done)
        seen, *_, infos = env.step(done)


# --- action spaces


@networks
def test_useful_is_without_what_cannot_matter(network: Network) -> None:
    useful = action_space_named("useful", network)
    everything = action_space_named("all", network)
    assert everything.outputs == actions_of(network).names
    assert set(useful.outputs) < set(everything.outputs)
    idle = {h.name for h in network.hosts if h.blue in (Blue.HIDDEN, Blue.NO_AGENT)}
    idle.add(network.foothold)
    assert not {name.partition(" ")[2] for name in useful.outputs} & idle
    meanings = useful.begin(1).meanings()[0]
    assert [everything.outputs[action] for action in meanings] == list(useful.outputs)


def test_the_winner_s_space_is_of_scenario2_alone() -> None:
    says = "the action space cardiff is of the network scenario2 alone; choose another one for of"
    refused(says, action_space_named, "cardiff", OFFICE)
    refused(says, new_policy, "challenge", "cardiff", network=OFFICE)


# --- policies


@networks
def test_a_policy_stores_its_network_whole(network: Network, tmp_path: Path) -> None:
    policy = new_policy("memory", "useful", network=network, mask_actions=True, conditioned=True)
    policy.save(tmp_path / "it.safetensors")
    again = load_policy(tmp_path / "it.safetensors")
    assert again.config.game.network == network
    assert again.network.digest == network.digest
    names = units_of("types", network).names
    assert again.read_order(names).units.network == network
    for red in ("meander", "path"):
        one, other = (PolicyAgent(p, "it", names) for p in (policy, again))
        _, mine = played(one, network, 15, red_agent=red)
        _, theirs = played(other, network, 15, red_agent=red)
        np.testing.assert_array_equal(mine, theirs)


@settings(max_examples=10, deadline=None)
@given(st.sampled_from([OFFICE, STRANGE]), st.integers(0, 10**6))
def test_a_policy_plays_by_the_table_alone_as_by_what_it_is_shown(
    network: Network, seed: int
) -> None:
    policy = new_policy("memory", network=network, mask_actions=True)
    twin = copy.deepcopy(policy)
    env = Cage2Env(network=network, red_agent="meander", observation="memory", seed=seed)
    seen, _ = env.reset()
    for _ in range(25):
        table = seen[: 4 * len(network.observed)]
        action = policy.get_action(seen)
        assert twin.get_action(table) == action
        seen, *_ = env.step(action)


def test_a_policy_of_one_network_is_refused_on_another(tmp_path: Path) -> None:
    policy = new_policy(network=OFFICE)
    path = tmp_path / "office.safetensors"
    policy.save(path)
    scenario2 = Cage2Env().config.network
    says = "was trained on the network office, and the game is played on scenario2: its hosts and"
    refused(f"policy {says}", make_agent, policy, network=scenario2)
    refused(f"office {says}", make_agent, path, network=scenario2)
    refused(says, Cage2RedEnv, path, network="scenario2")
    says = "best was trained on the network scenario2, and the game is played on office"
    refused(says, make_agent, "best", network=OFFICE)
    refused(says, Cage2RedEnv, "best", network="office")
    env = Cage2Env(network="plant")
    seen, _ = env.reset(seed=0)
    refused("an observation of this policy has 32 values, not", policy.get_action, seen)


def test_an_equal_network_by_another_name_is_the_same() -> None:
    from workflow_rl.scenario.network_toml import network_from_toml

    renamed = network_from_toml(
        toml_of(OFFICE).replace('name = "office"', 'name = "mine"'), "f", "f"
    )
    assert (renamed.name, renamed.digest) == ("mine", OFFICE.digest)
    assert make_agent(new_policy(network=OFFICE), network=renamed).observation == "challenge"


def test_a_red_policy_of_another_network_is_refused(tmp_path: Path) -> None:
    says = "vs-best was trained on the network scenario2, and the game is played on office"
    refused(says, Cage2Env, network="office", red_agent="vs-best")
