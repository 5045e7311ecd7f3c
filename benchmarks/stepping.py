"""Ways to step many Python environments, each in a separate process: what `vector` measures."""

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final, NamedTuple, Self

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode

from benchmarks.measure import Rounds, Row, memory_bytes
from workflow_rl.envs.cyborg import CyborgEnv
from workflow_rl.envs.shared import SharedMemoryVectorEnv, usable_cores
from workflow_rl.envs.shared_worker import collect_garbage_rarely
from workflow_rl.envs.world import make_vector
from workflow_rl.errors import MissingDependencyError, WorkerDiedError
from workflow_rl.scenario.scenario2 import CHALLENGE_SIZE, NUM_ACTIONS

CONTENDERS: Final = {
    "single": "one environment, no other process",
    "apart": "as many processes as workers, each with its share of environments, separate",
    "serial": "Gymnasium SyncVectorEnv, no other process",
    "sync": "SharedMemoryVectorEnv, step",
    "async": "SharedMemoryVectorEnv, send and recv",
    "gym-pipes": "Gymnasium AsyncVectorEnv, pipes",
    "gym-shared": "Gymnasium AsyncVectorEnv, shared memory",
    "sb3": "Stable-Baselines3 SubprocVecEnv",
}
PROCESS_PER_ENV: Final = ("gym-pipes", "gym-shared", "sb3")
EPISODE_LENGTH: Final = 100
_CPU_CLOCK: Final = 2  # of a process, as clock_getcpuclockid(3) makes it

EnvFn = Callable[[], gymnasium.Env[Any, Any]]
StepResult = tuple[Any, float, bool, bool, dict[str, Any]]


