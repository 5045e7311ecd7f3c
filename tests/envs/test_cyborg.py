"""The adapter on the real CybORG."""

import copy
import inspect
import pickle
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests.envs.installed import cyborg_env, installed_rules
from tests.refused import refused
from workflow_rl import Cage2Env, CyborgEnv
from workflow_rl.config import RED_AGENTS, RULE_SETS, ObservationName
from workflow_rl.envs.cyborg_import import load_cyborg
from workflow_rl.errors import NotResetError
from workflow_rl.evaluation.protocol import evaluate
from workflow_rl.scenario.actions import ActionKind, actions_of
from workflow_rl.scenario.cyborg_writer import scenario_of
from workflow_rl.scenario.loading import SCENARIO2, network_of
from workflow_rl.scenario.network import Network, Reachability
from workflow_rl.scenario.random_network import random_network
from workflow_rl.scenario.scenario2 import ACTION_KIND, NUM_ACTIONS, NUM_HOSTS

pytestmark = pytest.mark.cyborg

ROOT = Path(__file__).resolve().parent.parent.parent


def random_actions(steps: int, seed: int = 0) -> list[int]:
    actions: list[int] = np.random.default_rng(seed).integers(0, NUM_ACTIONS, steps).tolist()
    return actions


def game(env: CyborgEnv, actions: list[int], seed: int | None) -> list[tuple[bytes, float]]:
    env.reset(seed=seed)
    steps = (env.step(action) for action in actions)
    return [(observation.tobytes(), reward) for observation, reward, *_ in steps]


# --- the interface


SHOWN: tuple[ObservationName, ...] = ("challenge", "cardiff", "memory", "belief")


def test_the_arguments_are_those_of_our_environment_and_a_path() -> None:
    ours = inspect.signature(Cage2Env).parameters
    theirs = dict(inspect.signature(CyborgEnv).parameters)
    assert theirs.pop("cyborg_path").default is None
    assert theirs.pop("scenario_file").default is None
    assert theirs == ours
    refused("'truth' is the simulator's", cyborg_env, observation="truth")


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_it_is_not_copied(way: Callable[[Any], Any]) -> None:
    env = cyborg_env()
    env.reset(seed=0)
    refused("a CyborgEnv cannot be copied or pickled, since CybORG cannot: make another", way, env)


@pytest.mark.parametrize("observation", SHOWN)
@pytest.mark.parametrize("red_agent", ["bline", "mixed"])
def test_gymnasium_checks_pass(red_agent: str, observation: str) -> None:
    env = gymnasium.make(
        "workflow_rl/CyborgCage2-v0",
        red_agent=red_agent,
        observation=observation,
        render_mode="ansi",
        rules=installed_rules(),
    )
    check_env(env.unwrapped)


def test_episodes_end_at_their_length_and_then_need_a_reset() -> None:
    env = cyborg_env(episode_length=3)
    for seed in (0, None):
        env.reset(seed=seed)
        refused("0 to 144", env.step, 145)  # and nothing is played
        assert [env.step(0)[2:4] for _ in range(3)] == [(False, False)] * 2 + [(False, True)]
        with pytest.raises(NotResetError, match="has ended"):
            env.step(0)


# --- chance


@pytest.mark.parametrize("red_agent", RED_AGENTS)
def test_it_plays_what_the_challenge_wrapper_plays_from_the_same_seed(red_agent: str) -> None:
    cyborg = load_cyborg()
    agents = {"Red": cyborg.red_agents[red_agent]}
    inner = cyborg.environment(cyborg.scenario, "sim", agents=agents)
    plain = cyborg.challenge_wrapper(env=inner, agent_name="Blue")
    env = cyborg_env(red_agent=red_agent)
    actions = random_actions(100)
    random.seed(7)
    for seed in (7, None):
        expected = [plain.reset(), *(plain.step(action)[:2] for action in actions)]
        first, _ = env.reset(seed=seed)
        assert (first == expected[0]).all()
        for action, (observation, reward) in zip(actions, expected[1:], strict=True):
            mine, my_reward, *_, info = env.step(action)
            assert (mine == observation).all()
            assert my_reward == reward == info["env_reward"]
            assert info["reward_tenths"].sum() == round(10 * reward)


def test_environments_of_a_process_disturb_neither_each_other_nor_anyone_else() -> None:
    actions = random_actions(40)
    alone = {seed: game(cyborg_env(red_agent="meander"), actions, seed) for seed in (1, 2)}
    random.seed(0)
    untouched = random.getstate()
    envs = {seed: cyborg_env(red_agent="meander") for seed in (1, 2)}
    together: dict[int, list[tuple[bytes, float]]] = {1: [], 2: []}
    for seed, env in envs.items():
        env.reset(seed=seed)
    for action in actions:
        for seed, env in envs.items():
            observation, reward, *_ = env.step(action)
            together[seed].append((observation.tobytes(), reward))
    assert together == alone
    assert random.getstate() == untouched


def test_mixed_red_agents_are_drawn_for_each_episode_by_their_weights() -> None:
    def drawn(env: CyborgEnv) -> list[str]:
        names = []
        for episode in range(30):
            env.reset(seed=0 if episode == 0 else None)
            red = env.controller.agent_interfaces["Red"].agent
            names.append(type(getattr(red, "agent", red)).__name__)
        return names

    mixed = drawn(cyborg_env(red_agent="mixed"))
    assert set(mixed) == {"B_lineAgent", "RedMeanderAgent", "SleepAgent"}
    assert drawn(cyborg_env(red_agent="mixed")) == mixed
    weighted = cyborg_env(red_agent="mixed", red_probabilities={"bline": 1, "meander": 1})
    assert set(drawn(weighted)) == {"B_lineAgent", "RedMeanderAgent"}
    assert set(drawn(cyborg_env(red_agent="bline=1,bait=1"))) == {"B_lineAgent", "MirroredRed"}
    refused("'given' does not play on the real CybORG", cyborg_env, red_agent="given")


