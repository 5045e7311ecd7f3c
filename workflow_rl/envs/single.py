"""CAGE-2 as a Gymnasium environment: a batch of one."""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from workflow_rl.belief.observation import make_batch
from workflow_rl.config import (
    GameConfig,
    GreenAgentName,
    ObservationName,
    RedAgentName,
    RuleSetName,
)
from workflow_rl.envs.picture import frame_image
from workflow_rl.envs.render import frame_text
from workflow_rl.envs.spaces import (
    action_meanings,
    action_space,
    checked_action,
    checked_render_mode,
    checked_seed,
    observation_space,
    refuse_options,
)
from workflow_rl.errors import NotResetError

Info = dict[str, Any]


class Cage2Env(gymnasium.Env[NDArray[np.int8], np.int64]):
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
        red_agent: RedAgentName = "bline",
        episode_length: int = 100,
        rules: RuleSetName = "main",
        observation: ObservationName = "challenge",
        green_agent: GreenAgentName = "sleep",
        red_probabilities: Mapping[str, float] | None = None,
        seed: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Makes the environment; nothing is compiled or played before `reset`.

        Args:
            red_agent: bline, meander, sleep, or mixed (drawn for each episode).
            episode_length: steps of an episode.
            rules: main (the official repository today) or competition (the 2022 leaderboard).
            observation: challenge (52 bits), cardiff (62 values), memory (what Blue
                remembers, in bits), belief (memory and how probable it is that Red holds each
                host) or truth (memory and where Red is).
            green_agent: sleep (the challenge) or active.
            red_probabilities: with mixed, the weight of each red agent.
            seed: of the first `reset` that is given none.
            render_mode: None; ansi: `render` returns Blue's table beside the true state, as text;
                rgb_array: it returns both as an image of the network, for videos.

        Raises:
            InvalidInputError: an argument is not allowed.
        """
        self.render_mode = checked_render_mode(render_mode, self.metadata["render_modes"])
        self.config = GameConfig(
            red_agent=red_agent,
            episode_length=episode_length,
            rules=rules,
            observation=observation,
            green_agent=green_agent,
            red_probabilities=red_probabilities,
        )
        self._first_seed = checked_seed(seed)
        self.batch = make_batch(1, self.config, autoreset=False)
        self.observation_space = observation_space(self.config)
        self.action_space = action_space()
        self._action = np.zeros(1, np.int64)
        # The batch's only rows, looked up once: a step copies what the caller may keep.
        out = self.batch.out
        self._observation = self.batch.observation[0]
        self._red_access = out.red_access[0]
        self._action_mask: NDArray[np.bool_] = out.action_mask[0]
        self._reward, self._reward_tenths = out.reward, out.reward_tenths[0]
        self._was_reset = False
        self._ended = True
        self._total = 0.0

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
        seed = checked_seed(seed)
        refuse_options(options)
        if seed is None and not self._was_reset:
            seed = self._first_seed
            if seed is None:
                seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        super().reset(seed=seed)
        self.batch.reset(seed)
        self._was_reset = True
        self._ended = False
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
        if self._ended:
            raise NotResetError(
                "the episode has ended: call reset() before step()"
                if self._was_reset
                else "call reset() before step()"
            )
        self._action[0] = checked_action(action)
        self._ended = self.batch.step(self._action) > 0
        reward = self._reward.item()
        self._total += reward
        info = self._info()
        info["env_reward"] = reward
        info["reward_tenths"] = self._reward_tenths.copy()
        return self._observation.copy(), reward, False, self._ended, info

    def render(self) -> str | NDArray[np.uint8] | None:
        """Returns the last step, Blue's table and the truth, or None without a mode.

        Returns:
            Text with `ansi`; with `rgb_array` an image, (640, 960, 3).
        """
        if self.render_mode is None:
            return None
        if not self._was_reset:
            raise NotResetError("call reset() before render()")
        show = frame_text if self.render_mode == "ansi" else frame_image
        return show(self.batch.state[0], self.config, self._total)

    def get_action_meanings(self) -> list[str]:
        """Returns what each of the 145 actions does, such as `Restore Op_Server0`."""
        return action_meanings()

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns (145,) which actions would be accepted, as sb3-contrib's MaskablePPO asks."""
        return self._action_mask.copy()

    def close(self) -> None:
        """Ends the episode: the next step needs a `reset`."""
        self._was_reset, self._ended = False, True

    def _info(self) -> Info:
        return {"red_access": self._red_access.copy(), "action_mask": self._action_mask.copy()}
