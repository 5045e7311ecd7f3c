"""The belief on networks other than Scenario2."""

from typing import Any

import numpy as np
import pytest

from tests.belief.brute_force import BruteForce
from tests.belief.games import play_at_random, probability_of
from tests.belief.networks import ALL, GATED, MISINFORMED, PORTS, padded
from workflow_rl.belief.belief import Belief
from workflow_rl.belief.observation import BelievingBatch, BlueBelief, believed
from workflow_rl.config import RED_AGENTS, RULE_SETS, GameConfig
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.network import Network
from workflow_rl.sim.memory import BEGIN
from workflow_rl.sim.observation import simulated
from workflow_rl.sim.state import Raised


def name_of(value: Any) -> str | None:
    return value.name if isinstance(value, Network) else None


@pytest.mark.compiled
@pytest.mark.parametrize("red_agent", ["bline", "meander"])
@pytest.mark.parametrize(
    ("network", "steps", "game"),
    [
        (GATED, 14, {}),
        (GATED, 6, {"green_agent": "active"}),
        (PORTS, 14, {"rules": "competition"}),
        (MISINFORMED, 7, {}),
    ],
    ids=name_of,
)
def test_the_belief_is_what_trying_every_draw_gives(
    network: Network, steps: int, game: dict[str, Any], red_agent: str
) -> None:
    games = play_at_random(network, 1, steps, seed=4, red_agent=red_agent, **game)
    belief, reference = Belief(network=network, **game), BruteForce(network, **game)
    uncertain = 0
    for step in range(steps):
        belief.update(games.observations[step, 0], games.actions[step, 0])
        reference.update(games.states[step, 0]["table"], int(games.actions[step, 0]))
        np.testing.assert_allclose(belief.access[0], reference.access, atol=1e-12)
        np.testing.assert_allclose(belief.ot_stopped[0], reference.ot_stopped, atol=1e-12)
        np.testing.assert_allclose(belief.red_agent[0], reference.red_agent, atol=1e-12)
        uncertain += int(belief.num_states[0] > 1)
    assert uncertain
    assert belief.num_states[0] <= len(reference.states)
    assert belief.is_exact.all()


@pytest.mark.compiled
@pytest.mark.parametrize("network", ALL, ids=name_of)
@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize("green_agent", ["sleep", "active"])
def test_the_true_state_always_has_a_probability(
    network: Network, rules: Any, green_agent: Any
) -> None:
    game = {"rules": rules, "green_agent": green_agent}
    games = play_at_random(network, 60, 40, seed=2, red_agent="mixed", **game)
    belief = Belief(60, network=network, particles=20_000, **game)
    for step in range(40):
        belief.update(games.observations[step], games.actions[step])
        assert probability_of(games.states[step], belief).min() > 0
    assert belief.is_exact.all()


def test_a_red_that_would_raise_is_known_to_sleep() -> None:
    games = play_at_random(PORTS, 30, 40, seed=1, acting=0.0, red_agent="bline")
    assert (games.states[-1]["red_raised"] != Raised.NOTHING).all()
    belief = Belief(30, network=PORTS)
    for observation, action in zip(games.observations, games.actions, strict=True):
        belief.update(observation, action)
    bline, sleep = RED_AGENTS.index("bline"), RED_AGENTS.index("sleep")
    np.testing.assert_allclose(belief.red_agent[:, [bline, sleep]], 0.5)  # nothing tells them apart
    np.testing.assert_allclose(belief.access[:, 0, 2], 1.0)  # the foothold
    np.testing.assert_allclose(belief.access[:, 1:, 0], 1.0)


def test_the_second_stopped_service_is_on_a_host_that_nobody_watches() -> None:
    games = play_at_random(GATED, 60, 60, seed=6, acting=0.0, red_agent="meander")
    assert (games.states[-1]["ot_down"] == 0b11000).any()
    belief = Belief(60, network=GATED)
    for observation, action in zip(games.observations, games.actions, strict=True):
        belief.update(observation, action)
    right = (belief.ot_stopped > 0.5) == (games.states[-1]["ot_down"] != 0)
    assert right.mean() > 0.9


@pytest.mark.compiled
@pytest.mark.parametrize("spare", [11, 12, 27, 28, 59])
def test_hosts_that_red_never_learns_of_change_nothing(spare: int) -> None:
    larger = padded(GATED, spare)
    games = play_at_random(GATED, 20, 40, seed=3, red_agent="mixed")
    few, many = Belief(20, network=GATED), Belief(20, network=larger)
    kinds = {name: i for i, name in enumerate(actions_of(larger).names)}
    number = np.array([kinds[name] for name in actions_of(GATED).names])
    bits = 4 * len(GATED.observed)
    for observation, action in zip(games.observations, games.actions, strict=True):
        seen = np.zeros((20, 4 * len(larger.observed)), np.int8)
        seen[:, :bits] = observation
        few.update(observation, action)
        many.update(seen, number[action])
        np.testing.assert_array_equal(many.access[:, : len(GATED.hosts)], few.access)
        np.testing.assert_array_equal(many.ot_stopped, few.ot_stopped)
        np.testing.assert_array_equal(many.red_agent, few.red_agent)
        np.testing.assert_array_equal(many.num_states, few.num_states)
    np.testing.assert_allclose(many.access[:, len(GATED.hosts) :, 0], 1.0)


@pytest.mark.parametrize("network", [*ALL, padded(GATED, 12), padded(GATED, 59)], ids=name_of)
def test_the_observation_has_bits_for_each_host(network: Network) -> None:
    shown = believed(network)
    hosts = len(network.hosts)
    assert shown.columns("held").start == simulated("memory", network).size
    assert shown.size == shown.columns("held").start + 5 * (2 * hosts + 1 + 3)
    config = GameConfig(network=network, red_agent="meander", observation="belief")
    batch = BelievingBatch(5, config, autoreset=False)
    batch.reset(1)
    blue = BlueBelief(5, config)
    bits = 4 * len(network.observed)
    first = blue.update(np.zeros((5, bits), np.int8), np.full(5, BEGIN))
    np.testing.assert_array_equal(first, batch.observation)
    held = np.flatnonzero(batch.observation[0, shown.columns("held")])
    assert held.tolist() == [0, 1, 2, 3, 4]  # the foothold, for sure
    generator = np.random.default_rng(0)
    for _ in range(12):
        actions = generator.integers(0, actions_of(network).size, 5)
        batch.step(actions)
        known = blue.update(batch.observation[:, :bits].copy(), actions)
        np.testing.assert_array_equal(known, batch.observation)


@pytest.mark.compiled
def test_where_decoys_that_blue_is_not_told_of_need_too_many_states_some_are_left_out() -> None:
    games = play_at_random(MISINFORMED, 20, 40, seed=5, red_agent="meander")
    few = Belief(20, network=MISINFORMED, particles=4)
    for observation, action in zip(games.observations, games.actions, strict=True):
        few.update(observation, action)
        np.testing.assert_allclose(few.access.sum(axis=2), 1.0)
    assert not few.is_exact.all()
