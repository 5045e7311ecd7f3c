"""CAGE-2 as a Gymnasium vector environment: the native form of the simulator."""

from typing import Any, ClassVar

import numpy as np
from gymnasium import Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from workflow_rl.config import GameConfig
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.sides import Side, blue_side
from workflow_rl.envs.spaces import action_space, checked_seed, observation_space, reset_seed
from workflow_rl.errors import InvalidInputError, NotResetError, shown
from workflow_rl.scenario.actions import actions_of

Infos = dict[str, Any]


class Cage2VectorEnv(VectorEnv[NDArray[np.int8], NDArray[np.integer[Any]], NDArray[Any]]):
    """`num_envs` environments that step together.

    An episode ends by truncation at `episode_length`; the next begins within the same step
    (`AutoresetMode.SAME_STEP`): the observation returned is its first one and
    `infos["final_obs"]` holds the last one of the episode that ended.

    `infos` of every step (and, but for the rewards, of `reset`):
        env_reward: (n,) the environment's own reward, also under wrappers that change it.
        reward_tenths: (n, 3) its parts in tenths: confidentiality, availability, action cost.
        red_access: (n, hosts) Red's true access now: 0 none, 1 user, 2 privileged.
        action_mask: (n, actions) False for a decoy that would be refused now.
        red_raised: (n,) a `sim.state.Raised`: the exception by which CybORG's red agent would have
            ended the episode, in which Red sleeps since then; 0 none. Never on Scenario2.
        final_obs, final_info: only in a step in which episodes ended.

    Environment k's episode e depends on (seed, k, e) alone, not on `num_envs` or `num_threads`.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012
    hosts: tuple[str, ...]
    """The network's hosts, in the order in which observations and infos have them."""
    actions: tuple[str, ...]
    """What each action does, such as `Restore Op_Server0`."""
    _red_view: ClassVar = False  # whether the batch shows Red's side, too

    def __init__(
        self,
        num_envs: int = 1,
        *,
        game: GameConfig | None = None,
        seed: int | None = None,
        num_threads: int = 1,
        copy: bool = True,
        render_mode: None = None,
        dtype: str = "int8",
        **settings: Any,
    ) -> None:
        """Makes the environments; nothing is compiled or played before `reset`.

        Args:
            num_envs: how many environments.
            game: what is played; by default Scenario2 as in the challenge, against bline.
            seed: of the first `reset` that is given none.
            num_threads: threads of the loop over the environments.
            copy: False returns the simulator's own arrays, overwritten by the next step.
            render_mode: only None; `Cage2Env` renders.
            dtype: of observations: int8, or float32, as RLlib's networks need them.
            **settings: of the game: network, red_agent, episode_length, rules, observation,
                green_agent, red_probabilities (docs/settings.md).

        Raises:
            InvalidInputError: an argument is not allowed.
        """
        if render_mode is not None:
            raise InvalidInputError(
                f"unknown render mode {shown(render_mode)}: a vector env has none, Cage2Env has "
                "'ansi' and 'rgb_array'"
            )
        self.config = GameConfig.of(game, settings)
        self.hosts = self.config.network.host_names
        self.actions = self._action_names()
        self._first_seed = checked_seed(seed)
        self.batch = make_batch(
            num_envs,
            self.config,
            num_threads=num_threads,
            new_rows=copy,
            red_view=self._red_view,
        )
        self.num_envs = self.batch.num_envs
        self.render_mode = render_mode
        self.single_observation_space = self._observation_space(dtype)
        self._dtype = np.dtype(dtype)
        self.single_action_space = action_space(len(self.actions))
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._copy = copy
        self._all_true = np.ones(self.num_envs, np.bool_)
        self._all_true.flags.writeable = False
        self._was_reset = False

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.int8], Infos]:
        """Starts an episode in every environment.

        Args:
            seed: starts every stream anew; None continues with the next episode. One for all:
                environment k plays stream k of it.
            options: none are known.

        Returns:
            The first observations (n, their size) and the infos.

        Raises:
            InvalidInputError: the seed is not allowed, or one was given for each environment.
        """
        given: object = seed
        if isinstance(given, list | tuple | np.ndarray):
            raise InvalidInputError(
                "seed must be one whole number for all environments, not a list: environment k "
                "plays stream k of it; SharedMemoryVectorEnv takes one for each environment"
            )
        seed = reset_seed(seed, options, self._first_seed, self._was_reset)
        self._begin(seed)
        self._was_reset = True
        return self._seen(self._side.observation), self._infos()

    def step(
        self, actions: NDArray[np.integer[Any]]
    ) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Infos]:
        """Plays one step in every environment.

        Args:
            actions: (n,) whole numbers: indices of `actions`.

        Returns:
            Observations, rewards, terminated (never), truncated, infos.

        Raises:
            NotResetError: there was no `reset` yet.
            InvalidInputError: the actions are not allowed; nothing was played.
        """
        if not self._was_reset or self.closed:
            raise NotResetError("call reset() before step(), and neither after close()")
        ended = self._play(actions)
        side, out = self._side, self.batch.out
        reward = self._output(side.reward)
        truncated = self._output(out.truncated)
        infos = self._infos()
        infos["env_reward"] = reward
        infos["_env_reward"] = self._all_true
        infos["reward_tenths"] = self._output(out.reward_tenths)
        infos["_reward_tenths"] = self._all_true
        if ended:
            infos["final_obs"] = self._seen(self._output(side.final_observation))
            infos["_final_obs"] = truncated
            infos["final_info"] = {
                "red_access": self._output(out.final_red_access),
                "_red_access": truncated,
            }
            infos["_final_info"] = truncated
        terminated = np.zeros(self.num_envs, np.bool_)
        return self._seen(side.observation), reward, terminated, truncated, infos

    def get_action_meanings(self) -> list[str]:
        """Returns what each action does, such as `Restore Op_Server0`."""
        return list(self.actions)

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns (n, actions) which would be accepted, for sb3-contrib's MaskablePPO."""
        return self._side.action_mask.copy()

    def _action_names(self) -> tuple[str, ...]:
        return actions_of(self.config.network).names

    def _observation_space(self, dtype: str) -> Space[Any]:
        return observation_space(self.config, dtype)

    def _begin(self, seed: int | None) -> None:
        """Starts an episode in every environment, from a seed or where the last one ended."""
        self.batch.reset(seed)

    def _play(self, actions: NDArray[np.integer[Any]]) -> int:
        """Plays a step and returns how many episodes ended."""
        return self.batch.step(actions)

    @property
    def _side(self) -> Side:
        """What is shown to the player; the observation lasts if `copy` is on."""
        return blue_side(self.batch)

    def _infos(self) -> Infos:
        return {
            "red_access": self._output(self.batch.out.red_access),
            "_red_access": self._all_true,
            "action_mask": self._output(self._side.action_mask),
            "_action_mask": self._all_true,
            "red_raised": self.batch.state["red_raised"].copy(),
            "_red_raised": self._all_true,
        }

    def _seen(self, observation: NDArray[np.int8]) -> NDArray[Any]:
        """Returns observations as numbers of the type that was asked for."""
        return observation.astype(self._dtype, copy=False)

    def _output(self, array: NDArray[Any]) -> NDArray[Any]:
        """Returns an array for the caller: a copy, unless the environment was made without."""
        return array.copy() if self._copy else array
