from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import workflow_rl
from tests.refused import refused
from workflow_rl.envs.registration import CYBORG_ENV_IDS, ENV_IDS, NETWORK_ENV_ID
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.network_toml import toml_of

ENV_ID = ENV_IDS["main"]


@pytest.mark.parametrize(("rules", "name"), ENV_IDS.items())
def test_every_rule_set_has_a_name_of_its_own(rules: str, name: str) -> None:
    single = gymnasium.make(name, red_agent="meander").unwrapped
    several = gymnasium.make_vec(name, num_envs=2, red_agent="meander")
    assert isinstance(single, workflow_rl.Cage2Env)
    assert isinstance(several, workflow_rl.Cage2VectorEnv)
    assert (single.config.rules, single.config.red_agent) == (rules, "meander")
    assert single.config == several.config


def test_a_network_in_a_file_is_played_by_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(toml_of(workflow_rl.network_of("plant")), encoding="utf-8")
    for network in ("office", str(file)):
        single = gymnasium.make(NETWORK_ENV_ID, network=network).unwrapped
        several = gymnasium.make_vec(NETWORK_ENV_ID, num_envs=2, network=network)
        assert isinstance(single, workflow_rl.Cage2Env)
        assert isinstance(several, workflow_rl.Cage2VectorEnv)
        assert single.config.network == several.config.network == workflow_rl.network_of(network)


def test_the_real_cyborg_has_the_same_names() -> None:
    for rules, name in CYBORG_ENV_IDS.items():
        assert gymnasium.spec(name).kwargs == {"rules": rules}


NAMES = [
    *ENV_IDS.values(),
    *(pytest.param(name, marks=pytest.mark.cyborg) for name in CYBORG_ENV_IDS.values()),
]


def made(name: str, **settings: Any) -> gymnasium.Env[Any, Any]:
    try:
        return gymnasium.make(name, **settings)
    except InvalidInputError as error:
        pytest.skip(f"needs CybORG of these rules: {error}")


def steps_played(env: gymnasium.Env[Any, Any]) -> int:
    env.reset(seed=0)
    steps = 1
    while not env.step(0)[3]:
        steps += 1
    return steps


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("length", [None, 30, 200])
def test_wrappers_learn_how_long_an_episode_is(name: str, length: int | None) -> None:
    env = made(name) if length is None else made(name, episode_length=length)
    expected = length or 100
    timed = gymnasium.wrappers.TimeAwareObservation(env, normalize_time=True)
    assert timed.max_timesteps == expected
    assert steps_played(timed) == expected
    assert "TimeLimit" not in str(env)  # nothing else cuts the episode
    assert timed.observation_space.shape == (53,)


def test_an_environment_is_made_again_from_its_spec() -> None:
    assert workflow_rl.Cage2Env().spec is None  # made without a name
    spec = gymnasium.make(ENV_ID, episode_length=30, red_agent="meander").spec
    assert spec is not None
    assert steps_played(gymnasium.make(spec)) == 30
    several = gymnasium.make_vec(spec, num_envs=2)
    assert isinstance(several, workflow_rl.Cage2VectorEnv)
    assert (several.config.episode_length, several.config.red_agent) == (30, "meander")
    shorter: Any = gymnasium.make_vec(ENV_ID, num_envs=2, max_episode_steps=7)
    assert shorter.config.episode_length == 7


@pytest.mark.parametrize("observation", ["challenge", "cardiff", "memory"])
def test_observations_are_float32_if_asked_as_rllib_does(observation: str) -> None:
    settings: Any = {"observation": observation, "episode_length": 2}
    plain, single = (gymnasium.make(ENV_ID, dtype=d, **settings) for d in ("int8", "float32"))
    several = gymnasium.make_vec(ENV_ID, num_envs=2, dtype="float32", **settings)
    space = single.observation_space
    assert isinstance(space, gymnasium.spaces.Box)
    assert {space.dtype, several.observation_space.dtype} == {np.dtype(np.float32)}
    plain.reset(seed=0), single.reset(seed=0), several.reset(seed=0)
    for _ in range(2):
        seen = single.step(0)[0]
        assert seen.dtype == np.float32
        assert seen in space
        assert (seen == plain.step(0)[0]).all()
        rows, *_, infos = several.step(np.zeros(2, np.int64))
        assert rows in several.observation_space
    assert infos["final_obs"].dtype == np.float32
    refused("unknown dtype 'float64': choose one of int8", gymnasium.make, ENV_ID, dtype="float64")


@pytest.mark.parametrize("name", NAMES)
def test_hosts_and_actions_are_named_by_their_place(name: str) -> None:
    env: Any = made(name).unwrapped
    assert (len(env.hosts), len(env.actions)) == (13, env.action_space.n)
    assert (env.hosts[0], env.hosts[-1]) == ("Defender", "User4")
    named = {0: "Sleep", 1: "Monitor", 2: "Analyse Defender", 144: "Restore User4"}
    assert named.items() <= dict(enumerate(env.actions)).items()
    many = workflow_rl.Cage2VectorEnv()
    assert (many.hosts, many.actions) == (env.hosts, env.actions)
    assert env.get_action_meanings() == many.get_action_meanings() == list(env.actions)
