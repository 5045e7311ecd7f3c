"""The tables of a landscape, and of a sample of its orders, for the terminal and the page."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from workflow_rl.estimates import Estimate, number_text
from workflow_rl.report.page import PageTable
from workflow_rl.studies.landscape.analysis import Analysis, with_interval
from workflow_rl.studies.landscape.order_effects import OrderEffect
from workflow_rl.studies.landscape.played import SEARCHES_ASKED, PlayedSample

_MOST_SEEDS: Final = 4  # with a column of their own: more do not fit a terminal
_MOST_CLASSES: Final = 30
_REGRETS: Final = {
    "recommended": "of the order handed over",
    "best_tried": "of the best order tried",
    "mean_tried": "of all orders tried, on average",
}


def landscape_tables(analysis: Analysis) -> list[PageTable]:
    """Returns what a landscape says: the effect, classes, pairs, the ranking, regrets."""
    tables = [] if analysis.effect is None else [_effect(analysis.effect)]
    tables += [] if analysis.equals is None else _classes(analysis)
    tables += [_pairs(analysis), ranking_table(analysis, short=True)]
    return tables + [_regret(analysis, measure) for measure in _REGRETS if analysis.regrets]


def ranking_table(analysis: Analysis, *, short: bool = False) -> PageTable:
    """Returns every order with its reward, the interval of its rank and its compliance."""
    land = analysis.landscape
    units = land.orders.units.legend if short else ""
    return PageTable(
        ("order", "reward, 95 %", "rank, 95 %", "follow", "true", "seeds"),
        [
            (
                f"{place}. {land.order(s.order).short if short else land.format(s.order)}",
                with_interval(s.reward),
                f"{s.rank_low} to {s.rank_high}",
                f"{land.compliance[:, s.order].mean():.3f}",
                f"{land.compliance_true[:, s.order].mean():.3f}",
                f"{land.compliant_seeds[s.order]}/{len(land.seeds)}",
            )
            for place, s in enumerate(analysis.standings, 1)
        ],
        f"{units and f'{units}; '}follow: share of fixes that followed the order; true: by where "
        "Red really was; seeds: for how many the order complied. Orders that did not comply in "
        f"most {land.tries} come last.",
        f"All orders, ranked: red {land.red_agent}, rules {land.rules}",
    )


def _effect(effect: OrderEffect) -> PageTable:
    sources = (effect.order, effect.seed, effect.noise)
    total = sum(source.squares for source in sources)
    return PageTable(
        ("source", "degrees of freedom", "share of squares", "standard deviation"),
        [
            (
                source.name,
                str(source.freedom),
                f"{source.squares / total:.1%}" if total else "-",
                number_text(effect.deviations[source.name]),
            )
            for source in sources
        ],
        heading="How much the order matters: rewards = order + seed + noise",
    )


def _classes(analysis: Analysis) -> list[PageTable]:
    """Returns the table of classes of equal orders, unless there are too many."""
    land, seeds = analysis.landscape, _seeds_shown(analysis)
    names, members = np.unique(land.classes, return_inverse=True)
    if len(names) > _MOST_CLASSES:
        return []
    means = np.array([land.reward[:, members == k].mean() for k in range(len(names))])
    rows = []
    for k in np.argsort(-means).tolist():
        inside = land.reward[:, members == k]
        common = " > ".join(land.orders.common_part(land.listed[members == k].tolist()))
        of_seeds = (f"{mean:.2f}" for mean in inside.mean(axis=1)[: len(seeds)])
        rows.append((common, str(inside.shape[1]), f"{means[k]:.2f}", *of_seeds))
    headings = ("what they have in common", "orders", "mean reward")
    return [
        PageTable(
            (*headings, *(f"seed {seed}" for seed in seeds)),
            rows,
            heading="Classes of equal orders, by the units whose places matter",
        )
    ]


def _pairs(analysis: Analysis) -> PageTable:
    seeds = _seeds_shown(analysis)
    return PageTable(
        ("", "worth, 95 %", *(f"seed {seed}" for seed in seeds)),
        [
            (
                f"{pair.first} before {pair.second}",
                with_interval(pair.worth),
                *(f"{worth:.2f}" for worth in pair.of_seeds[: len(seeds)]),
            )
            for pair in analysis.pairs
        ],
        heading="What matters: one unit before another, all other pairs as they are",
    )


def _seeds_shown(analysis: Analysis) -> Sequence[int]:
    """Returns the seeds that have a column of their own."""
    seeds = analysis.landscape.seeds
    return seeds if len(seeds) <= _MOST_SEEDS else ()


def _regret(analysis: Analysis, measure: str) -> PageTable:
    rows = []
    for regret in analysis.regrets:
        pairs = zip(regret.mean(measure), regret.half_width(measure), strict=True)
        rows.append((regret.strategy, *(with_interval(Estimate(*pair)) for pair in pairs)))
    if (gains := analysis.advantage(measure)) is not None:
        rows.append(("random minus gp-ucb", *map(with_interval, gains)))
    replays = len(analysis.regrets[0].recommended)
    return PageTable(
        ("strategy", *(f"{number} trials" for number in analysis.checkpoints)),
        rows,
        heading=f"Regret {_REGRETS[measure]}: reward below the best order's, {replays} replays",
    )


def sample_tables(sample: PlayedSample) -> list[PageTable]:
    """Returns a sample's orders, ranked, and what searches handed over, if there were any."""
    orders = sample.player.orders
    ranked = sorted(sample.played, key=lambda one: -one.value)
    tables = [
        PageTable(
            ("order", "reward, 95 %", "follow", "true"),
            [
                (
                    f"{place}. {orders[one.order].short}",
                    str(one.result.reward),
                    f"{one.compliance:.3f}",
                    f"{one.result.compliance_true.mean:.3f}",
                )
                for place, one in enumerate(ranked, 1)
            ],
            orders.units.legend,
            f"{len(ranked)} orders of {orders.count:,}, by mean reward",
        )
    ]
    if sample.searches:
        rows = []
        for strategy, found in sample.searches.items():
            means = np.array([[one.value for one in search] for search in found])
            rows.append((strategy, *(str(Estimate.of_few(column)) for column in means.T)))
        number = max(map(len, sample.searches.values()))
        title = f"Reward of the order that a search hands over, {number} searches, 95 %"
        headings = ("strategy", *(f"{asked} trials" for asked in SEARCHES_ASKED))
        tables.append(PageTable(headings, rows, heading=title))
    return tables
