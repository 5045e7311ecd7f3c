"""Figures that set several runs side by side."""

import numpy as np

from workflow_rl.report.figures.style import (
    ROW,
    SERIES,
    Figure,
    add_marks,
    add_steps,
    base_figure,
    heat_map,
    interval_bar,
    label_rows,
    plain,
)
from workflow_rl.report.findings import Findings


def _colour(number: int) -> str:
    return SERIES[number % len(SERIES)]


def rewards_figure(runs: list[Findings]) -> Figure | None:
    """The recommended policy of each run."""
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
        reward = mine.result.reward
        add_marks(
            figure,
            [reward.mean],
            [row],
            (_colour(row), "circle" if mine.is_compliant else "circle-open", 12),
            f"{plain(found.run.name)}<br>%{{x:.2f}} ± {reward.half_width:.2f}",
            error_x=interval_bar(reward, _colour(row)),
        )
    label_rows(figure, labels)
    figure.update_xaxes(title_text="reward of the recommended policy")
    return figure


def paths_figure(runs: list[Findings]) -> Figure | None:
    """The best compliant reward of each search after each trial."""
    if not any(not np.isnan(step.best) for found in runs for step in found.path):
        return None
    figure = base_figure(380)
    for row, found in enumerate(runs):
        add_steps(
            figure,
            [step.trial.number + 1 for step in found.path],
            [step.best for step in found.path],
            _colour(row),
            f"{plain(found.run.name)}<br>trial %{{x}}: %{{y:.2f}}",
            mode="lines+markers",
            marker={"size": 5},
            name=f"run {row + 1}",
        )
    figure.update_xaxes(title_text="trial")
    figure.update_yaxes(title_text="best compliant reward so far")
    return figure


def effects_figure(runs: list[Findings]) -> Figure | None:
    """What each pair is worth in each run; runs of different units have no pairs in common."""
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
    pairs = [f"{a} before<br>{b}" for a, b in names]
    figure = heat_map(worth, [f"run {number}" for number, _ in known], pairs, height=420)
    figure.update_traces(hovertemplate="%{y}, %{x}: %{z:+.2f}<extra></extra>")
    figure.update_xaxes(side="top")
    return figure
