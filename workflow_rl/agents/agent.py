"""What a Blue agent is here: it plays many episodes of one game at once.

Agents written for CybORG play as well, one episode at a time (`CyborgAgent`).
"""

from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import ObservationName
from workflow_rl.envs.spaces import checked_action
from workflow_rl.errors import InvalidInputError
from workflow_rl.workflow.orders import Order

_WORD = 2**64
_OURS: Final = ("name", "observation", "order", "begin", "act")  # what a BlueAgent has
_THEIRS: Final = "get_action"


class BlueAgent(Protocol):
    """Defends n environments at once; their episodes begin together and go in step.

    The choice for one environment depends on that environment's own past and on (seed, its number)
    alone, so an episode is the same however many others are played with it.
    """

    @property
    def name(self) -> str:
        """What it is called in tables and file names."""
        ...

    @property
    def observation(self) -> ObservationName:
        """Which observation it needs: one of `config.OBSERVATIONS`."""
        ...

    @property
    def order(self) -> Order | None:
        """The workflow it follows, if it follows one."""
        ...

    def begin(self, num_envs: int, seed: int) -> None:
        """Forgets every episode: the next `act` is the first step of `num_envs` new ones."""
        ...

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns (n,) actions.

        Args:
            observation: (n, its size) what Blue sees.
            action_mask: (n, actions) False for a decoy that would be refused now.
            step: steps played in these episodes so far; 0 at the first.
        """
        ...


@runtime_checkable
class TellingAgent(BlueAgent, Protocol):
    """An agent that can report the probability of each action."""

    keeps_chances: bool  # whether it does
    chances: NDArray[np.float64] | None  # (n, actions) at the last step, if so


def is_sampled(agent: BlueAgent) -> bool:
    """Returns whether an agent samples its actions; one that does not say so does not."""
    return bool(getattr(agent, "is_sampled", False))


def uniforms(seed: int, step: int, n: int) -> NDArray[np.float64]:
    """Returns (n,) numbers in [0, 1); number k depends on (seed, step, k) alone."""
    key = np.array([seed % _WORD, step], np.uint64)  # else numpy makes large ones inexact
    return np.random.Generator(np.random.Philox(key=key)).random(n)


class CyborgStyleAgent(Protocol):
    """The interface of a Blue agent in CAGE-2's own evaluation; `end_episode()` is optional."""

    def get_action(self, observation: NDArray[Any], action_space: int) -> int:
        """Returns the action for an observation; `action_space` is the number of actions."""
        ...


class CyborgAgent:
    """An agent written for CybORG, in one environment.

    It sees the challenge's 52 bits. Its `end_episode`, if it has one, is called before every
    episode, so that no state is carried from one to the next. It is given no seed.
    """

    observation: Final = "challenge"
    order: Final = None

    def __init__(self, agent: CyborgStyleAgent) -> None:
        """Adapts an agent; its class names it."""
        self.name = type(agent).__name__
        self._agent = agent

    def begin(self, num_envs: int, seed: int) -> None:
        """Begins a new episode."""
        assert num_envs == 1, "such an agent plays one episode at a time"
        end_episode = getattr(self._agent, "end_episode", None)
        if end_episode is not None:
            end_episode()

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns (1,) the agent's action; InvalidInputError if that is no action."""
        action = self._agent.get_action(observation[0].copy(), action_mask.shape[1])
        try:
            return np.array([checked_action(action, action_mask.shape[1])])
        except InvalidInputError as error:
            raise InvalidInputError(f"{self.name}.get_action: {error}") from None


def as_agent(what: Any) -> BlueAgent:
    """Returns an object as an agent: a `BlueAgent` itself, one written for CybORG adapted.

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
