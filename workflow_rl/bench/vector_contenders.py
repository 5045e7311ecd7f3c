"""What `workflow-rl bench vector` measures: environments, and what carries their steps."""

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from numpy.typing import NDArray

from workflow_rl.bench.contenders import EPISODE_LENGTH, make_cyborg
from workflow_rl.config import GameConfig
from workflow_rl.envs import vectors
from workflow_rl.envs.shared import SharedMemoryVectorEnv
from workflow_rl.errors import MissingDependencyError
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.sim.observe import CHALLENGE_SIZE

ZERO: Final = "zero"
CYBORG: Final = "cyborg"
WORKS: Final = (ZERO, CYBORG)

SINGLE: Final = "single"
SERIAL: Final = "serial"
SYNC: Final = "sync"
ASYNC: Final = "async"
GYM_PIPES: Final = "gym-pipes"
GYM_SHARED: Final = "gym-shared"
SB3: Final = "sb3"
LABELS: Final = {
    SINGLE: "one environment, no other process",
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
    """Gives the same observation again and again: what is measured is its way."""

    observation_space: spaces.Space[Any] = spaces.Box(0, 1, (CHALLENGE_SIZE,), np.int8)
    action_space: spaces.Space[Any] = spaces.Discrete(NUM_ACTIONS)

    def __init__(self) -> None:
        self._observation = np.zeros(CHALLENGE_SIZE, np.int8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Starts nothing."""
        return self._observation, {}

    def step(self, action: Any) -> tuple[NDArray[np.int8], float, bool, bool, dict[str, Any]]:
        """Does nothing."""
        return self._observation, 0.0, False, False, {}


class CyborgWork(Env):
    """The real CybORG with episodes of the usual length."""

    observation_space: spaces.Space[Any] = spaces.Box(0, 1, (CHALLENGE_SIZE,), np.int8)
    action_space: spaces.Space[Any] = spaces.Discrete(NUM_ACTIONS)

    def __init__(self, config: GameConfig, first_length: int = EPISODE_LENGTH) -> None:
        """Makes it.

        Args:
            config: the game.
            first_length: steps of the first episode; different ones spread the resets evenly.
        """
        self._env = make_cyborg(config)
        self._left = first_length

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Starts an episode."""
        if self._left <= 0:
            self._left = EPISODE_LENGTH
        return self._env.reset(), {}

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Plays a step."""
        observation, reward, _, _ = self._env.step(int(action))
        self._left -= 1
        return observation, reward, False, self._left <= 0, {}


def make_env_fns(work: str, num_envs: int, config: GameConfig) -> list[EnvFn]:
    """Returns what makes the environments, with everything imported that they need.

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
    """Environments and a way to step them, ready to play; `pids` are its other processes."""

    def __init__(self, name: str, env_fns: Sequence[EnvFn], num_workers: int | None) -> None:
        """Starts it and resets all environments.

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
        if name in (SYNC, ASYNC):
            self._env = SharedMemoryVectorEnv(env_fns, num_workers, info_arrays={})
            self.pids = self._env.worker_pids
        elif name in (SERIAL, GYM_PIPES):
            self._env = vectors.make_vector(
                env_fns, vectors.SERIAL if name == SERIAL else vectors.PIPES
            )
        elif name == GYM_SHARED:
            self._env = AsyncVectorEnv(env_fns, autoreset_mode=AutoresetMode.SAME_STEP)
        else:
            self._env = subproc_vec_env(env_fns)
        if name in PROCESS_PER_ENV:
            self.pids = [process.pid for process in self._env.processes]
        self._env.reset()
        self._play = self._play_async if name == ASYNC else self._play_sync

    def play(self, seconds: float) -> int:
        """Plays for so long, at least one step, and returns how many steps of environments."""
        return self._play(time.perf_counter() + seconds)

    def close(self) -> None:
        """Ends the processes."""
        self._env.close()

    def _actions(self, size: int) -> NDArray[np.int64]:
        return self._rng.integers(0, NUM_ACTIONS, size)

    def _play_single(self, end: float) -> int:
        steps = 0
        while steps == 0 or time.perf_counter() < end:
            steps += 1
            if self._env.step(self._rng.integers(NUM_ACTIONS))[3]:
                self._env.reset()
        return steps

    def _play_sync(self, end: float) -> int:
        steps = 0
        while steps == 0 or time.perf_counter() < end:
            self._env.step(self._actions(self._n))
            steps += self._n
        return steps

    def _play_async(self, end: float) -> int:
        """Takes halves of the batch as they get ready; nothing is under way at its end."""
        self._env.send(self._actions(self._n))
        steps = 0
        while time.perf_counter() < end:
            ids = self._env.recv(max(1, self._n // 2))[-1]["env_ids"]
            steps += len(ids)
            self._env.send(self._actions(len(ids)), ids)
        return steps + len(self._env.recv(self._n)[-1]["env_ids"])


def subproc_vec_env(env_fns: Sequence[EnvFn]) -> Any:
    """SB3's, forked like the others: its own default imports everything in every process.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        from stable_baselines3.common.vec_env import SubprocVecEnv
    except ImportError as error:
        raise MissingDependencyError(f"Stable-Baselines3 cannot be imported ({error})") from error
    return SubprocVecEnv(list(env_fns), start_method="fork") if env_fns else None
