"""How a sample of orders that a policy played is told."""

from collections.abc import Sequence

import numpy as np
from rich.console import Console

from workflow_rl.cli.console import both_ends, print_sentence, print_whole, titled_table
from workflow_rl.estimates import Estimate
from workflow_rl.runs.store import RunDirectory
from workflow_rl.studies.landscape.played import PlayedOrder
from workflow_rl.studies.landscape.run import write_landscape
from workflow_rl.studies.landscape.sample import SEARCHES_ASKED, PlayedSample, Searches
from workflow_rl.workflow.short_names import legend, short_order


def tell_sample(console: Console, directory: RunDirectory, sample: PlayedSample) -> None:
    """Prints what a sample says and writes its data."""
    _print_orders(console, sample)
    finding, units = sample.finding, sample.player.orders.units
    if short := legend(units):
        print_sentence(console, short)
    print_sentence(console, f"found: {finding.headline}.")
    for sentence in finding.details:
        print_sentence(console, sentence)
    print_compliance(console, sample.played)
    if sample.searches:
        _print_searches(console, sample.searches)
    print_whole(console, f"written: {write_landscape(directory, sample.as_json())}")


def print_compliance(console: Console, played: Sequence[PlayedOrder]) -> None:
    """Prints how well the order is followed that is followed least."""
    least = min(one.compliance for one in played)
    print_sentence(console, f"least compliance of an order: {least:.3f}")


def _print_orders(console: Console, sample: PlayedSample) -> None:
    orders = sample.player.orders
    ranked = sorted(sample.played, key=lambda one: -one.reward.mean)
    table = titled_table(f"{len(ranked)} orders of {orders.count:,}, by mean reward")
    for heading in ("", "order", "reward, 95 %", "follow", "true"):
        table.add_column(heading, justify="left" if heading == "order" else "right")
    for shown in both_ends(ranked):
        if shown is None:
            table.add_row("...")
            continue
        place, one = shown
        table.add_row(
            str(place),
            short_order(orders[one.order]),
            str(one.reward),
            f"{one.compliance:.3f}",
            f"{one.compliance_true:.3f}",
        )
    console.print(table)


def _print_searches(console: Console, searches: Searches) -> None:
    number = max(map(len, searches.values()))
    table = titled_table(f"reward of the order that a search hands over, {number} searches, 95 %")
    table.add_column("strategy")
    for asked in SEARCHES_ASKED:
        table.add_column(f"{asked} trials", justify="right", no_wrap=True)
    for strategy, found in searches.items():
        means = np.array([[one.reward.mean for one in search] for search in found])
        table.add_row(strategy, *(str(Estimate.of_few(column)) for column in means.T))
    console.print(table)
