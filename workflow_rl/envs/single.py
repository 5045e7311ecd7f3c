"""CAGE-2 as a Gymnasium environment: a batch of one."""

from abc import abstractmethod
from copy import copy
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from workflow_rl.config import GameConfig
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.picture import frame_image
from workflow_rl.envs.render import frame_text
from workflow_rl.envs.spaces import (
    action_space,
    checked_action,
    checked_render_mode,
    checked_seed,
    observation_space,
    reset_seed,
)
from workflow_rl.errors import NotResetError
from workflow_rl.scenario.actions import actions_of
from workflow_rl.sim.state import EXCEPTIONS

Info = dict[str, Any]
Played = tuple[
    NDArray[np.int8], float, NDArray[np.int16]
]  # observation, reward, its parts in tenths


class SingleEnv(gymnasium.Env[NDArray[np.int8], np.int64]):
    """One environment that plays a game, here or in the real CybORG."""

    hosts: tuple[str, ...]
    """The network's hosts, in the order in which observations and infos have them."""
    actions: tuple[str, ...]
    """What each action does, such as `Restore Op_Server0`."""
    _spec: EnvSpec | None = None

    def __init__(
        self,
        game: GameConfig | None,
        seed: int | None,
        render_mode: str | None,
        dtype: str,
        settings: dict[str, Any],
    ) -> None:
        """Checks and takes over what every environment is made by; see `Cage2Env`."""
        self.render_mode = checked_render_mode(render_mode, self.metadata["render_modes"])
        self.config = GameConfig.of(game, settings)
        self._first_seed = checked_seed(seed)
        self.observation_space = observation_space(self.config, dtype)
        self._dtype = np.dtype(dtype)
        self.hosts = self.config.network.host_names
        self.actions = actions_of(self.config.network).names
        self.action_space = action_space(len(self.actions))
        self._was_reset = False
        self._ended = True

    @property
    def spec(self) -> EnvSpec | None:
        """What Gymnasium made the environment by; None if it was made without.

        It tells the length of an episode, as wrappers want to know it. The length is a setting of
        each environment and cannot be registered with the name: Gymnasium would cut longer
        episodes by a `TimeLimit` of its own.
        """
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        if spec is not None and spec.max_episode_steps is None:
            spec = copy(spec)
            spec.max_episode_steps = self.config.episode_length
        self._spec = spec

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], Info]:
        """Starts an episode.

        Args:
            seed: starts the stream anew; None continues with the next episode.
            options: none are known.

        Returns:
            The first observation and the info.
        """
        seed = reset_seed(seed, options, self._first_seed, self._was_reset)
        super().reset(seed=seed)
        observation = self._start(seed)
        self._was_reset, self._ended = True, False
        return observation.astype(self._dtype, copy=False), self._info()

    def step(
        self, action: int | np.integer[Any]
    ) -> tuple[NDArray[np.int8], float, bool, bool, Info]:
        """Plays one step.

        Args:
            action: a whole number: the index of one of `actions`.

        Returns:
            Observation, reward, terminated (never), truncated, info.

        Raises:
            NotResetError: there was no `reset` yet, or none since the episode ended.
            InvalidInputError: the action is not allowed; nothing was played.
        """
        if self._ended:
            raise NotResetError(
                "the episode has ended: call reset() before step()"
                if self._was_reset
                else "call reset() before step()"
            )
        observation, reward, tenths = self._play(checked_action(action, len(self.actions)))
        info = self._info()
        info["env_reward"] = reward
        info["reward_tenths"] = tenths
        return observation.astype(self._dtype, copy=False), reward, False, self._ended, info

    def render(self) -> Any:
        """Returns the present moment as the render mode shows it, or None without a mode."""
        if self.render_mode is None:
            return None
        if not self._was_reset:
            raise NotResetError("call reset() before render()")
        return self._rendered()

    def get_action_meanings(self) -> list[str]:
        """Returns what each action does, such as `Restore Op_Server0`."""
        return list(self.actions)

    def close(self) -> None:
        """Ends the episode: the next step needs a `reset`."""
        self._was_reset, self._ended = False, True

    @abstractmethod
    def action_masks(self) -> NDArray[np.bool_]:
        """Returns (actions,) which would be accepted, for sb3-contrib's MaskablePPO."""

    @abstractmethod
    def _start(self, seed: int | None) -> NDArray[np.int8]:
        """Starts an episode, from a seed or where the last one ended."""

    @abstractmethod
    def _play(self, action: int) -> Played:
        """Plays a step and notes whether it was the last one."""

    @abstractmethod
    def _info(self) -> Info:
        """Returns the info of the present moment."""

    @abstractmethod
    def _rendered(self) -> Any:
        """Returns the present moment as the render mode shows it."""


