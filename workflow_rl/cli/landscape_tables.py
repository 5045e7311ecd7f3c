"""How a landscape is shown: the effect of the order, the ranking, the regret of searches."""

import math
from typing import Final

import numpy as np
from rich.console import Console

from workflow_rl.cli.console import number_text, titled_table
from workflow_rl.estimates import Estimate
from workflow_rl.studies.landscape.analysis import Analysis
from workflow_rl.studies.landscape.order_effects import EqualsEffect, OrderEffect

_ENDS: Final = 10  # orders shown from each end of the ranking


def print_analysis(console: Console, analysis: Analysis) -> None:
    """Prints everything a landscape says."""
    _print_effect(console, analysis)
    _print_classes(console, analysis)
    _print_pairs(console, analysis)
    _print_ranking(console, analysis)
    if analysis.regrets:
        _print_regret(console, analysis)


def _print_effect(console: Console, analysis: Analysis) -> None:
    land, effect = analysis.landscape, analysis.effect
    seeds = len(land.seeds)
    reliable = int(land.is_reliable.sum())
    console.print(f"{reliable} of {land.reward.shape[1]} orders complied for every seed.")
    if effect is None:
        console.print("How much the order matters cannot be told: fewer than two orders do.")
        return
    table = titled_table("how much the order matters: rewards = order + seed + noise")
    for heading in ("source", "degrees of freedom", "share of squares", "standard deviation"):
        table.add_column(heading, justify="left" if heading == "source" else "right")
    sources = (effect.order, effect.seed, effect.noise)
    total = sum(source.squares for source in sources)
    for source in sources:
        share = f"{source.squares / total:.1%}" if total else "-"
        deviation = effect.deviations[source.name]
        table.add_row(source.name, str(source.freedom), share, number_text(deviation))
    console.print(table)
    console.print(_verdict(effect) if seeds > 1 else "One seed cannot tell orders from noise.")
    if analysis.equals is not None:
        _print_equals(console, analysis.equals)


def _verdict(effect: OrderEffect) -> str:
    if math.isnan(effect.share):
        return "There is no noise to compare the orders with."
    text = (
        f"Between orders lie {effect.share:.0%} of the variance of single trainings (95 % "
        f"interval {effect.share_low:.0%} to {effect.share_high:.0%}; shuffled orders reach that "
        f"with p = {effect.p_value:.3g})"
    )
    return f"{text}: {'the order matters' if effect.matters else 'no effect of the order shows'}."


def _print_equals(console: Console, equals: EqualsEffect) -> None:
    console.print(
        f"equal orders ({equals.classes} classes): trained from the same base policy they "
        f"differ by a standard deviation of {equals.within:.2f}, classes by "
        f"{equals.between:.2f}"
    )
    if not math.isnan(equals.ratio):
        alike = "no more than" if equals.are_equal else "more than"
        console.print(
            f"over seeds, equals differ {alike} noise explains (variance ratio "
            f"{equals.ratio:.2f}, p = {equals.p_value:.3g})"
        )


def _print_classes(console: Console, analysis: Analysis) -> None:
    land = analysis.landscape
    names, members = np.unique(land.classes, return_inverse=True)
    if analysis.equals is None or len(names) > 30:
        return
    table = titled_table("classes of equal orders, by the units whose places matter")
    table.add_column("what they have in common")
    for heading in ("orders", "mean reward", *(f"seed {seed}" for seed in land.seeds)):
        table.add_column(heading, justify="right")
    means = np.array([land.reward[:, members == k].mean() for k in range(len(names))])
    for k in np.argsort(-means).tolist():
        inside = land.reward[:, members == k]
        table.add_row(
            " > ".join(land.orders.common_part(land.listed[members == k].tolist())),
            str(inside.shape[1]),
            f"{means[k]:.2f}",
            *(f"{mean:.2f}" for mean in inside.mean(axis=1)),
        )
    console.print(table)


def _print_pairs(console: Console, analysis: Analysis) -> None:
    table = titled_table("what matters: one unit before another, all other pairs as they are")
    table.add_column("")
    headings = ("worth, 95 % over seeds", *(f"seed {seed}" for seed in analysis.landscape.seeds))
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for pair in analysis.pairs:
        table.add_row(
            f"{pair.first} before {pair.second}",
            _with_interval(pair.worth),
            *(f"{worth:.2f}" for worth in pair.of_seeds),
        )
    console.print(table)


def _print_ranking(console: Console, analysis: Analysis) -> None:
    land = analysis.landscape
    game = f"red {land.red_agent}, rules {land.rules}"
    table = titled_table(f"all orders, ranked: {game}")
    table.add_column("rank", justify="right")
    table.add_column("workflow")
    for heading in ("reward, 95 %", "rank, 95 %", "compliance", "true", "complied for"):
        table.add_column(heading, justify="right", no_wrap=True)
    standings = analysis.standings
    for place, standing in enumerate(standings, 1):
        if _ENDS < place <= len(standings) - _ENDS:
            if place == _ENDS + 1:
                table.add_row("...")
            continue
        table.add_row(
            str(place),
            land.format(standing.order),
            _with_interval(standing.reward),
            f"{standing.rank_low} to {standing.rank_high}",
            f"{standing.compliance:.3f}",
            f"{standing.compliance_true:.3f}",
            f"{standing.compliant} of {len(land.seeds)} seeds",
        )
    console.print(table)


def _print_regret(console: Console, analysis: Analysis) -> None:
    replays = len(analysis.regrets[0].recommended)
    titles = {
        "recommended": "of the order handed over",
        "best_tried": "of the best order tried",
        "mean_tried": "of all orders tried, on average",
    }
    for measure, title in titles.items():
        table = titled_table(
            f"regret {title}: reward below the best order's, {replays} replays, 95 %"
        )
        table.add_column("strategy")
        for number in analysis.checkpoints:
            table.add_column(f"{number} trials", justify="right", no_wrap=True)
        for regret in analysis.regrets:
            pairs = zip(regret.mean(measure), regret.half_width(measure), strict=True)
            table.add_row(regret.strategy, *(_with_interval(Estimate(*pair)) for pair in pairs))
        gains = analysis.advantage(measure)
        if gains is not None:
            table.add_row("random minus gp-ucb", *map(_with_interval, gains), style="bold")
        console.print(table)


def _with_interval(estimate: Estimate) -> str:
    return f"{estimate.mean:.2f} ± {number_text(estimate.half_width)}"
