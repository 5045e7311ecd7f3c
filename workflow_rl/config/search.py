"""How orders are searched."""

from typing import Final, Literal, get_args

from workflow_rl.config.setting import setting, settings

StrategyName = Literal["gp-ucb", "random", "round-robin", "exhaustive", "local", "halving"]
WarmStartName = Literal["common", "universal", "previous", "nearest", "none"]
PolishName = Literal["universal", "documented"]
STRATEGIES: Final[tuple[StrategyName, ...]] = get_args(StrategyName)


@settings
class SearchConfig:
    """How workflows are chosen and compared."""

    n_workflows: int = setting("workflows to try", default=20, basic=True, within=(1, 100_000))
    strategy: StrategyName = setting(
        "how to pick the next workflow",
        default="gp-ucb",
        meanings={
            "gp-ucb": "by a Gaussian process",
            "exhaustive": "each in turn",
            "local": "neighbours of the best so far",
            "halving": "many once, the better half again, and so on",
        },
    )
    gp_beta: float = setting(
        "weight of the uncertainty in the upper confidence bound", default=2.0, within=(0, None)
    )
    initial_design: int = setting(
        "first picks, spread out over all orders", default=5, within=(1, 120)
    )
    warm_start: WarmStartName = setting(
        "what each training starts from",
        default="common",
        meanings={
            "common": "one base policy",
            "universal": "the policy of that name, which follows any order",
        },
    )
    base_updates: int = setting(
        "with common: updates of the base policy, trained on all orders at once",
        default=800,
        within=(1, 10**7),
    )
    polish: PolishName | None = setting(
        "which policy is trained further for the recommended workflow, and handed over",
        default=None,
        unset="universal; documented with the compliance view true",
        meanings={
            "universal": "the policy of that name, against all attackers",
            "documented": "the workflow's own, as it was tried",
        },
    )
    polish_updates: int | None = setting(
        "its further updates; 0: the best policy of the workflow's trials is handed over",
        default=None,
        within=(0, 10**7),
        unset="20 of universal, 200 of documented",
    )
    score_games: int = setting(
        "fresh games against each red agent by which the policy that is handed over is scored",
        default=2_000,
        within=(2, 10**6),
    )
    parallel_workflows: int = setting(
        "workflows trained in parallel", default=1, basic=True, within=(1, 100_000)
    )
    ordered_results: bool = setting(
        "wait for results in the order of picks, so that several at a time pick the same each time",
        default=False,
        unset="take each when it arrives",
    )
    total_episodes: int | None = setting(
        "end the search after so many episodes of all trainings and environments together",
        default=None,
        within=(1, 10**12),
        unset="no limit",
    )
