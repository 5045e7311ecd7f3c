"""A landscape, or a sample of its orders, as tables for terminal and page, and as figures."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from workflow_rl.estimates import Estimate, number_text
from workflow_rl.pages import style
from workflow_rl.pages.page import PageTable, Plot
from workflow_rl.pages.style import named_rows, trace_colour
from workflow_rl.studies.landscape import Landscape
from workflow_rl.studies.landscape_analysis import Analysis
from workflow_rl.studies.order_effects import OrderEffect, Standing
from workflow_rl.studies.played_landscape import SEARCHES_ASKED, PlayedSample
from workflow_rl.studies.regret import MEASURES

_MOST_SEEDS: Final = 4  # with their own column: more do not fit a terminal
_MOST_CLASSES: Final = 30
_ENDS: Final = 10  # orders from each end of the ranking that are named


def landscape_tables(analysis: Analysis) -> list[PageTable]:
    """Returns what a landscape says: the effect, classes, pairs, the ranking, regrets."""
    tables = [] if analysis.effect is None else [_effect_table(analysis.effect)]
    tables += [] if analysis.equals is None else _class_tables(analysis.landscape)
    tables += [_pair_table(analysis), ranking_table(analysis, short=True)]
    return tables + [_regret_table(analysis, measure) for measure in MEASURES if analysis.regrets]


def ranking_table(analysis: Analysis, *, short: bool = False) -> PageTable:
    """Returns every order with its reward, the interval of its rank and its compliance."""
    land = analysis.landscape
    units = land.orders.units.legend if short else ""
    return PageTable(
        ("order", "reward, 95 %", "rank, 95 %", "follow", "true", "seeds"),
        [
            (
                f"{place}. {land.order(s.order).short if short else land.order(s.order)}",
                str(s.reward),
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


def _effect_table(effect: OrderEffect) -> PageTable:
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


def _class_tables(land: Landscape) -> list[PageTable]:
    """Returns the table of classes of equal orders, unless there are too many."""
    seeds = _seeds_shown(land)
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
    title = "Classes of equal orders, by the units whose places matter"
    return [PageTable((*headings, *(f"seed {seed}" for seed in seeds)), rows, heading=title)]


def _pair_table(analysis: Analysis) -> PageTable:
    seeds = _seeds_shown(analysis.landscape)
    return PageTable(
        ("", "effect, 95 %", *(f"seed {seed}" for seed in seeds)),
        [
            (
                f"{pair.first} before {pair.second}",
                str(pair.worth),
                *(f"{worth:.2f}" for worth in pair.of_seeds[: len(seeds)]),
            )
            for pair in analysis.pairs
        ],
        heading="What matters: one unit before another, all other pairs as they are",
    )


def _seeds_shown(land: Landscape) -> Sequence[int]:
    """Returns the seeds that have their own column."""
    return land.seeds if len(land.seeds) <= _MOST_SEEDS else ()


def _regret_table(analysis: Analysis, measure: str) -> PageTable:
    rows = []
    for regret in analysis.regrets:
        pairs = zip(regret.mean(measure), regret.half_width(measure), strict=True)
        rows.append((regret.strategy, *(str(Estimate(*pair)) for pair in pairs)))
    if (gains := analysis.advantage(measure)) is not None:
        rows.append(("random minus gp-ucb", *map(str, gains)))
    replays = len(analysis.regrets[0].recommended)
    return PageTable(
        ("strategy", *(f"{number} trials" for number in analysis.checkpoints)),
        rows,
        heading=f"Regret {MEASURES[measure]}: reward below the best order's, {replays} replays",
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


# --- figures


def landscape_figures(analysis: Analysis) -> list[Plot]:
    """Returns the ranking, its ends by name, each seed's view of it, and the regret of searches."""
    plots = [_ranking(analysis), _ends(analysis)]
    if len(analysis.landscape.seeds) > 1:
        plots.append(_agreement(analysis.landscape))
    return plots + [_regret(analysis, measure) for measure in MEASURES if analysis.regrets]