class Cage2Env(SingleEnv):
    """One environment; it plays what environment 0 of a `Cage2VectorEnv` of that seed plays.

    Action space: `Discrete(145)`. 0 Sleep, 1 Monitor, then thirteen hosts each of Analyse, Remove,
    the eight decoys and Restore; `actions` names them all, `hosts` the hosts.

    Observation space: by default 52 bits, four for each host: two tell what Blue's monitor saw in
    this step (none, scan, exploit), two how Blue has marked the host (no, unknown, user,
    privileged).

    Registered as `workflow_rl/Cage2-v0` and, with the rules of the 2022 leaderboard, as
    `workflow_rl/Cage2Competition-v0`.

    `info` of every step (and, but for the rewards, of `reset`):
        env_reward: the environment's own reward, also under wrappers that change it.
        reward_tenths: (3,) its parts in tenths: confidentiality, availability, action cost.
        red_access: (hosts,) Red's true access now: 0 none, 1 user, 2 privileged.
        action_mask: (actions,) False for a decoy that would be refused now.
        red_raised: the exception's name by which CybORG's red agent would have ended the episode,
            in which Red sleeps since then; else None. Never on Scenario2.

    Reaching `episode_length` truncates the episode.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012
    _red_view: ClassVar = False  # whether the batch shows Red's side, too

    def __init__(
        self,
        *,
        game: GameConfig | None = None,
        seed: int | None = None,
        render_mode: str | None = None,
        dtype: str = "int8",
        **settings: Any,
    ) -> None:
        """Makes the environment; nothing is compiled or played before `reset`.

        Args:
            game: what is played; by default Scenario2 as in the challenge, against bline.
            seed: of the first `reset` that is given none.
            render_mode: None; ansi: `render` returns Blue's table and the true state, as text;
                rgb_array: it returns both as an image of the network, (640, 960, 3), for videos.
            dtype: of observations: int8, or float32, as RLlib's networks need them.
            **settings: of the game: network, red_agent, episode_length, rules, observation,
                green_agent, red_probabilities (docs/settings.md).

        Raises:
            InvalidInputError: an argument is not allowed.
        """
        super().__init__(game, seed, render_mode, dtype, settings)
        self.batch = make_batch(1, self.config, autoreset=False, red_view=self._red_view)
        self._action = np.zeros(1, np.int64)
        self._look_up_rows()
        self._total = 0.0

    def _look_up_rows(self) -> None:
        """Looks up the batch's only rows once: a step copies what the caller may keep."""
        out = self.batch.out
        self._observation: NDArray[np.int8] = self.batch.observation[0]
        self._red_access = out.red_access[0]
        self._action_mask: NDArray[np.bool_] = out.action_mask[0]
        self._reward, self._reward_tenths = out.reward, out.reward_tenths[0]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Makes a copy play on: its rows are those of its own batch."""
        self.__dict__ |= state
        self._look_up_rows()

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns (actions,) which would be accepted, for sb3-contrib's MaskablePPO."""
        return self._action_mask.copy()

    def _start(self, seed: int | None) -> NDArray[np.int8]:
        self.batch.reset(seed)
        self._total = 0.0
        return self._observation.copy()

    def _play(self, action: int) -> Played:
        self._action[0] = action
        self._ended = self.batch.step(self._action) > 0
        reward = self._reward.item()
        self._total += reward
        return self._observation.copy(), reward, self._reward_tenths.copy()

    def _info(self) -> Info:
        return {
            "red_access": self._red_access.copy(),
            "action_mask": self._action_mask.copy(),
            "red_raised": EXCEPTIONS[self.batch.state["red_raised"][0]],
        }

    def _rendered(self) -> str | NDArray[np.uint8]:
        show = frame_text if self.render_mode == "ansi" else frame_image
        return show(self.batch.state[0], self.config, self._total)
