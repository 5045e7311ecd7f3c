"""How a policy learns: the forms of PPO."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

from workflow_rl.config.setting import Setting, setting, settings
from workflow_rl.errors import InvalidInputError

PPOFormName = Literal["tuned", "documented", "modern"]
ActivationName = Literal["relu", "tanh", "elu", "gelu", "silu", "sigmoid", "leaky_relu"]
EngineName = Literal["autograd", "fused"]


@settings
class PPOConfig:
    """How the policy is improved; the defaults are the documented form."""

    epochs: int = setting("passes over the batch at each update", default=4, within=(1, 10_000))
    minibatch_size: int | None = setting(
        "samples of a gradient step",
        default=None,
        within=(1, 10**9),
        unset="the batch in as many parts as minibatches says",
    )
    minibatches: int = setting(
        "gradient steps of an epoch, where minibatch_size does not say otherwise",
        default=1,
        within=(1, 10**9),
    )
    learning_rate: float = setting("learning rate of Adam", default=0.002, above=0)
    betas: tuple[float, float] = setting(
        "Adam's betas", flag=None, default=(0.9, 0.99), within=(0, 1)
    )
    adam_epsilon: float = setting("Adam's epsilon", flag=None, default=1e-8, above=0)
    gamma: float = setting("discount per step", default=0.99, within=(0, 1))
    clip: float = setting(
        "how far the probability ratio may move from 1", flag=None, default=0.2, above=0
    )
    value_weight: float = setting(
        "weight of the critic's loss", flag=None, default=0.5, within=(0, None)
    )
    entropy_weight: float = setting("weight of the entropy bonus", default=0.01, within=(0, None))
    gae_lambda: float | None = setting(
        "generalised advantages with this lambda",
        default=None,
        within=(0, 1),
        unset="none: normalised Monte-Carlo returns minus the critic's value",
    )
    value_scale: float = setting(
        "with generalised advantages: reward units of one unit of the critic's output",
        flag=None,
        default=1.0,
        above=0,
    )
    max_gradient_norm: float | None = setting(
        "longer gradients are cut to this", flag=None, default=None, above=0, unset="no limit"
    )
    anneal: bool = setting(
        "whether the learning rate falls linearly to 0 over the training", flag=None, default=False
    )
    anneal_entropy: bool = setting(
        "whether the entropy bonus falls linearly to 0 over the training", flag=None, default=False
    )
    orthogonal: bool = setting("whether the networks start orthogonal", flag=None, default=False)
    activation: ActivationName = setting("activation of the hidden layers", default="relu")
    engine: EngineName = setting(
        "what computes the loss's gradient",
        default="autograd",
        meanings={
            "autograd": "torch",
            "fused": "compiled code for MLPs on bits, with relu or tanh",
        },
    )
    mask_actions: bool = setting(
        "whether decoys that would be refused are never chosen", flag=None, default=False
    )
    alignment_baseline: bool = setting(
        "whether advantages leave out what the alignment reward brings anyway",
        flag=None,
        default=False,
    )

    def __post_init__(self) -> None:
        """Checks what goes together."""
        if self.engine == "fused" and self.activation not in ("relu", "tanh"):
            raise InvalidInputError(
                f"the engine fused has the activations relu and tanh, not {self.activation}: "
                "choose the engine autograd"
            )

    def step_samples(self, samples: int) -> int:
        """Returns how many of a batch's samples a gradient step has, the last one perhaps fewer."""
        return min(self.minibatch_size or -(-samples // self.minibatches), samples)


PPO_FORMS: Final[Mapping[PPOFormName, PPOConfig]] = MappingProxyType(
    {
        "tuned": PPOConfig(gamma=0.95, alignment_baseline=True),  # else as documented
        "documented": PPOConfig(),
        "modern": PPOConfig(
            epochs=4,
            minibatches=4,
            learning_rate=0.001,
            betas=(0.9, 0.999),
            adam_epsilon=1e-5,
            gae_lambda=0.95,
            value_scale=10.0,
            max_gradient_norm=0.5,
            anneal=True,
            anneal_entropy=True,
            orthogonal=True,
            activation="tanh",
            engine="fused",
            mask_actions=True,
            alignment_baseline=True,
        ),
    }
)
DEFAULT_PPO: Final[PPOFormName] = "tuned"
PPO_FORM: Final = Setting(
    "form of PPO",
    ("--ppo",),
    DEFAULT_PPO,
    called="form of PPO",
    meanings={
        "tuned": "documented, with gamma 0.95 and a baseline for alignment",
        "modern": "generalised advantages, minibatches, masked actions, tanh",
    },
    name="ppo",
    hint=PPOFormName,
)
