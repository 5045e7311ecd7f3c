"""Analysis of a landscape: effects, ranking, regret of searches, and a summary."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from workflow_rl.config import SearchConfig
from workflow_rl.estimates import Estimate
from workflow_rl.studies.landscape import Landscape
from workflow_rl.studies.order_effects import (
    EqualsEffect,
    OrderEffect,
    PairEffectOverSeeds,
    Standing,
    equals_effect,
    order_effect,
    pair_effects_over_seeds,
    rank,
)
from workflow_rl.studies.regret import CHECKPOINTS, Regret, regrets


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

    def advantage(self, measure: str) -> list[Estimate] | None:
        """Returns by how much GP-UCB's regret is lower than random's, for each checkpoint.

        None if one of the two was not replayed.
        """
        by_name = {regret.strategy: regret for regret in self.regrets}
        ours, theirs = by_name.get("gp-ucb"), by_name.get("random")
        if ours is None or theirs is None:
            return None
        gain = theirs.mean(measure) - ours.mean(measure)
        half = np.hypot(theirs.half_width(measure), ours.half_width(measure))
        return [Estimate(*pair) for pair in zip(gain.tolist(), half.tolist(), strict=True)]

    def as_json(self) -> dict[str, Any]:
        """Returns everything as plain data."""
        land, data = self.landscape, self.landscape.as_json()
        for standing in self.standings:
            data["orders"][standing.order] |= {
                "mean": standing.reward.mean,
                "half_width_95": standing.reward.half_width,
                "believed": standing.believed,
                "mean_compliance": float(land.compliance[:, standing.order].mean()),
                "mean_compliance_true": float(land.compliance_true[:, standing.order].mean()),
                "compliant_seeds": int(land.compliant_seeds[standing.order]),
                "ranks_95": [standing.rank_low, standing.rank_high],
            }
        return data | {
            "order_effect": self.effect and self.effect.as_json(),
            "equals_effect": self.equals and asdict(self.equals),
            "pair_effects": [pair.as_json() for pair in self.pairs],
            "ranking": [str(land.order(standing.order)) for standing in self.standings],
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

    The arguments are those of `regrets`; the seed is that of shuffles and draws as well.
    """
    reliable = landscape.is_reliable
    values, classes = landscape.reward[:, reliable], landscape.classes[reliable]
    enough = int(reliable.sum()) > 1
    effect = order_effect(values, seed) if enough else None
    return Analysis(
        landscape=landscape,
        effect=effect,
        equals=equals_effect(values, classes, seed) if enough else None,
        pairs=pair_effects_over_seeds(landscape),
        standings=rank(landscape, effect or order_effect(landscape.reward, seed), seed),
        regrets=regrets(
            landscape,
            config,
            replays=replays,
            checkpoints=checkpoints,
            seed=seed,
            on_replay=on_replay,
        ),
        checkpoints=tuple(checkpoints),
    )


# --- in sentences


def answer_of(analysis: Analysis) -> list[str]:
    """Returns the answer: whether the order matters, what in it, which orders, how to search."""
    land, best = analysis.landscape, analysis.standings[0]
    told = []
    if not land.is_eligible.any():
        told.append(
            f"No order complied in most of its {land.tries}, so none can be recommended: the "
            "ranking is that of policies that follow their orders by less than "
            f"{land.threshold:g}."
        )
    reliable = int(land.is_reliable.sum())
    told += [
        *_verdict(analysis),
        f"{reliable} of {land.orders.count} orders complied for every seed.",
    ]
    if analysis.equals is not None:
        told += _about_equals(analysis.equals, land.policy)
    if len(analysis.pairs) > 1:
        effects = (f"{pair.first} before {pair.second} {pair.worth}" for pair in analysis.pairs[:2])
        told.append(f"Largest effects in points per episode: {'; '.join(effects)}.")
    told.append(
        f"First in the ranking is {land.order(best.order)} at {best.reward}; the 95 % interval of "
        f"its rank is {best.rank_low} to {best.rank_high}."
    )
    if analysis.regrets:
        each = [f"{r.strategy} {r.mean('recommended')[-1]:.2f}" for r in analysis.regrets]
        told.append(
            f"Mean regret of the order that a search of {analysis.checkpoints[-1]} trials "
            f"recommends: {', '.join(each)}."
        )
    return told


def _verdict(analysis: Analysis) -> list[str]:
    """Says whether orders differ by more than chance, and by how much."""
    effect, land = analysis.effect, analysis.landscape
    if effect is None:
        return [
            "How much the order matters cannot be estimated: fewer than two orders complied for "
            "every seed."
        ]
    if len(land.seeds) < 2:
        return ["One seed cannot separate the effect of the order from noise."]
    if math.isnan(effect.share):
        return ["There is no noise to compare the orders with."]
    share, low, high = (
        f"{100 * part:.0f} %" for part in (effect.share, effect.share_low, effect.share_high)
    )
    largest = analysis.pairs[0]
    found = "No effect of the order was found."
    if effect.matters:
        found = (
            f"The order matters: {largest.first} before {largest.second} is worth {largest.worth} "
            "points per episode."
        )
    return [
        found,
        f"The order explains {share} of the variance of single {land.tries} (95 % interval {low} "
        f"to {high}; permutation test p = {effect.p_value:.3g}).",
    ]


def _about_equals(equals: EqualsEffect, policy: str) -> list[str]:
    """Says whether orders that must be equal are; a policy is the one that played them all."""
    how = f"played by {policy}" if policy else "trained from the same base policy"
    told = [
        f"Equal orders ({equals.classes} classes): {how} they differ by a standard deviation "
        f"of {equals.within:.2f}, classes by {equals.between:.2f}."
    ]
    if not math.isnan(equals.ratio):
        alike = "no more than" if equals.are_equal else "more than"
        told.append(
            f"Over seeds, equals differ {alike} noise explains (variance ratio "
            f"{equals.ratio:.2f}, p = {equals.p_value:.3g})."
        )
    return told
