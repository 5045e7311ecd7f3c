"""What `workflow-rl bench vector` measures: environments, and the ways to step many of them."""

import multiprocessing
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from numpy.typing import NDArray

from workflow_rl.bench.contenders import EPISODE_LENGTH
from workflow_rl.config import GameConfig
from workflow_rl.envs import vectors
from workflow_rl.envs.cyborg import CyborgEnv
from workflow_rl.envs.shared import SharedMemoryVectorEnv, usable_cores
from workflow_rl.envs.shared_worker import collect_garbage_rarely
from workflow_rl.errors import MissingDependencyError
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.sim.observe import CHALLENGE_SIZE

ZERO: Final = "zero"
CYBORG: Final = "cyborg"
WORKS: Final = (ZERO, CYBORG)

SINGLE: Final = "single"
APART: Final = "apart"
SERIAL: Final = "serial"
SYNC: Final = "sync"
ASYNC: Final = "async"
GYM_PIPES: Final = "gym-pipes"
GYM_SHARED: Final = "gym-shared"
SB3: Final = "sb3"
LABELS: Final = {
    SINGLE: "one environment, no other process",
    APART: "as many processes as workers, each with its share of environments, exchanging nothing",
    SERIAL: "Gymnasium SyncVectorEnv, no other process",
    SYNC: "SharedMemoryVectorEnv, step",
    ASYNC: "SharedMemoryVectorEnv, send and recv",
    GYM_PIPES: "Gymnasium AsyncVectorEnv, pipes",
    GYM_SHARED: "Gymnasium AsyncVectorEnv, shared memory",
    SB3: "Stable-Baselines3 SubprocVecEnv",
}
PROCESS_PER_ENV: Final = (GYM_PIPES, GYM_SHARED, SB3)

Env = gymnasium.Env[Any, Any]
EnvFn = Callable[[], Env]


