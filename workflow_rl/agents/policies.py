"""Trained policies as agents: those that choose among the 145 actions, and the winner's kind."""

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.agent import BlueAgent, uniforms
from workflow_rl.agents.policy import Policy
from workflow_rl.agents.probabilities import Probabilities, ProbabilityTable
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.scenario.cardiff import NUM_OUTPUTS, START_OUTPUTS, DecoyLists
from workflow_rl.sim.observe import OBSERVATION_SIZES
from workflow_rl.workflow.orders import Order

_OBSERVATION_OF_SIZE = {size: name for name, size in OBSERVATION_SIZES.items()}


class PolicyAgent:
    """Takes a policy's most probable action, or draws one."""

    def __init__(
        self,
        name: str,
        probabilities: Probabilities,
        observation_size: int,
        *,
        order: Order | None = None,
        sampled: bool = False,
        masked: bool = False,
    ) -> None:
        """Makes an agent of a policy.

        Args:
            name: what it is called.
            probabilities: of the 145 actions, for observations (u, observation_size).
            observation_size: 52 or 62.
            order: the workflow that the policy follows, if any.
            sampled: whether actions are drawn by their probability.
            masked: whether decoys that would be refused are left out, as in training.
        """
        self.name = name
        self.observation = observation_name(observation_size)
        self.order = order
        self._table = ProbabilityTable(probabilities, observation_size, NUM_ACTIONS)
        self._sampled = sampled
        self._masked = masked
        self._seed = 0

    def begin(self, num_envs: int, seed: int) -> None:
        """Begins new episodes."""
        self._seed = seed

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns the policy's choices."""
        ids = self._table.number(observation)
        allowed = action_mask if self._masked else None
        if self._sampled:
            return self._table.sample(ids, uniforms(self._seed, step, len(ids)), allowed)
        return self._table.best(ids, allowed)


class CardiffPolicyAgent:
    """Plays a policy of 36 outputs as the challenge's winner does: fixed start, decoys by list."""

    def __init__(
        self,
        name: str,
        probabilities: Probabilities,
        observation_size: int,
        *,
        order: Order | None = None,
        sampled: bool = False,
    ) -> None:
        """Makes an agent of a policy; see `PolicyAgent`."""
        self.name = name
        self.observation = observation_name(observation_size)
        self.order = order
        self._table = ProbabilityTable(probabilities, observation_size, NUM_OUTPUTS)
        self._sampled = sampled
        self._seed = 0
        self._lists = DecoyLists(0)

    def begin(self, num_envs: int, seed: int) -> None:
        """Begins new episodes."""
        self._seed = seed
        self._lists = DecoyLists(num_envs)

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns the actions of the policy's choices."""
        n = len(observation)
        if step < len(START_OUTPUTS):
            return self._lists.actions(np.full(n, START_OUTPUTS[step], np.int64))
        ids = self._table.number(observation)
        if self._sampled:
            return self._lists.actions(self._table.sample(ids, uniforms(self._seed, step, n)))
        return self._lists.best_actions(self._table.rows, ids)


def observation_name(size: int) -> str:
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
    policy: Policy, name: str, order: Order | None = None, *, sampled: bool = False
) -> BlueAgent:
    """Returns a policy as an agent, by how many outputs it has.

    Args:
        policy: the policy.
        name: what it is called.
        order: the workflow to follow; by default the one it was trained for.
        sampled: whether actions are drawn by their probability.

    Raises:
        InvalidInputError: it needs an order and has none, or it is no policy of this game.
    """
    follows = (order or policy.order) if policy.is_conditioned else None
    if policy.is_conditioned and follows is None:
        raise InvalidInputError(f"the policy {name} follows any workflow: say which one")

    def probabilities(observation: NDArray[np.int8]) -> NDArray[np.float64]:
        return policy.probabilities(observation, follows)

    size = policy.observation_size
    if policy.outputs == NUM_OUTPUTS:
        return CardiffPolicyAgent(name, probabilities, size, order=follows, sampled=sampled)
    if policy.outputs == NUM_ACTIONS:
        masked = bool(policy.description.get("mask_actions", False))
        return PolicyAgent(name, probabilities, size, order=follows, sampled=sampled, masked=masked)
    raise InvalidInputError(
        f"the policy {name} has {policy.outputs} outputs; this game takes {NUM_ACTIONS} actions, "
        f"or the {NUM_OUTPUTS} of the cardiff agent"
    )
