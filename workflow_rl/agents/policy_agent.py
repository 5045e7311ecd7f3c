"""A trained policy as an agent, acting in its space.

Where observations repeat it is asked once for each distinct one.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.action_space import (
    ALL,
    ActionSpace,
    action_space_of,
    draw,
    make_action_space,
)
from workflow_rl.agents.agent import uniforms
from workflow_rl.agents.distinct import DistinctRows
from workflow_rl.agents.policy import SEES_THE_TRUTH, Policy
from workflow_rl.belief.observation import observation_size
from workflow_rl.config import OBSERVATIONS, ObservationName
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.sim.memory import MEMORY_SIZE
from workflow_rl.sim.table import packed_tables
from workflow_rl.workflow.compliance import without_violations
from workflow_rl.workflow.orders import Order
from workflow_rl.workflow.units import Units

Probabilities = Callable[[NDArray[np.int8]], NDArray[np.floating[Any]]]

_OBSERVATION_OF_SIZE = {observation_size(name): name for name in OBSERVATIONS}


class ProbabilityTable:
    """A policy's probabilities for each distinct observation met so far."""

    def __init__(self, probabilities: Probabilities, width: int, outputs: int) -> None:
        """Starts an empty table.

        Args:
            probabilities: of a policy: observations (u, width) to (u, outputs).
            width: values of an observation.
            outputs: what the policy chooses from.
        """
        self._probabilities = probabilities
        self._inputs = DistinctRows(width)
        self._rows = np.empty((1024, outputs))
        self._best = np.empty(1024, np.int64)

    @property
    def rows(self) -> NDArray[np.float64]:
        """(u, outputs) the probabilities."""
        return self._rows[: len(self._inputs)]

    def number(self, observation: NDArray[np.int8]) -> NDArray[np.int32]:
        """Returns (n,) the row of each observation; the policy is asked about new ones only."""
        before = len(self._inputs)
        ids = self._inputs.number(np.ascontiguousarray(observation, np.int8))
        size = len(self._inputs)
        if size > before:
            while len(self._rows) < size:
                self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
                self._best = np.concatenate([self._best, np.empty_like(self._best)])
            self._rows[before:size] = self._probabilities(self._inputs.rows[before:])
            self._best[before:size] = self._rows[before:size].argmax(axis=1)
        return ids

    def best(
        self, ids: NDArray[np.int32], allowed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """Returns (n,) the most probable output of each row, or of those allowed (n, outputs)."""
        if allowed is None:
            return self._best[ids]
        return np.asarray(np.where(allowed, self._rows[ids], -1.0).argmax(axis=1))

    def sample(
        self,
        ids: NDArray[np.int32],
        uniforms: NDArray[np.float64],
        allowed: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int64]:
        """Returns (n,) an output of each row, drawn by its probability among those allowed."""
        rows = self._rows[ids]
        return draw(rows if allowed is None else rows * allowed, uniforms)


class FreshProbabilities(ProbabilityTable):
    """A policy's probabilities for the observations shown last: for those that hardly repeat."""

    def __init__(self, probabilities: Probabilities) -> None:
        """Starts without any."""
        self._probabilities = probabilities

    @property
    def rows(self) -> NDArray[np.float64]:
        """(n, outputs) the probabilities."""
        return self._rows

    def number(self, observation: NDArray[np.int8]) -> NDArray[np.int32]:
        """Returns (n,) the row of each observation: its own."""
        self._rows = np.asarray(self._probabilities(observation), np.float64)
        self._best = self._rows.argmax(axis=1)
        return np.arange(len(observation), dtype=np.int32)


class PolicyAgent:
    """Takes what a policy finds most probable, or draws, and acts in the policy's action space."""

    def __init__(
        self,
        name: str,
        probabilities: Probabilities,
        observation_size: int,
        *,
        action_space: str = ALL,
        order: Order | None = None,
        sampled: bool = False,
        masked: bool = False,
        shielded: bool = False,
        description: dict[str, Any] | None = None,
    ) -> None:
        """Makes an agent of a policy.

        Args:
            name: what it is called.
            probabilities: of the outputs, for observations (u, observation_size).
            observation_size: of one of `config.OBSERVATIONS`.
            action_space: what the outputs mean: one of `config.ACTION_SPACES`.
            order: the workflow that the policy follows, if any.
            sampled: whether outputs are drawn by their probability.
            masked: whether outputs that would do nothing are left out, as in training.
            shielded: whether, among masked outputs, those that would violate the order are, too.
            description: what is known of the policy, the game it was trained on among it.
        """
        self.observation = observation_of(observation_size)
        self.name = f"{name} ({SEES_THE_TRUTH})" if self.observation == "truth" else name
        self.action_space = action_space
        self.order = order
        self.description = description or {}
        self.keeps_chances = False
        self.chances: NDArray[np.float64] | None = None  # (n, 145) at the last step, if kept
        self._sampled = sampled
        self._masked = masked
        self._shield = order.host_ranks if shielded and order is not None else None
        self.begin(0, 0)
        self._table = (
            FreshProbabilities(probabilities)
            if observation_size >= MEMORY_SIZE
            else ProbabilityTable(probabilities, observation_size, self._space.size)
        )

    def begin(self, num_envs: int, seed: int) -> None:
        """Begins new episodes."""
        self._seed = seed
        self._space: ActionSpace = make_action_space(self.action_space, num_envs)

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns the actions of the policy's choices."""
        if self._space.is_fixed and not self.keeps_chances:  # the policy need not be asked
            return self._space.actions(np.zeros(len(observation), np.int64))
        ids = self._table.number(observation)
        if self._shield is not None:
            ranks = np.tile(self._shield, (len(observation), 1))
            action_mask = without_violations(action_mask, packed_tables(observation), ranks)
        allowed = self._space.allowed(action_mask) if self._masked else None
        if self.keeps_chances:
            rows = self._table.rows[ids]
            self.chances = _by_action(rows if allowed is None else rows * allowed, self._space)
        if self._sampled:
            chosen = self._table.sample(ids, uniforms(self._seed, step, len(ids)), allowed)
            return self._space.actions(chosen)
        best = self._table.best(ids, allowed)
        return self._space.best_actions(best, self._table.rows, ids)


def _by_action(rows: NDArray[np.float64], space: ActionSpace) -> NDArray[np.float64]:
    """Returns (n, 145) the probability of each action, from those of outputs (n, size)."""
    n = len(rows)
    chances = np.zeros((n, NUM_ACTIONS))
    meanings = np.broadcast_to(space.meanings(), rows.shape)
    np.add.at(chances, (np.arange(n)[:, None], meanings), rows)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def observation_of(size: int) -> ObservationName:
    """Returns which observation has so many values.

    Raises:
        InvalidInputError: none.
    """
    if size not in _OBSERVATION_OF_SIZE:
        raise InvalidInputError(
            f"a policy of {size} inputs cannot play: an observation has "
            f"{' or '.join(map(str, _OBSERVATION_OF_SIZE))} values"
        )
    return _OBSERVATION_OF_SIZE[size]


def policy_agent(
    policy: Policy,
    name: str,
    order: Sequence[str] | str | None = None,
    *,
    units: Units | None = None,
    sampled: bool = False,
) -> PolicyAgent:
    """Returns a policy as an agent.

    Args:
        policy: the policy.
        name: what it is called.
        order: the workflow to follow; by default the one it was trained for.
        units: whose names those are; by default the policy's own.
        sampled: whether outputs are drawn by their probability.

    Raises:
        InvalidInputError: it needs an order and has none, or it is no policy of this game.
    """
    follows = None
    if policy.is_conditioned:
        follows = policy.order if order is None else policy.read_order(order, units)
    if policy.is_conditioned and follows is None:
        raise InvalidInputError(
            f"the policy {name} follows any workflow: say which one (--workflow, workflow=)"
        )

    def probabilities(observation: NDArray[np.int8]) -> NDArray[np.float64]:
        return policy.probabilities(observation, follows)

    action_space = action_space_of(policy.outputs)
    return PolicyAgent(
        name,
        probabilities,
        policy.observation_size,
        action_space=action_space,
        order=follows,
        sampled=sampled,
        masked=policy.is_masked,
        shielded=policy.is_shielded,
        description=policy.description,
    )
