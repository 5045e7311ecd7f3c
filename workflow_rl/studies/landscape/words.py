"""What a landscape says, in sentences: terminal and page open with them."""

import math

from workflow_rl.estimates import Estimate
from workflow_rl.studies.landscape.analysis import Analysis
from workflow_rl.studies.landscape.order_effects import EqualsEffect, OrderEffect


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
