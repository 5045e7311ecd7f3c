"""How the outcome of a search is shown."""

from typing import Literal

from rich.console import Console
from rich.table import Table

from workflow_rl.cli.console import print_whole
from workflow_rl.config import ExperimentConfig
from workflow_rl.config.units import ANY
from workflow_rl.runs.store import RECOMMENDED, RunDirectory
from workflow_rl.runs.summary import SearchOutcome, spread_of
from workflow_rl.workflow.orders import Orders, orders_of
from workflow_rl.workflow.units import TYPE_UNITS, units_of


def print_start(console: Console, directory: RunDirectory) -> None:
    """Prints what is about to run, and where."""
    config = directory.config
    print_whole(
        console,
        f"red {config.game.red_agent}, rules {config.game.rules}, seed {config.seed}; "
        f"run directory {directory.path}",
    )
    if config.train.units != TYPE_UNITS.kind:
        shown = config.train.units if config.train.units == ANY else units_of(config.train.units)
        print_whole(console, f"units: {shown}")
    if config.train.require:
        print_whole(console, f"required: {', '.join(config.train.require)}")


def print_outcome(console: Console, outcome: SearchOutcome, directory: RunDirectory) -> None:
    """Prints the ranking, the recommendation and where everything is."""
    game, orders = directory.config.game, orders_of(directory.config.train)
    console.print(
        _ranking(outcome, orders, f"workflows tried: red {game.red_agent}, rules {game.rules}")
    )
    compliant = sum(t.result is not None and t.result.is_compliant for t in outcome.trials)
    console.print(
        f"{compliant} of {len(outcome.trials)} workflows compliant. 'true' is compliance judged by "
        "where Red really is; nobody sees 5 % of its shells, which bounds it, most where "
        f"{'user comes' if orders.units == TYPE_UNITS else 'the User hosts come'} early."
    )
    _print_order_effect(console, outcome, orders, game.red_agent)
    console.print(f"recommended: {orders.format(outcome.recommendation.order)}")
    _print_scores(console, outcome, directory.config)
    print_whole(
        console,
        f"{outcome.transitions:,} transitions in {outcome.seconds:.0f} s; policy: "
        f"{directory.policy(RECOMMENDED)}; everything: {directory.path}",
    )


def _print_scores(console: Console, outcome: SearchOutcome, config: ExperimentConfig) -> None:
    """Prints what the policy that is handed over is worth against each red agent."""
    games = config.search.score_games
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="underline")
    for heading in ("its policy", "reward", "drawing", "compliance", "true"):
        table.add_column(heading, no_wrap=True)
    for score in outcome.scores:
        table.add_row(
            score.red_agent,
            str(score.deterministic),
            str(score.drawn),
            f"{score.compliance:.3f}",
            f"{score.compliance_true:.3f}",
        )
    console.print(table)
    console.print(
        f"({games:,} fresh games each, of {config.game.episode_length} steps; the rewards of the "
        "trials above are the documents' own measure: each environment's last 3 training episodes)"
    )
    for score in outcome.scores:
        if score.is_unfit:
            console.print(
                f"unfit for {score.red_agent}: {score.deterministic.mean:.1f}, where repairing by "
                f"the order without any training gets {score.untrained.mean:.1f}"
            )


def _ranking(outcome: SearchOutcome, orders: Orders, title: str) -> Table:
    """Returns the table of all trials, the compliant ones first, then by reward."""
    table = Table(title=title, box=None, padding=(0, 2, 0, 0), header_style="underline")
    for heading in ("", "workflow", "reward", "compliance", "true", "episodes", "stopped"):
        justify: Literal["left", "right"] = "right" if heading == "" else "left"
        table.add_column(heading, justify=justify, no_wrap=heading != "workflow")
    done = [(trial.order, trial.result) for trial in outcome.trials if trial.result is not None]
    ranking = sorted(done, key=lambda pair: (not pair[1].is_compliant, -pair[1].env_reward))
    for rank, (order, result) in enumerate(ranking, 1):
        table.add_row(
            str(rank),
            orders.format(order),
            f"{result.env_reward:.2f} ± {result.env_reward_error:.2f}",
            f"{result.compliance:.3f}" + ("" if result.is_compliant else " below"),
            f"{result.compliance_true:.3f}",
            str(result.episodes_per_env),
            result.stopped,
        )
    return table


def _print_order_effect(
    console: Console, outcome: SearchOutcome, orders: Orders, red_agent: str
) -> None:
    """Says how much rewards differ between orders, and between equal ones by chance."""
    if red_agent == "bline" and orders.units == TYPE_UNITS:
        console.print(
            "Against bline the place of defender makes no difference (24 classes of equals), nor "
            "does op_host's, which it never touches: 6 classes in all."
        )
    spread = spread_of(outcome.trials, red_agent, orders)
    if spread.equals and spread.classes > 1:
        console.print(
            f"how much the order matters: rewards differ by {spread.between:.2f} (standard "
            f"deviation) between {spread.classes} different orders, by {spread.within:.2f} between "
            "equal ones, which is noise"
        )
