"""What a trainer plays in: the simulator, or Python environments such as the real CybORG."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from numpy.typing import NDArray

from workflow_rl.config import VECTORS, BackendConfig, GameConfig, one_of
from workflow_rl.envs.cyborg import CyborgEnv
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.shared import SharedMemoryVectorEnv
from workflow_rl.envs.shared_worker import EnvFn
from workflow_rl.envs.spaces import derived_seed, env_seeds
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.records import HOSTS_IN_WORD, capacity_of
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.network import held_hosts
from workflow_rl.sim.table import packed_tables

Arrays = dict[str, NDArray[Any]]


def info_arrays(network: Network) -> dict[str, tuple[int, type[np.generic]]]:
    """Returns the arrays that the infos of an environment hold, with their lengths and types."""
    hosts, actions = len(network.hosts), actions_of(network).size
    return {
        "red_access": (hosts, np.int8),
        "removable": (hosts, np.bool_),
        "action_mask": (actions, np.bool_),
    }


_READY_SHARE: Final = 8  # asynchronously, this part of the environments is taken at a time


class World(ABC):
    """`num_envs` environments that play episode after episode; rows are overwritten by a step."""

    network: Network
    num_envs: int
    observation_size: int
    is_exact: bool  # whether it continues from a saved state exactly
    asynchronous: bool = False  # whether environments are stepped by `send` and `receive`

    observation: NDArray[np.int8]  # (n, observation_size) what Blue sees now
    action_mask: NDArray[np.bool_]  # (n, actions) False for a decoy that would be refused now
    table: NDArray[np.int64]  # (n, words) Blue's table, packed as `State.table`
    removable: NDArray[np.int64]  # (n,) the hosts on which a Remove would change something, as bits
    reward: NDArray[np.floating[Any]]  # (n,) of the step just played
    ended: NDArray[np.bool_]  # (n,) whether the step just played was its episode's last
    is_judged: bool = True  # whether actions are Blue's, which follow an order or do not
    lost: NDArray[np.bool_] | None = None  # (n,) whether its episode was lost in it; None: none was

    @property
    @abstractmethod
    def held(self) -> NDArray[np.int64]:
        """(n,) the hosts Red holds, a bit each."""

    @abstractmethod
    def reset(self, seed: int) -> None:
        """Starts every environment anew."""

    @abstractmethod
    def step(self, actions: NDArray[np.int64]) -> int:
        """Plays a step everywhere and returns how many episodes ended."""

    def send(self, actions: NDArray[np.int64], envs: NDArray[np.int64]) -> None:
        """Begins a step in some environments."""
        raise NotImplementedError

    def receive(self, under_way: int) -> NDArray[np.int64]:
        """Waits for some of the environments under way; returns which have finished their step."""
        raise NotImplementedError

    @abstractmethod
    def state(self) -> Arrays:
        """Returns what `load_state` continues from."""

    @abstractmethod
    def load_state(self, arrays: Arrays) -> None:
        """Continues from a saved state."""

    def close(self) -> None:  # noqa: B027 (the simulator has none)
        """Ends the environments and their processes."""


class SimulatorWorld(World):
    """The compiled simulator."""

    is_exact = True

    def __init__(self, batch: Batch) -> None:
        """Wraps a batch."""
        self.batch = batch
        self.network = batch.network
        self.num_envs = batch.num_envs
        self.observation_size = batch.observation_size
        self.observation = batch.observation
        self.action_mask = batch.out.action_mask
        self.reward = batch.out.reward
        self.ended = batch.out.truncated
        self.table = batch.state["table"]
        self.removable = batch.state["removable"]

    def __reduce__(self) -> Any:
        """Makes a copy anew around a copy of the batch: its rows are those of its own."""
        return SimulatorWorld, (self.batch,)

    @property
    def held(self) -> NDArray[np.int64]:
        """(n,) the hosts Red holds, a bit each."""
        return held_hosts(self.batch.state)

    def reset(self, seed: int) -> None:
        """Starts every environment anew."""
        self.batch.reset(seed)

    def step(self, actions: NDArray[np.int64]) -> int:
        """Plays a step everywhere and returns how many episodes ended."""
        return self.batch.step(actions)

    def state(self) -> Arrays:
        """Returns what `load_state` continues from."""
        return self.batch.saved()

    def load_state(self, arrays: Arrays) -> None:
        """Continues from a saved state."""
        self.batch.load(arrays)


class PythonWorld(World):
    """A vector of Python environments whose infos hold `info_arrays`.

    Their state cannot be saved: a training that is resumed starts new episodes.
    """

    is_exact = False

    def __init__(
        self,
        vector: VectorEnv[Any, Any, Any],
        *,
        network: Network = SCENARIO2,
        asynchronous: bool = False,
    ) -> None:
        """Wraps a vector environment; closing the world closes it.

        Raises:
            InvalidInputError: it cannot be stepped asynchronously.
        """
        if asynchronous and not isinstance(vector, SharedMemoryVectorEnv):
            raise InvalidInputError("only environments over shared memory step asynchronously")
        self._vector: Any = vector
        self.network = network
        self.asynchronous = asynchronous
        n = self.num_envs = vector.num_envs
        (size,) = vector.single_observation_space.shape  # type: ignore[misc]
        self.observation_size = int(size)
        self.observation = np.zeros((n, self.observation_size), np.int8)
        self.action_mask = np.ones((n, actions_of(network).size), np.bool_)
        self.table = np.zeros((n, capacity_of(network) // HOSTS_IN_WORD), np.int64)
        self._held = np.zeros(n, np.int64)
        self.removable = np.zeros(n, np.int64)
        self._host_bits = np.int64(1) << np.arange(len(network.hosts))
        self.reward = np.zeros(n)
        self.ended = np.zeros(n, np.bool_)
        self._all_envs = np.arange(n)
        self._resets = 0
        self._seed = 0

    @property
    def held(self) -> NDArray[np.int64]:
        """(n,) the hosts Red holds, a bit each."""
        return self._held

    def reset(self, seed: int) -> None:
        """Starts every environment anew."""
        self._seed = seed
        observation, infos = self._vector.reset(seed=env_seeds(seed, self.num_envs))
        missing = [name for name in info_arrays(self.network) if name not in infos]
        if missing:
            raise InvalidInputError(
                f"these environments cannot be trained in: their infos lack {', '.join(missing)}"
            )
        self._store(self._all_envs, observation, infos)
        self.ended[:] = False

    def step(self, actions: NDArray[np.int64]) -> int:
        """Plays a step everywhere and returns how many episodes ended."""
        return self._store_step(self._all_envs, *self._vector.step(actions))

    def send(self, actions: NDArray[np.int64], envs: NDArray[np.int64]) -> None:
        """Begins a step in some environments."""
        self._vector.send(actions, envs)

    def receive(self, under_way: int) -> NDArray[np.int64]:
        """Waits for some of the environments under way; returns which have finished their step."""
        given = self._vector.recv(min(under_way, max(1, self.num_envs // _READY_SHARE)))
        envs: NDArray[np.int64] = given[-1]["env_ids"]
        self._store_step(envs, *given)
        return envs

    def state(self) -> Arrays:
        """Returns how often the environments were reset, from which new episodes' seeds derive."""
        return {"resets": np.array([self._resets + 1])}

    def load_state(self, arrays: Arrays) -> None:
        """Starts new episodes, from other seeds than those that began the training."""
        self._resets = int(arrays["resets"][0])
        self.reset(derived_seed(self._seed, self._resets))

    def close(self) -> None:
        """Closes the environments and ends their processes."""
        self._vector.close()

    def _store_step(
        self,
        envs: NDArray[np.int64],
        observation: NDArray[Any],
        reward: NDArray[Any],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
        infos: dict[str, Any],
    ) -> int:
        """Stores the results of a step of some environments; returns how many episodes ended."""
        self._store(envs, observation, infos)
        self.reward[envs] = reward
        self.ended[envs] = terminated | truncated
        self.lost = None
        restarted = infos.get("restarted")
        if restarted is not None and restarted.any():
            self.lost = np.zeros(self.num_envs, np.bool_)
            self.lost[envs] = restarted
        return int(self.ended[envs].sum())

    def _store(
        self, envs: NDArray[np.int64], observation: NDArray[Any], infos: dict[str, Any]
    ) -> None:
        """Stores what some environments show now."""
        self.observation[envs] = observation
        self.action_mask[envs] = infos["action_mask"]
        self.table[envs] = packed_tables(self.network, observation)
        self._held[envs] = (infos["red_access"] > 0) @ self._host_bits
        self.removable[envs] = infos["removable"].astype(np.bool_) @ self._host_bits


