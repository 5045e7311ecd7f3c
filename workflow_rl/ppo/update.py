"""One PPO update: epochs over one or more rollouts, whole or in minibatches.

Details adopted, by their usual names: clipped surrogate; Monte-Carlo returns normalised over the
batch and advantages against the present critic (documented form), or generalised advantages with
advantage normalisation, minibatches, gradient clipping and a learning rate that falls to a tenth
(modern form); entropy bonus; one Adam for actor and critic; no value clipping.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workflow_rl.config import PPOConfig
from workflow_rl.ppo.loss import LossTerms, ppo_loss
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.returns import discounted_returns, generalised_advantages, standardised
from workflow_rl.ppo.rollout import Rollout

_WORTH_IT = 0.7  # above this share of distinct inputs, gathering costs more than it saves


@dataclass(frozen=True)
class UpdateStats:
    """What is logged of an update; means over its gradient steps."""

    policy_loss: float
    value_loss: float
    entropy: float
    approx_kl: float
    clipfrac: float
    explained_variance: float
    distinct_inputs: int
    gradient_steps: int


@dataclass(frozen=True)
class Samples:
    """N samples over U distinct inputs."""

    inputs: Tensor  # (U, width)
    rows: Tensor  # (N,)
    actions: Tensor  # (N,)
    old_log_probability: Tensor  # (N,)
    returns: Tensor  # (N,) the critic's targets
    advantages: Tensor | None  # (N,), or None for returns minus the present critic
    masks: Tensor | None  # (N, actions)

    def __len__(self) -> int:
        """Returns the number of samples."""
        return len(self.rows)

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
        return Samples(
            inputs=self.inputs[self.rows],
            rows=torch.arange(len(self.rows)),
            actions=self.actions,
            old_log_probability=self.old_log_probability,
            returns=self.returns,
            advantages=self.advantages,
            masks=self.masks,
        )


def samples_of(
    rollouts: Sequence[tuple[Rollout, NDArray[np.float32]]], config: PPOConfig
) -> Samples:
    """Turns rollouts, each with its (T, B) training reward, into samples."""
    offset = 0
    parts: dict[str, list[NDArray[np.generic]]] = {
        name: [] for name in ("inputs", "rows", "actions", "old", "returns", "advantages", "masks")
    }
    for rollout, reward in rollouts:
        parts["inputs"].append(rollout.inputs)
        parts["rows"].append(rollout.rows.ravel().astype(np.int64) + offset)
        parts["actions"].append(rollout.actions.ravel())
        chosen = rollout.probabilities[rollout.rows.ravel(), rollout.actions.ravel()]
        if rollout.allowed_mass is not None and rollout.masks is not None:
            chosen = chosen / rollout.allowed_mass.ravel()
            parts["masks"].append(rollout.masks.reshape(rollout.transitions, -1))
        parts["old"].append(np.log(np.maximum(chosen, 1e-30)))
        if config.gae_lambda is None:
            returns = discounted_returns(reward, rollout.ends, config.gamma)
        else:
            values = rollout.values[rollout.rows] * config.value_scale
            advantages = generalised_advantages(
                reward,
                values,
                rollout.values[rollout.last_rows] * config.value_scale,
                rollout.ends,
                config.gamma,
                config.gae_lambda,
            )
            returns = advantages + values
            parts["advantages"].append(advantages.ravel())
        parts["returns"].append(returns.ravel())
        if rollout.left_out is not None:
            for name, arrays in parts.items():
                if name != "inputs" and arrays:
                    arrays[-1] = arrays[-1][~rollout.left_out.ravel()]
        offset += len(rollout.inputs)
    joined = {name: np.concatenate(arrays) for name, arrays in parts.items() if arrays}
    if config.gae_lambda is None:
        joined["returns"] = standardised(joined["returns"])
    else:
        joined["returns"] = joined["returns"] / np.float32(config.value_scale)
        joined["advantages"] = standardised(joined["advantages"])
    tensors = {name: torch.from_numpy(array) for name, array in joined.items()}
    samples = Samples(
        inputs=tensors["inputs"].float(),
        rows=tensors["rows"],
        actions=tensors["actions"],
        old_log_probability=tensors["old"],
        returns=tensors["returns"],
        advantages=tensors.get("advantages"),
        masks=tensors.get("masks"),
    )
    return samples.plain() if len(samples.inputs) > _WORTH_IT * len(samples) else samples


class Learner:
    """A network and its optimiser."""

    def __init__(self, network: ActorCritic, config: PPOConfig) -> None:
        """Makes the optimiser."""
        self.network = network
        self.config = config
        self.optimiser = torch.optim.Adam(
            network.parameters(), lr=config.learning_rate, betas=config.betas, fused=True
        )

    def update(
        self,
        rollouts: Sequence[tuple[Rollout, NDArray[np.float32]]],
        rng: np.random.Generator,
        progress: float = 0.0,
    ) -> UpdateStats:
        """Improves the network on rollouts.

        Args:
            rollouts: each with its (T, B) training reward.
            rng: shuffles minibatches.
            progress: share of the training done, for the learning-rate schedule.
        """
        config = self.config
        samples = samples_of(rollouts, config)
        if config.anneal:
            for group in self.optimiser.param_groups:
                group["lr"] = config.learning_rate * max(1.0 - progress, 0.1)
        totals: list[Tensor] = []
        for _ in range(config.epochs):
            for part in self._parts(samples, rng):
                totals.append(torch.stack([t.detach() for t in self._step(part)]))
        means = torch.stack(totals).mean(0).tolist()
        values = np.concatenate([_kept(r, r.values[r.rows]) for r, _ in rollouts])
        return UpdateStats(
            policy_loss=means[0],
            value_loss=means[1],
            entropy=means[2],
            approx_kl=means[3],
            clipfrac=means[4],
            explained_variance=_explained_variance(values, samples.returns.numpy()),
            distinct_inputs=sum(len(rollout.inputs) for rollout, _ in rollouts),
            gradient_steps=len(totals),
        )

    def state(self) -> dict[str, NDArray[np.float32]]:
        """Returns the optimiser's memory, to go on later."""
        arrays: dict[str, NDArray[np.float32]] = {}
        for i, memory in self.optimiser.state_dict()["state"].items():
            arrays |= {f"{i}.{name}": tensor.numpy().copy() for name, tensor in memory.items()}
        return arrays

    def load_state(self, arrays: dict[str, NDArray[np.float32]]) -> None:
        """Goes on from a kept memory."""
        state: dict[int, dict[str, Tensor]] = {}
        for key, array in arrays.items():
            index, name = key.split(".")
            state.setdefault(int(index), {})[name] = torch.from_numpy(array.copy())
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": state, "param_groups": groups})

    def _parts(self, samples: Samples, rng: np.random.Generator) -> Sequence[Samples]:
        size = self.config.minibatch_size
        if size is None or size >= len(samples):
            return [samples]
        shuffled = rng.permutation(len(samples))
        return [samples.part(shuffled[i : i + size]) for i in range(0, len(samples), size)]

    def differentiate(self, samples: Samples) -> LossTerms:
        """Puts the gradient of the samples' loss into the network's parameters."""
        config = self.config
        logits, values = self.network(samples.inputs)
        terms = ppo_loss(
            logits,
            values,
            samples.rows,
            samples.actions,
            samples.old_log_probability,
            samples.returns,
            samples.advantages,
            config.clip,
            samples.masks,
        )
        loss = (
            terms.policy + config.value_weight * terms.value - config.entropy_weight * terms.entropy
        )
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        return terms

    def _step(self, samples: Samples) -> LossTerms:
        terms = self.differentiate(samples)
        if self.config.max_gradient_norm is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), self.config.max_gradient_norm)
        self.optimiser.step()
        return terms


def _kept(rollout: Rollout, values: NDArray[np.float32]) -> NDArray[np.float32]:
    return values.ravel() if rollout.left_out is None else values[~rollout.left_out]


def _explained_variance(values: NDArray[np.float32], returns: NDArray[np.float32]) -> float:
    variance = float(returns.var())
    return 1 - float((returns - values).var()) / variance if variance > 0 else 0.0
