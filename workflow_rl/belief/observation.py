"""The observation `belief`: what Blue remembers, and the posterior over Red's state.

A probability is shown as bits, one for each of `LEVELS` that it reaches, so that an observation
stays a row of bits. The prior over the three red agents is uniform, whichever of them plays.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import checked_array
from workflow_rl.belief.belief import Belief
from workflow_rl.belief.filtering import Marginals
from workflow_rl.config import RED_AGENTS, GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.jit import kernel
from workflow_rl.scenario.network import Network
from workflow_rl.sim.batch import Batch, Outputs
from workflow_rl.sim.checks import checked_actions
from workflow_rl.sim.memory import BEGIN, BlueMemory, Entry
from workflow_rl.sim.observation import Observation, simulated, with_memory
from workflow_rl.sim.state import Access

LEVELS: Final = np.array([0.02, 0.2, 0.5, 0.8, 0.98])
_EACH: Final = len(LEVELS)
_REACHED: Final = f"is at least {', '.join(map(str, LEVELS))}"
_PRIVILEGED = int(Access.PRIVILEGED)
_SEEN: Final = "seen."  # of what is saved: the history


@cache
def believed(network: Network) -> Observation:
    """Returns the observation `belief` on a network."""
    per_host = len(network.hosts) * _EACH
    return with_memory(
        "belief",
        network,
        Entry("held", per_host, f"per host: the probability that Red holds it {_REACHED}"),
        Entry("privileged", per_host, "per host: that Red is privileged there, likewise"),
        Entry("ot_stopped", _EACH, "that the OT service is stopped, likewise"),
        Entry("red_agent", len(RED_AGENTS) * _EACH, "that Red is bline, meander, sleep, likewise"),
    )


@kernel()
def _write(marginals: Marginals, levels: NDArray[np.float64], rows: NDArray[np.int8]) -> None:
    """Writes the probabilities to rows (n, their bits) in the order of the entries."""
    each = len(levels)
    access, ot_stopped, red_agent, _ = marginals
    hosts = access.shape[1]
    after_hosts = 2 * hosts
    for k in range(len(rows)):
        at = 0
        for entry in range(after_hosts + 1 + red_agent.shape[1]):
            if entry < hosts:
                p = access[k, entry, 1] + access[k, entry, _PRIVILEGED]
            elif entry < after_hosts:
                p = access[k, entry - hosts, _PRIVILEGED]
            elif entry == after_hosts:
                p = ot_stopped[k]
            else:
                p = red_agent[k, entry - after_hosts - 1]
            for level in range(each):
                rows[k, at + level] = p >= levels[level]
            at += each


def write_belief(belief: Belief, rows: NDArray[np.int8]) -> None:
    """Writes what is believed now behind what is remembered, in rows (n, size)."""
    start = simulated("memory", belief.network).size
    _write(belief.marginals, LEVELS, rows[:, start:])


def belief_in(game: GameConfig, num_envs: int) -> Belief:
    """Returns the belief behind the observation: every red agent is as likely, whoever plays."""
    return Belief(
        num_envs,
        network=game.network,
        rules=game.rules,
        green_agent=game.green_agent,
        observation="belief",
    )


class BlueBelief:
    """The observation `belief` of episodes that are played elsewhere."""

    def __init__(self, num_envs: int, game: GameConfig) -> None:
        """Makes room for n episodes; they begin together, by `BEGIN` as every action."""
        self._network = game.network
        self._memory = BlueMemory(game.network, num_envs)
        self._belief = belief_in(game, num_envs)
        self._rows = np.zeros((num_envs, believed(game.network).size), np.int8)

    def update(self, tables: NDArray[np.int8], actions: NDArray[np.int64]) -> NDArray[np.int8]:
        """Takes in a step of each episode and returns (n, size) what is believed now.

        Args:
            tables: (n, 4 for each observed host) what Blue is shown now.
            actions: (n,) what it did before that, or BEGIN if the episodes begin.

        Raises:
            InvalidInputError: they are no such arrays, or the rules make what was shown
                impossible; nothing has changed.
        """
        n = len(self._rows)
        bits = 4 * len(self._network.observed)
        tables = checked_array("tables", tables, (n, bits), np.int8, (0, 1))
        actions = checked_actions(self._network, actions, (n,), lowest=BEGIN)
        if actions[0] == BEGIN:
            if tables.any():
                raise InvalidInputError(
                    "nothing is shown when an episode begins: a belief must start at its first step"
                )
            self._belief.reset()
        else:
            self._belief.update(tables, actions)
        remembered = self._memory.update(tables, actions)
        self._rows[:, : remembered.shape[1]] = remembered
        write_belief(self._belief, self._rows)
        return self._rows

    @property
    def action_mask(self) -> NDArray[np.bool_]:
        """(n, actions) False for a decoy that would be refused now."""
        return self._memory.action_mask


class BelievingBatch(Batch):
    """A batch whose observation is `belief`."""

    def __init__(
        self, num_envs: int, config: GameConfig, *, autoreset: bool = True, **settings: Any
    ) -> None:
        """Allocates the batch; as `Batch`. The game's red agents are those it has a model of."""
        remembering = replace(config, observation="memory")
        super().__init__(num_envs, remembering, autoreset=autoreset, **settings)
        self.config = config
        self.observation_size = believed(self.network).size
        self.out = Outputs.empty(self.network, self.num_envs, self.observation_size)
        self._autoreset = autoreset
        self._belief = belief_in(config, self.num_envs)

    def reset(self, seed: int | None = None) -> None:
        """Starts an episode in every environment; as `Batch.reset`."""
        super().reset(seed)
        self._belief.reset()
        write_belief(self._belief, self.out.observation)

    def step(self, actions: NDArray[np.integer[Any]], *chance: NDArray[Any]) -> int:
        """Plays one turn in every environment, then takes in what Blue saw; as `Batch.step`."""
        ended = super().step(actions, *chance)
        restarted = ended and self._autoreset
        rows = self.out.observation
        if restarted:
            rows = np.where(self.out.truncated[:, None], self.out.final_observation, rows)
        self._belief.update(rows, actions)
        write_belief(self._belief, rows)
        if restarted:
            over = self.out.truncated
            self.out.final_observation[over] = rows[over]
            self._belief.restart(over)
            write_belief(self._belief, self.out.observation)
        return ended

    def saved(self) -> dict[str, NDArray[Any]]:
        """Returns what `load` continues from, the history of the running episodes included.

        Arrays have the same shape at every step, so that a checkpoint can be checked against them.
        """
        history = self._belief.saved()
        for name in ("tables", "actions"):
            steps = self.config.episode_length - history[name].shape[1]
            more = (0, 0), (0, max(steps, 0)), (0, 0)
            history[name] = np.pad(history[name], more[: history[name].ndim])
        return super().saved() | {f"{_SEEN}{name}": array for name, array in history.items()}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continues from what was saved."""
        super().load(arrays)
        self._belief.load(
            {name.removeprefix(_SEEN): a for name, a in arrays.items() if name.startswith(_SEEN)}
        )