class ZeroWork(Env):
    """An environment that does nothing, so that what is measured is the way of its steps."""

    observation_space: spaces.Space[Any] = spaces.Box(0, 1, (CHALLENGE_SIZE,), np.int8)
    action_space: spaces.Space[Any] = spaces.Discrete(NUM_ACTIONS)

    def __init__(self) -> None:
        self._observation = np.zeros(CHALLENGE_SIZE, np.int8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Returns the one observation."""
        return self._observation, {}

    def step(self, action: Any) -> tuple[NDArray[np.int8], float, bool, bool, dict[str, Any]]:
        """Returns the one observation again."""
        return self._observation, 0.0, False, False, {}


class CyborgWork(Env):
    """The real CybORG with episodes of the usual length."""

    observation_space: spaces.Space[Any] = spaces.Box(0, 1, (CHALLENGE_SIZE,), np.int8)
    action_space: spaces.Space[Any] = spaces.Discrete(NUM_ACTIONS)

    def __init__(self, config: GameConfig, first_length: int = EPISODE_LENGTH) -> None:
        """Makes the environment.

        Args:
            config: the game.
            first_length: steps of the first episode; different ones spread the resets evenly.
        """
        self._env = CyborgEnv(red_agent=config.red_agent, episode_length=EPISODE_LENGTH)
        self._left = first_length

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Starts an episode."""
        if self._left <= 0:
            self._left = EPISODE_LENGTH
        return self._env.reset(seed=seed)[0], {}

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Plays a step."""
        observation, reward, _, _, _ = self._env.step(action)
        self._left -= 1
        return observation, reward, False, self._left <= 0, {}


def make_env_fns(work: str, num_envs: int, config: GameConfig) -> list[EnvFn]:
    """Returns the functions that make the environments, with everything they need imported.

    Raises:
        MissingDependencyError: CybORG cannot be imported.
    """
    if work == ZERO:
        return [ZeroWork] * num_envs
    CyborgWork(config)

    def env_fn(k: int) -> EnvFn:
        return lambda: CyborgWork(config, first_length=1 + 37 * k % EPISODE_LENGTH)

    return [env_fn(k) for k in range(num_envs)]


class Contender:
    """One way to step environments, started; `pids` are its other processes."""

    def __init__(self, name: str, env_fns: Sequence[EnvFn], num_workers: int | None) -> None:
        """Makes and resets the environments.

        Args:
            name: one of LABELS.
            env_fns: make the environments.
            num_workers: of ours; None is one for each core.
        """
        self._rng = np.random.default_rng(0)
        self._n = len(env_fns)
        self.pids: list[int] = []
        self._env: Any
        if name == SINGLE:
            self._env = env_fns[0]()
            self._env.reset()
            self._play = self._play_single
            return
        if name == APART:
            self._env = SeparateProcesses(env_fns, num_workers or usable_cores())
            self.pids = self._env.pids
            self._play = self._env.play
            return
        if name in (SYNC, ASYNC):
            self._env = SharedMemoryVectorEnv(env_fns, num_workers, info_arrays={})
            self.pids = self._env.worker_pids
        elif name in (SERIAL, GYM_PIPES):
            self._env = vectors.make_vector(env_fns, "serial" if name == SERIAL else vectors.PIPES)
        elif name == GYM_SHARED:
            self._env = AsyncVectorEnv(env_fns, autoreset_mode=AutoresetMode.SAME_STEP)
        else:
            self._env = subproc_vec_env(env_fns)
        if name in PROCESS_PER_ENV:
            self.pids = [process.pid for process in self._env.processes]
        self._env.reset()
        self._play = self._play_async if name == ASYNC else self._play_sync

    def play(self, seconds: float) -> int:
        """Plays for so many seconds, at least a step, and returns the environments' steps."""
        return self._play(seconds)

    def close(self) -> None:
        """Closes the environments and ends their processes."""
        self._env.close()

    def _actions(self, size: int) -> NDArray[np.int64]:
        return self._rng.integers(0, NUM_ACTIONS, size)

    def _play_single(self, seconds: float) -> int:
        return play_alone([self._env], self._rng, seconds)

    def _play_sync(self, seconds: float) -> int:
        end = time.perf_counter() + seconds
        steps = 0
        while steps == 0 or time.perf_counter() < end:
            self._env.step(self._actions(self._n))
            steps += self._n
        return steps

    def _play_async(self, seconds: float) -> int:
        """Receives half of the batch at a time, as it gets ready; receives all of it at the end."""
        end = time.perf_counter() + seconds
        self._env.send(self._actions(self._n))
        steps = 0
        while time.perf_counter() < end:
            ids = self._env.recv(max(1, self._n // 2))[-1]["env_ids"]
            steps += len(ids)
            self._env.send(self._actions(len(ids)), ids)
        return steps + len(self._env.recv(self._n)[-1]["env_ids"])


def play_alone(envs: Sequence[Env], rng: np.random.Generator, seconds: float) -> int:
    """Steps environments in turn for so many seconds, at least once, and returns the steps."""
    end = time.perf_counter() + seconds
    steps = 0
    while steps == 0 or time.perf_counter() < end:
        for env in envs:
            if env.step(rng.integers(NUM_ACTIONS))[3]:
                env.reset()
        steps += len(envs)
    return steps


class SeparateProcesses:
    """Processes that step their share of the environments independently of each other.

    What the machine can do with so many processes: nothing is exchanged, but caches and memory are
    shared, so the rate is less than that of one environment alone times the processes.
    """

    def __init__(self, env_fns: Sequence[EnvFn], count: int) -> None:
        """Starts `count` processes, or one for each environment if there are fewer."""
        context = multiprocessing.get_context("fork")
        shares = [env_fns[k::count] for k in range(min(count, len(env_fns)))]
        pipes = [context.Pipe() for _ in shares]
        self._ends = [ours for ours, _ in pipes]
        self._processes = [
            context.Process(target=_serve_play_requests, args=(share, theirs, k), daemon=True)
            for k, (share, (_, theirs)) in enumerate(zip(shares, pipes, strict=True))
        ]
        for process in self._processes:
            process.start()
        for end in self._ends:
            end.recv()
        self.pids = [process.pid or 0 for process in self._processes]

    def play(self, seconds: float) -> int:
        """Lets all of them play so long, at the same time, and returns the sum of their steps."""
        for end in self._ends:
            end.send(seconds)
        return sum(end.recv() for end in self._ends)

    def close(self) -> None:
        """Terminates the processes."""
        for process in self._processes:
            process.terminate()
            process.join()


def _serve_play_requests(env_fns: Sequence[EnvFn], connection: Any, seed: int) -> None:
    """Runs one process: plays for as many seconds as it receives and sends the steps back."""
    envs, rng = [make() for make in env_fns], np.random.default_rng(seed)
    for env in envs:
        env.reset()
    collect_garbage_rarely()
    connection.send("ready")
    while True:
        connection.send(play_alone(envs, rng, connection.recv()))


def subproc_vec_env(env_fns: Sequence[EnvFn]) -> Any:
    """Returns Stable-Baselines3's vector environment, or None of no environments.

    It is forked like the others: its own default imports everything again in every process.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        from stable_baselines3.common.vec_env import SubprocVecEnv
    except ImportError as error:
        raise MissingDependencyError(f"Stable-Baselines3 cannot be imported ({error})") from error
    return SubprocVecEnv(list(env_fns), start_method="fork") if env_fns else None
