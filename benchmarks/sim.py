"""Speed of the simulator compared with a memory copy and, where importable, CybORG and mini_CAGE.

python -m benchmarks.sim --cyborg-path DIR --mini-cage-path DIR
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any, Final

import numpy as np

from benchmarks.measure import Benchmark, Rounds, Row, Work, best
from workflow_rl.config import GameConfig, ObservationName
from workflow_rl.envs.cyborg import CyborgEnv, scenario_path
from workflow_rl.envs.cyborg_import import load_cyborg
from workflow_rl.envs.single import Cage2Env
from workflow_rl.envs.vector import Cage2VectorEnv
from workflow_rl.errors import InvalidInputError, MissingDependencyError
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network, Reachability
from workflow_rl.scenario.random_network import random_network
from workflow_rl.sim.batch import Batch, max_threads

BATCH_SIZES: Final = (1, 25, 200, 2_000, 20_000)
MINI_CAGE_SIZES: Final = (200, 1_000, 5_000)
MINI_CAGE_ACTIONS: Final = 53
EPISODE_LENGTH: Final = 100
VECTOR: Final = "Cage2VectorEnv.step"
WITH_MEMORY: Final = f"{VECTOR}, memory"
NETWORKS: Final = {  # by their hosts; Meander can go on for ever on each
    13: SCENARIO2,
    30: random_network(30, 4, 0, Reachability.CYBORG),
    60: random_network(60, 5, 0, Reachability.CYBORG),
}
_POOL: Final = 4_000_000  # random actions are drawn beforehand, so that drawing is not measured
_CHUNK_STEPS: Final = 20_000
_START: Final = (
    "import time; t = time.perf_counter(); import workflow_rl; "
    "env = workflow_rl.Cage2VectorEnv(200); env.reset(seed=0); "
    "print(time.perf_counter() - t); import numpy; env.step(numpy.zeros(200, int)); "
    "print(time.perf_counter() - t)"
)
Key = tuple[str, int, int]  # name, environments, threads


def stepping(step: Callable[[Any], object], num_envs: int, actions: Sequence[Any]) -> Work:
    """Returns the work of stepping through prepared actions, a chunk at a time."""
    chunk = max(1, min(len(actions), _CHUNK_STEPS // num_envs))
    position = 0

    def work() -> int:
        nonlocal position
        part = actions[position : position + chunk]
        position = (position + chunk) % (len(actions) - chunk + 1)
        for row in part:
            step(row)
        return len(part) * num_envs

    work()
    return work


def random_actions(num_envs: int, network: Network = SCENARIO2) -> list[Any]:
    """Returns rows of random actions, one for each environment."""
    rows = min(2_000, max(EPISODE_LENGTH, _POOL // num_envs))
    size = actions_of(network).size
    return list(np.random.default_rng(0).integers(0, size, (rows, num_envs)))


def simulator(num_envs: int, threads: int, game: GameConfig) -> Work:
    """The batch of rules itself."""
    batch = Batch(num_envs, game, num_threads=threads)
    batch.reset(seed=0)
    return stepping(batch.step, num_envs, random_actions(num_envs))


def vector_env(num_envs: int, game: GameConfig) -> Work:
    """The Gymnasium vector environment, with its infos and copies."""
    env = Cage2VectorEnv(num_envs, game=game)
    env.reset(seed=0)
    return stepping(env.step, num_envs, random_actions(num_envs, game.network))


def single_env(game: GameConfig) -> Work:
    """The Gymnasium environment, one step at a time, resets included."""
    env = Cage2Env(game=game)
    env.reset(seed=0)

    def step(action: int) -> None:
        if env.step(action)[3]:
            env.reset()

    return stepping(step, 1, [int(row[0]) for row in random_actions(1)])


def memory_copy(num_envs: int, game: GameConfig) -> Work:
    """NumPy copying as many bytes as a step writes: no simulator can take less time."""
    every = Batch(num_envs, game).out[:-2]  # the last two are of ended episodes
    source = np.ones(sum(array.nbytes for array in every), np.uint8)
    target = np.empty_like(source)

    def work() -> int:
        for _ in range(100):
            np.copyto(target, source)
        return 100 * num_envs

    return work


def cyborg(game: GameConfig) -> Any:
    """Returns the real CybORG behind its challenge wrapper.

    Raises:
        MissingDependencyError: it cannot be imported.
    """
    classes = load_cyborg()
    agents = {"Red": classes.red_agents[game.red_agent]}
    with scenario_path(classes, game.network) as path:
        inner = classes.environment(path, "sim", agents=agents)
    return classes.challenge_wrapper(env=inner, agent_name="Blue")


def playing(step: Callable[[], object], reset: Callable[[], object], num_envs: int = 1) -> Work:
    """Returns the work of one step a call, with a reset after every episode."""
    played = 0

    def work() -> int:
        nonlocal played
        if played % EPISODE_LENGTH == 0:
            reset()
        step()
        played += 1
        return num_envs

    work()
    return work


def slow_steps(env: Any, network: Network = SCENARIO2) -> Work:
    """A slow environment with random actions, resets included."""
    size = actions_of(network).size
    return playing(lambda: env.step(random.randrange(size)), env.reset)


def mini_cage(num_envs: int, game: GameConfig) -> Work:
    """CybORG++'s mini_CAGE with its own actions, resets included.

    Raises:
        MissingDependencyError: it cannot be imported.
    """
    try:
        from mini_CAGE import B_line_minimal, Meander_minimal, SimplifiedCAGE
    except ImportError as error:
        raise MissingDependencyError(f"mini_CAGE cannot be imported ({error})") from error
    env = SimplifiedCAGE(num_envs=num_envs, remove_bugs=False)
    red = (Meander_minimal if game.red_agent == "meander" else B_line_minimal)()
    rng = np.random.default_rng(0)
    blue = cycle([rng.integers(0, MINI_CAGE_ACTIONS, (num_envs, 1)) for _ in range(EPISODE_LENGTH)])
    state: Any = None

    def reset() -> None:
        nonlocal state
        state, _ = env.reset()

    def step() -> None:
        nonlocal state
        red_action = red.get_action(observation=state["Red"])
        state, *_ = env.step(red_action=red_action, blue_action=next(blue))

    return playing(step, reset, num_envs)


def contenders(bench: Benchmark) -> dict[Key, Work]:
    """Returns every simulator that is here; why the others are not goes to `bench.skipped`."""
    game = bench.game
    works: dict[Key, Work] = {}
    for threads in sorted({1, max_threads()}):
        for n in BATCH_SIZES:
            works["simulator", n, threads] = simulator(n, threads, game)
    works[VECTOR, 200, 1] = vector_env(200, game)
    works[WITH_MEMORY, 200, 1] = vector_env(200, replace(game, observation="memory"))
    works["Cage2Env.step", 1, 1] = single_env(game)
    for n in BATCH_SIZES:
        works["memory copy", n, 1] = memory_copy(n, game)
    try:
        works["CybORG", 1, 1] = slow_steps(cyborg(game))
        adapter = CyborgEnv(red_agent=game.red_agent, rules=game.rules)
        works["CyborgEnv.step", 1, 1] = slow_steps(adapter)
    except InvalidInputError as error:
        bench.skipped.append(str(error))
    try:
        if bench.args.mini_cage_path is not None:
            sys.path.append(bench.args.mini_cage_path)
        for n in MINI_CAGE_SIZES:
            works["mini_CAGE", n, 1] = mini_cage(n, game)
    except MissingDependencyError as error:
        if bench.args.mini_cage_path is not None:
            raise
        bench.skipped.append(str(error))
    return works


def ratios(rates: dict[Key, Rounds]) -> dict[str, Rounds]:
    """Returns ours over the others', and a small batch over a large one."""
    small, large = rates["simulator", 200, 1], rates["simulator", 20_000, 1]
    ours = best([rate for key, rate in rates.items() if key[:2] == ("simulator", 200)])
    found = {"time per step, 20,000 / 200 envs": small / large}
    if ("CybORG", 1, 1) in rates:
        original = rates["CybORG", 1, 1]
        found["simulator at 200 envs / CybORG"] = ours / original
        for name in (VECTOR, WITH_MEMORY):
            found[f"{name} at 200 envs / CybORG"] = rates[name, 200, 1] / original
        for name in ("Cage2Env.step", "CyborgEnv.step"):
            if (name, 1, 1) in rates:
                found[f"{name} / CybORG"] = rates[name, 1, 1] / original
    if mini := [rate for key, rate in rates.items() if key[0] == "mini_CAGE"]:
        found["simulator at 200 envs / mini_CAGE at its best size"] = ours / best(mini)
    return found


