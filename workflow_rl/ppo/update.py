"""One PPO update: epochs over one or more rollouts, whole or in minibatches.

Details adopted, by their usual names: clipped surrogate; Monte-Carlo returns normalised over the
batch and advantages against the present critic (documented form), or generalised advantages,
normalised over the minibatch, gradient clipping, a learning rate and an entropy bonus that fall to
0 (modern form); one Adam for actor and critic; no value clipping.

Networks run once for each input of a step, however many samples share it. The documented form
leaves the gradient to autograd; with generalised advantages it is written out by hand.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workflow_rl.config import PPOConfig
from workflow_rl.ppo.loss import LossTerms, ppo_loss
from workflow_rl.ppo.loss_gradient import TERMS, LossSums, LossWeights, Taken, loss_gradient
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.passes import CHUNK, Passes
from workflow_rl.ppo.returns import discounted_returns, generalised_advantages, standardised
from workflow_rl.ppo.rollout import Rollout
from workflow_rl.ppo.sparse_rows import SparseRows, in_words

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
    distinct_inputs: int  # or all of them, where they hardly repeat
    gradient_steps: int


@dataclass(frozen=True)
class Samples:
    """N samples over U distinct inputs."""

    inputs: Tensor  # (U, width) int8
    rows: Tensor  # (N,)
    actions: Tensor  # (N,)
    old_log_probability: Tensor  # (N,)
    returns: Tensor  # (N,) the critic's targets
    advantages: Tensor | None  # (N,), or None for returns minus the present critic
    masks: Tensor | None  # (N, actions)

    def __len__(self) -> int:
        """Returns the number of samples."""
        return len(self.rows)

    @cached_property
    def words(self) -> NDArray[np.uint64]:
        """The inputs in whole words."""
        return in_words(self.inputs.numpy())

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
        name: [] for name in ("rows", "actions", "old", "returns", "advantages", "masks")
    }
    for rollout, reward in rollouts:
        told: dict[str, NDArray[np.generic] | None] = {
            "rows": rollout.rows.astype(np.int64) + offset,
            "actions": rollout.actions,
            "old": rollout.log_probability,
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
                parts[name].append(_sampled(rollout, array, config))
        offset += len(rollout.inputs)
    joined = {name: np.concatenate(arrays) for name, arrays in parts.items() if arrays}
    if config.gae_lambda is None:
        joined["returns"] = standardised(joined["returns"])
    else:
        joined["returns"] = joined["returns"] / np.float32(config.value_scale)
    tensors = {name: torch.from_numpy(array) for name, array in joined.items()}
    samples = Samples(
        inputs=torch.from_numpy(np.concatenate([rollout.inputs for rollout, _ in rollouts])),
        rows=tensors["rows"],
        actions=tensors["actions"],
        old_log_probability=tensors["old"],
        returns=tensors["returns"],
        advantages=tensors.get("advantages"),
        masks=tensors.get("masks"),
    )
    if config.gae_lambda is None and len(samples.inputs) > _WORTH_IT * len(samples):
        return samples.plain()
    return samples


def _sampled(rollout: Rollout, array: NDArray[Any], config: PPOConfig) -> NDArray[Any]:
    """Returns what samples have of an array (T, B, ...): (N, ...), without steps left out.

    With generalised advantages the steps of an environment come one after the other, as their
    inputs do where they hardly repeat.
    """

    def flat(some: NDArray[Any]) -> NDArray[Any]:
        ordered = some if config.gae_lambda is None else some.swapaxes(0, 1)
        return ordered.reshape(rollout.transitions, *some.shape[2:])

    return flat(array) if rollout.left_out is None else flat(array)[~flat(rollout.left_out)]


class Learner:
    """A network and its optimiser."""

    def __init__(self, network: ActorCritic, config: PPOConfig) -> None:
        """Makes the optimiser."""
        self.network = network
        self.config = config
        self._entropy_weight = config.entropy_weight
        self._passes: Passes | None = None  # None: autograd's
        parameters: Iterable[Tensor] = network.parameters()
        if config.gae_lambda is not None:
            self._passes = Passes(network)
            self._passes.bind()
            self._passes.parameters.grad = self._passes.gradient
            parameters = [self._passes.parameters]
        self.optimiser = torch.optim.Adam(
            parameters,
            lr=config.learning_rate,
            betas=config.betas,
            eps=config.adam_epsilon,
            fused=True,
        )

    @property
    def needs_distinct(self) -> bool:
        """Whether the update gains from rollouts that hold each distinct input once."""
        return self._passes is None

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
            progress: share of the training done, for what falls over its course.
        """
        config = self.config
        samples = samples_of(rollouts, config)
        if config.anneal:
            for group in self.optimiser.param_groups:
                group["lr"] = config.learning_rate * (1.0 - progress)
        if config.anneal_entropy:
            self._entropy_weight = config.entropy_weight * (1.0 - progress)
        totals: list[Tensor] = []
        for _ in range(config.epochs):
            for chosen in self._parts(len(samples), rng):
                totals.append(torch.stack([t.detach() for t in self._step(samples, chosen)]))
        means = torch.stack(totals).mean(0).tolist()
        values = np.concatenate([_sampled(r, r.values, config) for r, _ in rollouts])
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

    def _parts(self, samples: int, rng: np.random.Generator) -> Sequence[NDArray[np.int64] | None]:
        """Returns the samples of each gradient step of an epoch; None: all of them."""
        size = self.config.step_samples(samples)
        if size == samples:
            return [None]
        shuffled = rng.permutation(samples)
        return [shuffled[i : i + size] for i in range(0, samples, size)]

    def differentiate(self, samples: Samples, chosen: NDArray[np.int64] | None = None) -> LossTerms:
        """Puts the gradient of the loss of some samples, or all, into the network's parameters."""
        if self._passes is not None:
            return self._differentiate_by_hand(self._passes, samples, chosen)
        config = self.config
        if chosen is not None:
            samples = samples.part(chosen)
        logits, values = self.network(samples.inputs.float())
        terms = ppo_loss(
            logits,
            values,
            samples.rows,
            samples.actions,
            samples.old_log_probability,
            samples.returns,
            config.clip,
            samples.masks,
        )
        loss = (
            terms.policy + config.value_weight * terms.value - self._entropy_weight * terms.entropy
        )
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        return terms

    def _differentiate_by_hand(
        self, passes: Passes, samples: Samples, chosen: NDArray[np.int64] | None
    ) -> LossTerms:
        assert samples.advantages is not None
        if chosen is None:
            chosen = np.arange(len(samples))
        # By input and in the order of memory; a step does not depend on the order of its samples.
        keys = np.sort(samples.rows.numpy()[chosen] * len(samples) + chosen)
        chosen, rows = keys % len(samples), keys // len(samples)
        starts = np.flatnonzero(np.diff(rows, prepend=-1, append=-1))
        inputs = rows[starts[:-1]]
        advantages = standardised(samples.advantages.numpy()[chosen])
        masks = np.empty((0, 0), np.bool_) if samples.masks is None else samples.masks.numpy()
        taken = Taken(
            masks,
            samples.actions.numpy(),
            samples.old_log_probability.numpy(),
            samples.returns.numpy(),
        )
        weights = LossWeights(self.config.clip, self.config.value_weight, self._entropy_weight)
        terms = np.zeros(TERMS)
        passes.gradient.zero_()
        for first in range(0, len(inputs), CHUNK):
            part = SparseRows(samples.words, inputs[first : first + CHUNK])
            loss_gradient(
                *passes.forward(part),
                starts[first : first + len(part) + 1],
                chosen,
                advantages,
                taken,
                weights,
                LossSums(*passes.output_gradients(len(part)), terms),
            )
            passes.backward(part)
        return LossTerms(*torch.from_numpy(terms / len(chosen)))

    def _step(self, samples: Samples, chosen: NDArray[np.int64] | None) -> LossTerms:
        terms = self.differentiate(samples, chosen)
        if self.config.max_gradient_norm is not None:
            parameters = self.optimiser.param_groups[0]["params"]
            nn.utils.clip_grad_norm_(parameters, self.config.max_gradient_norm)
        self.optimiser.step()
        return terms


def _explained_variance(values: NDArray[np.float32], returns: NDArray[np.float32]) -> float:
    variance = float(returns.var())
    return 1 - float((returns - values).var()) / variance if variance > 0 else 0.0
