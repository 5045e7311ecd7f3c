"""What a trainer plays in: environments, with what compliance is judged by."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workflow_rl.sim.batch import Batch
from workflow_rl.sim.network import held_hosts

Arrays = dict[str, NDArray[Any]]


class World(Protocol):
    """`num_envs` environments that play episode after episode; rows are overwritten by a step."""

    num_envs: int
    observation_size: int
    is_exact: bool  # whether it continues from a saved state exactly
    asynchronous: bool  # whether environments are stepped by `send` and `receive`

    @property
    def observation(self) -> NDArray[np.int8]:
        """(n, observation_size) what Blue sees now."""
        ...

    @property
    def action_mask(self) -> NDArray[np.bool_]:
        """(n, 145) False for a decoy that would be refused now."""
        ...

    @property
    def table(self) -> NDArray[np.int64]:
        """(n,) the 52 bits of Blue's table, as one number."""
        ...

    @property
    def held(self) -> NDArray[np.int16]:
        """(n,) the hosts Red holds, a bit each."""
        ...

    @property
    def removable(self) -> NDArray[np.int16]:
        """(n,) the hosts on which a Remove would change something, a bit each."""
        ...

    @property
    def reward(self) -> NDArray[np.floating[Any]]:
        """(n,) of the step just played."""
        ...

    @property
    def ended(self) -> NDArray[np.bool_]:
        """(n,) whether the step just played was its episode's last."""
        ...

    @property
    def lost(self) -> NDArray[np.bool_] | None:
        """(n,) whether its episode was lost in the step just played; None: no episode was."""
        ...

    def reset(self, seed: int) -> None:
        """Starts every environment anew."""
        ...

    def step(self, actions: NDArray[np.int64]) -> int:
        """Plays a step everywhere and returns how many episodes ended."""
        ...

    def send(self, actions: NDArray[np.int64], envs: NDArray[np.int64]) -> None:
        """Begins a step in some environments."""
        ...

    def receive(self, under_way: int) -> NDArray[np.int64]:
        """Waits for some of the environments under way; returns which have finished their step."""
        ...

    def state(self) -> Arrays:
        """Returns what `load_state` continues from."""
        ...

    def load_state(self, arrays: Arrays) -> None:
        """Continues from a saved state."""
        ...

    def close(self) -> None:
        """Ends the environments and their processes."""
        ...


class SimulatorWorld:
    """The compiled simulator."""

    is_exact = True
    asynchronous = False
    lost: NDArray[np.bool_] | None = None

    def __init__(self, batch: Batch) -> None:
        """Wraps a batch."""
        self.batch = batch
        self.num_envs = batch.num_envs
        self.observation_size = batch.observation_size
        self.observation = batch.observation
        self.action_mask = batch.out.action_mask
        self.reward = batch.out.reward
        self.ended = batch.out.truncated
        self.table = batch.state["table"]
        self.removable = batch.state["removable"]
        self.reset = batch.reset
        self.step = batch.step

    @property
    def held(self) -> NDArray[np.int16]:
        """(n,) the hosts Red holds, a bit each."""
        return held_hosts(self.batch.state)

    def state(self) -> Arrays:
        """Returns what `load_state` continues from."""
        return self.batch.saved()

    def load_state(self, arrays: Arrays) -> None:
        """Continues from a saved state."""
        self.batch.load(arrays)

    def send(self, actions: NDArray[np.int64], envs: NDArray[np.int64]) -> None:
        """Raises NotImplementedError: all environments step at once."""
        raise NotImplementedError

    def receive(self, under_way: int) -> NDArray[np.int64]:
        """Raises NotImplementedError: all environments step at once."""
        raise NotImplementedError

    def close(self) -> None:
        """Does nothing: there are no processes."""
