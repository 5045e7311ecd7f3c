"""The samples of an update, made of one or more rollouts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workflow_rl.config import PPOConfig
from workflow_rl.nets.distinct import in_words
from workflow_rl.ppo.returns import discounted_returns, generalised_advantages, standardised
from workflow_rl.ppo.rollout import Rollout

Rewarded = tuple[Rollout, NDArray[np.float32]]  # a rollout and its (T, B) training reward
_WORTH_IT: Final = 0.7  # above this share of distinct inputs, gathering costs more than it saves


@dataclass(frozen=True)
class Samples:
    """N samples over U distinct inputs."""

    inputs: Tensor  # (U, width) int8
    rows: Tensor  # (N,)
    actions: Tensor  # (N,)
    old_log_probability: Tensor  # (N,)
    returns: Tensor  # (N,) the critic's targets
    advantages: Tensor | None = None  # (N,), or None for returns minus the current critic
    masks: Tensor | None = None  # (N, actions)

    def __len__(self) -> int:
        """Returns the number of samples."""
        return len(self.rows)

    @cached_property
    def words(self) -> NDArray[np.uint64]:
        """The inputs in whole words."""
        return in_words(self.inputs.numpy())

    def standardised_advantages(
        self, chosen: NDArray[np.int64] | None = None
    ) -> NDArray[np.float32] | None:
        """Returns the advantages of some samples with mean 0 and standard deviation 1."""
        if self.advantages is None:
            return None
        advantages = self.advantages.numpy()
        return standardised(advantages if chosen is None else advantages[chosen])

    def part(self, chosen: NDArray[np.int64]) -> "Samples":
        """Returns some of the samples, over the inputs they use."""
        index = torch.from_numpy(chosen)
        used, rows = np.unique(self.rows.numpy()[chosen], return_inverse=True)
        return Samples(
            inputs=self.inputs[torch.from_numpy(used)],
            rows=torch.from_numpy(rows),
            actions=self.actions[index],
            old_log_probability=self.old_log_probability[index],
            returns=self.returns[index],
            advantages=None if self.advantages is None else self.advantages[index],
            masks=None if self.masks is None else self.masks[index],
        )

    def plain(self) -> "Samples":
        """Returns the same samples with an input of its own for each."""
        return replace(self, inputs=self.inputs[self.rows], rows=torch.arange(len(self.rows)))


def samples_of(rollouts: Sequence[Rewarded], config: PPOConfig) -> Samples:
    """Turns rollouts, each with its (T, B) training reward, into samples."""
    offset = 0
    parts: dict[str, list[NDArray[Any]]] = {}
    for rollout, reward in rollouts:
        told: dict[str, NDArray[Any] | None] = {
            "rows": rollout.rows.astype(np.int64) + offset,
            "actions": rollout.actions,
            "old_log_probability": rollout.log_probability,
            "masks": rollout.masks,
        }
        if config.gae_lambda is None:
            told["returns"] = discounted_returns(reward, rollout.ends, config.gamma)
        else:
            values = rollout.values * config.value_scale
            advantages = generalised_advantages(
                reward,
                values,
                rollout.last_values * config.value_scale,
                rollout.ends,
                config.gamma,
                config.gae_lambda,
            )
            told |= {"advantages": advantages, "returns": advantages + values}
        for name, array in told.items():
            if array is not None:
                parts.setdefault(name, []).append(sampled(rollout, array, config))
        offset += len(rollout.inputs)
    joined = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    joined["returns"] = (
        standardised(joined["returns"])
        if config.gae_lambda is None
        else joined["returns"] / np.float32(config.value_scale)
    )
    joined["inputs"] = np.concatenate([rollout.inputs for rollout, _ in rollouts])
    samples = Samples(**{name: torch.from_numpy(array) for name, array in joined.items()})
    if config.engine == "autograd" and len(samples.inputs) > _WORTH_IT * len(samples):
        return samples.plain()
    return samples


def sampled(rollout: Rollout, array: NDArray[Any], config: PPOConfig) -> NDArray[Any]:
    """Returns what samples have of an array (T, B, ...): (N, ...), without steps left out.

    For the fused engine the steps of an environment come one after the other, as their inputs do
    where they hardly repeat.
    """

    def flat(some: NDArray[Any]) -> NDArray[Any]:
        ordered = some.swapaxes(0, 1) if config.engine == "fused" else some
        return ordered.reshape(rollout.transitions, *some.shape[2:])

    return flat(array) if rollout.left_out is None else flat(array)[~flat(rollout.left_out)]
