"""Many environments in worker processes for as long as asked, looked at for what shows with time.

python -m benchmarks.soak --minutes 60 --n-envs 20000

Memory that grows, rows that differ from the same game played here, workers that die.
"""

import sys
import time
from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.measure import Benchmark, Rounds, memory_bytes, number
from workflow_rl.envs.shared import SharedMemoryVectorEnv
from workflow_rl.envs.single import Cage2Env
from workflow_rl.envs.spaces import env_seeds
from workflow_rl.scenario.scenario2 import NUM_ACTIONS


def measure(bench: Benchmark) -> None:
    """Steps environments by random actions until the time is over.

    Some of them are played here as well: their rows must be the same, bit for bit.
    """
    game, number_of_envs, seconds = bench.game, bench.args.n_envs, 60 * bench.args.minutes
    make = partial(Cage2Env, red_agent=game.red_agent, rules=game.rules)
    watched = sorted({0, number_of_envs // 2, number_of_envs - 1})
    wrong = compared = steps = 0
    looks: list[dict[str, float]] = []
    with SharedMemoryVectorEnv([make] * number_of_envs) as env:
        started = time.perf_counter()
        for same in compare(env, {index: make() for index in watched}):
            steps += number_of_envs
            compared += len(same)
            wrong += same.count(False)
            now = time.perf_counter() - started
            if not looks or now >= seconds or now - looks[-1]["seconds"] > min(5, seconds / 10):
                memory = memory_bytes(env.worker_pids) / 1e6
                looks.append({"seconds": now, "steps": steps, "MB": memory})
                bench.tell(f"{steps:,} steps, {wrong} wrong rows, {env.restarts} restarts")
            if now >= seconds:
                break
        bench.tables["memory of all processes"] = list(looks)
        bench.tables["found"] = [
            {
                "environments": number_of_envs,
                "workers": len(env.worker_pids),
                "steps": steps,
                "steps per second": steps / looks[-1]["seconds"],
                "rows compared": compared,
                "wrong rows": wrong,
                "workers restarted": env.restarts,
            }
        ]
    growth = looks[-1]["MB"] / looks[len(looks) // 3]["MB"]
    bench.ratios["memory, end / after a third"] = Rounds((growth,))
    bench.code = int(wrong > 0)


def compare(env: SharedMemoryVectorEnv, here: dict[int, Cage2Env]) -> Iterator[list[bool]]:
    """Plays for ever; yields after each step which of the watched rows were the same here."""
    observations, _ = env.reset(seed=0)
    seeds = env_seeds(0, env.num_envs)
    matches = [
        bool((one.reset(seed=seeds[k])[0] == observations[k]).all()) for k, one in here.items()
    ]
    rng = np.random.default_rng(0)
    while True:
        actions = rng.integers(0, NUM_ACTIONS, env.num_envs)
        seen, rewards, _, truncated, infos = env.step(actions)
        for index in list(here):
            if infos["restarted"][index]:  # its worker died: that game is over
                del here[index]
                continue
            observation, reward, _, over, _ = here[index].step(int(actions[index]))
            if over:
                observation, _ = here[index].reset()
            same = bool((observation == seen[index]).all())
            matches.append(same and reward == rewards[index] and over == truncated[index])
        yield matches
        matches = []


def main() -> int:
    """Runs the soak; its exit code is 1 if a row was wrong."""
    bench = Benchmark(
        "soak",
        "step environments in worker processes for minutes: memory, wrong rows, dead workers",
        game_flags=("red_agent", "rules"),
        repeats=0,
    )
    bench.flag("--minutes", type=number(1e-3, 1e4, float), default=10.0, help="how long to go on")
    bench.flag("--n-envs", type=number(1, 1_000_000), default=1_000, help="environments")
    return bench.run(measure)


if __name__ == "__main__":
    sys.exit(main())
