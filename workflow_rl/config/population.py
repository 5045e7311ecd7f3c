"""How a defender is trained against a growing population of attackers."""

from workflow_rl.config.setting import setting, settings

_MOST = 100_000


@settings
class PopulationConfig:
    """The rounds of a training against attackers that answer it; none by default."""

    rounds: int = setting(
        "rounds: best responses to the defender, then the defender against all attackers",
        default=0,
        within=(0, _MOST),
    )
    lineages: int = setting(
        "attackers trained in every round, each from its own one of the round before",
        default=3,
        within=(1, 16),
    )
    response_updates: int = setting(
        "updates of an attacker in a round; one from scratch has three times as many",
        default=10,
        within=(1, _MOST),
    )
    blue_updates: int = setting("updates of the defender in a round", default=30, within=(1, _MOST))
    restart_every: int = setting(
        "rounds after which a lineage begins from scratch", default=9, within=(1, _MOST)
    )
    script_share: float = setting(
        "share of the defender's episodes against scripts", default=0.25, within=(0, 1)
    )
    anneal_rounds: int = setting(
        "last rounds, in which the defender's learning rate and entropy bonus decay",
        default=10,
        within=(1, _MOST),
    )
    start: str = setting(
        "policy that the defender starts from (none: from scratch)",
        default="best",
        metavar="POLICY",
    )
    under: str | None = setting(
        "order under which a defender that follows any is attacked; the last lineage draws orders",
        default=None,
        metavar="ORDER",
        unset="every lineage draws orders",
    )
    attackers: tuple[str, ...] = setting(
        "attackers that are in the population from the first round: a policy file; may be repeated",
        default=(),
        metavar="FILE",
        unset="none",
        repeated=True,
    )
