"""Red's environments: a Blue agent plays the other side, in one environment or in all at once.

Registered as `workflow_rl/Cage2Red-v0` and, with the rules of the 2022 leaderboard, as
`workflow_rl/Cage2RedCompetition-v0`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.agent import BlueAgent, CyborgAgent, CyborgStyleAgent, as_agent
from workflow_rl.agents.named import make_agent
from workflow_rl.agents.policy import Policy
from workflow_rl.config import GameConfig, one_of
from workflow_rl.envs.sides import ILLEGAL, Side, given_game, red_actions_on_hosts, red_side
from workflow_rl.envs.single import Cage2Env, Info, Played
from workflow_rl.envs.spaces import action_space, derived_seed, red_observation_space
from workflow_rl.envs.vector import Cage2VectorEnv, Infos
from workflow_rl.errors import InvalidInputError
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.checks import checked_actions
from workflow_rl.sim.red_given import red_actions_of

Blue = str | Path | Policy | BlueAgent | CyborgStyleAgent
_DEFAULT: Final = "best"


class BlueSide:
    """A Blue agent that plays its side of a batch whose episodes go in step."""

    def __init__(
        self,
        blue: Blue,
        game: GameConfig | None,
        settings: Mapping[str, Any],
        *,
        workflow: Sequence[str] | str | None,
        sampled: bool | None,
        illegal: str,
    ) -> None:
        """Makes the agent, and the game: it is shown what the agent needs to see."""
        config = given_game(game, settings)
        self.illegal = one_of("illegal", illegal, ILLEGAL)
        self.agent = (
            make_agent(
                blue,
                workflow,
                sampled=sampled,
                rules=config.rules,
                observation=config.observation,
                network=config.network,
            )
            if isinstance(blue, str | Path | Policy)
            else as_agent(blue)
        )
        self.game = config.changed(observation=self.agent.observation)
        self._seed = 0

    def begin(self, batch: Batch, seed: int | None) -> None:
        """Begins the episodes that the batch has begun, from a seed or after the last ones."""
        self._seed = self._seed if seed is None else seed
        episode = int(batch.state["episode"][0])
        self.agent.begin(batch.num_envs, derived_seed(self._seed, episode))

    def step(self, batch: Batch, red_actions: object) -> tuple[int, NDArray[np.bool_]]:
        """Plays a step; returns how many episodes ended and (n,) where Red's action was illegal."""
        red, refused = red_actions_on_hosts(batch, red_actions, self.illegal)
        step = int(batch.state["step"][0])
        chosen = self.agent.act(batch.observation, batch.out.action_mask, step)
        what = f"the actions of {self.agent.name}"
        return batch.step(
            checked_actions(batch.network, chosen, refused.shape, what), red_actions=red
        ), refused


class Cage2RedEnv(Cage2Env):
    """One environment in which the player is Red and a Blue agent defends.

    Action space: Sleep, a sweep of each subnet, then a scan, an exploit, an escalation and an
    impact of each host, `Discrete(56)` on Scenario2; `actions` names them. Until Red has a host's
    name, hosts of a subnet stand at positions drawn for the episode (`sim/red_view.py`).

    Observation space: what Red was told and did, in bits. The reward is what Blue loses.

    `info` is that of `Cage2Env`, with two differences:
        action_mask: (actions,) what Red may do now.
        illegal: after a step: whether the action was not legal, so that Red slept.
    """

    _red_view: ClassVar = True

    def __init__(
        self,
        blue: Blue = _DEFAULT,
        *,
        game: GameConfig | None = None,
        seed: int | None = None,
        render_mode: str | None = None,
        dtype: str = "int8",
        workflow: Sequence[str] | str | None = None,
        sampled: bool | None = None,
        illegal: str = "sleep",
        **settings: Any,
    ) -> None:
        """Makes the environment; nothing is compiled or played before `reset`.

        Args:
            blue: who defends: a baseline's name, a run directory, a policy or its file, a
                `BlueAgent`, or an agent written for CybORG; as in `evaluate`.
            game: what is played; by default Scenario2 as in the challenge.
            seed: of the first `reset` that is given none.
            render_mode: None, ansi or rgb_array, as of `Cage2Env`.
            dtype: of observations: int8 or float32.
            workflow: the order that Blue follows, if it follows any.
            sampled: whether Blue's policy is stochastic; by default as its training says.
            illegal: what an action does that is not legal: sleep, as in CybORG, or error.
            **settings: of the game: episode_length, rules, green_agent (docs/settings.md).

        Raises:
            InvalidInputError: an argument is not allowed.
        """
        self._blue = BlueSide(
            blue, game, settings, workflow=workflow, sampled=sampled, illegal=illegal
        )
        super().__init__(game=self._blue.game, seed=seed, render_mode=render_mode, dtype=dtype)
        self.actions = red_actions_of(self.config.network).names  # hosts are positions
        self.observation_space = red_observation_space(self.config.network, dtype)
        self.action_space = action_space(len(self.actions))
        self._illegal: bool | None = None  # whether the last action was; None at the start

    def _look_up_rows(self) -> None:
        super()._look_up_rows()
        self._observation = self.batch.red.observation[0]
        self._action_mask = self.batch.red.legal[0]

    def _start(self, seed: int | None) -> NDArray[np.int8]:
        observation = super()._start(seed)
        self._blue.begin(self.batch, seed)
        self._illegal = None
        return observation

    def _play(self, action: int) -> Played:
        self._action[0] = action
        ended, refused = self._blue.step(self.batch, self._action)
        self._ended, self._illegal = ended > 0, bool(refused[0])
        lost = self._reward.item()
        self._total += lost
        return self._observation.copy(), 0.0 - lost, self._reward_tenths.copy()

    def _info(self) -> Info:
        info = super()._info()
        return info if self._illegal is None else {**info, "illegal": self._illegal}


