"""Figures of what was found: the policy among others, all orders, and what matters in one."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from workflow_rl.estimates import Estimate
from workflow_rl.report import palette
from workflow_rl.report.figures.style import (
    LOG_TICKS,
    ROW,
    Figure,
    base_figure,
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
    if mine is None or not found.scores or not mine.reward.mean < 0:
        return None
    own = "this run's policy"
    measured = "fresh games" if mine.fresh else "its training's last episodes"
    rows = [_ScoreRow(own, rules, mine.reward, measured, is_mine=True)]
    rows += [
        _ScoreRow(score.who, score.rules, score.reward, score.source)
        for score in sorted(found.scores, key=lambda s: -s.reward.mean)
        if score.reward.mean < 0
    ]
    figure = base_figure(ROW * len(rows) + 60)
    for place, row in enumerate(rows):
        _add_score(figure, place, row, is_comparable=row.rules == rules)
    label_rows(
        figure,
        [
            f"{'<b>' if row.is_mine else ''}{plain(row.who)}{'</b>' if row.is_mine else ''}  "
            f"{row.reward.mean:.1f}  "
            f"<span style='color:{palette.MUTED}'>({plain(str(row.rules))})</span>"
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
    import plotly.graph_objects as go

    colour = palette.INK if is_comparable else palette.MUTED
    symbol = "circle" if is_comparable else "circle-open"
    if row.is_mine:
        colour, symbol = palette.GOOD, "diamond"
    figure.add_trace(
        go.Scatter(
            x=[-row.reward.mean],
            y=[place],
            error_x=interval_bar(row.reward, colour),
            mode="markers",
            marker={
                "color": colour,
                "size": 13 if row.is_mine else 10,
                "symbol": symbol,
                "line": {"width": 2, "color": colour},
            },
            hovertemplate=f"{plain(row.who)}<br>{row.reward.mean:.2f}<br>rules "
            f"{plain(str(row.rules))}<br>{plain(row.source)}<extra></extra>",
            showlegend=False,
        )
    )


def orders_figure(found: Findings) -> Figure | None:
    """The orders by belief, with their intervals; tried ones marked with what they gave."""
    import plotly.graph_objects as go

    rows = found.orders
    if not rows:
        return None
    rank = np.array([row.rank for row in rows])
    mean = np.array([row.believed.mean for row in rows])
    half = np.array([row.believed.half_width for row in rows])
    figure = base_figure(420)
    figure.add_trace(
        go.Scatter(
            x=rank,
            y=mean,
            error_y={"array": half, "color": palette.BAND, "thickness": 3, "width": 0},
            mode="markers",
            marker={"size": 5, "color": palette.MUTED},
            text=[_order_hover(row) for row in rows],
            hovertemplate="%{text}<extra></extra>",
            name="believed, with its 95 % interval",
        )
    )
    for status, name, colour, symbol in (
        ("compliant", "tried, compliant", palette.GOOD, "circle"),
        ("below", "tried, below the threshold", palette.BAD, "circle-open"),
    ):
        shown = [row for row in rows if row.status == status]
        figure.add_trace(
            go.Scatter(
                x=[row.rank for row in shown for _ in row.rewards[-_MOST_TRIALS:]],
                y=[reward for row in shown for reward in row.rewards[-_MOST_TRIALS:]],
                mode="markers",
                marker={
                    "size": 9,
                    "color": colour,
                    "symbol": symbol,
                    "line": {"width": 2, "color": colour},
                },
                text=[_order_hover(row) for row in shown for _ in row.rewards[-_MOST_TRIALS:]],
                hovertemplate="%{text}<br>this trial %{y:.2f}<extra></extra>",
                name=name,
                visible=True if shown else "legendonly",
                showlegend=bool(shown),
            )
        )
    figure.update_xaxes(title_text="rank by believed reward", range=[0, len(rows) + 1])
    figure.update_yaxes(title_text="reward per episode")
    return figure


def _order_hover(row: OrderRow) -> str:
    return f"<b>{row.rank}. {plain(row.workflow)}</b><br>believed {row.believed}"


def pairs_figure(found: Findings) -> Figure | None:
    """What each pair is worth, the better way round, with its interval."""
    import plotly.graph_objects as go

    effects, either = found.finding.effects, found.finding.either
    if not effects:
        return None
    figure = base_figure(ROW * len(effects) + 50)
    kinds = [0 if e.is_clear else 1 if e in either else 2 for e in effects]
    for kind, (name, colour) in enumerate(
        (
            ("clear effect", palette.GOOD),
            ("one of these matters, which cannot be told", palette.BAD),
            ("no effect that shows", palette.MUTED),
        )
    ):
        rows = [i for i, k in enumerate(kinds) if k == kind]
        figure.add_trace(
            go.Scatter(
                x=[effects[i].worth.mean for i in rows],
                y=rows,
                error_x={
                    "array": [effects[i].worth.half_width for i in rows],
                    "color": colour,
                    "thickness": 2.5,
                    "width": 5,
                },
                mode="markers",
                marker={"size": 11, "color": colour},
                hovertemplate="%{x:.2f} points<extra></extra>",
                name=name,
                showlegend=bool(rows),
            )
        )
    label_rows(figure, [f"<b>{pair.first}</b> before {pair.second}" for pair in effects])
    figure.add_vline(x=0, line_color=palette.MUTED, line_width=1)
    figure.update_xaxes(title_text="worth in reward per episode")
    return figure


def positions_figure(found: Findings) -> Figure | None:
    """Which unit is best where, by the clear effects."""
    import plotly.graph_objects as go

    worth = found.positions
    if worth is None:
        return None
    limit = max(float(np.nanmax(np.abs(worth))), 1e-9)
    figure = base_figure(340)
    figure.add_trace(
        go.Heatmap(
            z=worth,
            x=[f"{n}{_ENDINGS.get(n, 'th')}" for n in range(1, len(worth) + 1)],
            y=list(found.run.orders.units.names),
            zmin=-limit,
            zmax=limit,
            colorscale=[[0, palette.BAD], [0.5, palette.NEUTRAL], [1, palette.GOOD]],
            texttemplate="%{z:+.1f}",
            textfont={"size": 13},
            hovertemplate="%{y} %{x}: %{z:+.2f}<extra></extra>",
            xgap=2,
            ygap=2,
            showscale=False,
        )
    )
    figure.update_xaxes(title_text="place in the order", showgrid=False)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    return figure