def _ends(analysis: Analysis) -> Plot:
    """The best and the worst orders, by name."""
    standings = list(enumerate(analysis.standings, 1))
    shown = [*standings[:_ENDS], *standings[-_ENDS:]]
    land, places = analysis.landscape, list(range(len(shown)))
    traces = _reward_traces(land, [s for _, s in shown], places, "y", "x")
    for trace in traces[:-1]:
        trace["marker"]["size"] = 7
    traces[-1]["marker"] = {"size": 9, "color": style.INK, "symbol": "diamond"}
    traces[-1]["error_x"]["thickness"] = 2
    layout = named_rows([f"{place}. {land.order(s.order).short}" for place, s in shown])
    return Plot(
        "The best and the worst orders",
        f"The first {_ENDS} and the last {_ENDS} of the ranking; {land.orders.units.legend}.",
        traces,
        layout | {"xaxis": {"title": {"text": "reward"}, "zeroline": False}},
    )


def _ranking(analysis: Analysis) -> Plot:
    land, standings = analysis.landscape, analysis.standings
    traces = _reward_traces(land, standings, list(range(1, len(standings) + 1)), "x", "y")
    names = [str(land.order(s.order)) for s in standings]
    for trace in traces:
        trace["text"] = names
    traces[-1]["text"] = [
        f"{name}<br>compliance {land.compliance[:, s.order].mean():.3f}, complied for "
        f"{land.compliant_seeds[s.order]} of {len(land.seeds)} seeds; rank {s.rank_low} to "
        f"{s.rank_high}"
        for name, s in zip(names, standings, strict=True)
    ]
    symbols = ["circle" if land.is_eligible[s.order] else "x" for s in standings]
    traces[-1]["marker"]["symbol"] = symbols
    return Plot(
        "All orders, ranked",
        "A point is an order with one seed. Orders that did not comply with most seeds come last "
        "and are crosses. The table below names them.",
        traces,
        {
            "height": 330,
            "xaxis": {"title": {"text": "rank of the order"}},
            "yaxis": {"title": {"text": "reward"}},
        },
    )


def _reward_traces(
    land: Landscape, standings: Sequence[Standing], places: list[int], along: str, across: str
) -> list[dict[str, Any]]:
    """Returns a trace of rewards for each seed, then that of their means with their intervals.

    Orders have their places along one axis, "x" or "y", rewards go across, along the other.
    """
    traces = [
        _points(
            f"seed {seed}",
            {along: places, across: [float(land.reward[row, s.order]) for s in standings]},
            {"size": 5, "opacity": 0.6, "color": trace_colour(row)},
        )
        for row, seed in enumerate(land.seeds)
    ]
    widths = [s.reward.half_width for s in standings]
    known = bool(np.isfinite(widths).all())
    means = _points(
        "mean, 95 % interval" if known else "mean",
        {along: places, across: [s.reward.mean for s in standings]},
        {"size": 7, "color": style.INK},
    )
    means[f"error_{across}"] = {"array": widths, "thickness": 1} if known else {"visible": False}
    return [*traces, means]


def _points(name: str, values: dict[str, Any], marker: dict[str, Any]) -> dict[str, Any]:
    return {"type": "scatter", "mode": "markers", "name": name, **values, "marker": marker}


def _agreement(land: Landscape) -> Plot:
    names = [str(land.order(place)) for place in range(land.orders.count)]
    first, *others = land.reward.tolist()
    traces = [
        _points(
            f"seed {seed}",
            {"x": first, "y": rewards, "text": names},
            {"size": 6, "color": trace_colour(row)},
        )
        for row, (seed, rewards) in enumerate(zip(land.seeds[1:], others, strict=True), 1)
    ]
    return Plot(
        "Do seeds agree?",
        "The reward of each order with one seed against its reward with the others. The closer the "
        "points are to a line, the more the order matters compared with noise.",
        traces,
        {
            "xaxis": {"title": {"text": f"reward, seed {land.seeds[0]}"}},
            "yaxis": {"title": {"text": "reward, other seeds"}},
        },
    )


def _regret(analysis: Analysis, measure: str) -> Plot:
    trials = list(analysis.checkpoints)
    traces = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": regret.strategy,
            "x": trials,
            "y": regret.mean(measure).tolist(),
            "error_y": {"array": np.nan_to_num(regret.half_width(measure)).tolist()},
            "line": {"color": trace_colour(number)},
        }
        for number, regret in enumerate(analysis.regrets)
    ]
    return Plot(
        f"Regret {MEASURES[measure]}",
        f"Mean and 95 % interval over {len(analysis.regrets[0].recommended)} replays of each "
        "strategy on this landscape; lower is better.",
        traces,
        {
            "xaxis": {"title": {"text": "trials"}, "tickvals": trials},
            "yaxis": {"title": {"text": "reward below the best order's"}, "rangemode": "tozero"},
        },
    )
