"""Everything a landscape says: how much the order matters, the ranking, how well searches do."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from workflow_rl.config import SearchConfig
from workflow_rl.estimates import Estimate
from workflow_rl.studies.landscape.landscape import Landscape
from workflow_rl.studies.landscape.order_effects import (
    EqualsEffect,
    OrderEffect,
    PairEffectOverSeeds,
    equals_effect,
    order_effect,
    pair_effects_over_seeds,
)
from workflow_rl.studies.landscape.ranking import Standing, rank
from workflow_rl.studies.landscape.regret import CHECKPOINTS, Regret, regrets


@dataclass(frozen=True)
class Analysis:
    """What was found."""

    landscape: Landscape
    effect: OrderEffect | None  # None: fewer than two orders complied for every seed
    equals: EqualsEffect | None  # None: no two orders are equal against this red agent
    pairs: list[PairEffectOverSeeds]
    standings: list[Standing]
    regrets: list[Regret]
    checkpoints: tuple[int, ...]

    def advantage(self, measure: str, over: str = "random") -> list[Estimate] | None:
        """Returns what GP-UCB's regret is lower by than another strategy's.

        One estimate for each checkpoint; None if one of the two was not replayed.
        """
        by_name = {regret.strategy: regret for regret in self.regrets}
        ours, theirs = by_name.get("gp-ucb"), by_name.get(over)
        if ours is None or theirs is None:
            return None
        gain = theirs.mean(measure) - ours.mean(measure)
        half = np.hypot(theirs.half_width(measure), ours.half_width(measure))
        return [Estimate(*pair) for pair in zip(gain.tolist(), half.tolist(), strict=True)]

    def as_json(self) -> dict[str, Any]:
        """Returns everything as plain data."""
        data = self.landscape.as_json()
        for standing in self.standings:
            data["orders"][standing.order] |= {
                "mean": standing.reward.mean,
                "half_width_95": standing.reward.half_width,
                "believed": standing.believed,
                "mean_compliance": standing.compliance,
                "mean_compliance_true": standing.compliance_true,
                "compliant_seeds": standing.compliant,
                "ranks_95": [standing.rank_low, standing.rank_high],
            }
        return data | {
            "order_effect": None if self.effect is None else self.effect.as_json(),
            "equals_effect": None if self.equals is None else asdict(self.equals),
            "pair_effects": [pair.as_json() for pair in self.pairs],
            "ranking": [self.landscape.format(standing.order) for standing in self.standings],
            "regret": {
                "checkpoints": list(self.checkpoints),
                "replays": len(self.regrets[0].recommended) if self.regrets else 0,
                "strategies": {regret.strategy: regret.as_json() for regret in self.regrets},
            },
        }


def analyse_landscape(
    landscape: Landscape,
    config: SearchConfig,
    *,
    replays: int,
    checkpoints: Sequence[int] = CHECKPOINTS,
    seed: int = 0,
    on_replay: Callable[[], None] = lambda: None,
) -> Analysis:
    """Analyses a landscape.

    How much the order matters is judged on the orders that complied for every seed: a policy that
    does not comply plays another game.

    Args:
        landscape: what was trained.
        config: of the strategies that are replayed.
        replays: of each strategy; 0 leaves them out.
        checkpoints: numbers of trials after which a search is judged, rising.
        seed: of shuffles, draws and replays.
        on_replay: told after each replay.
    """
    reliable = landscape.is_reliable
    values, classes = landscape.reward[:, reliable], landscape.classes[reliable]
    enough = int(reliable.sum()) > 1
    effect = order_effect(values, seed) if enough else None
    replayed: list[Regret] = []
    if replays:
        replayed = regrets(
            landscape,
            config,
            replays=replays,
            checkpoints=checkpoints,
            seed=seed,
            on_replay=on_replay,
        )
    return Analysis(
        landscape=landscape,
        effect=effect,
        equals=equals_effect(values, classes, seed) if enough else None,
        pairs=pair_effects_over_seeds(landscape),
        standings=rank(landscape, effect or order_effect(landscape.reward, seed), seed),
        regrets=replayed,
        checkpoints=tuple(checkpoints),
    )
