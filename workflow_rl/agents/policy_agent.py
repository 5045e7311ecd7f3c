"""A trained policy as an agent.

Where observations repeat it is asked once for each distinct one.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.action_space import Acting
from workflow_rl.agents.agent import uniforms
from workflow_rl.agents.distinct import DistinctRows
from workflow_rl.agents.policy import Policy, softmax
from workflow_rl.agents.sampling import sample
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.sim.table import packed_tables
from workflow_rl.workflow.compliance import without_violations
from workflow_rl.workflow.units import Units

SEES_THE_TRUTH: Final = "sees the truth"  # how tables name a policy that does
Probabilities = Callable[[NDArray[np.int8]], NDArray[np.float64]]


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

    def look_up(
        self, observation: NDArray[np.int8]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Returns (n,) the row of each observation, and (u, outputs) the rows.

        The policy is asked about new observations only.
        """
        before = len(self._inputs)
        ids = self._inputs.number(np.ascontiguousarray(observation, np.int8))
        size = len(self._inputs)
        while len(self._rows) < size:
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        if size > before:
            self._rows[before:size] = self._probabilities(self._inputs.rows[before:])
        return ids, self._rows[:size]


class PolicyAgent:
    """Takes what a policy finds most probable, or samples, in the policy's action space."""

    def __init__(
        self,
        policy: Policy,
        name: str,
        order: Sequence[str] | str | None = None,
        *,
        units: Units | None = None,
        sampled: bool = False,
    ) -> None:
        """Makes an agent of a policy.

        Args:
            policy: the policy.
            name: what it is called.
            order: the workflow to follow; by default the one it was trained for.
            units: whose names those are; by default the policy's own.
            sampled: whether outputs are drawn by their probability.

        Raises:
            InvalidInputError: it needs an order and has none.
        """
        self.order = None
        if policy.is_conditioned:
            self.order = policy.order if order is None else policy.read_order(order, units)
            if self.order is None:
                raise InvalidInputError(
                    f"the policy {name} follows any workflow: say which one (--workflow, workflow=)"
                )
        self.name = f"{name} ({SEES_THE_TRUTH})" if policy.observation.is_privileged else name
        self.observation = policy.observation.name
        self.policy = policy
        self.game = policy.config.game  # in which it was trained
        self.keeps_chances = False
        self.chances: NDArray[np.float64] | None = None  # (n, 145) at the last step, if kept
        self._sampled = sampled
        self._table = (
            ProbabilityTable(self._ask, policy.observation.size, policy.action_space.size)
            if policy.observation.repeats
            else None
        )
        self.begin(0, 0)

    def begin(self, num_envs: int, seed: int) -> None:
        """Begins new episodes."""
        self._seed = seed
        self._acting: Acting = self.policy.action_space.begin(num_envs)

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns the actions of the policy's choices."""
        n = len(observation)
        if self._acting.is_fixed and not self.keeps_chances:  # the policy need not be asked
            return self._acting.actions(np.zeros(n, np.int64))
        if self._table is not None:
            ids, rows = self._table.look_up(observation)
        else:
            ids, rows = np.arange(n, dtype=np.int32), self._ask(observation)
        allowed = self._allowed(observation, action_mask)
        if self.keeps_chances:
            found = rows[ids]
            self.chances = _by_action(found if allowed is None else found * allowed, self._acting)
        if self._sampled:
            chosen, _ = sample(ids, rows, uniforms(self._seed, step, n), allowed)
            return self._acting.actions(chosen)
        scores = rows[ids] if allowed is None else np.where(allowed, rows[ids], -1.0)
        return self._acting.best_actions(scores.argmax(axis=1), rows, ids)

    def _ask(self, observation: NDArray[np.int8]) -> NDArray[np.float64]:
        return softmax(self.policy.logits(observation, self.order))

    def _allowed(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_]
    ) -> NDArray[np.bool_] | None:
        """Returns (n, outputs) what may be chosen; None: everything."""
        if not self.policy.is_masked:
            return None
        if self.policy.is_shielded and self.order is not None:
            ranks = np.tile(self.order.host_ranks, (len(observation), 1))
            action_mask = without_violations(action_mask, packed_tables(observation), ranks)
        return self._acting.allowed(action_mask)


def _by_action(rows: NDArray[np.float64], acting: Acting) -> NDArray[np.float64]:
    """Returns (n, 145) the probability of each action, from those of outputs (n, size)."""
    n = len(rows)
    chances = np.zeros((n, NUM_ACTIONS))
    meanings = np.broadcast_to(acting.meanings(), rows.shape)
    np.add.at(chances, (np.arange(n)[:, None], meanings), rows)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))
