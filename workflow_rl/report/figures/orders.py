"""Figures of what was found: the policy among others, all orders, and what matters in one."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from workflow_rl.estimates import Estimate
from workflow_rl.report.figures import style
from workflow_rl.report.figures.style import (
    LOG_TICKS,
    ROW,
    Figure,
    add_marks,
    base_figure,
    heat_map,
    interval_bar,
    label_rows,
    plain,
)
from workflow_rl.report.findings import Findings, OrderRow

_MOST_TRIALS: Final = 8  # of one order
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}


@dataclass(frozen=True)
class _ScoreRow:
    """One row of the figure of scores."""

    who: str
    rules: str | None
    reward: Estimate
    source: str
    is_mine: bool = False


def scores_figure(found: Findings) -> Figure | None:
    """The recommended policy among known scores: points lost per episode, on a log scale."""
    mine = found.recommended
    rules: str | None = found.run.config.game.rules if found.run.config else None
    if mine is None or not found.scores or not mine.result.reward.mean < 0:
        return None
    own = "this run's policy"
    measured = "fresh games" if mine.scores else "its training's last episodes"
    rows = [_ScoreRow(own, rules, mine.result.reward, measured, is_mine=True)]
    rows += [
        _ScoreRow(score.who, score.rules, score.result.reward, score.source)
        for score in sorted(found.scores, key=lambda s: -s.result.reward.mean)
        if score.result.reward.mean < 0
    ]
    figure = base_figure(ROW * len(rows) + 60)
    for place, row in enumerate(rows):
        _add_score(figure, place, row, is_comparable=row.rules == rules)
    label_rows(
        figure,
        [
            f"{'<b>' if row.is_mine else ''}{plain(row.who)}{'</b>' if row.is_mine else ''}  "
            f"{row.reward.mean:.1f}  "
            f"<span style='color:{style.MUTED}'>({plain(str(row.rules))})</span>"
            for row in rows
        ],
    )
    figure.update_xaxes(
        type="log",
        tickvals=LOG_TICKS,
        title_text="points lost per episode, log scale",
    )
    return figure


def _add_score(figure: Figure, place: int, row: _ScoreRow, *, is_comparable: bool) -> None:
    look = (style.MUTED, "circle-open", 10)
    if row.is_mine:
        look = (style.GOOD, "diamond", 13)
    elif is_comparable:
        look = (style.INK, "circle", 10)
    add_marks(
        figure,
        [-row.reward.mean],
        [place],
        look,
        f"{plain(row.who)}<br>{row.reward.mean:.2f}<br>rules {plain(str(row.rules))}<br>"
        f"{plain(row.source)}",
        error_x=interval_bar(row.reward, look[0]),
        showlegend=False,
    )


def orders_figure(found: Findings) -> Figure | None:
    """The orders by belief, with their intervals; tried ones marked with what they gave."""
    rows = found.orders
    if not rows:
        return None
    figure = base_figure(420)
    half = np.array([row.believed.half_width for row in rows])
    add_marks(
        figure,
        np.array([row.rank for row in rows]),
        np.array([row.believed.mean for row in rows]),
        (style.MUTED, "circle", 5),
        "%{text}",
        error_y={"array": half, "color": style.BAND, "thickness": 3, "width": 0},
        marker={"size": 5, "color": style.MUTED},
        text=[_order_hover(row) for row in rows],
        name="believed, with its 95 % interval",
    )
    for status, name, colour, symbol in (
        ("compliant", "tried, compliant", style.GOOD, "circle"),
        ("below", "tried, below the threshold", style.BAD, "circle-open"),
    ):
        shown = [(r, v) for r in rows if r.status == status for v in r.rewards[-_MOST_TRIALS:]]
        add_marks(
            figure,
            [row.rank for row, _ in shown],
            [reward for _, reward in shown],
            (colour, symbol, 9),
            "%{text}<br>this trial %{y:.2f}",
            text=[_order_hover(row) for row, _ in shown],
            name=name,
            visible=True if shown else "legendonly",
            showlegend=bool(shown),
        )
    figure.update_xaxes(title_text="rank by believed reward", range=[0, len(rows) + 1])
    figure.update_yaxes(title_text="reward per episode")
    return figure


def _order_hover(row: OrderRow) -> str:
    return f"<b>{row.rank}. {plain(row.workflow)}</b><br>believed {row.believed}"


def pairs_figure(found: Findings) -> Figure | None:
    """What each pair is worth, the better way round, with its interval."""
    effects, either = found.finding.effects, found.finding.either
    if not effects:
        return None
    figure = base_figure(ROW * len(effects) + 50)
    kinds = [0 if e.is_clear else 1 if e in either else 2 for e in effects]
    for kind, (name, colour) in enumerate(
        (
            ("clear effect", style.GOOD),
            ("one of these matters, which cannot be told", style.BAD),
            ("no effect that shows", style.MUTED),
        )
    ):
        rows = [i for i, k in enumerate(kinds) if k == kind]
        half = [effects[i].worth.half_width for i in rows]
        add_marks(
            figure,
            [effects[i].worth.mean for i in rows],
            rows,
            (colour, "circle", 11),
            "%{x:.2f} points",
            error_x={"array": half, "color": colour, "thickness": 2.5, "width": 5},
            marker={"size": 11, "color": colour},
            name=name,
            showlegend=bool(rows),
        )
    label_rows(figure, [f"<b>{pair.first}</b> before {pair.second}" for pair in effects])
    figure.add_vline(x=0, line_color=style.MUTED, line_width=1)
    figure.update_xaxes(title_text="worth in reward per episode")
    return figure


def positions_figure(found: Findings) -> Figure | None:
    """Which unit is best where, by the clear effects."""
    worth = found.positions
    if worth is None:
        return None
    places = [f"{n}{_ENDINGS.get(n, 'th')}" for n in range(1, len(worth) + 1)]
    figure = heat_map(worth, places, list(found.run.orders.units.names), height=340)
    hover = "%{y} %{x}: %{z:+.2f}<extra></extra>"
    figure.update_traces(textfont={"size": 13}, hovertemplate=hover)
    figure.update_xaxes(title_text="place in the order")
    return figure
