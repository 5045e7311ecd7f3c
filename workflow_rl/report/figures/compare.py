"""Figures that set several runs side by side."""

import numpy as np

from workflow_rl.report import palette
from workflow_rl.report.figures.style import (
    ROW,
    Figure,
    base_figure,
    interval_bar,
    label_rows,
    plain,
)
from workflow_rl.report.findings import Findings


def _colour(number: int) -> str:
    return palette.SERIES[number % len(palette.SERIES)]


def rewards_figure(runs: list[Findings]) -> Figure | None:
    """The recommended policy of each run."""
    import plotly.graph_objects as go

    if not any(found.recommended for found in runs):
        return None
    figure = base_figure(ROW * len(runs) + 60, showlegend=False)
    labels = []
    for row, found in enumerate(runs):
        mine = found.recommended
        name = f"<b>{row + 1}</b> {plain(found.run.name)}"
        labels.append(name if mine else f"{name}: nothing yet")
        if mine is None:
            continue
        figure.add_trace(
            go.Scatter(
                x=[mine.reward.mean],
                y=[row],
                error_x=interval_bar(mine.reward, _colour(row)),
                mode="markers",
                marker={
                    "size": 12,
                    "color": _colour(row),
                    "symbol": "circle" if mine.is_compliant else "circle-open",
                    "line": {"width": 2, "color": _colour(row)},
                },
                hovertemplate=f"{plain(found.run.name)}<br>%{{x:.2f}} ± "
                f"{mine.reward.half_width:.2f}<extra></extra>",
            )
        )
    label_rows(figure, labels)
    figure.update_xaxes(title_text="reward of the recommended policy")
    return figure


def paths_figure(runs: list[Findings]) -> Figure | None:
    """The best compliant reward of each search after each trial."""
    import plotly.graph_objects as go

    if not any(not np.isnan(step.best) for found in runs for step in found.path):
        return None
    figure = base_figure(380)
    for row, found in enumerate(runs):
        figure.add_trace(
            go.Scatter(
                x=[step.trial.number + 1 for step in found.path],
                y=[step.best for step in found.path],
                mode="lines+markers",
                marker={"size": 5},
                line={"shape": "hv", "width": 2, "color": _colour(row)},
                hovertemplate=f"{plain(found.run.name)}<br>trial %{{x}}: %{{y:.2f}}<extra></extra>",
                name=f"run {row + 1}",
            )
        )
    figure.update_xaxes(title_text="trial")
    figure.update_yaxes(title_text="best compliant reward so far")
    return figure


def effects_figure(runs: list[Findings]) -> Figure | None:
    """What each pair is worth in each run; runs of different units have no pairs in common."""
    import plotly.graph_objects as go

    known = [(number, found) for number, found in enumerate(runs, 1) if found.finding.effects]
    if not known or len({found.run.orders.units for _, found in known}) > 1:
        return None
    orders = known[0][1].run.orders
    names = [(orders.units.names[a], orders.units.names[b]) for a, b in orders.pairs]
    worth = np.zeros((len(names), len(known)))
    for column, (_, found) in enumerate(known):
        by_pair = {(p.first, p.second): p.worth.mean for p in found.finding.effects}
        for row, (a, b) in enumerate(names):
            ahead = by_pair.get((a, b), 0.0)  # 0: it cannot matter
            worth[row, column] = ahead - by_pair.get((b, a), 0.0)
    limit = max(float(np.abs(worth).max()), 1e-9)
    figure = base_figure(420)
    figure.add_trace(
        go.Heatmap(
            z=worth,
            x=[f"run {number}" for number, _ in known],
            y=[f"{a} before<br>{b}" for a, b in names],
            zmin=-limit,
            zmax=limit,
            colorscale=[[0, palette.BAD], [0.5, palette.NEUTRAL], [1, palette.GOOD]],
            texttemplate="%{z:+.1f}",
            hovertemplate="%{y}, %{x}: %{z:+.2f}<extra></extra>",
            xgap=2,
            ygap=2,
            showscale=False,
        )
    )
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_xaxes(showgrid=False, side="top")
    return figure