def network_rows(bench: Benchmark) -> list[Row]:
    """Returns the speed on networks of several sizes, compared with CybORG and with Scenario2."""
    games = {
        hosts: replace(bench.game, red_agent="meander", network=network)
        for hosts, network in NETWORKS.items()
    }
    works: dict[tuple[str, int], Work] = {}
    for hosts, game in games.items():
        works[VECTOR, hosts] = vector_env(200, replace(game, observation="challenge"))
        works[WITH_MEMORY, hosts] = vector_env(200, replace(game, observation="memory"))
        try:
            works["CybORG", hosts] = slow_steps(cyborg(game), game.network)
        except InvalidInputError as error:
            bench.skipped.append(str(error))
    rates = bench.rates(works)
    return [_network_row(name, games[hosts], rates) for name, hosts in works if name != "CybORG"]


def _network_row(
    name: str, game: GameConfig, rates: Mapping[tuple[str, int], Rounds]
) -> dict[str, Any]:
    hosts = len(game.network.hosts)
    rate, original = rates[name, hosts], rates.get(("CybORG", hosts))
    compared = {"CybORG's": original, "x CybORG": rate / original} if original else {}
    observation: ObservationName = "memory" if name == WITH_MEMORY else "challenge"
    return {
        "name": name,
        "hosts": hosts,
        "steps per second": rate,
        **compared,
        "time of a step / Scenario2": rates[name, 13] / rate,
        "bytes per environment": bytes_per_environment(replace(game, observation=observation)),
    }


