"""How a landscape is told: the effect of the order, the ranking, the regret; figures and data."""

from typing import Final

import numpy as np
from rich.console import Console

from workflow_rl.cli.console import (
    both_ends,
    make_bars,
    number_text,
    print_sentence,
    print_whole,
    titled_table,
)
from workflow_rl.estimates import Estimate
from workflow_rl.report.plots import write_page
from workflow_rl.runs.store import RunDirectory
from workflow_rl.studies.landscape.analysis import Analysis, analyse_landscape
from workflow_rl.studies.landscape.figures import landscape_figures, ranking_table
from workflow_rl.studies.landscape.landscape import Landscape
from workflow_rl.studies.landscape.order_effects import OrderEffect
from workflow_rl.studies.landscape.regret import REPLAYED_STRATEGIES
from workflow_rl.studies.landscape.run import write_landscape
from workflow_rl.studies.landscape.words import answer_of, with_interval
from workflow_rl.workflow.short_names import legend, short_order

_MOST_SEEDS: Final = 4  # with a column of their own: more do not fit a terminal


def tell_landscape(
    console: Console, directory: RunDirectory, found: Landscape, replays: int
) -> None:
    """Analyses a landscape, prints what it says and writes figures and data."""
    config = directory.config
    with make_bars(console) as bars:
        total = replays * len(REPLAYED_STRATEGIES)
        task = bars.add_task("replays", total=total, news="of searches on this landscape")
        analysis = analyse_landscape(
            found,
            config.search,
            replays=replays,
            seed=config.seed,
            on_replay=lambda: bars.advance(task),
        )
    print_analysis(console, analysis)
    data = write_landscape(directory, analysis.as_json())
    page = directory.path / "landscape.html"
    by = f", played by {found.policy}" if found.policy else ""
    write_page(
        page,
        f"Landscape: red {found.red_agent}, rules {found.rules}{by}",
        landscape_figures(analysis),
        answer=answer_of(analysis),
        tables=[ranking_table(analysis)],
    )
    print_whole(console, f"written: {data}, {page}")


def print_analysis(console: Console, analysis: Analysis) -> None:
    """Prints everything a landscape says, the answer first."""
    for sentence in answer_of(analysis):
        print_sentence(console, sentence)
    if analysis.effect is not None:
        _print_effect(console, analysis.effect)
    _print_classes(console, analysis)
    _print_pairs(console, analysis)
    _print_ranking(console, analysis)
    if analysis.regrets:
        _print_regret(console, analysis)


def _print_effect(console: Console, effect: OrderEffect) -> None:
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


def _print_classes(console: Console, analysis: Analysis) -> None:
    land = analysis.landscape
    names, members = np.unique(land.classes, return_inverse=True)
    if analysis.equals is None or len(names) > 30:
        return
    table = titled_table("classes of equal orders, by the units whose places matter")
    table.add_column("what they have in common")
    seeds = land.seeds if len(land.seeds) <= _MOST_SEEDS else ()
    for heading in ("orders", "mean reward", *(f"seed {seed}" for seed in seeds)):
        table.add_column(heading, justify="right", no_wrap=True)
    means = np.array([land.reward[:, members == k].mean() for k in range(len(names))])
    for k in np.argsort(-means).tolist():
        inside = land.reward[:, members == k]
        table.add_row(
            " > ".join(land.orders.common_part(land.listed[members == k].tolist())),
            str(inside.shape[1]),
            f"{means[k]:.2f}",
            *(f"{mean:.2f}" for mean in inside.mean(axis=1)[: len(seeds)]),
        )
    console.print(table)


def _print_pairs(console: Console, analysis: Analysis) -> None:
    table = titled_table("what matters: one unit before another, all other pairs as they are")
    table.add_column("")
    seeds = analysis.landscape.seeds
    shown = seeds if len(seeds) <= _MOST_SEEDS else ()
    headings = ("worth, 95 %", *(f"seed {seed}" for seed in shown))
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for pair in analysis.pairs:
        table.add_row(
            f"{pair.first} before {pair.second}",
            with_interval(pair.worth),
            *(f"{worth:.2f}" for worth in pair.of_seeds[: len(shown)]),
        )
    console.print(table)


def _print_ranking(console: Console, analysis: Analysis) -> None:
    land = analysis.landscape
    game = f"red {land.red_agent}, rules {land.rules}"
    table = titled_table(f"all orders, ranked: {game}")
    table.padding = (0, 1, 0, 0)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("workflow", no_wrap=True)
    for heading in ("reward, 95 %", "rank, 95 %", "follow", "true", "seeds"):
        table.add_column(heading, justify="right", no_wrap=True)
    standings = analysis.standings
    for shown in both_ends(standings):
        if shown is None:
            table.add_row("...")
            continue
        place, standing = shown
        table.add_row(
            str(place),
            short_order(land.order(standing.order)),
            with_interval(standing.reward),
            f"{standing.rank_low} to {standing.rank_high}",
            f"{standing.compliance:.3f}",
            f"{standing.compliance_true:.3f}",
            f"{standing.compliant}/{len(land.seeds)}",
        )
    console.print(table)
    short = legend(land.orders.units)
    print_sentence(
        console,
        f"{short and f'{short}; '}follow: compliance, true: by where Red really was; seeds: for "
        "how many the order complied",
    )


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
            table.add_row(regret.strategy, *(with_interval(Estimate(*pair)) for pair in pairs))
        gains = analysis.advantage(measure)
        if gains is not None:
            table.add_row("random minus gp-ucb", *map(with_interval, gains), style="bold")
        console.print(table)
