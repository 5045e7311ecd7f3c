"""PPO with generalised advantages as a textbook has it: torch, autograd, nothing shared."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from workflow_rl.config import PPOConfig
from workflow_rl.ppo.network import ActorCritic


def reference_loss(
    network: ActorCritic,
    inputs: Tensor,
    actions: Tensor,
    old_log_probability: Tensor,
    returns: Tensor,
    advantages: Tensor,
    masks: Tensor | None,
    config: PPOConfig,
    entropy_weight: float,
) -> tuple[Tensor, dict[str, float]]:
    """The loss of a minibatch, and what is logged of it."""
    logits, values = network(inputs)
    if masks is not None:
        logits = torch.where(masks, logits, torch.finfo(logits.dtype).min)
    distribution: Any = Categorical(logits=logits)
    entropy = distribution.entropy().mean()
    log_ratio = distribution.log_prob(actions) - old_log_probability
    ratio = log_ratio.exp()
    advantages = (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-5)
    clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
    policy = -torch.minimum(ratio * advantages, clipped * advantages).mean()
    value = (values - returns).square().mean()
    told = {
        "policy": policy.item(),
        "value": value.item(),
        "entropy": entropy.item(),
        "approx_kl": (ratio - 1 - log_ratio).mean().item(),
        "clipfrac": ((ratio - 1).abs() > config.clip).double().mean().item(),
    }
    return policy + config.value_weight * value - entropy_weight * entropy, told


def reference_update(
    network: ActorCritic,
    arrays: dict[str, Any],
    config: PPOConfig,
    minibatches: list[Any],
    progress: float,
) -> None:
    """Steps through minibatches of a batch, given as the samples of each."""
    optimiser = torch.optim.Adam(
        network.parameters(),
        lr=config.learning_rate * (1 - progress),
        betas=config.betas,
        eps=config.adam_epsilon,
    )
    tensors = {name: torch.from_numpy(np.asarray(array)) for name, array in arrays.items()}
    tensors = {k: t.double() if t.is_floating_point() else t for k, t in tensors.items()}
    for chosen in minibatches:
        part = {name: tensor[torch.from_numpy(chosen)] for name, tensor in tensors.items()}
        weight = config.entropy_weight * (1 - progress)
        masks = part.pop("masks", None)
        inputs = part.pop("inputs").double()
        loss, _ = reference_loss(
            network, inputs, **part, masks=masks, config=config, entropy_weight=weight
        )
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        if config.max_gradient_norm is not None:
            nn.utils.clip_grad_norm_(network.parameters(), config.max_gradient_norm)
        optimiser.step()
