"""The figures of a landscape."""

from typing import Any, Final

import numpy as np

from workflow_rl.report import style
from workflow_rl.report.page import Plot
from workflow_rl.report.style import named_rows, trace_colour
from workflow_rl.studies.landscape.analysis import Analysis

_ENDS: Final = 10  # orders from each end of the ranking that are named
_REGRETS: Final = {
    "recommended": "of the order a search would hand over",
    "best_tried": "of the best order it has tried",
    "mean_tried": "of all orders it has tried, on average",
}


def landscape_figures(analysis: Analysis) -> list[Plot]:
    """Returns the ranking, each seed's view of it, and the regret of searches."""
    plots = [_ends(analysis), _ranking(analysis)]
    if len(analysis.landscape.seeds) > 1:
        plots.append(_agreement(analysis))
    return plots + [_regret(analysis, measure) for measure in _REGRETS if analysis.regrets]


def _ends(analysis: Analysis) -> Plot:
    """The best and the worst orders, by name."""
    standings = list(enumerate(analysis.standings, 1))
    shown = [*standings[:_ENDS], *standings[-_ENDS:]]
    land = analysis.landscape
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"seed {seed}",
            "x": [float(land.reward[row, s.order]) for _, s in shown],
            "y": list(range(len(shown))),
            "marker": {"size": 7, "opacity": 0.6, "color": trace_colour(row)},
        }
        for row, seed in enumerate(land.seeds)
    ]
    widths = [s.reward.half_width for _, s in shown]
    known = bool(np.isfinite(widths).all())
    means = {
        "type": "scatter",
        "mode": "markers",
        "name": "mean, 95 % interval" if known else "mean",
        "x": [s.reward.mean for _, s in shown],
        "y": list(range(len(shown))),
        "error_x": {"array": widths, "thickness": 2} if known else {"visible": False},
        "marker": {"size": 9, "color": style.INK, "symbol": "diamond"},
    }
    layout = named_rows([f"{place}. {land.order(s.order).short}" for place, s in shown])
    return Plot(
        "The best and the worst orders",
        f"The first {_ENDS} and the last {_ENDS} of the ranking; {land.orders.units.legend}.",
        [*traces, means],
        layout | {"xaxis": {"title": {"text": "reward"}, "zeroline": False}},
    )


def _ranking(analysis: Analysis) -> Plot:
    land, standings = analysis.landscape, analysis.standings
    places = list(range(1, len(standings) + 1))
    names = [land.format(s.order) for s in standings]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"seed {seed}",
            "x": places,
            "y": [float(land.reward[row, s.order]) for s in standings],
            "text": names,
            "marker": {"size": 5, "opacity": 0.6, "color": trace_colour(row)},
        }
        for row, seed in enumerate(land.seeds)
    ]
    return Plot(
        "All orders, ranked",
        f"A point is one of the {land.tries}; orders that did not comply in most come last and are "
        "crosses. The table above names them.",
        [*traces, _means(analysis, places, names)],
        {"xaxis": {"title": {"text": "rank"}}, "yaxis": {"title": {"text": "reward"}}},
    )


def _means(analysis: Analysis, places: list[int], names: list[str]) -> dict[str, Any]:
    """Returns the trace of the orders' means over seeds, with their intervals where known."""
    land, standings = analysis.landscape, analysis.standings
    widths = [s.reward.half_width for s in standings]
    has_interval = bool(np.isfinite(widths).all())
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "mean, 95 % interval" if has_interval else "mean",
        "x": places,
        "y": [s.reward.mean for s in standings],
        "error_y": {"array": widths, "thickness": 1} if has_interval else {"visible": False},
        "text": [
            f"{name}<br>compliance {land.compliance[:, s.order].mean():.3f}, complied for "
            f"{land.compliant_seeds[s.order]} of {len(land.seeds)} seeds; rank {s.rank_low} to "
            f"{s.rank_high}"
            for name, s in zip(names, standings, strict=True)
        ],
        "marker": {
            "size": 7,
            "color": style.INK,
            "symbol": ["circle" if land.is_eligible[s.order] else "x" for s in standings],
        },
    }


def _agreement(analysis: Analysis) -> Plot:
    land = analysis.landscape
    ones = [float(x) for x in land.reward[0]]
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"seed {seed}",
            "x": ones,
            "y": [float(x) for x in land.reward[row]],
            "text": [land.format(place) for place in range(len(ones))],
            "marker": {"size": 6, "color": trace_colour(row)},
        }
        for row, seed in enumerate(land.seeds)
        if row
    ]
    return Plot(
        "Do seeds agree?",
        "Each order's reward for one seed against its reward for another. Where the order matters "
        "the points lie along a line; where it does not they are a cloud.",
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
        f"Regret {_REGRETS[measure]}",
        f"Mean and 95 % interval over {len(analysis.regrets[0].recommended)} replays of each "
        "strategy on this landscape; lower is better.",
        traces,
        {
            "xaxis": {"title": {"text": "trials"}, "tickvals": trials},
            "yaxis": {"title": {"text": "reward below the best order's"}, "rangemode": "tozero"},
        },
    )
