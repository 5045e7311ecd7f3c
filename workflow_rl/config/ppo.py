"""How a policy learns: the forms of PPO."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from workflow_rl.config.checks import fraction, not_negative, positive, whole_number


@dataclass(frozen=True)
class PPOConfig:
    """How the policy is improved; the defaults are the documented form."""

    epochs: int = 4
    """Passes over the batch at each update."""
    minibatch_size: int | None = None
    """Samples of a gradient step; None takes the whole batch."""
    learning_rate: float = 0.002
    """Of Adam."""
    betas: tuple[float, float] = (0.9, 0.99)
    """Of Adam."""
    gamma: float = 0.99
    """Discount per step."""
    clip: float = 0.2
    """How far the probability ratio may move from 1."""
    value_weight: float = 0.5
    """Weight of the critic's loss."""
    entropy_weight: float = 0.01
    """Weight of the entropy bonus."""
    gae_lambda: float | None = None
    """Generalised advantages; None: normalised Monte-Carlo returns minus the critic's value."""
    value_scale: float = 1.0
    """With generalised advantages: reward units of one unit of the critic's output."""
    max_gradient_norm: float | None = None
    """Longer gradients are cut to this; None leaves them."""
    anneal: bool = False
    """Whether the learning rate falls linearly to a tenth over the training."""
    orthogonal: bool = False
    """Whether the networks start orthogonal."""
    mask_actions: bool = False
    """Whether decoys that would be refused are never chosen."""
    alignment_baseline: bool = False
    """Whether advantages leave out what the alignment reward brings anyway."""

    def __post_init__(self) -> None:
        """Checks every field."""
        whole_number("epochs", self.epochs, 1, 10_000)
        if self.minibatch_size is not None:
            whole_number("minibatch_size", self.minibatch_size, 1, 10**9)
        fraction("gamma", self.gamma)
        if self.gae_lambda is not None:
            fraction("gae_lambda", self.gae_lambda)
        for name in ("learning_rate", "clip", "value_scale"):
            positive(name, getattr(self, name))
        for name in ("value_weight", "entropy_weight"):
            not_negative(name, getattr(self, name))
        if self.max_gradient_norm is not None:
            positive("max_gradient_norm", self.max_gradient_norm)


PPO_FORMS: Final = MappingProxyType(
    {
        "tuned": PPOConfig(gamma=0.95, alignment_baseline=True),  # else as documented
        "documented": PPOConfig(),
        "modern": PPOConfig(
            epochs=4,
            minibatch_size=5_000,
            learning_rate=0.001,
            gamma=0.95,
            gae_lambda=1.0,
            value_scale=10.0,
            max_gradient_norm=0.5,
            anneal=True,
            orthogonal=True,
            mask_actions=True,
            alignment_baseline=True,
        ),
    }
)
DEFAULT_PPO: Final = "tuned"
