"""CAGE-2 as a PettingZoo environment of both sides: a batch of one."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from workflow_rl.config import GameConfig
from workflow_rl.envs.parallel_vector import (
    AGENTS,
    BLUE,
    Cage2ParallelVectorEnv,
    Infos,
    Rows,
    of_both,
)
from workflow_rl.envs.picture import frame_image
from workflow_rl.envs.render import frame_text
from workflow_rl.envs.spaces import checked_action, checked_render_mode
from workflow_rl.errors import NotResetError, explain_missing

with explain_missing(__name__):
    from pettingzoo import ParallelEnv


class Cage2ParallelEnv(ParallelEnv[str, NDArray[Any], int]):  # type: ignore[misc]
    """One game of the agents `blue` and `red`, as PettingZoo has it.

    It plays what environment 0 of a `Cage2ParallelVectorEnv` of that seed plays; what is said there
    of the agents, their actions, rewards and infos holds here. An `action_mask` is of int8, so that
    `action_space(agent).sample(infos[agent]["action_mask"])` is an action that may be taken.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "cage2_v0",
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 4,
    }

    def __init__(
        self,
        *,
        game: GameConfig | None = None,
        seed: int | None = None,
        render_mode: str | None = None,
        dtype: str = "int8",
        illegal: str = "sleep",
        **settings: Any,
    ) -> None:
        """Makes the environment; nothing is compiled or played before `reset`.

        Args:
            game: what is played; by default Scenario2 as in the challenge.
            seed: of the first `reset` that is given none.
            render_mode: None, ansi or rgb_array, as of `Cage2Env`.
            dtype: of observations: int8 or float32.
            illegal: what a red action does that is not legal: sleep, as in CybORG, or error.
            **settings: of the game: episode_length, rules, observation (Blue's), green_agent
                (docs/settings.md).

        Raises:
            InvalidInputError: an argument is not allowed.
        """
        self.render_mode = checked_render_mode(render_mode, self.metadata["render_modes"])
        self._envs = Cage2ParallelVectorEnv(
            1, game=game, seed=seed, autoreset=False, dtype=dtype, illegal=illegal, **settings
        )
        self.config = self._envs.config
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        self._total: float | None = None  # Blue's return so far; None before the first reset

    def observation_space(self, agent: str) -> Space[Any]:
        """Returns the space of what an agent sees."""
        return self._envs.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """Returns the space of an agent's actions."""
        return self._envs.action_spaces[agent]

    def action_meanings(self, agent: str) -> tuple[str, ...]:
        """Returns what each action of an agent does; Red's hosts are positions."""
        return self._envs.actions[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Rows, Infos]:
        """Starts an episode.

        Args:
            seed: starts the stream anew; None continues with the next episode.
            options: not used.

        Returns:
            The first observations and the infos, by agent.
        """
        observations, infos = self._envs.reset(seed=seed)
        self.agents = list(AGENTS)
        self._total = 0.0
        return _only(observations), _only_infos(infos)

    def step(
        self, actions: Mapping[str, int]
    ) -> tuple[Rows, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Plays one step.

        Args:
            actions: of both agents.

        Returns:
            Observations, rewards, terminated (never), truncated, infos, by agent.

        Raises:
            NotResetError: there was no `reset` yet, or none since the episode ended.
            InvalidInputError: the actions are not allowed; nothing was played.
        """
        if not self.agents:
            raise NotResetError("no agent is alive: call reset() before step()")
        rows = {
            agent: np.array(
                [checked_action(action, len(self._envs.actions[agent]), f"the action of {agent}")]
            )
            for agent, action in of_both(actions).items()
        }
        observations, rewards, terminated, truncated, infos = self._envs.step(rows)
        assert self._total is not None
        self._total += float(rewards[BLUE][0])
        if truncated[BLUE][0]:
            self.agents = []
        return (
            _only(observations),
            {agent: float(reward[0]) for agent, reward in rewards.items()},
            {agent: bool(ended[0]) for agent, ended in terminated.items()},
            {agent: bool(ended[0]) for agent, ended in truncated.items()},
            _only_infos(infos),
        )

    def render(self) -> Any:
        """Returns the present moment as the render mode shows it, or None without a mode."""
        if self.render_mode is None:
            return None
        if self._total is None:
            raise NotResetError("call reset() before render()")
        show = frame_text if self.render_mode == "ansi" else frame_image
        return show(self._envs.batch.state[0], self.config, self._total)

    def close(self) -> None:
        """Ends the episode: the next step needs a `reset`."""
        self.agents = []


def _only(rows: Rows) -> Rows:
    """Returns the row of the only environment."""
    return {name: array[0] for name, array in rows.items()}


def _only_infos(infos: Infos) -> Infos:
    only = {agent: _only(info) for agent, info in infos.items()}
    for info in only.values():
        info["action_mask"] = info["action_mask"].view(np.int8)
    return only


def parallel_env(**settings: Any) -> Cage2ParallelEnv:
    """Returns a PettingZoo `ParallelEnv` of both sides: the agents `blue` and `red`.

    Args:
        **settings: of `Cage2ParallelEnv`: seed, render_mode, rules, observation (Blue's),
            episode_length, illegal, ...

    Raises:
        InvalidInputError: an argument is not allowed.
    """
    return Cage2ParallelEnv(**settings)
