"""PPO as a textbook has it: torch, autograd, double precision, nothing shared."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from workflow_rl.config import PPOConfig
from workflow_rl.ppo.loss import LossTerms
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.samples import Samples


@dataclass(frozen=True)
class Batch:
    """N samples, each with its own input."""

    inputs: Tensor
    actions: Tensor
    old_log_probability: Tensor
    returns: Tensor
    advantages: Tensor | None  # None: the returns minus the present critic
    masks: Tensor | None

    @classmethod
    def of(cls, samples: Samples) -> Self:
        given = samples.advantages
        return cls(
            samples.inputs[samples.rows].double(),
            samples.actions,
            samples.old_log_probability.double(),
            samples.returns.double(),
            None if given is None else given.double(),
            samples.masks,
        )

    def part(self, chosen: Any) -> "Batch":
        tensors = (None if t is None else t[torch.from_numpy(chosen)] for t in vars(self).values())
        return Batch(*tensors)  # type: ignore[arg-type]


def reference_terms(network: nn.Module, batch: Batch, clip: float) -> LossTerms:
    """The terms of the loss of a minibatch."""
    logits, values = network(batch.inputs)
    if batch.masks is not None:
        logits = torch.where(batch.masks, logits, torch.finfo(logits.dtype).min)
    distribution: Any = Categorical(logits=logits)
    log_ratio = distribution.log_prob(batch.actions) - batch.old_log_probability
    ratio = log_ratio.exp()
    if batch.advantages is None:
        advantages = batch.returns - values.detach()
    else:
        spread = batch.advantages.std(correction=0) + 1e-5
        advantages = (batch.advantages - batch.advantages.mean()) / spread
    clipped = ratio.clamp(1 - clip, 1 + clip)
    return LossTerms(
        policy=-torch.minimum(ratio * advantages, clipped * advantages).mean(),
        value=(values - batch.returns).square().mean(),
        entropy=distribution.entropy().mean(),
        approx_kl=(ratio - 1 - log_ratio).mean().detach(),
        clipfrac=((ratio - 1).abs() > clip).double().mean(),
    )


def reference_loss(terms: LossTerms, config: PPOConfig, entropy_weight: float) -> Tensor:
    return terms.policy + config.value_weight * terms.value - entropy_weight * terms.entropy


class ReferenceLearner:
    """A network and its Adam."""

    def __init__(self, network: ActorCritic, config: PPOConfig) -> None:
        self.network, self._config = network, config
        self._optimiser = torch.optim.Adam(
            network.parameters(), betas=config.betas, eps=config.adam_epsilon
        )

    def update(self, batch: Batch, minibatches: Iterable[Any], progress: float) -> None:
        """Steps through minibatches of a batch, given as the samples of each."""
        config = self._config
        self._optimiser.param_groups[0]["lr"] = config.learning_rate * (1 - progress)
        for chosen in minibatches:
            terms = reference_terms(self.network, batch.part(chosen), config.clip)
            self._optimiser.zero_grad()
            loss = reference_loss(terms, config, config.entropy_weight * (1 - progress))
            loss.backward()  # type: ignore[no-untyped-call]
            if config.max_gradient_norm is not None:
                nn.utils.clip_grad_norm_(self.network.parameters(), config.max_gradient_norm)
            self._optimiser.step()
