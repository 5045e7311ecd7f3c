"""Every environment on networks that are not Scenario2."""

import copy
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tests.envs.networks import OFFICE, OTHERS, STRANGE
from tests.envs.test_copies import KINDS, WAYS, assert_same, step
from tests.envs.test_parallel_vector import legal
from tests.refused import refused
from workflow_rl import (
    Cage2Env,
    Cage2ParallelVectorEnv,
    Cage2RedEnv,
    Cage2RedVectorEnv,
    Cage2VectorEnv,
    parallel_env,
)
from workflow_rl.agents.named import make_agent
from workflow_rl.config import OBSERVATIONS, GameConfig
from workflow_rl.envs.observations import TRACKED, make_batch, make_tracker, observation_of
from workflow_rl.envs.picture import HEIGHT, WIDTH
from workflow_rl.envs.spaces import derived_seed
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.network import Blue, Network
from workflow_rl.scenario.network_toml import toml_of
from workflow_rl.scenario.random_network import random_network
from workflow_rl.sim.memory import BEGIN
from workflow_rl.sim.red_given import red_actions_of

N = 6
EVERYWHERE = [name for name in OBSERVATIONS if name != "cardiff"]

networks = pytest.mark.parametrize("network", OTHERS.values(), ids=OTHERS)


def moves(network: Network, steps: int, n: int = N, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, actions_of(network).size, (steps, n))


def test_the_strange_network_has_what_scenario2_has_not() -> None:
    assert {host.blue for host in STRANGE.hosts} > {Blue.WATCHED}
    assert len(STRANGE.observed) < len(STRANGE.hosts)


@networks
def test_spaces_names_and_infos_are_the_network_s(network: Network) -> None:
    env = Cage2VectorEnv(N, network=network, red_agent="meander", episode_length=20)
    hosts, actions = len(network.hosts), actions_of(network)
    assert (env.hosts, env.actions) == (network.host_names, actions.names)
    assert env.single_action_space.n == actions.size  # type: ignore[attr-defined]
    seen, infos = env.reset(seed=1)
    foothold, ended, held = network.number(network.foothold), 0, 0
    assert seen.shape == (N, 4 * len(network.observed))
    assert not seen.any()
    for row in moves(network, 45):
        assert env.observation_space.contains(seen)
        assert infos["red_access"].shape == (N, hosts)
        assert (infos["red_access"][:, foothold] == 2).all()
        assert infos["action_mask"].shape == (N, actions.size)
        seen, reward, _, truncated, infos = env.step(row)
        np.testing.assert_array_equal(reward, infos["reward_tenths"].sum(axis=1) / 10)
        if truncated.any():
            assert env.observation_space.contains(infos["final_obs"])
            assert infos["final_info"]["red_access"].shape == (N, hosts)
        ended += int(truncated.sum())
        held = max(held, int((infos["red_access"] > 0).sum()))
    assert ended == 2 * N
    assert held > N  # Red has gone on from its foothold


@networks
def test_one_environment_plays_what_the_first_of_many_does(network: Network) -> None:
    game = GameConfig(network=network, red_agent="mixed", green_agent="active", episode_length=15)
    one, many = Cage2Env(game=game), Cage2VectorEnv(N, game=game)
    (seen, _), (rows, _) = one.reset(seed=3), many.reset(seed=3)
    for row in moves(network, 40):
        np.testing.assert_array_equal(seen, rows[0])
        seen, reward, _, ended, info = one.step(int(row[0]))
        rows, rewards, _, truncated, infos = many.step(row)
        assert (reward, ended) == (rewards[0], truncated[0])
        if ended:
            np.testing.assert_array_equal(seen, infos["final_obs"][0])
            seen, _ = one.reset()
        else:
            np.testing.assert_array_equal(info["red_access"], infos["red_access"][0])
            np.testing.assert_array_equal(info["action_mask"], infos["action_mask"][0])


