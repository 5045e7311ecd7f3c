"""How orders are searched."""

from dataclasses import dataclass
from typing import Final

from workflow_rl.config.checks import not_negative, one_of, whole_number

WARM_STARTS: Final = ("common", "previous", "nearest", "none")
STRATEGIES: Final = ("gp-ucb", "random", "round-robin", "exhaustive")


@dataclass(frozen=True)
class SearchConfig:
    """How workflows are chosen and compared."""

    n_workflows: int = 20
    """Workflows to try."""
    strategy: str = "gp-ucb"
    """gp-ucb, random, round-robin or exhaustive."""
    gp_beta: float = 2.0
    """Weight of the uncertainty in the upper confidence bound."""
    initial_design: int = 5
    """First picks, spread out over all orders."""
    warm_start: str = "common"
    """What a training starts from: common (one base policy), previous, nearest or none."""
    base_updates: int = 800
    """With common: updates of the base policy, trained on all orders at once."""
    polish_updates: int = 200
    """Further updates of the recommended workflow's policy."""
    parallel_workflows: int = 1
    """Workflows trained side by side."""
    ordered_results: bool = False
    """Whether results are waited for in the order of picks, which are then reproducible."""
    total_episodes: int | None = None
    """Episodes of all trials and environments together after which the search ends; None: all."""

    def __post_init__(self) -> None:
        """Checks every field."""
        whole_number("n_workflows", self.n_workflows, 1, 100_000)
        one_of("strategy", self.strategy, STRATEGIES)
        one_of("warm start", self.warm_start, WARM_STARTS)
        whole_number("initial_design", self.initial_design, 1, 120)
        whole_number("base_updates", self.base_updates, 1, 10**7)
        whole_number("polish_updates", self.polish_updates, 0, 10**7)
        whole_number("parallel_workflows", self.parallel_workflows, 1, 100_000)
        if self.total_episodes is not None:
            whole_number("total_episodes", self.total_episodes, 1, 10**12)
        not_negative("gp_beta", self.gp_beta)