class Cage2RedVectorEnv(Cage2VectorEnv):
    """`num_envs` environments in which the player is Red and a Blue agent defends in all of them.

    Spaces, rewards and infos are those of `Cage2RedEnv`, in rows; episodes end and begin as in
    `Cage2VectorEnv`. Environment k's episode e depends on (seed, k, e) and the actions alone.
    """

    _red_view: ClassVar = True

    def __init__(
        self,
        num_envs: int = 1,
        blue: Blue = _DEFAULT,
        *,
        game: GameConfig | None = None,
        seed: int | None = None,
        num_threads: int = 1,
        copy: bool = True,
        render_mode: None = None,
        dtype: str = "int8",
        workflow: Sequence[str] | str | None = None,
        sampled: bool | None = None,
        illegal: str = "sleep",
        **settings: Any,
    ) -> None:
        """Makes the environments; arguments as of `Cage2VectorEnv` and `Cage2RedEnv`.

        Raises:
            InvalidInputError: an argument is not allowed, or the agent plays one environment only.
        """
        self._blue = BlueSide(
            blue, game, settings, workflow=workflow, sampled=sampled, illegal=illegal
        )
        super().__init__(
            num_envs,
            game=self._blue.game,
            seed=seed,
            num_threads=num_threads,
            copy=copy,
            render_mode=render_mode,
            dtype=dtype,
        )
        if isinstance(self._blue.agent, CyborgAgent) and self.num_envs > 1:
            raise InvalidInputError(
                f"{self._blue.agent.name} is written for CybORG and plays one environment at a "
                f"time: not {self.num_envs}"
            )
        self._illegal: NDArray[np.bool_] | None = None  # of the last step; None at the start

    def _action_names(self) -> tuple[str, ...]:
        return red_actions_of(self.config.network).names  # hosts are positions

    def _observation_space(self, dtype: str) -> Any:
        return red_observation_space(self.config.network, dtype)

    def _begin(self, seed: int | None) -> None:
        super()._begin(seed)
        self._blue.begin(self.batch, seed)
        self._illegal = None

    def _play(self, actions: NDArray[np.integer[Any]]) -> int:
        ended, self._illegal = self._blue.step(self.batch, actions)
        if ended:  # all of them: they go in step
            self._blue.begin(self.batch, None)
        return ended

    @property
    def _side(self) -> Side:
        side = red_side(self.batch)
        return side._replace(observation=self._output(side.observation))

    def _infos(self) -> Infos:
        infos = super()._infos()
        if self._illegal is not None:
            infos |= {"illegal": self._illegal, "_illegal": self._all_true}
        return infos


def make_vector_env(
    num_envs: int, *, max_episode_steps: int | None = None, **settings: Any
) -> Cage2RedVectorEnv:
    """Returns Red's vector environment of a name; as `envs.registration.make_vector_env`."""
    if max_episode_steps is not None:
        settings.setdefault("episode_length", max_episode_steps)
    return Cage2RedVectorEnv(num_envs, **settings)
