"""`workflow-rl landscape --policy`: orders compared without training any, by one policy's games."""

import argparse
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workflow_rl.cli.arguments import given_settings
from workflow_rl.cli.console import (
    make_bars,
    make_console,
    print_sentence,
    print_whole,
    titled_table,
)
from workflow_rl.config import ExperimentConfig, setting_fields, whole_number
from workflow_rl.errors import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

    from workflow_rl.ordersearch.finding import Finding
    from workflow_rl.runs.store import RunDirectory
    from workflow_rl.studies.landscape.landscape import Landscape
    from workflow_rl.studies.landscape.played import OrderPlayer, PlayedOrder

_PURPOSE: Final = "landscape of a policy"
_GAMES: Final = 100
_SHOWN: Final = 10  # orders from each end of a sample
_USED: Final = {  # settings that count where nothing is trained
    "game": ("red_agent", "episode_length", "rules"),
    "ppo": (),
    "train": ("units", "require", "compliance_threshold"),
    "search": ("gp_beta", "initial_design"),
    "backend": (),
}


def add_played_flags(parser: argparse.ArgumentParser) -> None:
    """Adds the flags of a landscape that is played; they are absent where they are not given."""
    group = parser.add_argument_group("without training")
    group.add_argument(
        "--policy",
        default=argparse.SUPPRESS,
        metavar="POLICY",
        help="train nothing: let a policy that follows any order (universal, a policy file or a "
        "run) play every order (default: train each)",
    )
    group.add_argument(
        "--games",
        type=int,
        default=argparse.SUPPRESS,
        metavar="N",
        help=f"with --policy: its games under each order for each seed (default: {_GAMES})",
    )
    group.add_argument(
        "--sample",
        type=int,
        default=argparse.SUPPRESS,
        metavar="N",
        help="with --policy: play so many orders, drawn by --seed (default: all of them)",
    )
    group.add_argument(
        "--beside",
        type=Path,
        default=argparse.SUPPRESS,
        metavar="FILE",
        help="with --policy: the landscape.json of trained orders, to say how far both agree "
        "(default: none)",
    )


def refuse_played_flags(args: argparse.Namespace) -> None:
    """Checks that flags go with --policy, and that with it none is given that trains.

    Raises:
        InvalidInputError: one does not.
    """
    if "policy" not in args:
        for name in ("games", "sample", "beside"):
            if name in args:
                raise InvalidInputError(f"--{name} goes with --policy")
        return
    for section, used in _USED.items():
        for name in given_settings(args, section):
            if name not in used:
                fields = setting_fields(type(getattr(ExperimentConfig(), section)))
                raise InvalidInputError(
                    f"with --policy nothing is trained: leave out {fields[name].setting.flags[0]}"
                )


def run_played(
    args: argparse.Namespace, config: ExperimentConfig, seeds: int, replays: int | None
) -> int:
    """Plays every order, or a sample, tells what that says and writes figures and data."""
    from workflow_rl.agents.policy import load_policy
    from workflow_rl.runs.opening import open_run
    from workflow_rl.studies.landscape.played import OrderPlayer
    from workflow_rl.studies.landscape.run import MAX_SEEDS, check_listable
    from workflow_rl.workflow.orders import orders_of

    games = whole_number("--games", getattr(args, "games", _GAMES), 2, 10**6)
    whole_number("--seeds", seeds, 1, MAX_SEEDS)
    orders = orders_of(config.train)
    sample = getattr(args, "sample", None)
    if sample is None:
        check_listable(orders, "play a --sample of them")
    else:
        whole_number("--sample", sample, 1, 10**6)
    policy = load_policy(args.policy, rules=config.game.rules)
    if not policy.is_conditioned or policy.order is not None:
        raise InvalidInputError(
            f"{args.policy} does not follow any order it is told, so it cannot compare orders"
        )
    threshold = config.train.compliance_threshold
    player = OrderPlayer(policy, str(args.policy), orders, config.game, threshold)
    beside = _stored_landscape(args.beside) if "beside" in args else None
    console = make_console()
    plan = {"policy": str(args.policy), "games": games, "sample": sample, "seeds": seeds}
    with open_run(
        config, purpose=_PURPOSE, plan=plan, checkpoint_dir=Path(args.checkpoint_dir)
    ) as (directory, _):
        print_whole(
            console,
            f"red {config.game.red_agent}, rules {config.game.rules}, played by {args.policy}, "
            f"{games} games of each order and seed; directory {directory.path}",
        )
        if sample is None:
            played = _play(console, player, orders.listed().tolist(), range(seeds), games)
            _tell_all(console, directory, player, played, replays, beside)
        else:
            drawn = _drawn(player, sample, config.seed)
            played = _play(console, player, drawn, [config.seed], games)
            _tell_sample(console, directory, player, played, replays or 0)
    return 0


def tell_landscape(
    console: "Console", directory: "RunDirectory", found: "Landscape", replays: int
) -> None:
    """Analyses a landscape, prints what it says and writes figures and data."""
    from workflow_rl.cli.landscape_tables import print_analysis
    from workflow_rl.report.plots import write_page
    from workflow_rl.studies.landscape.analysis import analyse_landscape
    from workflow_rl.studies.landscape.figures import landscape_figures, ranking_table
    from workflow_rl.studies.landscape.regret import REPLAYED_STRATEGIES
    from workflow_rl.studies.landscape.run import write_landscape
    from workflow_rl.studies.landscape.words import answer_of

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