def make_vector(
    env_fns: Sequence[EnvFn], vector: str = "shared", **settings: Any
) -> VectorEnv[Any, Any, Any]:
    """Returns environments that step together; ended episodes restart within the step.

    The same list of seeds (`spaces.env_seeds`) gives the same trajectories with each kind.

    Args:
        env_fns: make the environments.
        vector: shared (a few workers over shared memory), pipes (Gymnasium's own, one process for
            each environment) or serial (all in this process, for debugging).
        settings: with shared, those of `SharedMemoryVectorEnv`; else those of Gymnasium's class.

    Raises:
        InvalidInputError: there is no such vector, or a setting is not allowed.
    """
    one_of("vector", vector, VECTORS)
    if vector == "shared":
        return SharedMemoryVectorEnv(env_fns, **settings)
    settings = {"autoreset_mode": AutoresetMode.SAME_STEP, **settings}
    if vector == "pipes":
        return AsyncVectorEnv(env_fns, shared_memory=False, **settings)
    return SyncVectorEnv(env_fns, **settings)


def make_world(game: GameConfig, num_envs: int, backend: BackendConfig) -> World:
    """Returns the environments that a backend plays a game in.

    Raises:
        InvalidInputError: the backend cannot play it.
        MissingDependencyError: CybORG is not installed.
    """
    if backend.name == "cage2":
        return SimulatorWorld(make_batch(num_envs, game))
    settings: dict[str, Any] = {}
    if backend.vector == "shared":
        settings = {
            "num_workers": backend.env_workers,
            "info_arrays": info_arrays(game.network),
            "timeout": backend.step_timeout,
            "max_restarts": backend.max_restarts,
            "copy": False,
        }
    vector = make_vector([_cyborg_maker(game, backend)] * num_envs, backend.vector, **settings)
    return PythonWorld(vector, network=game.network, asynchronous=backend.vector_mode == "async")


def check_backend(game: GameConfig, backend: BackendConfig) -> None:
    """Checks that a backend can play a game, by making and closing one environment.

    Raises:
        InvalidInputError: the backend cannot play it.
        MissingDependencyError: CybORG is not installed.
    """
    if backend.name != "cage2":
        _cyborg_maker(game, backend)().close()


def _cyborg_maker(game: GameConfig, backend: BackendConfig) -> Callable[[], CyborgEnv]:
    return partial(CyborgEnv, game=game, cyborg_path=backend.cyborg_path)
