"""Both sides from outside, in many environments at once."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from workflow_rl.config import GameConfig, one_of
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.sides import (
    ILLEGAL,
    Side,
    blue_side,
    given_game,
    red_actions_on_hosts,
    red_side,
)
from workflow_rl.envs.spaces import (
    action_space,
    checked_seed,
    observation_space,
    red_observation_space,
    reset_seed,
)
from workflow_rl.errors import InvalidInputError, NotResetError, shown
from workflow_rl.scenario.actions import actions_of
from workflow_rl.sim.red_given import red_actions_of

BLUE: Final = "blue"
RED: Final = "red"
AGENTS: Final = (BLUE, RED)

Rows = dict[str, NDArray[Any]]  # by agent
Infos = dict[str, dict[str, NDArray[Any]]]


class Cage2ParallelVectorEnv:
    """`num_envs` games of the agents `blue` and `red`, which step together.

    What PettingZoo's `ParallelEnv` gives for one environment is given here in rows, one for each;
    PettingZoo itself is not needed. Blue has the actions of `Cage2Env`. Red has 56: Sleep, a sweep
    of each subnet, then a scan, an exploit, an escalation and an impact of each host. In CybORG
    addresses are random, so Red cannot tell which host of a subnet an address belongs to until it
    has the host's name: until then hosts stand at positions drawn for the episode, in Red's
    observation as in its actions (`sim/red_view.py`).

    The game is zero-sum: Red's reward is what Blue loses. An episode ends by truncation at
    `episode_length`; the next begins within the same step.

    `infos` of each agent:
        action_mask: (n, actions) of Blue, False for a decoy that would be refused now; of Red, what
            it may do now.
        reward_tenths: (n, 3) of Blue, after a step: confidentiality, availability, action cost.
        red_access: (n, hosts) of Blue: Red's true access: 0 none, 1 user, 2 privileged.
        illegal: (n,) of Red, after a step: whether its action was not legal, so that it slept.
        final_obs: (n, as observations) what was seen last, in a step in which episodes ended.

    Environment k's episode e depends on (seed, k, e) and the actions alone.
    """

    possible_agents: ClassVar[tuple[str, ...]] = AGENTS
    actions: Mapping[str, tuple[str, ...]]
    """What each action does, by agent; Red's hosts are positions."""

    def __init__(
        self,
        num_envs: int = 1,
        *,
        game: GameConfig | None = None,
        seed: int | None = None,
        num_threads: int = 1,
        autoreset: bool = True,
        dtype: str = "int8",
        illegal: str = "sleep",
        **settings: Any,
    ) -> None:
        """Makes the environments; nothing is compiled or played before `reset`.

        Args:
            num_envs: how many environments.
            game: what is played; by default Scenario2 as in the challenge.
            seed: of the first `reset` that is given none.
            num_threads: threads of the loop over the environments.
            autoreset: whether an ended episode is followed by the next within the same step; if
                not, the caller resets.
            dtype: of observations: int8 or float32.
            illegal: what a red action does that is not legal: sleep, as in CybORG, or error.
            **settings: of the game: network, episode_length, rules, observation (Blue's),
                green_agent (docs/settings.md).

        Raises:
            InvalidInputError: an argument is not allowed.
        """
        self.config = given_game(game, settings)
        network = self.config.network
        self.actions = {BLUE: actions_of(network).names, RED: red_actions_of(network).names}
        self.illegal = one_of("illegal", illegal, ILLEGAL)
        self._first_seed = checked_seed(seed)
        self.observation_spaces: dict[str, Space[Any]] = {
            BLUE: observation_space(self.config, dtype),
            RED: red_observation_space(network, dtype),
        }
        self.action_spaces: dict[str, Space[Any]] = {
            agent: action_space(len(names)) for agent, names in self.actions.items()
        }
        self._dtype = np.dtype(dtype)
        self.batch = make_batch(
            num_envs, self.config, num_threads=num_threads, autoreset=autoreset, red_view=True
        )
        self.num_envs = self.batch.num_envs
        self._autoreset = autoreset
        self._was_reset = False
        self._ended = True

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Rows, Infos]:
        """Starts an episode in every environment.

        Args:
            seed: starts every stream anew; None continues with the next episode.
            options: not used.

        Returns:
            The first observations and the infos, by agent.
        """
        self.batch.reset(reset_seed(seed, None, self._first_seed, self._was_reset))
        self._was_reset, self._ended = True, False
        sides = self._sides()
        return {agent: self._seen(side.observation) for agent, side in sides.items()}, self._infos()

    def step(
        self, actions: Mapping[str, NDArray[np.integer[Any]]]
    ) -> tuple[Rows, Rows, Rows, Rows, Infos]:
        """Plays one step in every environment.

        Args:
            actions: (n,) whole numbers of each agent.

        Returns:
            Observations, rewards, terminated (never), truncated, infos, by agent.

        Raises:
            NotResetError: there was no `reset` yet or, without autoreset, since episodes ended.
            InvalidInputError: the actions are not allowed; nothing was played.
        """
        if self._ended:
            raise NotResetError("call reset() before step()")
        actions = of_both(actions)
        red, refused = red_actions_on_hosts(self.batch, actions[RED], self.illegal)
        ended = self.batch.step(actions[BLUE], red_actions=red)
        self._ended = bool(ended) and not self._autoreset
        out, sides = self.batch.out, self._sides()
        infos = self._infos()
        infos[BLUE]["reward_tenths"] = out.reward_tenths.copy()
        infos[RED]["illegal"] = refused
        if ended and self._autoreset:
            for agent, side in sides.items():
                infos[agent]["final_obs"] = self._seen(side.final_observation)
        return (
            {agent: self._seen(side.observation) for agent, side in sides.items()},
            {agent: side.reward.copy() for agent, side in sides.items()},
            {agent: np.zeros(self.num_envs, np.bool_) for agent in AGENTS},
            {agent: out.truncated.copy() for agent in AGENTS},
            infos,
        )

    def _sides(self) -> dict[str, Side]:
        return {BLUE: blue_side(self.batch), RED: red_side(self.batch)}

    def _infos(self) -> Infos:
        sides = self._sides()
        infos: Infos = {agent: {"action_mask": sides[agent].action_mask.copy()} for agent in sides}
        infos[BLUE]["red_access"] = self.batch.out.red_access.copy()
        return infos

    def _seen(self, observation: NDArray[np.int8]) -> NDArray[Any]:
        return observation.astype(self._dtype)


def of_both(actions: Any) -> Mapping[str, Any]:
    """Returns the actions if they are those of both agents."""
    if isinstance(actions, Mapping) and set(actions) == set(AGENTS):
        return actions
    raise InvalidInputError(
        f"actions must be {{{BLUE!r}: ..., {RED!r}: ...}}, not {shown(actions)}"
    )