def bytes_per_environment(game: GameConfig) -> float:
    """Returns what the state and the outputs of an environment take."""
    batch = Batch(1_000, game)
    total = batch.state.nbytes + sum(array.nbytes for array in batch.out)
    return total / batch.num_envs


def start_up_seconds() -> tuple[float, float]:
    """Returns the time to the first step without a compile cache, and to the reset with one."""

    def start(cache: str) -> list[float]:
        result = subprocess.run(
            [sys.executable, "-c", _START],
            env=os.environ | {"XDG_CACHE_HOME": cache},
            capture_output=True,
            text=True,
            check=True,
        )
        return [float(line) for line in result.stdout.split()]

    with tempfile.TemporaryDirectory() as cache:
        _, cold = start(cache)
        warm, _ = start(cache)
    return cold, warm


def measure(bench: Benchmark) -> None:
    """Measures everything that is here."""
    rates = bench.rates(contenders(bench))
    original = rates.get(("CybORG", 1, 1))
    bench.tables["speed"] = [
        {
            "name": name,
            "envs": envs,
            "threads": threads,
            "steps per second": rate,
            "ns per step": 1e9 / rate.median,
        }
        | ({"x CybORG": rate / original} if original else {})
        for (name, envs, threads), rate in rates.items()
    ]
    bench.ratios |= ratios(rates)
    bench.tables["networks"] = network_rows(bench)
    once: dict[str, float] = {"bytes per environment": bytes_per_environment(bench.game)}
    if bench.args.start_up:
        bench.tell("measuring start-up")
        once["first step without a compile cache, s"], once["reset with it, s"] = start_up_seconds()
    bench.tables["once"] = [once]


def main() -> int:
    """Runs the benchmark."""
    bench = Benchmark(
        "sim",
        "compare the simulator with a memory copy and, where importable, CybORG and mini_CAGE",
        game_flags=("red_agent", "rules", "observation"),
        seconds=0.2,
        cyborg=True,
    )
    bench.flag("--mini-cage-path", metavar="DIR", help="a clone of CybORG++")
    bench.flag(
        "--start-up", action=argparse.BooleanOptionalAction, default=True, help="compile once anew"
    )
    return bench.run(measure)


if __name__ == "__main__":
    sys.exit(main())
