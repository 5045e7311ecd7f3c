"""Figures of what was found: the policy among others, all orders, what matters; runs compared."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from workflow_rl.evaluation.behaviour import KINDS
from workflow_rl.pages import style
from workflow_rl.pages.findings import Findings, OrderRow
from workflow_rl.pages.scores import GameScore
from workflow_rl.pages.style import (
    LOG_TICKS,
    Figure,
    add_marks,
    add_steps,
    base_figure,
    heat_map,
    interval_bar,
    named_rows,
    plain,
    trace_colour,
)

_MOST_TRIALS: Final = 8  # of one order
_KIND_COLOURS: Final = {
    "decoy": style.GOOD,
    "remove": style.BETTER,
    "analyse": style.OTHER,
    "restore": style.BAD,
    "wait": style.FAINT,
}
_MOST_ROWS: Final = 24  # of a matrix of scores
_MOST_COLUMNS: Final = 24
_PAYOFF_ROW: Final = 26  # pixels
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}


def scores_figure(found: Findings) -> Figure | None:
    """The recommended policy among known scores: points lost per episode, on a log scale."""
    mine, config = found.recommended, found.run.config
    if mine is None or config is None or not found.scores or not mine.result.reward.mean < 0:
        return None
    game = config.game
    measured = "held-out games" if mine.scores else "its last training episodes"
    own = GameScore("this run's policy", game.rules, game.episode_length, mine.result, measured)
    others = sorted(found.scores, key=lambda score: -score.result.reward.mean)
    rows = [own, *(score for score in others if score.result.reward.mean < 0)]
    figure = base_figure(**named_rows([_score_label(score, score is own) for score in rows]))
    for place, score in enumerate(rows):
        look = (style.MUTED, "circle-open", 10)
        if score is own:
            look = (style.GOOD, "diamond", 13)
        elif score.rules == game.rules:
            look = (style.INK, "circle", 10)
        reward = score.result.reward
        add_marks(
            figure,
            [-reward.mean],
            [place],
            look,
            f"{plain(score.who)}<br>{reward.mean:.2f}<br>rules {score.rules}<br>"
            f"{plain(score.source)}",
            error_x=interval_bar(reward, look[0]),
            showlegend=False,
        )
    figure.update_xaxes(
        type="log", tickvals=LOG_TICKS, title_text="points lost per episode, log scale"
    )
    return figure


def _score_label(score: GameScore, is_own: bool) -> str:
    who = f"<b>{plain(score.who)}</b>" if is_own else plain(score.who)
    rules = f"<span style='color:{style.MUTED}'>({score.rules})</span>"
    return f"{who}  {score.result.reward.mean:.1f}  {rules}"


def behaviour_figure(found: Findings) -> Figure | None:
    """The policy's actions by kind, as shares of the steps of each phase, for each attacker."""
    scores = found.recommended.scores if found.recommended else ()
    played = [(s.red_agent, s.behaviour) for s in scores if s.behaviour and s.red_agent != "sleep"]
    if not played:
        return None
    labels = [f"<b>{red}</b> {phase}" for red, does in played for phase in does.phases]
    shares = 100 * np.concatenate([does.phase_shares for _, does in played])
    figure = base_figure(**named_rows(labels), barmode="stack")
    for kind, colour in _KIND_COLOURS.items():
        figure.add_bar(
            x=shares[:, KINDS.index(kind)],
            y=list(range(len(labels))),
            orientation="h",
            width=0.42,  # leaves room for labels above the rows
            marker={"color": colour, "line": {"width": 0}},
            name=kind,
            hovertemplate=f"{kind} %{{x:.0f}} %<extra></extra>",
        )
    figure.update_layout(legend={"traceorder": "normal"})
    figure.update_xaxes(title_text="share of steps, %", range=[0, 100], dtick=25)
    return figure


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
        name="predicted, 95 % interval",
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
    figure.update_xaxes(title_text="rank by predicted reward", range=[0, len(rows) + 1])
    figure.update_yaxes(title_text="reward per episode")
    return figure


