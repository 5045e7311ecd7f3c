"""Where Red is now: what Blue's own history tells, batched over environments."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workflow_rl.arrays import checked_array, numbers
from workflow_rl.belief.filtering import Filter, Marginals
from workflow_rl.config import (
    MAX_ENVS,
    MAX_SEED,
    MIXED,
    RED_AGENTS,
    GameConfig,
    GreenAgentName,
    ObservationName,
    RuleSetName,
    whole_number,
)
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.jit import compile_message
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.records import HOSTS_IN_WORD, capacity_of
from workflow_rl.sim.batch import settings_of
from workflow_rl.sim.checks import checked_actions
from workflow_rl.sim.observation import SIMULATED, simulated
from workflow_rl.sim.table import packed_tables

MAX_PARTICLES: Final = 1_000_000
_MORE: Final = 4  # times the states at every attempt to explain a history from its start


class Belief:
    """What Blue can know of Red from its own observations and actions, in `num_envs` games.

    Every state of the game that is consistent with Blue's history is kept with its probability.
    They are few, so the posterior is exact as long as `is_exact`: where more than `particles`
    states explain a history, the likely ones stay and the others are sampled.

    Example:
        >>> import numpy as np
        >>> from workflow_rl import Belief, Cage2VectorEnv
        >>> env, belief = Cage2VectorEnv(100, red_agent="mixed", seed=0), Belief(100)
        >>> observation, infos = env.reset()
        >>> for _ in range(30):
        ...     actions = np.zeros(100, int)
        ...     observation, *_, infos = env.step(actions)
        ...     belief.update(observation, actions)
        >>> belief.access.shape, belief.ot_stopped.shape, belief.red_agent.shape
        ((100, 13, 3), (100,), (100, 3))
        >>> right = belief.access.argmax(axis=2) == infos["red_access"]
        >>> print(right.mean() > 0.99)
        True
    """

    access: NDArray[np.float64]
    """(n, hosts, 3) probability that Red's access to a host is none, user-level, privileged."""
    ot_stopped: NDArray[np.float64]
    """(n,) probability that an OT service is stopped."""
    red_agent: NDArray[np.float64]
    """(n, 3) probability that Red is bline, meander, sleep."""
    effective_particles: NDArray[np.float64]
    """(n,) 1 over the sum of the states' squared probabilities: 1.0 if Blue knows it all."""

    def __init__(
        self,
        num_envs: int = 1,
        *,
        network: Network = SCENARIO2,
        rules: RuleSetName = "main",
        red_agents: Mapping[str, float] | None = None,
        particles: int = 1000,
        seed: int = 0,
        observation: ObservationName = "challenge",
        green_agent: GreenAgentName = "sleep",
    ) -> None:
        """Begins an episode in every environment.

        Args:
            num_envs: how many games are followed.
            network: what they are played on.
            rules: by which rule set they are played.
            red_agents: how probable each red agent is before the first step; equally by default.
            particles: the most states kept of one environment.
            seed: of the sample that stays where more states than that explain a history.
            observation: which observation Blue is shown; its table, which comes first, is read.
            green_agent: what Green does.

        Raises:
            InvalidInputError: something is out of range or has no such name.
        """
        if red_agents is not None and not isinstance(red_agents, Mapping):
            raise InvalidInputError(
                f"red_agents must be a mapping of red agents to numbers, not {shown(red_agents)}"
            )
        self.num_envs = whole_number("num_envs", num_envs, 1, MAX_ENVS)
        self.particles = whole_number("particles", particles, 1, MAX_PARTICLES)
        seed = whole_number("seed", seed, 0, MAX_SEED)
        self.config = GameConfig(
            network=network,
            red_agent=MIXED,
            rules=rules,
            observation=observation,
            green_agent=green_agent,
            red_probabilities=red_agents,
        )
        self.network = self.config.network
        self._bits = 4 * len(self.network.observed)
        self._words = capacity_of(self.network) // HOSTS_IN_WORD
        is_simulated = observation in SIMULATED
        self._width = simulated(observation, self.network).size if is_simulated else None
        self._settings = settings_of(self.config, autoreset=False)
        self._settings["key"] = np.random.SeedSequence(seed).generate_state(2)
        self._prior = np.array(self.config.red_weights)
        self.marginals = Marginals.empty(self.network, self.num_envs)
        self.access, self.ot_stopped, self.red_agent, self.effective_particles = self.marginals
        self._none_ended = np.zeros(self.num_envs, np.bool_)
        with compile_message():
            self.reset()
            tables = np.zeros((self.num_envs, self._words), np.int64)
            actions = np.zeros(self.num_envs, np.int64)
            self._filter.advance(tables, actions, self._none_ended)  # compiled, never committed

    def reset(self) -> None:
        """Begins an episode in every environment."""
        self._filter = self._new_filter(np.arange(self.num_envs), self.particles)
        self._history = History(self.num_envs, self._words)
        self._filter.summarise(self.marginals)

    def update(
        self, observation: ArrayLike, action: ArrayLike, *, ended: ArrayLike | None = None
    ) -> None:
        """Takes in a step of every environment.

        Args:
            observation: (n, 4 for each observed host, or more) what Blue was shown after the step;
                only these bits are read. Without the first axis if there is one environment.
            action: (n,) Blue's action in the step; a number if there is one environment.
            ended: (n,) environments whose episode ended with this step. They begin the next one:
                their observation, which is its first, and their action are not read.

        Raises:
            InvalidInputError: the shapes or values are not these, or the rules make an
                environment's history impossible; the belief is what it was before.
        """
        tables = self._checked_tables(observation)
        actions = self._checked_actions(action)
        over = self._none_ended if ended is None else self._checked_ended(ended)
        self._take_in(tables, actions, over)

    def _take_in(
        self, tables: NDArray[np.int64], actions: NDArray[np.int64], over: NDArray[np.bool_]
    ) -> None:
        """Takes in a step: packed tables, actions, and which environments begin an episode."""
        k = self._filter.advance(tables, actions, over)
        while k < self.num_envs:
            self._filter.put(k, self._explained_anew(k, tables[k], actions[k]))
            k = self._filter.advance(tables, actions, over, start=k + 1)
        self._filter.commit()
        self._history.add(tables, actions, over)
        self._filter.summarise(self.marginals)

    def restart(self, over: ArrayLike) -> None:
        """Begins an episode in those environments (n,) whose episode is over.

        Raises:
            InvalidInputError: it is not True or False for each environment.
        """
        ended = self._checked_ended(over)
        self._filter.restart(ended)
        self._history.restart(ended)
        self._filter.summarise(self.marginals)

    def saved(self) -> dict[str, NDArray[Any]]:
        """Returns what `load` continues from: what was seen and done since the episodes began."""
        return self._history.saved()

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continues from what was saved: filters the saved history again.

        Raises:
            InvalidInputError: it was saved from another belief, or the rules make it impossible.
        """
        tables, actions, steps = (arrays.get(name) for name in ("tables", "actions", "steps"))
        tables = checked_array("tables", tables, (self.num_envs, None, self._words), np.int64)
        actions = checked_actions(self.network, actions, tables.shape[:2])
        steps = checked_array("steps", steps, tables.shape[:1], np.int64, (0, tables.shape[1]))
        self.reset()
        longest = int(steps.max())
        for t in range(longest):  # the last steps of all at the same time
            at = t - longest + steps
            row = np.arange(self.num_envs), np.maximum(at, 0)
            self._take_in(tables[row], actions[row], at < 0)

    @property
    def is_exact(self) -> NDArray[np.bool_]:
        """(n,) whether no state that explains the history was left out since the episode began."""
        return self._filter.now.is_exact.copy()

    @property
    def num_states(self) -> NDArray[np.int64]:
        """(n,) how many states are kept."""
        return self._filter.now.number.copy()

    def _new_filter(self, indices: NDArray[np.int64], limit: int) -> Filter:
        return Filter(self.network, indices, self._settings, self._prior, limit)

    def _explained_anew(self, k: int, table: NDArray[np.int64], action: int) -> Filter:
        """Returns the states that explain environment k's whole history, kept in larger numbers.

        Only needed where states were left out: the true one may have been among them.
        """
        tables, actions = self._history.of(k, table, action)
        limit, is_exact = self.particles, bool(self._filter.now.is_exact[k])
        not_over = np.zeros(1, np.bool_)
        while not is_exact:
            if limit >= MAX_PARTICLES:
                raise InvalidInputError(
                    f"step {len(tables)} of environment {k} could not be explained with "
                    f"{limit} states: it may be impossible"
                )
            limit = min(limit * _MORE, MAX_PARTICLES)
            again = self._new_filter(np.array([k]), limit)
            for step in range(len(tables)):
                now = slice(step, step + 1)
                if again.advance(tables[now], actions[now], not_over) == 0:
                    break
                again.commit()
            else:
                return again
            is_exact = bool(again.now.is_exact[0])
        agents = [name for name, weight in zip(RED_AGENTS, self._prior, strict=True) if weight]
        raise InvalidInputError(
            f"what environment {k} showed in step {len(tables)} is impossible by the rules "
            f"{self.config.rules!r}, the red agents {', '.join(agents)} and Blue's actions so far"
        )

    def _checked_tables(self, observation: ArrayLike) -> NDArray[np.int64]:
        """Returns (n, words) the tables that observations begin with (`sim.table`)."""
        rows = self._rows("observation", observation, 1)
        rows = checked_array("observation", rows, (self.num_envs, self._width), rows.dtype.type)
        tables = packed_tables(self.network, rows)
        bits = rows[:, : self._bits]
        if not ((bits == 0) | (bits == 1)).all():
            raise InvalidInputError(
                f"the first {self._bits} values of an observation must be bits, 0 or 1"
            )
        return tables

    def _checked_actions(self, action: ArrayLike) -> NDArray[np.int64]:
        rows = self._rows("action", action, 0)
        return checked_actions(self.network, rows, (self.num_envs,), "action")

    def _checked_ended(self, ended: ArrayLike) -> NDArray[np.bool_]:
        rows = self._rows("ended", ended, 0)
        return checked_array("ended", rows, (self.num_envs,), np.bool_)

    def _rows(self, what: str, value: ArrayLike, axes: int) -> NDArray[Any]:
        """Returns a value with a row per environment; a single one may lack that axis."""
        rows = numbers(f"{what} must be numbers", value)
        return rows[None] if self.num_envs == 1 and rows.ndim == axes else rows


class History:
    """What each environment showed and what Blue did since its episode began."""

    def __init__(self, num_envs: int, words: int) -> None:
        """Begins without a step; a table has so many words."""
        self._tables = np.zeros((num_envs, 128, words), np.int64)
        self._actions = np.zeros((num_envs, 128), np.int16)
        self._steps = np.zeros(num_envs, np.int64)
        self._all = np.arange(num_envs)

    def add(
        self, tables: NDArray[np.int64], actions: NDArray[np.int64], ended: NDArray[np.bool_]
    ) -> None:
        """Notes a step of every environment; those that ended forget theirs."""
        if self._steps.max() == self._tables.shape[1]:
            self._tables = np.concatenate([self._tables, np.zeros_like(self._tables)], axis=1)
            self._actions = np.concatenate([self._actions, np.zeros_like(self._actions)], axis=1)
        self._tables[self._all, self._steps] = tables
        self._actions[self._all, self._steps] = actions
        self._steps += 1
        self._steps[ended] = 0

    def restart(self, over: NDArray[np.bool_]) -> None:
        """Forgets the steps of some environments."""
        self._steps[over] = 0

    def saved(self) -> dict[str, NDArray[Any]]:
        """Returns everything, each environment's steps from the left."""
        longest = int(self._steps.max())
        return {
            "tables": self._tables[:, :longest].copy(),
            "actions": self._actions[:, :longest].copy(),
            "steps": self._steps.copy(),
        }

    def of(
        self, k: int, table: NDArray[np.int64], action: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns environment k's tables and actions, followed by one more of each."""
        steps = self._steps[k]
        tables = np.append(self._tables[k, :steps], table[None], axis=0)
        return tables, np.append(self._actions[k, :steps], action).astype(np.int64)
