"""What a training is asked for and what it found; needs no networks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import BackendConfig, GameConfig, PPOConfig, TrainConfig, stored
from workflow_rl.estimates import Estimate
from workflow_rl.files import digest_of
from workflow_rl.workflow.orders import Order, orders_of

Weights = dict[str, NDArray[np.float32]]
_MAY_BE_NAN: Final = (  # fields of a result that have no value where no episode ended
    "env_reward",
    "env_reward_error",
    "compliance",
    "compliance_true",
    "best_env_reward",
    "best_compliance",
)


@dataclass(frozen=True)
class TrainJob:
    """Everything the result of a training depends on."""

    game: GameConfig
    ppo: PPOConfig
    train: TrainConfig
    seed: int
    order: int | None  # None: every episode draws an order
    base: Weights | None = None  # weights to start from
    backend: BackendConfig = field(default_factory=BackendConfig)

    @property
    def workflow(self) -> Order | None:
        """The order by the names of its units; None: every episode draws one."""
        return None if self.order is None else orders_of(self.train)[self.order]

    def identity(self) -> dict[str, Any]:
        """Returns what a checkpoint must agree with, as plain data."""
        base = None if self.base is None else digest_of(dict(self.base))
        return {
            "game": stored(self.game),
            "ppo": stored(self.ppo),
            "train": stored(self.train),
            "seed": self.seed,
            "order": self.order,
            "base": base,
            "backend": stored(self.backend),
        }


@dataclass(frozen=True)
class TrainResult:
    """What a training found, in numbers; the weights of its best policy are kept beside them."""

    order: int | None
    env_reward: float  # mean of the last 3 episodes of every environment
    env_reward_error: float  # its standard error
    objective_episodes: int
    compliance: float  # in the view trained on; of the last update, or of the objective's episodes
    compliance_true: float
    is_compliant: bool
    stopped: str
    updates: int
    transitions: int
    episodes_per_env: int
    alignment_weights: list[float]  # at the end: of each order, or the one that holds for all
    best_env_reward: float  # of the best policy met
    best_compliance: float
    workflow: str | None = None  # the order by its names; earlier versions stored its number only

    def __repr__(self) -> str:
        """Says the result in one line, without the weight of every order."""
        order = "every order" if self.order is None else self.workflow or f"order {self.order}"
        found = Estimate.from_error(self.env_reward, self.env_reward_error)
        return (
            f"TrainResult({order}: reward {found} over {self.objective_episodes:,} episodes, "
            f"compliance {self.compliance:.3f} (true {self.compliance_true:.3f}), "
            f"{'compliant' if self.is_compliant else 'not compliant'}, stopped: {self.stopped}, "
            f"{self.updates:,} updates, {self.transitions:,} transitions)"
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns the result that was stored as plain data, where NaN is null.

        Raises:
            KeyError, TypeError, ValueError: it is not such data.
        """
        known: dict[str, Any] = {f.name: data[f.name] for f in fields(cls) if f.name != "workflow"}
        known["workflow"] = data.get("workflow")
        for name in _MAY_BE_NAN:
            known[name] = math.nan if known[name] is None else float(known[name])
        return cls(**known)

    def alignment_weight(self, order: int) -> float:
        """Returns the weight at the end for an order, trained with others or alone."""
        return self.alignment_weights[order if len(self.alignment_weights) > 1 else 0]
