"""Everything a landscape says, in numbers and in sentences: effects, ranking, searches."""

import math
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
            "order_effect": None if self.effect is None else self.effect.as_json(),
            "equals_effect": None if self.equals is None else asdict(self.equals),
            "pair_effects": [pair.as_json() for pair in self.pairs],
            "ranking": [land.format(standing.order) for standing in self.standings],
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


def answer_of(analysis: Analysis) -> list[str]:
    """Returns the answer: whether the order matters, what in it, which orders, how to search."""
    land, best = analysis.landscape, analysis.standings[0]
    orders, reliable = land.reward.shape[1], int(land.is_reliable.sum())
    told = [_complied(analysis)] if not land.is_eligible.any() else []
    told += [verdict(analysis), f"{reliable} of {orders} orders complied for every seed."]
    if analysis.equals is not None:
        told += about_equals(analysis.equals, land.policy)
    if len(analysis.pairs) > 1:
        first, second = analysis.pairs[:2]
        told.append(
            f"What matters most: {first.first} before {first.second}, worth "
            f"{with_interval(first.worth)} points; next {second.first} before {second.second}, "
            f"{with_interval(second.worth)}."
        )
    told.append(
        f"First in the ranking is {land.format(best.order)} at {with_interval(best.reward)}; by "
        f"chance its true rank may be {best.rank_low} to {best.rank_high}."
    )
    return told + _about_searches(analysis)


def _complied(analysis: Analysis) -> str:
    return (
        f"No order complied in most of its {analysis.landscape.tries}, so none can be recommended: "
        "the ranking is that of policies that follow their orders by less than "
        f"{analysis.landscape.threshold:g}."
    )


def verdict(analysis: Analysis) -> str:
    """Says whether orders differ by more than chance."""
    effect = analysis.effect
    if effect is None:
        return (
            "How much the order matters cannot be told: fewer than two orders complied for every "
            "seed."
        )
    if len(analysis.landscape.seeds) < 2:
        return "One seed cannot tell orders from noise."
    return _share(effect, analysis.landscape.tries)


def _share(effect: OrderEffect, tries: str) -> str:
    if math.isnan(effect.share):
        return "There is no noise to compare the orders with."
    share, low, high = (
        f"{100 * part:.0f} %" for part in (effect.share, effect.share_low, effect.share_high)
    )
    text = (
        f"Between orders lie {share} of the variance of single {tries} (95 % interval {low} to "
        f"{high}; shuffled orders reach that with p = {effect.p_value:.3g})"
    )
    return f"{text}: {'the order matters' if effect.matters else 'no effect of the order shows'}."


def about_equals(equals: EqualsEffect, policy: str = "") -> list[str]:
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


def _about_searches(analysis: Analysis) -> list[str]:
    if not analysis.regrets:
        return []
    each = [
        f"{regret.strategy} {regret.mean('recommended')[-1]:.2f}" for regret in analysis.regrets
    ]
    return [
        f"A search of {analysis.checkpoints[-1]} trials hands over an order that is below the best "
        f"by, on average: {', '.join(each)}."
    ]


def with_interval(estimate: Estimate) -> str:
    """Writes a mean with its interval, a dash where that is not known."""
    half = "-" if math.isnan(estimate.half_width) else f"{estimate.half_width:.2f}"
    return f"{estimate.mean:.2f} ± {half}"
