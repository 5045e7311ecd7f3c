"""How a policy learns: the forms of PPO."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal

from workflow_rl.config.setting import Setting, described, settings
from workflow_rl.errors import InvalidInputError

PPOFormName = Literal["tuned", "documented", "modern"]
ActivationName = Literal["relu", "tanh", "elu", "gelu", "silu", "sigmoid", "leaky_relu"]
EngineName = Literal["autograd", "fused"]


@settings
class PPOConfig:
    """How the policy is improved; the defaults are the documented form."""

    epochs: Annotated[
        int, Setting("passes over the batch at each update", ("--epochs",), low=1, high=10_000)
    ] = 4
    minibatch_size: Annotated[
        int | None,
        Setting(
            "samples of a gradient step",
            ("--minibatch-size",),
            low=1,
            high=10**9,
            unset="the batch in as many parts as minibatches says",
        ),
    ] = None
    minibatches: Annotated[
        int,
        Setting(
            "gradient steps of an epoch, where minibatch_size does not say otherwise",
            ("--minibatches",),
            low=1,
            high=10**9,
        ),
    ] = 1
    learning_rate: Annotated[
        float, Setting("learning rate of Adam", ("--learning-rate",), above=0)
    ] = 0.002
    betas: Annotated[tuple[float, float], Setting("Adam's betas", low=0, high=1)] = (0.9, 0.99)
    adam_epsilon: Annotated[float, Setting("Adam's epsilon", above=0)] = 1e-8
    gamma: Annotated[float, Setting("discount per step", ("--gamma",), low=0, high=1)] = 0.99
    clip: Annotated[float, Setting("how far the probability ratio may move from 1", above=0)] = 0.2
    value_weight: Annotated[float, Setting("weight of the critic's loss", low=0)] = 0.5
    entropy_weight: Annotated[
        float, Setting("weight of the entropy bonus", ("--entropy-weight",), low=0)
    ] = 0.01
    gae_lambda: Annotated[
        float | None,
        Setting(
            "generalised advantages with this lambda",
            ("--gae-lambda",),
            low=0,
            high=1,
            unset="none: normalised Monte-Carlo returns minus the critic's value",
        ),
    ] = None
    value_scale: Annotated[
        float,
        Setting(
            "with generalised advantages: reward units of one unit of the critic's output", above=0
        ),
    ] = 1.0
    max_gradient_norm: Annotated[
        float | None, Setting("longer gradients are cut to this", above=0, unset="no limit")
    ] = None
    anneal: Annotated[
        bool, Setting("whether the learning rate falls linearly to 0 over the training")
    ] = False
    anneal_entropy: Annotated[
        bool, Setting("whether the entropy bonus falls linearly to 0 over the training")
    ] = False
    orthogonal: Annotated[bool, Setting("whether the networks start orthogonal")] = False
    activation: Annotated[
        ActivationName, Setting("activation of the hidden layers", ("--activation",))
    ] = "relu"
    engine: Annotated[
        EngineName,
        Setting(
            "what computes the loss's gradient",
            ("--engine",),
            meanings={
                "autograd": "torch",
                "fused": "compiled code for MLPs on bits, with relu or tanh",
            },
        ),
    ] = "autograd"
    mask_actions: Annotated[
        bool, Setting("whether decoys that would be refused are never chosen")
    ] = False
    alignment_baseline: Annotated[
        bool, Setting("whether advantages leave out what the alignment reward brings anyway")
    ] = False

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
PPOFormSetting = Annotated[
    PPOFormName,
    Setting(
        "form of PPO",
        ("--ppo",),
        called="form of PPO",
        meanings={
            "tuned": "documented, with gamma 0.95 and a baseline for alignment",
            "modern": "generalised advantages, minibatches, masked actions, tanh",
        },
    ),
]
PPO_FORM: Final = described("ppo", PPOFormSetting, DEFAULT_PPO)
