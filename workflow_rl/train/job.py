"""A training as data: its job, when it ends, and its outcome; needs no networks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Self

from workflow_rl.agents.policy import Policy
from workflow_rl.config import (
    BackendConfig,
    GameConfig,
    PolicyConfig,
    PPOConfig,
    TrainConfig,
    stored,
)
from workflow_rl.evaluation.result import Result
from workflow_rl.files import digest_of
from workflow_rl.nets.policy_file import Weights, save_policy
from workflow_rl.workflow.orders import Order, orders_of

COMPLIANT: Final = "compliant"  # why a training ended
OUT_OF_BUDGET: Final = "budget used"


@dataclass(frozen=True)
class TrainJob:
    """Everything the result of a training depends on."""

    game: GameConfig
    ppo: PPOConfig
    train: TrainConfig
    seed: int
    order: int | None  # None: an order is sampled for every episode
    base: Weights | None = None  # weights to start from
    backend: BackendConfig = field(default_factory=BackendConfig)
    defender: Policy | None = None  # of a training of Red, where `train.against` is no agent's name

    @property
    def workflow(self) -> Order | None:
        """The order by the names of its units; None: one is sampled for every episode."""
        return None if self.order is None else orders_of(self.train, self.game.network)[self.order]

    @property
    def policy_config(self) -> PolicyConfig:
        """What the files of its policies say of it."""
        order = None if self.workflow is None else str(self.workflow)
        return PolicyConfig(
            game=self.game, train=self.train, ppo=self.ppo, order=order, seed=self.seed
        )

    def policy(self, weights: Weights, **facts: Any) -> Policy:
        """Returns Blue's policy with some weights of this training, and facts about it."""
        return Policy(weights, self.policy_config, facts)

    def save_policy(self, path: Path, weights: Weights, **facts: Any) -> None:
        """Writes the policy of either side with some weights of this training."""
        save_policy(path, weights, self.policy_config, facts)

    def identity(self) -> dict[str, Any]:
        """Returns what a checkpoint must agree with, as plain data."""
        base = None if self.base is None else digest_of(dict(self.base))
        known = {
            "game": stored(self.game),
            "ppo": stored(self.ppo),
            "train": stored(self.train),
            "seed": self.seed,
            "order": self.order,
            "base": base,
            "backend": stored(self.backend),
        }
        if self.defender is not None:
            known["defender"] = {
                "weights": digest_of(dict(self.defender.weights)),
                "trained": stored(self.defender.config),
            }
        return known


def stop_reason(
    config: TrainConfig, max_updates: int, updates: int, compliance: float
) -> str | None:
    """Returns why a training ends now, or None if it goes on.

    Args:
        config: of the training.
        max_updates: its budget.
        updates: made so far.
        compliance: mean over the last update's episodes; NaN if none ended in it.
    """
    complies = updates >= config.min_updates and compliance >= config.compliance_threshold
    if complies and config.stop_at == "compliance":
        return COMPLIANT
    return OUT_OF_BUDGET if updates >= max_updates else None


@dataclass(frozen=True)
class TrainOutcome:
    """The outcome of a training; the weights of its best policy are kept with it."""

    order: int | None
    workflow: str | None  # the order by its names
    objective: Result  # of the last 3 episodes of every environment; compliance: see `is_compliant`
    best: Result  # of the best policy met, in the update that met it
    is_compliant: bool  # in the view trained on: by the last update, or by the objective's episodes
    stopped: str
    updates: int
    transitions: int
    episodes_per_env: int
    alignment_weights: tuple[float, ...]  # at the end: of each order, or one for all
    by_attacker: tuple[Result, ...] = ()  # in fresh games against each, if it is valued by them

    def __repr__(self) -> str:
        """Says the outcome in one line, without the weight of every order."""
        found = self.objective
        return (
            f"TrainOutcome({self.workflow or 'every order'}: reward {found.reward} over "
            f"{found.games:,} episodes, compliance {found.compliance.mean:.3f} (true "
            f"{found.compliance_true.mean:.3f}), "
            f"{'compliant' if self.is_compliant else 'not compliant'}, stopped: {self.stopped}, "
            f"{self.updates:,} updates, {self.transitions:,} transitions)"
        )

    def as_json(self) -> dict[str, Any]:
        """Returns the outcome as plain data."""
        results = {"objective": self.objective.as_json(), "best": self.best.as_json()}
        reds = [result.as_json() for result in self.by_attacker]
        lists = {"alignment_weights": list(self.alignment_weights), "by_attacker": reds}
        return vars(self) | results | lists

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns the outcome that `as_json` gave, where NaN may be null.

        Raises:
            KeyError, TypeError, ValueError: it is not such data.
        """
        known: dict[str, Any] = {f.name: data[f.name] for f in fields(cls)}
        known |= {name: Result.from_json(data[name]) for name in ("objective", "best")}
        known["alignment_weights"] = tuple(map(float, data["alignment_weights"]))
        return cls(**known | {"by_attacker": tuple(map(Result.from_json, data["by_attacker"]))})

    def alignment_weight(self, order: int) -> float:
        """Returns the weight at the end for an order, trained with others or alone."""
        return self.alignment_weights[order if len(self.alignment_weights) > 1 else 0]
