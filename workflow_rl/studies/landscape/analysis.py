"""Everything a landscape says: how much the order matters, the ranking, how well searches do."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from workflow_rl.config import SearchConfig
from workflow_rl.studies.landscape.pairs import PairEffect, pair_effects
from workflow_rl.studies.landscape.ranking import Standing, rank
from workflow_rl.studies.landscape.regret import CHECKPOINTS, MEASURES, Regret, regrets
from workflow_rl.studies.landscape.table import Landscape
from workflow_rl.studies.landscape.variance import (
    EqualsEffect,
    OrderEffect,
    equals_effect,
    order_effect,
)
from workflow_rl.workflow.orders import format_order

_Z95 = 1.959963984540054


@dataclass(frozen=True)
class Analysis:
    """What was found."""

    landscape: Landscape
    effect: OrderEffect | None  # None: fewer than two orders complied for every seed
    equals: EqualsEffect | None  # None: no two orders are equal against this red agent
    pairs: list[PairEffect]
    standings: list[Standing]
    regrets: list[Regret]
    checkpoints: tuple[int, ...]

    def advantage(self, measure: str, over: str = "random") -> list[tuple[float, float]] | None:
        """Returns what GP-UCB's regret is lower by, with half of the 95 % interval.

        One pair for each checkpoint; None if one of the two was not replayed.
        """
        by_name = {regret.strategy: regret for regret in self.regrets}
        ours, theirs = by_name.get("gp-ucb"), by_name.get(over)
        if ours is None or theirs is None:
            return None
        gain = theirs.mean(measure) - ours.mean(measure)
        half = np.hypot(theirs.half_width(measure), ours.half_width(measure))
        return list(zip(gain.tolist(), half.tolist(), strict=True))

    def as_json(self) -> dict[str, Any]:
        """Returns everything as plain data."""
        effect = None
        if self.effect is not None:
            effect = asdict(self.effect) | {"deviations": self.effect.deviations}
        data = self.landscape.as_json()
        standing = {s.order: s for s in self.standings}
        for order, row in enumerate(data["orders"]):
            mine = standing[order]
            row |= {
                "mean": mine.mean,
                "half_width_95": mine.half_width,
                "believed": mine.believed,
                "mean_compliance": mine.compliance,
                "mean_compliance_true": mine.compliance_true,
                "compliant_seeds": mine.compliant,
                "ranks_95": [mine.rank_low, mine.rank_high],
            }
        return data | {
            "order_effect": effect,
            "equals_effect": None if self.equals is None else asdict(self.equals),
            "pair_effects": [asdict(pair) for pair in self.pairs],
            "ranking": [format_order(s.order) for s in self.standings],
            "regret": {
                "checkpoints": list(self.checkpoints),
                "replays": len(self.regrets[0].recommended) if self.regrets else 0,
                "strategies": {
                    regret.strategy: {
                        measure: {
                            "mean": regret.mean(measure).tolist(),
                            "half_width_95": regret.half_width(measure).tolist(),
                        }
                        for measure in MEASURES
                    }
                    for regret in self.regrets
                },
            },
        }


def analyse(
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
    return Analysis(
        landscape=landscape,
        effect=effect,
        equals=equals_effect(values, classes, seed) if enough else None,
        pairs=pair_effects(landscape),
        standings=rank(landscape, effect or order_effect(landscape.reward, seed), seed),
        regrets=regrets(
            landscape,
            config,
            replays=replays,
            checkpoints=checkpoints,
            seed=seed,
            on_replay=on_replay,
        )
        if replays
        else [],
        checkpoints=tuple(checkpoints),
    )
