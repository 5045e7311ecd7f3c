"""The simulator compared with the real CybORG, played live."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agents.policies import config_of, weights
from tests.envs.installed import installed_rules
from workflow_rl.config import RED_AGENTS, GameConfig
from workflow_rl.envs.reds import RedPolicy
from workflow_rl.parity.live import BUILT_IN_BLUES, Blue, compare_live
from workflow_rl.parity.replay import Comparison, Divergence
from workflow_rl.scenario.actions import ActionKind, actions_of
from workflow_rl.scenario.cyborg_writer import scenario_of
from workflow_rl.scenario.loading import SCENARIO2, network_of
from workflow_rl.scenario.network import Blue as Sees
from workflow_rl.scenario.network import Reachability
from workflow_rl.scenario.random_network import random_network
from workflow_rl.scenario.scenario2 import ACTION_KIND, NUM_ACTIONS
from workflow_rl.sim.red_given import red_actions_of
from workflow_rl.sim.red_view import red_view_size


def last(
    red_agent: str, blue: Blue, length: int, episodes: int, seed: int = 0, **more: Any
) -> Comparison:
    game = GameConfig(red_agent, length, installed_rules(), **more)
    *_, result = compare_live(game, blue, episodes, seed)
    return result


@pytest.mark.cyborg
@pytest.mark.parametrize("blue", BUILT_IN_BLUES, ids=lambda blue: blue.name)
@pytest.mark.parametrize("red_agent", [*RED_AGENTS, "random", "bait", "patient:3:bline"])
def test_the_simulator_repeats_cyborg(red_agent: str, blue: Blue) -> None:
    result = last(red_agent, blue, 60, episodes=6)
    assert result.first is None
    assert result.mismatches == 0
    assert result.episodes == 6
    assert result.steps == 360 or result.cut
    assert len(result.fields) == 36


@pytest.mark.cyborg
def test_the_simulator_repeats_cyborg_with_the_active_green() -> None:
    busy = BUILT_IN_BLUES[1]
    found = last("meander", busy, 100, episodes=4, green_agent="active")
    assert found.mismatches == 0


@pytest.mark.cyborg
def test_the_simulator_repeats_cyborg_with_a_red_policy(tmp_path: Path) -> None:
    config = config_of(rules=installed_rules(), side="red", against="sleep")
    path = tmp_path / "red.safetensors"
    RedPolicy(weights(red_view_size(SCENARIO2), red_actions_of(SCENARIO2).size), config).save(path)
    assert last(str(path), BUILT_IN_BLUES[1], 60, episodes=4).mismatches == 0


@pytest.mark.cyborg
@pytest.mark.parametrize("red_agent", ["bline", "meander", "random", "path"])
def test_the_simulator_repeats_cyborg_on_any_network(red_agent: str, tmp_path: Path) -> None:
    for hosts, zones in ((4, 2), (11, 4), (35, 3)):
        network = random_network(hosts, zones, hosts, Reachability.CYBORG, rare=0.4)
        path = tmp_path / f"{hosts}.yaml"
        path.write_text(scenario_of(network), encoding="utf-8")
        game = GameConfig(red_agent, 60, installed_rules(), network=network_of(path))
        for blue in BUILT_IN_BLUES:
            *_, result = compare_live(game, blue, 2, 0, scenario_file=path)
            assert result.first is None
            assert (result.mismatches, result.episodes) == (0, 2)
            assert len(result.fields) == 35
            assert result.steps == 120 or result.raised or result.cut


@pytest.mark.cyborg
def test_an_episode_is_compared_up_to_the_step_in_which_red_raises() -> None:
    network = random_network(6, 2, 0, Reachability.CYBORG)
    assert network.roles.entry is None
    found = last("bline", BUILT_IN_BLUES[0], 20, episodes=3, network=network)
    assert (found.raised, found.steps, found.mismatches, found.cut) == (3, 0, 0, 0)


def test_the_built_in_blues_play_on_any_network() -> None:
    for hosts in (4, 30):
        network = random_network(hosts, 2, 2, Reachability.CYBORG, rare=0.5)
        actions = actions_of(network)
        observation = np.zeros(4 * len(network.observed), np.int8)
        mask = np.ones(actions.size, np.bool_)
        observation[4 * (len(network.observed) - 1)] = 1
        marked = network.number(network.observed[-1])
        assert any(host.blue is Sees.HIDDEN for host in network.hosts) or hosts == 4
        for blue in BUILT_IN_BLUES:
            act = blue.begin(network, 0)
            played = np.array([act(observation, mask, step) for step in range(500)])
            assert 0 <= played.min() <= played.max() < actions.size
            if blue.name == "busy":
                on = actions.hosts[played]
                assert (on[on >= 0] == marked).mean() > 0.5


def test_the_busy_blue_acts_where_something_is_seen() -> None:
    busy = BUILT_IN_BLUES[1]
    act = busy.begin(SCENARIO2, 0)
    observation, mask = np.zeros(52, np.int8), np.ones(NUM_ACTIONS, np.bool_)
    observation[4 * 7] = 1
    actions = np.array([act(observation, mask, step) for step in range(2_000)])
    kinds = np.minimum(ACTION_KIND[actions], ActionKind.FIRST_DECOY)
    assert {ActionKind.SLEEP, ActionKind.FIRST_DECOY} <= set(kinds.tolist())
    restores = actions[kinds == ActionKind.RESTORE] - 132
    assert 0.6 < (restores == 7).mean() < 0.85
    assert len(np.unique(restores)) == 13
    assert 0 <= actions.min() <= actions.max() < NUM_ACTIONS


def test_results_add_up_and_keep_the_first_divergence() -> None:
    def result(mismatches: int, episode: int | None, cut: int) -> Comparison:
        first = None if episode is None else Divergence("x", episode, 4, "reward", 0.0, -0.1)
        return Comparison("x", 20, 600, ("reward",), mismatches, first, raised=1, cut=cut)

    total = result(0, None, 1) + result(3, 5, 0) + result(2, 1, 2)
    assert (total.episodes, total.steps) == (60, 1800)
    assert (total.mismatches, total.raised, total.cut) == (5, 3, 3)
    assert total.first == Divergence("x", 25, 4, "reward", 0.0, -0.1)