def _play(
    console: "Console", player: "OrderPlayer", orders: list[int], seeds: Any, games: int
) -> "list[PlayedOrder]":
    played = []
    with make_bars(console) as bars:
        task = bars.add_task("orders", total=len(orders) * len(seeds), news="played")
        for seed in seeds:
            for order in orders:
                played.append(player.play(order, seed, games))
                bars.advance(task)
    return played


def _drawn(player: "OrderPlayer", number: int, seed: int) -> list[int]:
    import numpy as np

    rng = np.random.default_rng([seed, 128])
    return sorted(set(player.orders.draw(rng, number).tolist()))


def _stored_landscape(path: Path) -> "Landscape":
    from workflow_rl.files import read_json
    from workflow_rl.studies.landscape.landscape import Landscape

    return Landscape.from_json(read_json(path))


def _tell_all(
    console: "Console",
    directory: "RunDirectory",
    player: "OrderPlayer",
    played: "list[PlayedOrder]",
    replays: int | None,
    beside: "Landscape | None",
) -> None:
    from workflow_rl.studies.landscape.played import landscape_of, rank_agreement

    found = landscape_of(player, played)
    if beside is not None and beside.orders != found.orders:
        raise InvalidInputError("the landscape given with --beside is of other orders")
    tell_landscape(console, directory, found, 0 if replays is None else replays)
    _print_compliance(console, played)
    if beside is not None:
        agreement = rank_agreement(found, beside)
        print_sentence(
            console,
            f"rank correlation (Spearman) with the trained orders, red {beside.red_agent}, rules "
            f"{beside.rules}: {agreement:.3f}",
        )


def _tell_sample(
    console: "Console",
    directory: "RunDirectory",
    player: "OrderPlayer",
    played: "list[PlayedOrder]",
    replays: int,
) -> None:
    from workflow_rl.ordersearch.finding import conclude
    from workflow_rl.ordersearch.strategies import Observation
    from workflow_rl.studies.landscape.run import write_landscape

    seen = [
        Observation(p.order, p.reward.mean, p.compliance, p.compliance >= player.threshold)
        for p in played
    ]
    finding = conclude(player.orders, seen, player.game.red_agent)
    _print_sample(console, player, played, finding)
    _print_compliance(console, played)
    searches = _search(console, directory.config, player, replays)
    data = write_landscape(
        directory,
        {
            "red_agent": player.game.red_agent,
            "rules": player.game.rules,
            "policy": player.name,
            "units": player.orders.units.setting,
            "required": player.orders.required.texts,
            "orders": [p.as_json(player.orders) for p in played],
            "finding": finding.as_json(),
            "searches": searches,
        },
    )
    print_whole(console, f"written: {data}")


def _print_sample(
    console: "Console", player: "OrderPlayer", played: "list[PlayedOrder]", finding: "Finding"
) -> None:
    from workflow_rl.workflow.short_names import legend, short_order

    ranked = sorted(played, key=lambda p: -p.reward.mean)
    shown = [*enumerate(ranked, 1)]
    if len(shown) > 2 * _SHOWN:
        shown = shown[:_SHOWN] + shown[-_SHOWN:]
    table = titled_table(f"{len(played)} orders of {player.orders.count:,}, by mean reward")
    for heading in ("", "order", "reward, 95 %", "follow", "true"):
        table.add_column(heading, justify="left" if heading == "order" else "right")
    for place, one in shown:
        table.add_row(
            str(place),
            short_order(player.orders[one.order]),
            str(one.reward),
            f"{one.compliance:.3f}",
            f"{one.compliance_true:.3f}",
        )
    console.print(table)
    if short := legend(player.orders.units):
        print_sentence(console, short)
    print_sentence(console, f"found: {finding.headline}.")
    for sentence in finding.details:
        print_sentence(console, sentence)


def _print_compliance(console: "Console", played: "list[PlayedOrder]") -> None:
    least = min(one.compliance for one in played)
    print_sentence(console, f"least compliance of an order: {least:.3f}")


def _search(
    console: "Console", config: ExperimentConfig, player: "OrderPlayer", replays: int
) -> dict[str, Any]:
    """Searches by playing with each strategy, prints what was found and returns it."""
    import numpy as np

    from workflow_rl.estimates import Estimate
    from workflow_rl.studies.landscape.played import SEARCHES_ASKED, search_by_playing
    from workflow_rl.studies.landscape.regret import REPLAYED_STRATEGIES

    if not replays:
        return {}
    found: dict[str, list[list[PlayedOrder]]] = defaultdict(list)
    with make_bars(console) as bars:
        total = replays * len(REPLAYED_STRATEGIES)
        task = bars.add_task("searches", total=total, news="by playing")
        for strategy in REPLAYED_STRATEGIES:
            for number in range(replays):
                searching = search_by_playing(player, strategy, config.search, number)
                found[strategy].append(list(searching))
                bars.advance(task)
    table = titled_table(f"reward of the order that a search hands over, {replays} searches, 95 %")
    table.add_column("strategy")
    for number in SEARCHES_ASKED:
        table.add_column(f"{number} trials", justify="right", no_wrap=True)
    means = {
        strategy: np.array([[one.reward.mean for one in search] for search in searches])
        for strategy, searches in found.items()
    }
    for strategy, values in means.items():
        table.add_row(strategy, *(str(Estimate.of_few(column)) for column in values.T))
    console.print(table)
    return {
        "asked": list(SEARCHES_ASKED),
        "strategies": {
            strategy: [[one.as_json(player.orders) for one in search] for search in searches]
            for strategy, searches in found.items()
        },
    }
