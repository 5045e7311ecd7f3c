"""CAGE-2 as a Gymnasium environment: a batch of one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import GameConfig
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.picture import frame_image
from workflow_rl.envs.render import frame_text
from workflow_rl.envs.spaces import SingleEnv

Info = dict[str, Any]


class Cage2Env(SingleEnv):
    """One environment; it plays what environment 0 of a `Cage2VectorEnv` of that seed plays.

    Action space: `Discrete(145)`. 0 Sleep, 1 Monitor, then thirteen hosts each of Analyse, Remove,
    the eight decoys and Restore; `get_action_meanings()` names them all.

    Observation space: by default 52 bits, four for each host: two tell what Blue's monitor saw in
    this step (none, scan, exploit), two how Blue has marked the host (no, unknown, user,
    privileged).

    Registered as `workflow_rl/Cage2-v0` and, with the rules of the 2022 leaderboard, as
    `workflow_rl/Cage2Competition-v0`.

    `info` of every step (and, but for the rewards, of `reset`):
        env_reward: the environment's own reward, whatever a wrapper makes of it.
        reward_tenths: (3,) its parts in tenths: confidentiality, availability, action cost.
        red_access: (13,) Red's true access now: 0 none, 1 user, 2 privileged.
        action_mask: (145,) False for a decoy that would be refused now.

    Reaching `episode_length` truncates the episode.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        *,
        game: GameConfig | None = None,
        seed: int | None = None,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        """Makes the environment; nothing is compiled or played before `reset`.

        Args:
            game: what is played; by default Scenario2 as in the challenge, against bline.
            seed: of the first `reset` that is given none.
            render_mode: None; ansi: `render` returns Blue's table beside the true state, as text;
                rgb_array: it returns both as an image of the network, for videos.
            **settings: of the game: red_agent, episode_length, rules, observation, green_agent,
                red_probabilities (docs/settings.md).

        Raises:
            InvalidInputError: an argument is not allowed.
        """
        super().__init__(game, seed, render_mode, settings)
        self.batch = make_batch(1, self.config, autoreset=False)
        self._action = np.zeros(1, np.int64)
        self._look_up_rows()
        self._total = 0.0

    def _look_up_rows(self) -> None:
        """Looks up the batch's only rows once: a step copies what the caller may keep."""
        out = self.batch.out
        self._observation = self.batch.observation[0]
        self._red_access = out.red_access[0]
        self._action_mask: NDArray[np.bool_] = out.action_mask[0]
        self._reward, self._reward_tenths = out.reward, out.reward_tenths[0]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Makes a copy play on: its rows are those of its own batch."""
        self.__dict__ |= state
        self._look_up_rows()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], Info]:
        """Starts an episode.

        Args:
            seed: starts the stream anew; None goes on with the next episode.
            options: none are known.

        Returns:
            The first observation and the info.
        """
        self.batch.reset(self._begin(seed, options))
        self._total = 0.0
        return self._observation.copy(), self._info()

    def step(
        self, action: int | np.integer[Any]
    ) -> tuple[NDArray[np.int8], float, bool, bool, Info]:
        """Plays one step.

        Args:
            action: a whole number in 0..144.

        Returns:
            Observation, reward, terminated (never), truncated, info.

        Raises:
            NotResetError: there was no `reset` yet, or none since the episode ended.
            InvalidInputError: the action is not allowed; nothing was played.
        """
        self._action[0] = self._checked_action(action)
        self._ended = self.batch.step(self._action) > 0
        reward = self._reward.item()
        self._total += reward
        info = self._info()
        info["env_reward"] = reward
        info["reward_tenths"] = self._reward_tenths.copy()
        return self._observation.copy(), reward, False, self._ended, info

    def _rendered(self) -> str | NDArray[np.uint8]:
        """Returns the last step, Blue's table and the truth: text or an image, (640, 960, 3)."""
        show = frame_text if self.render_mode == "ansi" else frame_image
        return show(self.batch.state[0], self.config, self._total)

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns (145,) which actions would be accepted, as sb3-contrib's MaskablePPO asks."""
        return self._action_mask.copy()

    def close(self) -> None:
        """Ends the episode: the next step needs a `reset`."""
        self._was_reset, self._ended = False, True

    def _info(self) -> Info:
        return {"red_access": self._red_access.copy(), "action_mask": self._action_mask.copy()}
