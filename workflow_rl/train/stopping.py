"""When the training of a workflow ends."""

from dataclasses import dataclass

from workflow_rl.config import TrainConfig

COMPLIANT = "compliant"
OUT_OF_BUDGET = "budget used"


@dataclass(frozen=True)
class StopRule:
    """Ends a training at compliance or at its budget."""

    threshold: float
    min_updates: int
    max_updates: int
    at_budget_only: bool

    @classmethod
    def of(cls, config: TrainConfig, episode_length: int) -> "StopRule":
        """Returns the rule that a configuration asks for."""
        return cls(
            config.compliance_threshold,
            config.min_updates,
            config.max_updates(episode_length),
            config.stop_at == "budget",
        )

    def reason(self, updates: int, compliance: float) -> str | None:
        """Returns why the training ends now, or None if it goes on.

        Args:
            updates: updates made so far.
            compliance: mean over the last update's episodes; NaN if none ended in it.
        """
        if not self.at_budget_only and updates >= self.min_updates and compliance >= self.threshold:
            return COMPLIANT
        return OUT_OF_BUDGET if updates >= self.max_updates else None
