"""PPO's loss against the current critic, as pure functions of tensors.

Networks run on U distinct inputs; N samples point to them by `rows`. With rows = 0..N-1 this is
the plain computation, so there is one implementation and equal gradients, up to rounding.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor

from workflow_rl.jit import kernel

if TYPE_CHECKING:
    from workflow_rl.ppo.samples import Samples


class LossWeights(NamedTuple):
    """The coefficients of the loss."""

    clip: float  # range of the probability ratio
    value: float  # of the critic's loss
    entropy: float  # of the entropy bonus


class LossTerms(NamedTuple):
    """The scalar parts of the loss and what is logged with them."""

    policy: Tensor
    value: Tensor
    entropy: Tensor
    approx_kl: Tensor
    clipfrac: Tensor


def clipped_surrogate(ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Returns PPO's policy loss: minus the mean of the pessimistic of the two surrogates."""
    clipped = ratio.clamp(1 - clip, 1 + clip)
    return -torch.minimum(ratio * advantage, clipped * advantage).mean()


@kernel(reorder=True)
def _row_entropies(
    probabilities: NDArray[Any], logs: NDArray[Any], entropies: NDArray[Any]
) -> None:
    for k in range(len(logs)):
        total = entropies.dtype.type(0)
        for a in range(logs.shape[1]):
            total += probabilities[k, a] * logs[k, a]
        entropies[k] = -total


@kernel(reorder=True)
def _logits_gradient(
    probabilities: NDArray[Any],
    logs: NDArray[Any],
    scale: NDArray[Any],
    shift: NDArray[Any],
    gradient: NDArray[Any],
) -> None:
    for k in range(len(logs)):
        for a in range(logs.shape[1]):
            gradient[k, a] = probabilities[k, a] * (logs[k, a] * scale[k] + shift[k])


class ChosenAndEntropy(torch.autograd.Function):
    """The log probability of each sample's action, and the mean entropy over the samples.

    Autograd's own way through the softmax reads and writes (U, actions) numbers a dozen times,
    which takes a third of an update; written as one formula it is done in four passes.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, rows: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Returns (N,) log probabilities and the scalar entropy.

        Of logits (U, actions) of the distinct inputs, the input (N,) and action (N,) of a sample.
        """
        logs = torch.log_softmax(logits, dim=-1)
        probabilities = logs.exp()
        entropies = logs.new_empty(len(logs))
        _row_entropies(probabilities.numpy(), logs.numpy(), entropies.numpy())
        weights = torch.bincount(rows, minlength=len(logits)).to(logits.dtype) / len(rows)
        chosen = rows * logits.shape[-1] + actions
        ctx.save_for_backward(logs, probabilities, entropies, weights, rows, chosen)
        return logs.flatten()[chosen], weights @ entropies

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """Returns the gradient of the logits."""
        of_chosen, of_entropy = gradients
        logs, probabilities, entropies, weights, rows, chosen = ctx.saved_tensors
        scale = -of_entropy * weights
        shift = scale * entropies - torch.zeros_like(weights).index_add_(0, rows, of_chosen)
        gradient = torch.empty_like(logs)
        arrays = [t.numpy() for t in (probabilities, logs, scale, shift, gradient)]
        _logits_gradient(*arrays)
        gradient.view(-1).index_add_(0, chosen, of_chosen)
        return gradient, None, None


def ppo_loss(logits: Tensor, values: Tensor, samples: "Samples", clip: float) -> LossTerms:
    """Returns the terms of PPO's loss.

    Args:
        logits: (U, actions) of the distinct inputs.
        values: (U,) of the distinct inputs.
        samples: the N samples over those inputs.
        clip: range of the probability ratio.
    """
    rows, masks = samples.rows, samples.masks
    if masks is None:
        allowed, own_rows = logits, rows
    else:
        allowed, own_rows = logits[rows].masked_fill(~masks, -1e9), torch.arange(len(rows))
    log_probability, entropy = ChosenAndEntropy.apply(  # type: ignore[no-untyped-call]
        allowed, own_rows, samples.actions
    )
    value = values[rows]
    given = samples.standardised_advantages()
    advantages = samples.returns - value.detach() if given is None else torch.from_numpy(given)
    log_ratio = log_probability - samples.old_log_probability
    ratio = log_ratio.exp()
    with torch.no_grad():
        approx_kl = (ratio - 1 - log_ratio).mean()
        clipfrac = ((ratio - 1).abs() > clip).to(logits.dtype).mean()
    return LossTerms(
        policy=clipped_surrogate(ratio, advantages, clip),
        value=(value - samples.returns).square().mean(),
        entropy=entropy,
        approx_kl=approx_kl,
        clipfrac=clipfrac,
    )
