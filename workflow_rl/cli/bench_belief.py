"""`workflow-rl bench belief`: is the belief right, and how fast is it?"""

import argparse
from typing import TYPE_CHECKING

from workflow_rl.cli.arguments import GAME, SEED, Commands, add_command, add_setting
from workflow_rl.cli.measuring import add_measuring_flags, checked, measure_and_show, parts_of
from workflow_rl.config import MAX_SEED, MIXED, GameConfig, whole_number

if TYPE_CHECKING:
    from rich.console import Console

    from workflow_rl.bench import belief

_MAX_GAMES = 100_000


def add_to(subjects: Commands) -> None:
    """Adds what can be measured of the belief."""
    parser = add_command(
        subjects,
        "belief",
        "measure how right the belief about Red is on fresh games, and how fast",
        "workflow-rl bench belief\n"
        "workflow-rl bench belief --blue cardiff --red-agent meander --games 2000\n"
        "workflow-rl bench belief --blue greedy --green-agent active",
    )
    add_measuring_flags(parser, "belief", seconds=0.3, cyborg=False, mixed=True)
    parser.set_defaults(red_agent=MIXED)
    add_setting(parser, GAME["rules"])
    add_setting(parser, GAME["green_agent"])
    add_setting(parser, GAME["episode_length"])
    add_setting(parser, SEED, text="which games are played")
    parser.add_argument(
        "--blue",
        default="random,greedy,ppo,cardiff",
        metavar="NAME,...",
        help="who defends: whatever `evaluate` takes",
    )
    parser.add_argument(
        "--games", type=int, default=1000, metavar="N", help="fresh games of each of them"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measures, prints the tables and writes the figures."""
    config = GameConfig(
        red_agent=args.red_agent,
        rules=args.rules,
        green_agent=args.green_agent,
        episode_length=args.episode_length,
    )
    path = checked(args, config)
    games = whole_number("--games", args.games, 2, _MAX_GAMES)
    seed = whole_number("--seed", args.seed, 0, MAX_SEED)
    from workflow_rl.agents.named import make_agent
    from workflow_rl.bench import belief

    blue = parts_of(args.blue)
    for name in blue:
        make_agent(name, rules=config.rules)  # says so if there is none
    plan = belief.BeliefPlan(blue, games, args.repeats, args.seconds, args.load, seed)
    return measure_and_show(path, lambda progress: belief.run(config, plan, progress), print_belief)


def print_belief(console: "Console", report: "belief.BeliefReport") -> None:
    """Prints what came of the forecasts, their scores, what is known and the speed."""
    config = report.config
    console.print(
        f"red {config.red_agent}, rules {config.rules}, green {config.green_agent}; "
        f"{report.plan.games} games of {config.episode_length} steps each; all hosts but User0",
        soft_wrap=True,
    )
    _print_reliability(console, report)
    _print_scores(console, report)
    _print_speed(console, report)


def _print_reliability(console: "Console", report: "belief.BeliefReport") -> None:
    from rich.table import Table

    from workflow_rl.bench.calibration import Forecasts

    for title, forecasts in (
        ("Red holds the host", [it.held for it in report.calibrations]),
        ("Red holds it with privileges", [it.privileged for it in report.calibrations]),
    ):
        table = Table(title=title)
        for heading in ("probability", "forecasts", "mean", "came true"):
            table.add_column(heading, justify="right")
        for row in Forecasts.together(forecasts).bins():
            if row.count:
                came_true = f"{row.observed.mean:.4f} ± {row.observed.half_width:.4f}"
                table.add_row(row.label, f"{row.count:,}", f"{row.forecast:.4f}", came_true)
        console.print(table)
    console.print("±: 95 % interval over games")


def _print_scores(console: "Console", report: "belief.BeliefReport") -> None:
    from rich.table import Table

    scores = Table(title="Brier scores: 0 is perfect")
    scores.add_column("Blue")
    for heading in ("held", "by the mark", "by four bits", "privileged", "OT stopped"):
        scores.add_column(heading, justify="right")
    known = Table(title="what is known")
    known.add_column("Blue")
    for heading in ("red agent", "states", "most", "exact"):
        known.add_column(heading, justify="right")
    for it in report.calibrations:
        briers = it.held.brier, it.marked, it.shown, it.privileged.brier, it.ot_stopped.brier
        scores.add_row(it.blue, *(f"{brier:.5f}" for brier in briers))
        states = f"{it.states:.2f}", f"{it.most_states:,}", f"{it.exact:.1%}"
        known.add_row(it.blue, f"{it.red_agent:.3f}", *states)
    console.print(scores)
    console.print(
        "by the mark: held if it is not No; by four bits: how often a host that shows the same "
        "was held in these very games",
        soft_wrap=True,
    )
    console.print(known)
    console.print(
        "red agent: mean probability of the right one at the end; states: explain what was seen, "
        "on average; exact: games in which none was left out",
        soft_wrap=True,
    )


def _print_speed(console: "Console", report: "belief.BeliefReport") -> None:
    from rich.table import Table

    from workflow_rl.bench.belief import TIMED_ENVS

    table = Table(title=f"updates of an environment, {TIMED_ENVS} side by side, one thread")
    table.add_column("Blue")
    for heading in ("particles", "states kept", "updates/s", "µs/update"):
        table.add_column(heading, justify="right")
    for row in report.speeds:
        rate = row.rate.median
        figures = f"{row.states:.2f}", f"{rate:,.0f}", f"{1e6 / rate:.2f}"
        table.add_row(row.blue, f"{row.particles:,}", *figures)
    console.print(table)
    machine = report.machine
    beside = f"; {report.plan.load} busy processes beside it" if report.plan.load else ""
    console.print(
        f"{machine['cores']} cores, {machine['processor']}; medians of "
        f"{report.plan.repeats}{beside}"
    )
