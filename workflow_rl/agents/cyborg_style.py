"""Agents written for CybORG, and what an object lacks that is an agent of neither kind."""

from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.agent import BlueAgent
from workflow_rl.envs.spaces import checked_action
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import NUM_ACTIONS

_OURS: Final = ("name", "observation", "order", "begin", "act")  # what a BlueAgent has
_THEIRS: Final = "get_action"


class CyborgStyleAgent(Protocol):
    """What CAGE-2's own evaluation asks of a Blue agent; `end_episode()` may be there, too."""

    def get_action(self, observation: NDArray[Any], action_space: int) -> int:
        """Returns the action for an observation; `action_space` is the number of actions."""
        ...


class CyborgAgent:
    """An agent of CybORG's kind, in one environment: it knows of no others.

    It sees the challenge's 52 bits. Its `end_episode`, if it has one, is called before every
    episode, so that none begins with what it remembers of another.
    """

    observation: Final = "challenge"
    order: Final = None

    def __init__(self, agent: CyborgStyleAgent) -> None:
        """Adapts an agent; it is called what its class is called."""
        self.name = type(agent).__name__
        self._agent = agent

    def begin(self, num_envs: int, seed: int) -> None:
        """Begins a new episode; the seed is not told, such agents draw as they like."""
        assert num_envs == 1, "such an agent plays one episode at a time"
        end_episode = getattr(self._agent, "end_episode", None)
        if end_episode is not None:
            end_episode()

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns (1,) what the agent does.

        Raises:
            InvalidInputError: it is none of the 145 actions.
        """
        action = self._agent.get_action(observation[0].copy(), NUM_ACTIONS)
        try:
            return np.array([checked_action(action)])
        except InvalidInputError as error:
            raise InvalidInputError(f"{self.name}.get_action: {error}") from None


def as_agent(what: Any) -> BlueAgent:
    """Returns an object as an agent: a `BlueAgent` itself, one of CybORG's kind adapted.

    Raises:
        InvalidInputError: it is neither; the message says what it lacks.
    """
    kind = what.__name__ if isinstance(what, type) else type(what).__name__
    missing = [name for name in _OURS if not hasattr(what, name)]
    if isinstance(what, type) and (not missing or hasattr(what, _THEIRS)):
        raise InvalidInputError(f"{kind} is a class: give an agent, such as {kind}()")
    if not missing:
        agent: BlueAgent = what
        return agent
    if callable(getattr(what, _THEIRS, None)):
        return CyborgAgent(what)
    raise InvalidInputError(
        f"an agent must be a name, a path, a policy, a BlueAgent or an object with {_THEIRS}("
        f"observation, action_space), as agents of CybORG have; this {kind} lacks {_THEIRS} and, "
        f"of a BlueAgent, {', '.join(missing)}"
    )