# --- the truth


@pytest.mark.parametrize("observation", SHOWN)
def test_against_a_sleeping_red_nothing_differs_from_the_simulator(
    observation: ObservationName,
) -> None:
    """But for one info more."""
    ours = Cage2Env(red_agent="sleep", observation=observation)
    theirs = cyborg_env(red_agent="sleep", observation=observation)
    assert theirs.observation_space == ours.observation_space
    assert theirs.action_space == ours.action_space
    changing = np.flatnonzero(ACTION_KIND >= ActionKind.RESTORE)
    expected, got = ours.reset(seed=0), theirs.reset(seed=0)
    for action in np.random.default_rng(3).choice(changing, 100):
        removable = got[-1].pop("removable")
        assert (removable.shape, removable.dtype) == ((NUM_HOSTS,), np.bool_)
        assert got[-1].keys() == expected[-1].keys()
        for mine, other in zip(got[:-1], expected[:-1], strict=True):
            np.testing.assert_array_equal(mine, other, strict=True)
        for name, value in expected[-1].items():
            np.testing.assert_array_equal(got[-1][name], value, strict=True)
        expected, got = ours.step(action), theirs.step(action)  # type: ignore[assignment]


def test_an_evaluation_plays_the_original_by_the_rules_it_has() -> None:
    rules = installed_rules()
    played: Any = {"episodes": 2, "steps": (5,), "red_agents": ("sleep",), "backend": "cyborg"}
    assert evaluate("sleep", rules=rules, **played).cells[0].mean == 0.0
    (other,) = set(RULE_SETS) - {rules}
    refused(f"plays the rule set '{rules}', not '{other}'", CyborgEnv, rules=other)
    refused("plays the rule set", evaluate, "sleep", rules=other, **played)


# --- other networks


def networks() -> dict[str, Network]:
    """Networks with features that Scenario2 does not have."""
    drawn = {
        f"{hosts} hosts": random_network(hosts, 3, hosts, Reachability.CYBORG, rare=0.5)
        for hosts in (5, 9, 20)
    }
    return {"cage1": network_of("cage1"), **drawn}


@pytest.mark.parametrize("name", networks())
def test_on_any_network_it_has_our_spaces_and_infos(name: str) -> None:
    """Against a sleeping Red, and with actions that no draw decides, it plays what we play."""
    network = networks()[name]
    actions = actions_of(network)
    ours = Cage2Env(network=network, red_agent="sleep")
    theirs = cyborg_env(network=network, red_agent="sleep")
    assert (theirs.hosts, theirs.actions) == (ours.hosts, ours.actions)
    assert theirs.observation_space == ours.observation_space
    assert theirs.action_space == ours.action_space
    decided = np.flatnonzero(actions.kinds != ActionKind.MISINFORM)
    assert (ours.reset(seed=0)[0] == theirs.reset(seed=0)[0]).all()
    for action in np.random.default_rng(3).choice(decided, 60):
        expected, got = ours.step(action), theirs.step(action)
        np.testing.assert_array_equal(got[0], expected[0], strict=True)
        assert got[1:4] == expected[1:4]
        assert got[4].pop("removable").shape == (len(network.hosts),)
        assert got[4].keys() == expected[4].keys()
        for field, value in expected[4].items():
            np.testing.assert_array_equal(got[4][field], value, field)


def test_where_cyborgs_agent_raises_it_plays_on_with_a_red_that_sleeps() -> None:
    network = next(net for net in networks().values() if net.roles.entry is None)
    for env in (
        cyborg_env(network=network, red_agent="bline", episode_length=6),
        Cage2Env(network=network, red_agent="bline", episode_length=6),
    ):
        for seed in (0, None):  # the next episode begins anew
            _, info = env.reset(seed=seed)
            raised = [info["red_raised"]]
            for action in (0, 1, 0, 1, 0, 1):
                *_, ended, info = env.step(action)
                raised.append(info["red_raised"])
            assert raised == [None, *["KeyError"] * 6]
            assert ended


def test_a_network_of_routes_is_refused() -> None:
    network = random_network(6, 2, 0)
    refused("routes between zones are no rule of CybORG's", cyborg_env, network=network)


def test_it_reads_the_scenario_file_that_is_given(tmp_path: Path) -> None:
    network = networks()["9 hosts"]
    path = tmp_path / "own.yaml"
    path.write_text(scenario_of(network), encoding="utf-8")
    env = cyborg_env(network=network, scenario_file=path)
    assert env.cyborg.scenario_file == str(path)
    refused("holds another network than scenario2", cyborg_env, scenario_file=path)
    own = cyborg_env(network=SCENARIO2)
    assert own.cyborg.scenario_file == load_cyborg().scenario


# --- what the documents show


def test_the_guides_python_runs() -> None:
    if installed_rules() != "main":
        pytest.skip("the guide shows the rules main")
    text = (ROOT / "docs" / "cyborg.md").read_text(encoding="utf-8")
    snippets = re.findall(r"```py\n(.*?)```", text, re.DOTALL)
    assert snippets
    for snippet in snippets:
        exec(snippet, {})
