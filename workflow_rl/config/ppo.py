"""PPO: its hyperparameters, and the named forms of them."""

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
    """Hyperparameters of PPO; the defaults are the documented form."""

    epochs: int = setting("epochs over the batch at each update", default=4, within=(1, 10_000))
    minibatch_size: int | None = setting(
        "samples per minibatch",
        default=None,
        within=(1, 10**9),
        unset="the batch divided by minibatches",
    )
    minibatches: int = setting(
        "minibatches per epoch, unless minibatch_size is set",
        default=1,
        within=(1, 10**9),
    )
    learning_rate: float = setting("learning rate of Adam", default=0.002, above=0)
    betas: tuple[float, float] = setting(
        "Adam's betas", flag=None, default=(0.9, 0.99), within=(0, 1)
    )
    adam_epsilon: float = setting("Adam's epsilon", flag=None, default=1e-8, above=0)
    gamma: float = setting("discount factor per step", default=0.99, within=(0, 1))
    clip: float = setting("clip range of the probability ratio", flag=None, default=0.2, above=0)
    value_weight: float = setting(
        "weight of the value loss", flag=None, default=0.5, within=(0, None)
    )
    entropy_weight: float = setting("weight of the entropy bonus", default=0.01, within=(0, None))
    gae_lambda: float | None = setting(
        "lambda of generalised advantage estimation (GAE)",
        default=None,
        within=(0, 1),
        unset="no GAE: normalised Monte-Carlo returns minus the critic's value",
    )
    value_scale: float = setting(
        "with GAE: reward per unit of the critic's output",
        flag=None,
        default=1.0,
        above=0,
    )
    max_gradient_norm: float | None = setting(
        "maximum gradient norm (clipping)", flag=None, default=None, above=0, unset="no limit"
    )
    anneal: bool = setting(
        "whether the learning rate decays linearly to 0", flag=None, default=False
    )
    anneal_entropy: bool = setting(
        "whether the entropy bonus decays linearly to 0", flag=None, default=False
    )
    orthogonal: bool = setting(
        "whether weights are initialised orthogonally", flag=None, default=False
    )
    activation: ActivationName = setting("activation of the hidden layers", default="relu")
    engine: EngineName = setting(
        "what computes the gradient of the loss",
        default="autograd",
        meanings={
            "autograd": "torch",
            "fused": "compiled code for MLPs on bits, with relu or tanh",
        },
    )
    mask_actions: bool = setting(
        "whether invalid actions (decoys that would be refused) are masked",
        flag=None,
        default=False,
    )
    alignment_baseline: bool = setting(
        "whether the expected alignment reward is subtracted from the advantages",
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
        """Returns the samples per minibatch; the last minibatch may have fewer."""
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
        "tuned": "documented, with gamma 0.95 and a baseline for the alignment reward",
        "modern": "GAE, minibatches, action masks, tanh",
    },
    name="ppo",
    hint=PPOFormName,
)