class ZeroWork(gymnasium.Env[Any, Any]):
    """An environment that does nothing, so that what is measured is the way of its steps."""

    observation_space: spaces.Space[Any] = spaces.Box(0, 1, (CHALLENGE_SIZE,), np.int8)
    action_space: spaces.Space[Any] = spaces.Discrete(NUM_ACTIONS)

    def __init__(self) -> None:
        self._observation = np.zeros(CHALLENGE_SIZE, np.int8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Returns the one observation."""
        return self._observation, {}

    def step(self, action: Any) -> StepResult:
        """Returns the one observation again."""
        return self._observation, 0.0, False, False, {}


class CyborgWork(ZeroWork):
    """The real CybORG, without infos; first episodes of different lengths spread the resets."""

    def __init__(self, red_agent: Any, first_length: int = EPISODE_LENGTH) -> None:
        self._env = CyborgEnv(red_agent=red_agent, episode_length=EPISODE_LENGTH)
        self._first = first_length

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Starts an episode."""
        return self._env.reset(seed=seed)[0], {}

    def step(self, action: Any) -> StepResult:
        """Plays a step."""
        observation, reward, _, truncated, _ = self._env.step(action)
        self._first -= 1
        return observation, reward, False, truncated or self._first == 0, {}


class Start(NamedTuple):
    """Which contender to start, with which environments."""

    work: str  # zero or cyborg
    contender: str
    num_envs: int
    red_agent: str
    workers: int | None  # of ours; None is one for each core

    def __str__(self) -> str:
        """Returns what it is, in a few words."""
        return f"{self.contender}, {self.num_envs} envs of {self.work}"

    def env_fns(self) -> list[EnvFn]:
        """Returns the functions that make the environments, with everything they need imported.

        Raises:
            MissingDependencyError: CybORG cannot be imported.
        """
        if self.work == "zero":
            return [ZeroWork] * self.num_envs
        CyborgWork(self.red_agent)

        def env_fn(k: int) -> EnvFn:
            return lambda: CyborgWork(self.red_agent, first_length=1 + 37 * k % EPISODE_LENGTH)

        return [env_fn(k) for k in range(self.num_envs)]


class Contender:
    """One way to step environments, started; `pids` are its other processes."""

    def __init__(self, start: Start) -> None:
        """Makes and resets the environments.

        Raises:
            MissingDependencyError: what it needs is not installed.
        """
        name, env_fns, workers = start.contender, start.env_fns(), start.workers or usable_cores()
        makers: dict[str, Callable[[], Any]] = {
            "single": lambda: env_fns[0](),
            "apart": lambda: SeparateProcesses(env_fns, workers),
            "serial": lambda: make_vector(env_fns, "serial"),
            "sync": lambda: SharedMemoryVectorEnv(env_fns, workers, info_arrays={}),
            "async": lambda: SharedMemoryVectorEnv(env_fns, workers, info_arrays={}),
            "gym-pipes": lambda: make_vector(env_fns, "pipes"),
            "gym-shared": lambda: AsyncVectorEnv(env_fns, autoreset_mode=AutoresetMode.SAME_STEP),
        }
        if name == "sb3":  # importing it is not measured
            try:
                from stable_baselines3.common.vec_env import SubprocVecEnv
            except ImportError as error:
                raise MissingDependencyError(f"Stable-Baselines3 is missing ({error})") from error
            makers["sb3"] = lambda: SubprocVecEnv(env_fns, start_method="fork")  # as the others
        began = time.perf_counter()
        self._name, self._n = name, start.num_envs
        self._rng = np.random.default_rng(0)
        self.env = makers[name]()
        self.env.reset()
        self.start_seconds = time.perf_counter() - began
        self.pids: list[int] = getattr(self.env, "worker_pids", [])
        if name in ("apart", *PROCESS_PER_ENV):
            self.pids = [process.pid for process in self.env.processes]

    def play(self, seconds: float) -> int:
        """Plays for a number of seconds, at least a step, and returns the environments' steps."""
        if self._name == "single":
            return play_alone([self.env], self._rng, seconds)
        if self._name == "apart":
            return int(self.env.play(seconds))
        end = time.perf_counter() + seconds
        if self._name == "async":
            return self._play_async(end)
        steps = 0
        while steps == 0 or time.perf_counter() < end:
            self.env.step(self._rng.integers(0, NUM_ACTIONS, self._n))
            steps += self._n
        return steps

    def _play_async(self, end: float) -> int:
        """Receives half of the batch at a time, as it gets ready; receives all of it at the end."""
        self.env.send(self._rng.integers(0, NUM_ACTIONS, self._n))
        steps = 0
        while time.perf_counter() < end:
            ids = self.env.recv(max(1, self._n // 2))[-1]["env_ids"]
            steps += len(ids)
            self.env.send(self._rng.integers(0, NUM_ACTIONS, len(ids)), ids)
        return steps + len(self.env.recv(self._n)[-1]["env_ids"])


def play_alone(envs: Sequence[Any], rng: np.random.Generator, seconds: float) -> int:
    """Steps environments in turn for a number of seconds, at least once, and returns the steps."""
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

    What the machine can do with as many processes: nothing is exchanged, but caches and memory are
    shared, so the rate is less than that of one environment alone times the processes.
    """

    def __init__(self, env_fns: Sequence[EnvFn], count: int) -> None:
        """Starts `count` processes, or one for each environment if there are fewer."""
        shares = [env_fns[k::count] for k in range(min(count, len(env_fns)))]
        pipes = [multiprocessing.Pipe() for _ in shares]
        self._ends = [ours for ours, _ in pipes]
        self.processes = [
            multiprocessing.Process(target=_play_share, args=(share, theirs, k), daemon=True)
            for k, (share, (_, theirs)) in enumerate(zip(shares, pipes, strict=True))
        ]
        for process in self.processes:
            process.start()

    def reset(self) -> None:
        """Waits until every process has reset its environments."""
        for end in self._ends:
            end.recv()

    def play(self, seconds: float) -> int:
        """Lets all of them play so long, at the same time, and returns the sum of their steps."""
        for end in self._ends:
            end.send(seconds)
        return sum(end.recv() for end in self._ends)

    def close(self) -> None:
        """Terminates the processes."""
        for process in self.processes:
            process.terminate()
            process.join()


def _play_share(env_fns: Sequence[EnvFn], connection: Any, seed: int) -> None:
    """Runs one process: plays for as many seconds as it receives and sends the steps back."""
    envs, rng = [make() for make in env_fns], np.random.default_rng(seed)
    for env in envs:
        env.reset()
    collect_garbage_rarely()
    connection.send("ready")
    while True:
        connection.send(play_alone(envs, rng, connection.recv()))


class Played(NamedTuple):
    """What one round measured."""

    steps: int  # of environments
    seconds: float
    cpu_seconds: float  # of all processes


class Started(NamedTuple):
    """What is known of a contender once it is ready."""

    pid: int
    seconds: float
    processes: int
    memory_bytes: int  # of all its processes


class ContenderProcess:
    """A contender in a separate process, so that memory and time are those of the contender."""

    def __init__(self, start: Start) -> None:
        """Starts the process and waits until its contender is ready.

        Raises:
            MissingDependencyError: what it needs is not installed.
            WorkerDiedError: it could not start.
        """
        self.start = start
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(1, context, initializer=_prepare)
        self._rounds: list[Played] = []
        self.started: Started = self._do(_start, start)

    def play(self, seconds: float) -> None:
        """Steps all environments for a round of that many seconds."""
        self._rounds.append(self._do(_play, seconds))

    @property
    def rate(self) -> Rounds:
        """Steps per second."""
        return Rounds(tuple(p.steps / p.seconds for p in self._rounds))

    @property
    def cpu(self) -> Rounds:
        """Processor microseconds of a step, which other programs disturb less than the rate."""
        return Rounds(tuple(1e6 * p.cpu_seconds / p.steps for p in self._rounds))

    @property
    def row(self) -> Row:
        """The row of its table."""
        return {
            "name": self.start.contender,
            "envs": 1 if self.start.contender == "single" else self.start.num_envs,
            "processes": self.started.processes,
            "steps per second": self.rate,
            "cores busy": Rounds(tuple(p.cpu_seconds / p.seconds for p in self._rounds)),
            "CPU us per step": self.cpu,
            "MB": self.started.memory_bytes / 1e6,
            "start, s": self.started.seconds,
        }

    def __enter__(self) -> Self:
        """Returns itself; leaving the block ends the process."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Lets the process close its contender; after an exception kills it at once."""
        if kind:
            with contextlib.suppress(ProcessLookupError):  # it may be what has died
                os.killpg(self.started.pid, signal.SIGKILL)  # with all that it started
        else:
            self._do(_close)
        self._pool.shutdown()

    def _do(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return self._pool.submit(function, *arguments).result()
        except BrokenProcessPool as error:
            raise WorkerDiedError(f"the process of {self.start} died") from error


# What runs in the process of a contender.

_CONTENDERS: Final[list[Contender]] = []


def _prepare() -> None:
    os.setsid()  # Ctrl-C goes to the benchmark alone
    multiprocessing.set_start_method("fork", force=True)  # the default; this process was spawned


def _start(start: Start) -> Started:
    contender = Contender(start)
    _CONTENDERS.append(contender)
    contender.play(0)  # one step warms it up
    pids = contender.pids
    return Started(os.getpid(), contender.start_seconds, 1 + len(pids), memory_bytes(pids))


def _play(seconds: float) -> Played:
    contender = _CONTENDERS[0]
    began, cpu = time.perf_counter(), _cpu_seconds(contender.pids)
    steps = contender.play(seconds)
    return Played(steps, time.perf_counter() - began, _cpu_seconds(contender.pids) - cpu)


def _close() -> None:
    _CONTENDERS.pop().env.close()


def _cpu_seconds(pids: Sequence[int]) -> float:
    """Returns the processor time of this process and the given ones.

    Read from each process's own clock: psutil's times come in ticks of 10 ms, too coarse for the
    shortest measurements.
    """
    others = sum(time.clock_gettime(~pid << 3 | _CPU_CLOCK) for pid in pids)
    return time.process_time() + others
