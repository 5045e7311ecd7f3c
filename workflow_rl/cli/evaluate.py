"""`workflow-rl evaluate`: the challenge's evaluation of a policy or a baseline."""

import argparse
import inspect
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflow_rl.cli.arguments import (
    BACKEND,
    GAME,
    SEED,
    Commands,
    add_command,
    add_flag,
    add_network,
    add_setting,
    add_workflow,
    list_of,
    red_agents,
)
from workflow_rl.cli.console import (
    Bars,
    make_console,
    make_table,
    print_fitting,
    print_sentence,
    print_whole,
    unbroken,
)
from workflow_rl.config import RED_AGENTS

if TYPE_CHECKING:
    from rich.console import Console

    from workflow_rl.evaluation.result import Cell, Evaluation

_WIDE = 125  # columns that the leaderboard with all cells needs
_AGENT_WIDTH = 28
_EXAMPLES = """workflow-rl evaluate logs/exp_20260101_120000_4242
workflow-rl evaluate react-restore --rules competition --episodes 20000
workflow-rl evaluate best --rules competition
workflow-rl evaluate universal --workflow jewels,rest --units units.toml
workflow-rl evaluate policy.safetensors --sampled --steps 100
workflow-rl evaluate best --red-agent bait,random --red-agent bline=1,bait=1
workflow-rl evaluate bline=one.safetensors,meander=other.safetensors"""


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "evaluate",
        "evaluate a policy or a baseline by the challenge's protocol, with the leaderboard",
        _EXAMPLES,
    )
    parser.add_argument(
        "what",
        metavar="WHAT",
        help="a run directory, a policy file, an SB3 PPO model (.zip), bline=PATH,meander=PATH (a "
        "policy for each red agent), or a baseline: sleep, random, react-restore, greedy, best "
        "(the strongest against the scripts), robust (against attackers that answer it), cardiff "
        "(the winner's method), ppo (145 actions, no workflow), universal (follows any --workflow)",
    )
    add_setting(parser, GAME["rules"])
    add_flag(parser, "--episodes", "episodes of each cell", "1000", type=int, metavar="N")
    lengths: dict[str, Any] = {"dest": "steps", "type": list_of(int), "metavar": "N,N"}
    steps = "lengths of episodes, in steps"
    add_flag(parser, "--episode-length --steps", steps, "30,50,100", **lengths)
    attackers = (
        "red agents with commas between, or one mixture such as bline=1,bait=2; the flag may be "
        "repeated. Each is a name that search --red-agent takes"
    )
    names: dict[str, Any] = {"dest": "red_agents", "type": red_agents, "metavar": "NAME,NAME"}
    add_flag(parser, "--red-agent", attackers, ",".join(RED_AGENTS), action="extend", **names)
    add_setting(parser, GAME["green_agent"])
    add_network(parser, "that of the policy, or scenario2")
    add_setting(parser, GAME["observation"], text="what an SB3 model was trained on")
    add_workflow(parser)
    stochastic = "sample actions, or take the most probable (default: as in the policy's file)"
    add_flag(parser, "--sampled", stochastic, action=argparse.BooleanOptionalAction)
    add_setting(parser, SEED)
    add_setting(parser, BACKEND["name"], dest="backend")
    add_setting(parser, BACKEND["cyborg_path"])
    default = "evaluations/<name>_<rules>_<time>, in the run's directory or here"
    add_flag(parser, "--output", "where the files go", default, type=Path, metavar="DIR")
    listed = "episodes of each cell whose actions the text file lists"
    count: dict[str, Any] = {"dest": "logged_episodes", "type": int, "metavar": "N"}
    add_flag(parser, "--listed-episodes", listed, "100", basic=False, **count)
    does = "show what the agent does: its actions by kind, by phase of the game and by host"
    add_flag(parser, "--actions", does, basic=False, action="store_true")
    for name in ("--author", "--team"):
        add_flag(parser, name, "for the text file", "none", basic=False, metavar="NAME")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plays all cells, shows them with the leaderboard and writes both files."""
    # Imported here: no other command needs it.
    from workflow_rl.evaluation.files import checked_directory, default_directory, write_evaluation
    from workflow_rl.evaluation.protocol import evaluate
    from workflow_rl.files import refuse_links_out_of

    output: Path | None = getattr(args, "output", None)
    if output is not None:
        checked_directory(output)
    elif Path(args.what).is_dir():
        refuse_links_out_of(Path(args.what))
    console = make_console()
    asked = inspect.signature(evaluate).parameters
    given = {name: value for name, value in vars(args).items() if name in asked}
    done = 0

    def show(played: int) -> None:
        nonlocal done
        done += played
        bars.move("episodes", done)

    with Bars(console) as bars:
        evaluation = evaluate(**given, on_start=partial(bars.begin, "episodes"), on_episodes=show)
    directory = output or default_directory(args.what, evaluation.agent, args.rules)
    author, team = (getattr(args, name, "") for name in ("author", "team"))
    paths = write_evaluation(evaluation, directory, author=author, team=team)
    print_evaluation(console, evaluation)
    if "actions" in args:
        _print_actions(console, evaluation)
    print_whole(console, "written: " + ", ".join(map(unbroken, paths)))
    return 0


def print_evaluation(console: "Console", evaluation: "Evaluation") -> None:
    """Prints the cells, the total, the leaderboard, and attackers that deviate."""
    from workflow_rl.scenario.summary import about_game_on

    choice = "sampled" if evaluation.is_sampled else "deterministic"
    title = (
        f"{evaluation.agent}: rules {evaluation.rules}"
        f"{', Green active' if evaluation.green_agent == 'active' else ''}, "
        f"{evaluation.backend}, {choice}, "
        f"{evaluation.episodes:,} episodes a cell, seed {evaluation.seed}"
    )
    if not evaluation.cells[0].game.is_scenario2:
        for sentence in about_game_on(evaluation.network):
            print_whole(console, sentence)
    _print_cells(console, evaluation, title, evaluation.cells)
    what = "score, the sum" if evaluation.is_official else "sum"
    console.print(
        f"{what} of the {len(evaluation.cells)} means: {evaluation.total} (95 %); "
        f"{evaluation.seconds:.1f} s"
    )
    if evaluation.order is not None:
        brackets = "in brackets: the repairs a game that it judges"
        print_whole(console, f"compliance by: {evaluation.order}; {brackets}")
        if evaluation.order.units.kind != "types":
            print_whole(console, f"units: {evaluation.order.units}")
    if evaluation.is_official:
        _print_leaderboard(console, evaluation)
    if evaluation.deviating:
        title = "attackers that deviate from the scripts, not part of the score"
        _print_cells(console, evaluation, title, evaluation.deviating)


def _print_cells(
    console: "Console", evaluation: "Evaluation", title: str, cells: "Sequence[Cell]"
) -> None:
    from workflow_rl.config import VIEWS
    from workflow_rl.evaluation.result import with_fixes

    views = VIEWS if evaluation.order is not None else ()
    table = make_table(
        title,
        ("steps", "red", "mean", "sd", "95 % interval", *(f"compliance, {v}" for v in views)),
        left=("red",),
    )
    for cell in cells:
        reward = cell.result.reward
        judged = [
            with_fixes(f"{cell.compliance[view].mean():.3f}", cell.fixes[view].mean())
            if view in cell.compliance
            else "-"
            for view in views
        ]
        table.add_row(
            str(cell.steps),
            cell.red_agent,
            f"{cell.mean:.2f}",
            f"{cell.sd:.2f}",
            f"{reward.low:.2f} to {reward.high:.2f}",
            *judged,
        )
    print_fitting(console, table, "sd", "compliance, true", "95 % interval")


def _print_actions(console: "Console", evaluation: "Evaluation") -> None:
    """Prints what the agent did against each attacker, in the longest games."""
    from workflow_rl.evaluation.behaviour import KINDS, WAITING

    steps = max(cell.steps for cell in evaluation.cells)
    phases = make_table("share of steps by kind of action", ("red", "steps", *KINDS), left=("red",))
    hosts = make_table("actions a game by host", ("red", "host", *KINDS[:-1]), left=("red", "host"))
    for cell in evaluation.cells:
        if cell.behaviour is None or cell.steps != steps:
            continue
        rows = zip(cell.behaviour.phases, cell.behaviour.phase_shares, strict=True)
        for phase, shares in rows:
            phases.add_row(cell.red_agent, phase, *(f"{share:.0%}" for share in shares))
        for host, times in cell.behaviour.host_times.items():
            hosts.add_row(cell.red_agent, host, *(f"{number:.1f}" for number in times[:-1]))
    if not phases.row_count:
        print_sentence(console, "actions are counted on the backend cage2 only")
        return
    console.print(phases, hosts, sep="\n")
    print_sentence(console, f"wait: {WAITING}")


def _print_leaderboard(console: "Console", evaluation: "Evaluation") -> None:
    from workflow_rl.evaluation.leaderboard import LEADERBOARD, LEADERBOARD_SOURCE, RERUN
    from workflow_rl.evaluation.result import OFFICIAL_STEPS

    cells = [f"{n}\n{red}" for n in OFFICIAL_STEPS for red in RED_AGENTS]
    if console.width < _WIDE:
        cells = []
    table = make_table(
        "compared with the published scores; those of other rules are not comparable",
        ("\nagent", "\ntotal", *cells),
    )
    table.columns[0].max_width = _AGENT_WIDTH

    def add(name: str, total: str, means: Iterable[float], style: str = "") -> None:
        shown = [f"{mean:.2f}" for mean in means] if cells else []
        table.add_row(name, total, *shown, style=style)

    def add_rules(rules: str) -> None:
        is_ours = rules == evaluation.rules
        table.add_row(f"rules {rules}:" if is_ours else f"need --rules {rules}:")

    add_rules(evaluation.rules)
    means = [cell.mean for cell in evaluation.cells]
    add(f"   {evaluation.agent}", str(evaluation.total), means, "bold")
    if evaluation.rules != RERUN.rules:
        add_rules(RERUN.rules)
    add(f"   {RERUN.team}", f"{RERUN.total:.2f}       ", RERUN.cells)
    add_rules(LEADERBOARD[0].rules)
    for rank, row in enumerate(LEADERBOARD, 1):
        total = f"{row.total:.2f} ± {row.half_width:.2f}"
        add(f"{rank:2} {row.team}: {row.method}", total, row.cells)
    console.print(table)
    sources = f"{LEADERBOARD[0].rules}: {LEADERBOARD_SOURCE}; {RERUN.team}: {RERUN.source}"
    print_whole(console, sources)
