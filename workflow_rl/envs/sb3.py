"""The vector environment as a Stable-Baselines3 `VecEnv`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config.checks import instance
from workflow_rl.envs.vector import Cage2VectorEnv
from workflow_rl.errors import explain_missing

with explain_missing(__name__):
    from stable_baselines3.common.vec_env import VecEnv


class Sb3VecEnv(VecEnv):  # type: ignore[misc]
    """Lets algorithms of Stable-Baselines3 train on a `Cage2VectorEnv`.

    As SB3 expects, ended episodes restart within the step, and the info of such an environment
    holds `terminal_observation` and `TimeLimit.truncated`. sb3-contrib's `MaskablePPO` finds the
    action masks by itself.
    """

    def __init__(self, env: Cage2VectorEnv) -> None:
        """Wraps a vector environment.

        Raises:
            InvalidInputError: it is none of ours.
        """
        self._env = instance("what Sb3VecEnv wraps", env, Cage2VectorEnv)
        self._actions: NDArray[np.int64] | None = None
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> NDArray[np.int8]:
        """Starts an episode in every environment, from the seed given by `seed`, if any."""
        seed = self._seeds[0]
        observation, infos = self._env.reset(seed=seed)
        self._reset_seeds()
        self.reset_infos = self._split(infos)
        return observation

    def step_async(self, actions: NDArray[Any]) -> None:
        """Notes the actions of the next step."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Plays the step."""
        assert self._actions is not None, "step_wait() comes after step_async()"
        observation, reward, _, truncated, infos = self._env.step(self._actions)
        split = self._split(infos)
        for k in np.flatnonzero(truncated):
            split[k]["terminal_observation"] = infos["final_obs"][k]
            split[k]["TimeLimit.truncated"] = True
        return observation, reward.astype(np.float32), truncated, split

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Notes the seed of the next reset; environment k plays stream k of it."""
        self._seeds = [seed] * self.num_envs
        return self._seeds

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns (n, actions) which would be accepted, for sb3-contrib's MaskablePPO."""
        return self._env.action_masks()

    def close(self) -> None:
        """Closes the vector environment."""
        self._env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Returns an attribute of the vector environment, or of this one, once per environment."""
        owner = self._env if hasattr(self._env, attr_name) else self
        return [getattr(owner, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Sets an attribute of the vector environment."""
        setattr(self._env, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Calls a method and returns its rows, one for each environment asked for."""
        result = getattr(self if hasattr(self, method_name) else self._env, method_name)(
            *method_args, **method_kwargs
        )
        return [result[k] for k in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Says for each environment that it is not wrapped."""
        return [False for _ in self._get_indices(indices)]

    def _split(self, infos: dict[str, Any]) -> list[dict[str, Any]]:
        keys = ("env_reward", "reward_tenths", "red_access", "action_mask", "illegal")
        present = [key for key in keys if key in infos]
        return [{key: infos[key][k] for key in present} for k in range(self.num_envs)]
