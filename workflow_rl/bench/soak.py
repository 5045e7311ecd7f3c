"""`workflow-rl bench soak`: many environments in worker processes for as long as asked.

Looked at for what only shows with time: memory that grows, rows that are wrong, workers that die.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.bench.measure import describe_machine
from workflow_rl.bench.vector_host import memory_bytes
from workflow_rl.config import GameConfig
from workflow_rl.envs.shared import SharedMemoryVectorEnv
from workflow_rl.envs.single import Cage2Env
from workflow_rl.envs.spaces import env_seeds
from workflow_rl.scenario.actions import NUM_ACTIONS

_LOOK_EVERY = 5.0  # seconds between looks at the memory


@dataclass(frozen=True)
class Look:
    """A moment of the soak."""

    seconds: float
    steps: int  # of environments
    memory_bytes: int  # of this process and its workers; 0 where the system does not tell


@dataclass(frozen=True)
class SoakReport:
    """What a soak found."""

    machine: dict[str, Any]
    red_agent: str
    environments: int
    workers: int
    steps: int  # of environments
    seconds: float
    wrong_rows: int  # rows that differ from the same game played here
    compared_rows: int
    restarts: int  # workers that died and were replaced
    looks: tuple[Look, ...]

    @property
    def growth(self) -> float:
        """Memory at the end as a ratio of what it was after the first third."""
        first = self.looks[len(self.looks) // 3].memory_bytes
        return self.looks[-1].memory_bytes / first if first else math.nan

    def as_json(self) -> dict[str, Any]:
        """Returns the report as plain data."""
        return asdict(self) | {"growth": self.growth}


def soak(
    config: GameConfig,
    seconds: float,
    environments: int,
    progress: Callable[[str], None] = lambda text: None,
) -> SoakReport:
    """Steps environments in worker processes by random actions until the time is over.

    Some of them are played here as well: their rows must be the same, bit for bit.
    """
    make = partial(
        Cage2Env,
        red_agent=config.red_agent,
        episode_length=config.episode_length,
        rules=config.rules,
    )
    watched = sorted({0, environments // 2, environments - 1})
    env = SharedMemoryVectorEnv([make] * environments)
    try:
        played = _play(env, dict(zip(watched, [make() for _ in watched], strict=True)), seconds)
        wrong = compared = steps = 0
        looks: list[Look] = []
        started = time.perf_counter()
        for matches in played:
            steps += environments
            compared += len(matches)
            wrong += len(matches) - int(matches.sum())
            now = time.perf_counter() - started
            if not looks or now - looks[-1].seconds > min(_LOOK_EVERY, seconds / 10):
                looks.append(Look(now, steps, memory_bytes(env.worker_pids) or 0))
                progress(f"{steps:,} steps, {wrong} wrong rows, {env.restarts} restarts")
        looks.append(Look(time.perf_counter() - started, steps, memory_bytes(env.worker_pids) or 0))
        return SoakReport(
            machine=describe_machine(),
            red_agent=config.red_agent,
            environments=environments,
            workers=len(env.worker_pids),
            steps=steps,
            seconds=looks[-1].seconds,
            wrong_rows=wrong,
            compared_rows=compared,
            restarts=env.restarts,
            looks=tuple(looks),
        )
    finally:
        env.close()


def _play(
    env: SharedMemoryVectorEnv, here: dict[int, Cage2Env], seconds: float
) -> Iterator[NDArray[np.bool_]]:
    """Plays until the time is over; yields which of the watched rows were as those played here."""
    observations, _ = env.reset(seed=0)
    seeds = env_seeds(0, env.num_envs)
    for index, one in list(here.items()):
        if (one.reset(seed=seeds[index])[0] != observations[index]).any():
            yield np.zeros(1, np.bool_)
    rng = np.random.default_rng(0)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        actions = rng.integers(0, NUM_ACTIONS, env.num_envs)
        seen, rewards, _, truncated, infos = env.step(actions)
        restarted = infos.get("restarted", np.zeros(env.num_envs, np.bool_))
        matches = []
        for index, one in list(here.items()):
            if restarted[index]:  # its worker died: that game is over
                del here[index]
                continue
            observation, reward, _, over, _ = one.step(int(actions[index]))
            if over:
                observation, _ = one.reset()
            same = bool((observation == seen[index]).all())
            matches.append(same and reward == rewards[index] and over == truncated[index])
        yield np.array(matches, np.bool_)
