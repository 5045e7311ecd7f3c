"""One PPO update: epochs over one or more rollouts, whole or in minibatches.

Details adopted, by their usual names: clipped surrogate; Monte-Carlo returns normalised over the
batch and advantages against the current critic (documented form), or generalised advantages,
normalised over the minibatch, gradient clipping, a learning rate and an entropy bonus annealed to 0
(modern form); one Adam for actor and critic; no value clipping.

Networks run once for each input of a step, however many samples share it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workflow_rl.config import PPOConfig
from workflow_rl.ppo.fused.engine import FusedEngine
from workflow_rl.ppo.loss import LossTerms, LossWeights, ppo_loss
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.samples import Rewarded, Samples, sampled, samples_of


@dataclass(frozen=True)
class UpdateStats:
    """What is logged of an update; means over its gradient steps."""

    policy_loss: float
    value_loss: float
    entropy: float
    approx_kl: float
    clipfrac: float
    explained_variance: float
    distinct_inputs: int  # or all inputs, where they hardly repeat
    gradient_steps: int


class Learner:
    """A network and its optimiser; the gradient is torch's, or the fused engine's."""

    def __init__(self, network: ActorCritic, config: PPOConfig) -> None:
        """Makes the engine and the optimiser."""
        self.network = network
        self.config = config
        self._entropy_weight = config.entropy_weight
        # It also runs the network in rollouts whose inputs hardly repeat. Without it an update
        # gains from rollouts that hold each distinct input once.
        self.fused = FusedEngine(network) if config.engine == "fused" else None
        self.optimiser = torch.optim.Adam(
            network.parameters() if self.fused is None else [self.fused.parameters],
            lr=config.learning_rate,
            betas=config.betas,
            eps=config.adam_epsilon,
            fused=True,
        )

    def update(
        self, rollouts: Sequence[Rewarded], rng: np.random.Generator, progress: float = 0.0
    ) -> UpdateStats:
        """Improves the network on rollouts.

        Args:
            rollouts: each with its (T, B) training reward.
            rng: shuffles minibatches.
            progress: share of the training done, for what is annealed.
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
        values = np.concatenate([sampled(r, r.values, config) for r, _ in rollouts])
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
        """Returns the state of the optimiser."""
        arrays: dict[str, NDArray[np.float32]] = {}
        for i, memory in self.optimiser.state_dict()["state"].items():
            arrays |= {f"{i}.{name}": tensor.numpy().copy() for name, tensor in memory.items()}
        return arrays

    def load_state(self, arrays: dict[str, NDArray[np.float32]]) -> None:
        """Restores a state of the optimiser."""
        state: dict[int, dict[str, Tensor]] = {}
        for key, array in arrays.items():
            index, name = key.split(".")
            state.setdefault(int(index), {})[name] = torch.from_numpy(array.copy())
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": state, "param_groups": groups})

    def differentiate(self, samples: Samples, chosen: NDArray[np.int64] | None = None) -> LossTerms:
        """Puts the gradient of the loss of some samples, or all, into the network's parameters."""
        weights = LossWeights(self.config.clip, self.config.value_weight, self._entropy_weight)
        if self.fused is not None:
            return self.fused.differentiate(samples, chosen, weights)
        if chosen is not None:
            samples = samples.part(chosen)
        logits, values = self.network(samples.inputs.float())
        terms = ppo_loss(logits, values, samples, weights.clip)
        loss = terms.policy + weights.value * terms.value - weights.entropy * terms.entropy
        self.network.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        return terms

    def _parts(self, samples: int, rng: np.random.Generator) -> Sequence[NDArray[np.int64] | None]:
        """Returns the samples of each gradient step of an epoch; None: all of them."""
        size = self.config.step_samples(samples)
        if size == samples:
            return [None]
        shuffled = rng.permutation(samples)
        return [shuffled[i : i + size] for i in range(0, samples, size)]

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
