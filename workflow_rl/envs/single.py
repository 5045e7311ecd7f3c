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
from workflow_rl.envs.render import frame_text
from workflow_rl.envs.spaces import (
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

    `info` of every step (and, but for the rewards, of `reset`):
        env_reward: the environment's own reward, whatever a wrapper makes of it.
        reward_tenths: (3,) its parts in tenths: confidentiality, availability, action cost.
        red_access: (13,) Red's true access now: 0 none, 1 user, 2 privileged.
        action_mask: (145,) False for a decoy that would be refused now.

    Reaching `episode_length` truncates the episode.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

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
            render_mode: None, or ansi: `render` returns Blue's table beside the true state.

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
        return self.batch.observation[0].copy(), self._info()

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
        self.batch.step(self._action)
        out = self.batch.out
        reward = float(out.reward[0])
        self._total += reward
        self._ended = bool(out.truncated[0])
        info = self._info()
        info["env_reward"] = reward
        info["reward_tenths"] = out.reward_tenths[0].copy()
        return self.batch.observation[0].copy(), reward, False, self._ended, info

    def render(self) -> str | None:
        """Returns the last step, Blue's table and the truth as text, or None without a mode."""
        if self.render_mode is None:
            return None
        if not self._was_reset:
            raise NotResetError("call reset() before render()")
        return frame_text(self.batch.state[0], self.config, self._total)

    def close(self) -> None:
        """Ends the episode: the next step needs a `reset`."""
        self._was_reset, self._ended = False, True

    def _info(self) -> Info:
        out = self.batch.out
        return {"red_access": out.red_access[0].copy(), "action_mask": out.action_mask[0].copy()}
