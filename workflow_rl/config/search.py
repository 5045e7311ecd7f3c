"""How orders are searched."""

from typing import Final, Literal, get_args

from workflow_rl.config.setting import setting, settings

StrategyName = Literal["gp-ucb", "random", "round-robin", "exhaustive", "local", "halving"]
WarmStartName = Literal["common", "universal", "previous", "nearest", "none"]
PolishName = Literal["universal", "common", "documented"]
STRATEGIES: Final[tuple[StrategyName, ...]] = get_args(StrategyName)


@settings
class SearchConfig:
    """How workflows are chosen and compared."""

    n_workflows: int = setting("workflows to try", default=20, basic=True, within=(1, 100_000))
    strategy: StrategyName = setting(
        "search strategy",
        default="gp-ucb",
        meanings={
            "gp-ucb": "Gaussian process with an upper confidence bound",
            "exhaustive": "every order in turn",
            "local": "neighbours of the best so far",
            "halving": "successive halving",
        },
    )
    gp_beta: float = setting(
        "exploration weight of the upper confidence bound", default=2.0, within=(0, None)
    )
    initial_design: int = setting(
        "orders of the initial design, spread over all orders", default=5, within=(1, 120)
    )
    warm_start: WarmStartName = setting(
        "initial policy of each training (warm start)",
        default="common",
        meanings={
            "common": "a base policy trained on all orders",
            "universal": "the policy of that name, which follows any order",
            "previous": "that of the last trial",
            "nearest": "that of the most similar order",
            "none": "from scratch",
        },
    )
    base_updates: int = setting(
        "with common: updates of the base policy",
        default=800,
        within=(1, 10**7),
    )
    polish: PolishName | None = setting(
        "policy that is fine-tuned for the recommended workflow and handed over",
        default=None,
        unset="universal; on another network common; documented with the compliance view true",
        meanings={
            "universal": "the policy of that name, against all attackers",
            "common": "the base policy of the warm start common, both against all attackers",
            "documented": "the workflow's own, as it was tried",
        },
    )
    polish_updates: int | None = setting(
        "fine-tuning updates; 0: the best policy of the workflow's trials is handed over",
        default=None,
        within=(0, 10**7),
        unset="20 of universal, 200 of others",
    )
    score_games: int = setting(
        "held-out games against each red agent for the score of the policy that is handed over",
        default=2_000,
        within=(2, 10**6),
    )
    responses: int | None = setting(
        "best responses: attackers trained against the policy that is handed over",
        default=None,
        within=(0, 1_000),
        unset="1 with the objective mean or worst, else 0",
    )
    response_transitions: int = setting(
        "transitions of the training of each best response",
        default=2_000_000,
        within=(1, 10**12),
    )
    parallel_workflows: int = setting(
        "workflows trained in parallel", default=1, basic=True, within=(1, 100_000)
    )
    ordered_results: bool = setting(
        "use results in the order of picks, so that a parallel search is reproducible",
        default=False,
        unset="as they arrive",
    )
    total_episodes: int | None = setting(
        "maximum episodes of the search, over all trainings and environments",
        default=None,
        within=(1, 10**12),
        unset="no limit",
    )
