"""How orders are searched."""

from typing import Annotated, Final, Literal, get_args

from workflow_rl.config.setting import Setting, settings

StrategyName = Literal["gp-ucb", "random", "round-robin", "exhaustive", "local", "halving"]
WarmStartName = Literal["common", "universal", "previous", "nearest", "none"]
PolishName = Literal["universal", "documented"]
STRATEGIES: Final[tuple[StrategyName, ...]] = get_args(StrategyName)
WARM_STARTS: Final[tuple[WarmStartName, ...]] = get_args(WarmStartName)
POLISHES: Final[tuple[PolishName, ...]] = get_args(PolishName)


@settings
class SearchConfig:
    """How workflows are chosen and compared."""

    n_workflows: Annotated[
        int, Setting("workflows to try", ("--n-workflows",), basic=True, low=1, high=100_000)
    ] = 20
    strategy: Annotated[
        StrategyName,
        Setting(
            "how to pick the next workflow",
            ("--strategy",),
            meanings={
                "gp-ucb": "by a Gaussian process",
                "exhaustive": "each in turn",
                "local": "neighbours of the best so far",
                "halving": "many once, the better half again, and so on",
            },
        ),
    ] = "gp-ucb"
    gp_beta: Annotated[
        float,
        Setting("weight of the uncertainty in the upper confidence bound", ("--gp-beta",), low=0),
    ] = 2.0
    initial_design: Annotated[
        int,
        Setting("first picks, spread out over all orders", ("--initial-design",), low=1, high=120),
    ] = 5
    warm_start: Annotated[
        WarmStartName,
        Setting(
            "what each training starts from",
            ("--warm-start",),
            meanings={
                "common": "one base policy",
                "universal": "the policy of that name, which follows any order",
            },
        ),
    ] = "common"
    base_updates: Annotated[
        int,
        Setting(
            "with common: updates of the base policy, trained on all orders at once",
            ("--base-updates",),
            low=1,
            high=10**7,
        ),
    ] = 800
    polish: Annotated[
        PolishName | None,
        Setting(
            "which policy is trained further for the recommended workflow, and handed over",
            ("--polish",),
            unset="universal; documented with the compliance view true",
            meanings={
                "universal": "the policy of that name, against all attackers",
                "documented": "the workflow's own, as it was tried",
            },
        ),
    ] = None
    polish_updates: Annotated[
        int | None,
        Setting(
            "its further updates; 0: the best policy of the workflow's trials is handed over",
            ("--polish-updates",),
            low=0,
            high=10**7,
            unset="20 of universal, 200 of documented",
        ),
    ] = None
    score_games: Annotated[
        int,
        Setting(
            "fresh games against each red agent by which the policy that is handed over is scored",
            ("--score-games",),
            low=2,
            high=10**6,
        ),
    ] = 2_000
    parallel_workflows: Annotated[
        int,
        Setting(
            "workflows trained side by side",
            ("--parallel-workflows",),
            basic=True,
            low=1,
            high=100_000,
        ),
    ] = 1
    ordered_results: Annotated[
        bool,
        Setting(
            "wait for results in the order of picks, so that several at a time pick the same each "
            "time",
            ("--ordered-results",),
            unset="take each when it arrives",
        ),
    ] = False
    total_episodes: Annotated[
        int | None,
        Setting(
            "end the search after so many episodes of all trainings and environments together",
            ("--total-episodes",),
            low=1,
            high=10**12,
            unset="no limit",
        ),
    ] = None