def _order_hover(row: OrderRow) -> str:
    return f"<b>{row.rank}. {plain(row.workflow)}</b><br>predicted {row.believed}"


def pairs_figure(found: Findings) -> Figure | None:
    """The effect of each pair on the reward, the better way round, with its interval."""
    effects, either = found.finding.effects, found.finding.either
    if not effects:
        return None
    labels = [f"<b>{pair.first}</b> before {pair.second}" for pair in effects]
    figure = base_figure(**named_rows(labels))
    kinds = [0 if e.is_clear else 1 if e in either else 2 for e in effects]
    for kind, (name, colour) in enumerate(
        (
            ("clear effect", style.GOOD),
            ("at least one of these matters", style.BAD),
            ("no clear effect", style.MUTED),
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
    figure.add_vline(x=0, line_color=style.MUTED, line_width=1)
    figure.update_xaxes(title_text="effect on the reward per episode")
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


def payoffs_figure(found: Findings) -> Figure | None:
    """Blue's score of orders, or of a population's rounds, against each attacker."""
    matrix = found.payoffs
    if matrix is None:
        return None
    rows = list(range(len(matrix.rows)))[:_MOST_ROWS]
    if found.run.rounds:  # spread over the training, the last one included
        last = len(matrix.rows) - 1
        rows = sorted({round(k * last / (_MOST_ROWS - 1)) for k in range(_MOST_ROWS)})
    hardest = np.argsort(np.nan_to_num(matrix.scores[rows], nan=0.0).min(axis=0), kind="stable")
    shown = matrix.kept(rows, sorted(hardest[:_MOST_COLUMNS].tolist()))
    figure = base_figure(height=_PAYOFF_ROW * len(rows) + 160)
    figure.add_heatmap(
        z=shown.scores,
        x=[plain(name) for name in shown.attackers],
        y=[plain(name) for name in shown.rows],
        colorscale=[[0, style.BAD], [1, style.NEUTRAL]],
        texttemplate="%{z:.0f}",
        xgap=2,
        ygap=2,
        showscale=False,
        hoverongaps=False,
        hovertemplate="%{y} against %{x}: %{z:.1f}<extra></extra>",
    )
    figure.update_xaxes(showgrid=False, side="top", tickangle=-60)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    return figure


# --- several runs


def rewards_figure(runs: Sequence[Findings]) -> Figure | None:
    """The recommended policy of each run."""
    if not any(found.recommended for found in runs):
        return None
    labels = [
        f"<b>{number}</b> {plain(found.run.name)}{'' if found.recommended else ': nothing yet'}"
        for number, found in enumerate(runs, 1)
    ]
    figure = base_figure(**named_rows(labels), showlegend=False)
    for row, found in enumerate(runs):
        if (mine := found.recommended) is None:
            continue
        reward, colour = mine.result.reward, trace_colour(row)
        add_marks(
            figure,
            [reward.mean],
            [row],
            (colour, "circle" if mine.is_compliant else "circle-open", 12),
            f"{plain(found.run.name)}<br>%{{x:.2f}} ± {reward.half_width:.2f}",
            error_x=interval_bar(reward, colour),
        )
    figure.update_xaxes(title_text="reward of the recommended policy")
    return figure


def paths_figure(runs: Sequence[Findings]) -> Figure | None:
    """The best compliant reward of each search after each trial."""
    if not any(not np.isnan(step.best) for found in runs for step in found.path):
        return None
    figure = base_figure(380)
    for row, found in enumerate(runs):
        add_steps(
            figure,
            [step.trial.number + 1 for step in found.path],
            [step.best for step in found.path],
            trace_colour(row),
            f"{plain(found.run.name)}<br>trial %{{x}}: %{{y:.2f}}",
            mode="lines+markers",
            marker={"size": 5},
            name=f"run {row + 1}",
        )
    figure.update_xaxes(title_text="trial")
    figure.update_yaxes(title_text="best compliant reward so far")
    return figure


def effects_figure(runs: Sequence[Findings]) -> Figure | None:
    """The effect of each pair in each run; runs of different units have no pairs in common."""
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
