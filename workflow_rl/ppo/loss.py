"""PPO's loss, as pure functions of tensors.

Networks run on U distinct inputs; N samples point to them by `rows`. With rows = 0..N-1 this is
the plain computation, so there is one implementation and equal gradients, up to rounding.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class LossTerms(NamedTuple):
    """The scalar parts of the loss and what is logged beside them."""

    policy: Tensor
    value: Tensor
    entropy: Tensor
    approx_kl: Tensor
    clipfrac: Tensor


def clipped_surrogate(ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Returns PPO's policy loss: minus the mean of the pessimistic of the two surrogates."""
    clipped = ratio.clamp(1 - clip, 1 + clip)
    return -torch.minimum(ratio * advantage, clipped * advantage).mean()


def entropies(log_probabilities: Tensor) -> Tensor:
    """Returns (U,) the entropy of each row of (U, actions) log probabilities."""
    return -(log_probabilities.exp() * log_probabilities).sum(-1)


def ppo_loss(
    logits: Tensor,
    values: Tensor,
    rows: Tensor,
    actions: Tensor,
    old_log_probability: Tensor,
    returns: Tensor,
    advantages: Tensor | None,
    clip: float,
    masks: Tensor | None = None,
) -> LossTerms:
    """Returns the terms of PPO's loss.

    Args:
        logits: (U, actions) of the distinct inputs.
        values: (U,) of the distinct inputs.
        rows: (N,) which input a sample has.
        actions: (N,) what was done.
        old_log_probability: (N,) of it, under the policy that played.
        returns: (N,) the critic's targets.
        advantages: (N,), or None for returns minus the critic's present values.
        clip: how far the ratio may move.
        masks: (N, actions) what was allowed, if actions were masked.
    """
    if masks is None:
        log_probabilities = torch.log_softmax(logits, dim=-1)
        log_probability = log_probabilities.flatten()[rows * logits.shape[-1] + actions]
        weights = torch.bincount(rows, minlength=len(logits)).to(logits.dtype) / len(rows)
        entropy = weights @ entropies(log_probabilities)
    else:
        masked = logits[rows].masked_fill(~masks, -1e9)
        log_probabilities = torch.log_softmax(masked, dim=-1)
        log_probability = log_probabilities.gather(-1, actions[:, None]).squeeze(-1)
        entropy = entropies(log_probabilities).mean()
    value = values[rows]
    if advantages is None:
        advantages = returns - value.detach()
    log_ratio = log_probability - old_log_probability
    ratio = log_ratio.exp()
    with torch.no_grad():
        approx_kl = (ratio - 1 - log_ratio).mean()
        clipfrac = ((ratio - 1).abs() > clip).to(logits.dtype).mean()
    return LossTerms(
        policy=clipped_surrogate(ratio, advantages, clip),
        value=(value - returns).square().mean(),
        entropy=entropy,
        approx_kl=approx_kl,
        clipfrac=clipfrac,
    )