def test_a_network_is_named_read_from_a_file_or_given_and_is_the_same(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(toml_of(OFFICE))
    games = []
    for given in ("office", str(file), file, OFFICE):
        env = gymnasium.make("workflow_rl/Cage2-v0", network=given, red_agent="meander").unwrapped
        assert isinstance(env, Cage2Env)
        assert env.config.network.digest == OFFICE.digest
        env.reset(seed=2)
        games.append([env.step(int(a))[1] for a in moves(OFFICE, 60, 1)[:, 0]])
    assert games == [games[0]] * 4


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
@pytest.mark.parametrize("network", ["office", "cage1"])
def test_gymnasium_checks_pass(network: str, mode: str) -> None:
    name = "workflow_rl/Cage2-v0"
    check_env(gymnasium.make(name, network=network, render_mode=mode).unwrapped)


def test_what_is_of_scenario2_alone_and_what_is_no_network_is_refused() -> None:
    says = "the observation cardiff is of the network scenario2 alone; choose another one for off"
    refused(says, Cage2Env, network="office", observation="cardiff")
    refused("there is no network 'offices': name scenario2, cage1", Cage2Env, network="offices")
    env = Cage2VectorEnv(1, network="office")
    env.reset(seed=0)
    last = actions_of(OFFICE).size - 1
    refused(f"whole numbers from 0 to {last}", env.step, np.array([last + 1]))


@networks
@pytest.mark.parametrize("name", EVERYWHERE)
def test_an_observation_is_what_its_description_says(name: Any, network: Network) -> None:
    if name == "belief" and network.name in ("plant", STRANGE.name):
        network = OFFICE  # what a belief costs on larger ones: tests/belief
    observation = observation_of(name, network)
    covered = sum((entry.size for entry in observation.entries), 0)
    assert covered == observation.size
    game = GameConfig(network=network, red_agent="mixed", observation=name, episode_length=30)
    batch = make_batch(N, game, autoreset=False)
    batch.reset(4)
    tracker = make_tracker(N, game) if name in TRACKED else None
    last = np.full(N, BEGIN)
    for row in moves(network, 30):
        assert batch.observation.shape == (N, observation.size)
        assert (batch.observation <= observation.highest).all()
        if name in ("challenge", "truth"):
            assert observation.is_privileged == (name == "truth")
        if name != "challenge":
            told, mask = observation.action_mask(batch.observation), batch.out.action_mask
            assert not (mask & ~told).any()
            # Blue is not told which decoys Misinform places, and where there is no room for any.
            assert "Misinform" in network.actions or (told == mask).all()
        if tracker is not None:
            table = batch.observation[:, : 4 * len(network.observed)].copy()
            np.testing.assert_array_equal(tracker.update(table, last), batch.observation)
            np.testing.assert_array_equal(tracker.action_mask, told)
        batch.step(row)
        last = row


# --- what is shown


@networks
def test_a_frame_in_text_names_every_host_and_what_both_sides_did(network: Network) -> None:
    env = Cage2Env(network=network, red_agent="meander", render_mode="ansi", episode_length=60)
    env.reset(seed=0)
    assert "Red:  nothing yet" in str(env.render())
    restores = [a for a, name in enumerate(env.actions) if name.startswith("Restore ")]
    for _ in range(59):
        env.step(0)
    total = -env.step(restores[0])[1]
    text = str(env.render())
    lines = text.splitlines()
    for host in network.host_names:
        assert sum(line.startswith((f"{host} ", f"{host}\n")) for line in lines) == 1, host
    assert f"{network.foothold} (Red)" in text
    assert f"Blue: {env.actions[restores[0]]}" in text
    assert total > 0
    assert "privileged" in text


@pytest.mark.parametrize(
    "network", [*OTHERS.values(), random_network(64, 10, seed=1)], ids=[*OTHERS, "64 hosts"]
)
def test_an_image_shows_each_host_that_red_takes(network: Network) -> None:
    env = Cage2Env(network=network, red_agent="meander", render_mode="rgb_array")
    env.reset(seed=1)
    shown: Any = env.render()
    height, width, colours = shown.shape
    assert (shown.dtype, colours, height % 2, width % 2) == (np.uint8, 3, 0, 0)
    assert height >= HEIGHT
    assert width >= WIDTH

    def red_pixels() -> int:
        picture: Any = env.render()
        assert picture.shape == shown.shape
        return int((picture == (255, 205, 201)).all(axis=2).sum())

    start = red_pixels()  # the foothold alone
    for _ in range(100):
        *_, ended, info = env.step(0)
        if (info["red_access"] == 2).sum() > 1 or ended:
            break
    assert red_pixels() > 1.5 * start


# --- both sides


def test_pettingzoo_s_own_tests_pass() -> None:
    pytest.importorskip("pettingzoo")
    from pettingzoo.test import parallel_api_test, parallel_seed_test

    parallel_api_test(parallel_env(network="office"))
    parallel_seed_test(lambda: parallel_env(network="office", observation="memory"))


@networks
@pytest.mark.parametrize("red_agent", ["meander", "path"])
def test_a_script_played_from_outside_gives_its_own_games(network: Network, red_agent: str) -> None:
    settings: Any = {"network": network, "episode_length": 70}
    script = Cage2VectorEnv(N, red_agent=red_agent, **settings)
    env = Cage2ParallelVectorEnv(N, illegal="error", **settings)
    script.reset(seed=5), env.reset(seed=5)
    numbers = red_actions_of(network)
    for blue in moves(network, 60):
        seen, reward, *_, infos = script.step(blue)
        state = script.batch.state
        red = numbers.numbers(state["red_action"], state["red_target"])
        on_host = numbers.is_on_host(red)
        host = np.where(on_host, numbers.targets[red], 0)
        red += np.where(on_host, env.batch.red.memory["place"][np.arange(N), host] - host, 0)
        shown, rewards, *_, told = env.step({"blue": blue, "red": red})
        np.testing.assert_array_equal(shown["blue"], seen)
        np.testing.assert_array_equal([rewards["blue"], -rewards["red"]], [reward, reward])
        np.testing.assert_array_equal(told["blue"]["red_access"], infos["red_access"])


@networks
def test_red_s_environment_plays_against_blue_on_any_network(network: Network) -> None:
    settings: Any = {"episode_length": 10, "illegal": "error", "network": network}
    agent, both = make_agent("greedy", network=network), Cage2ParallelVectorEnv(3, **settings)
    several, one = Cage2RedVectorEnv(3, "greedy", **settings), Cage2RedEnv("greedy", **settings)
    assert several.actions == one.actions == red_actions_of(network).names
    name = "workflow_rl/Cage2Red-v0"
    check_env(gymnasium.make(name, blue="greedy", network=network).unwrapped)
    rng = np.random.default_rng(0)
    (_, infos), (shown, told), _ = several.reset(seed=3), both.reset(seed=3), one.reset(seed=3)
    for at in range(25):
        if at % 10 == 0:
            agent.begin(3, derived_seed(3, at // 10))
        actions = legal(infos["action_mask"], rng)
        defence = agent.act(shown["blue"], told["blue"]["action_mask"], at % 10)
        shown, rewards, _, _, told = both.step({"blue": defence, "red": actions})
        rows, reward, *_, infos = several.step(actions)
        np.testing.assert_array_equal(rows, shown["red"])
        np.testing.assert_array_equal(reward, rewards["red"])
        seen, gain, _, is_over, _ = one.step(actions[0])
        assert (seen == infos.get("final_obs", rows)[0]).all()
        assert gain == reward[0]
        if is_over:
            one.reset()


# --- copies


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_made_in_mid_episode_plays_on(kind: str, way: str) -> None:
    for network in (OFFICE, STRANGE):
        game = GameConfig(
            network=network, red_agent="mixed", observation="memory", episode_length=25
        )
        played = KINDS[kind](game)
        if kind != "episode":
            played.reset(seed=1)
        rows = moves(network, 24 if kind == "episode" else 36, 3)
        for row in rows[:9]:
            step(played, row)
        twin = WAYS[way](played)
        expected = [step(played, row) for row in rows[9:]]
        assert_same(tuple(expected), tuple(step(twin, row) for row in rows[9:]))


@networks
def test_a_game_is_copied_with_its_network(network: Network) -> None:
    game = GameConfig(network=network)
    for twin in (copy.deepcopy(game), pickle.loads(pickle.dumps(game))):
        assert (twin, hash(twin)) == (game, hash(game))
        assert twin.network.digest == network.digest
