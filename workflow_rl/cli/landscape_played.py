"""`workflow-rl landscape --policy`: orders compared without training any, by one policy's games."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from workflow_rl.agents.policy import load_policy
from workflow_rl.cli.console import make_bars, make_console, print_sentence, print_whole
from workflow_rl.cli.landscape_sample import print_compliance, tell_sample
from workflow_rl.cli.landscape_tables import tell_landscape
from workflow_rl.config import ExperimentConfig, whole_number
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import read_json
from workflow_rl.runs.opening import open_run
from workflow_rl.studies.landscape.landscape import Landscape
from workflow_rl.studies.landscape.played import OrderPlayer, PlayedOrder, landscape_of
from workflow_rl.studies.landscape.ranking import rank_agreement
from workflow_rl.studies.landscape.regret import REPLAYED_STRATEGIES
from workflow_rl.studies.landscape.run import MAX_SEEDS, check_listable
from workflow_rl.studies.landscape.sample import (
    PlayedSample,
    Searches,
    sampled_orders,
    search_by_playing,
)
from workflow_rl.workflow.orders import Orders, orders_of

_PURPOSE: Final = "landscape --policy"
_MOST: Final = 10**6


def run_played(
    args: argparse.Namespace, config: ExperimentConfig, games: int, seeds: int, replays: int
) -> int:
    """Plays every order, or a sample, tells what that says and writes figures and data.

    Args:
        args: of the flags, `policy`, `checkpoint_dir` and, if given, `sample` and `beside`.
        config: the game, the orders and what makes them compliant.
        games: under each order for each seed.
        seeds: sets of games of each order; a sample has one.
        replays: searches of each strategy.

    Raises:
        InvalidInputError: something cannot be done; nothing is written then.
    """
    whole_number("--games", games, 2, _MOST)
    whole_number("--seeds", seeds, 1, MAX_SEEDS)
    orders = orders_of(config.train)
    sample: int | None = getattr(args, "sample", None)
    if sample is None:
        check_listable(orders, "play a --sample of them")
        chosen = orders.listed().tolist()
    else:
        whole_number("--sample", sample, 1, min(_MOST, orders.count))
        chosen, seeds = sampled_orders(orders, sample, config.seed), 1
    name = str(args.policy)
    policy = load_policy(name, rules=config.game.rules)
    player = OrderPlayer(policy, name, orders, config.game, config.train.compliance_threshold)
    beside = _landscape_beside(args.beside, orders) if "beside" in args else None
    of_seeds = range(config.seed, config.seed + seeds)
    console = make_console()
    plan = {"policy": name, "games": games, "sample": sample, "seeds": list(of_seeds)}
    with open_run(
        config, purpose=_PURPOSE, plan=plan, checkpoint_dir=Path(args.checkpoint_dir)
    ) as (directory, _):
        print_whole(
            console,
            f"red {config.game.red_agent}, rules {config.game.rules}, played by {name}, "
            f"{games} games of each order and seed; directory {directory.path}",
        )
        played = _play(console, player, chosen, of_seeds, games)
        if sample is not None:
            searches = _search(console, config, player, replays)
            tell_sample(console, directory, PlayedSample(player, played, searches))
            return 0
        found = landscape_of(player, played)
        tell_landscape(console, directory, found, replays)
        print_compliance(console, played)
        if beside is not None:
            _print_agreement(console, found, beside)
    return 0


def _landscape_beside(path: Path, orders: Orders) -> Landscape:
    """Returns the landscape in a file, which must be of the same orders."""
    found = Landscape.from_json(read_json(path))
    if found.orders != orders:
        raise InvalidInputError(f"{path} is a landscape of other orders: --beside needs the same")
    return found


def _play(
    console: Console,
    player: OrderPlayer,
    orders: Sequence[int],
    seeds: Sequence[int],
    games: int,
) -> list[PlayedOrder]:
    played = []
    with make_bars(console) as bars:
        task = bars.add_task("orders", total=len(orders) * len(seeds), news="played")
        for seed in seeds:
            for order in orders:
                played.append(player.play(order, seed, games))
                bars.advance(task)
    return played


def _search(
    console: Console, config: ExperimentConfig, player: OrderPlayer, number: int
) -> Searches:
    """Searches so often with each strategy, every trial a few games."""
    found: dict[str, list[list[PlayedOrder]]] = {}
    with make_bars(console) as bars:
        total = number * len(REPLAYED_STRATEGIES)
        task = bars.add_task("searches", total=total, news="by playing")
        for strategy in REPLAYED_STRATEGIES if number else ():
            found[strategy] = []
            for seed in range(number):
                found[strategy].append(
                    list(search_by_playing(player, strategy, config.search, seed))
                )
                bars.advance(task)
    return found


def _print_agreement(console: Console, found: Landscape, beside: Landscape) -> None:
    how = f"played by {beside.policy}" if beside.policy else "trained"
    print_sentence(
        console,
        f"rank correlation (Spearman) with the orders {how}, red {beside.red_agent}, rules "
        f"{beside.rules}: {rank_agreement(found, beside):.3f}",
    )
