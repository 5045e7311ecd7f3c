"""`workflow-rl compare-updates`: rollout and update strategies side by side."""

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workflow_rl.cli.arguments import Commands, add_command, add_red_agent, add_rules
from workflow_rl.cli.console import make_bars, make_console, print_whole
from workflow_rl.cli.execution import add_execution_flags, execution_of
from workflow_rl.cli.resuming import add_resume, refuse_flags, saying_how_to_go_on
from workflow_rl.config import DEFAULT_PPO, PPO_FORMS, PRESETS, whole_number
from workflow_rl.workflow.orders import format_order, order_index, parse_order

if TYPE_CHECKING:
    from rich.console import Console

    from workflow_rl.studies.comparison.plan import Plan

_EXAMPLES = """workflow-rl compare-updates
workflow-rl compare-updates --red-agent meander --seeds 5
workflow-rl compare-updates --presets parallel25,parallel200 --transitions 5000000
workflow-rl compare-updates --resume logs/exp_20260101_120000_4242"""
_WORKFLOW: Final = "op_server > enterprise > op_host > user > defender"
_FLAGS: Final = {  # field of a plan -> its flag
    "red_agent": "--red-agent",
    "rules": "--rules",
    "episode_length": "--max-steps",
    "order": "--workflow",
    "ppo": "--ppo",
    "transitions": "--transitions",
    "presets": "--presets",
    "seeds": "--seeds or --seed",
}


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "compare-updates",
        "train every preset from scratch at an equal number of transitions: reward, compliance, "
        "gradient noise, speed and memory of each",
        _EXAMPLES,
    )
    add_red_agent(parser)
    add_rules(parser)
    parser.add_argument("--max-steps", type=int, default=100, metavar="N", help="steps per episode")
    parser.add_argument(
        "--workflow", default=_WORKFLOW, metavar="ORDER", help="the order to follow"
    )
    parser.add_argument(
        "--presets",
        default=",".join(PRESETS),
        metavar="NAME,NAME",
        help="rollout strategies to compare",
    )
    parser.add_argument(
        "--transitions",
        type=int,
        default=1_000_000,
        metavar="N",
        help="transitions of each training, all environments together",
    )
    parser.add_argument(
        "--ppo",
        default=DEFAULT_PPO,
        metavar="NAME",
        help=f"form of PPO: {', '.join(PPO_FORMS)}; the preset original is always documented",
    )
    parser.add_argument(
        "--seeds", type=int, default=3, metavar="N", help="trainings of each; the first is --seed"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="same seed, same result")
    parser.add_argument(
        "--reward-thresholds",
        type=float,
        nargs="+",
        default=[-200.0, -50.0],
        metavar="X",
        help="rewards whose first reaching is told",
    )
    parser.add_argument(
        "--parallel-trainings",
        type=int,
        default=argparse.SUPPRESS,
        metavar="N",
        help="trainings side by side; 1 disturbs the measured speed least (default: 2, with the "
        "executor serial 1)",
    )
    parser.add_argument(
        "--checkpoint-dir", default="logs", metavar="DIR", help="where run directories are made"
    )
    add_resume(
        parser,
        "DIR",
        "go on with an interrupted comparison, with the settings it began with; finished "
        "trainings are kept (default: a new one)",
    )
    add_execution_flags(parser, time_limit=False)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Trains, prints the tables and writes figures and data."""
    # Imported here: the networks take seconds that no other command needs.
    from workflow_rl.cli.compare_tables import print_comparison
    from workflow_rl.report.plots import write_page
    from workflow_rl.studies.comparison.figures import figures
    from workflow_rl.studies.comparison.place import open_place
    from workflow_rl.studies.comparison.plan import Plan
    from workflow_rl.studies.comparison.run import ComparisonRun
    from workflow_rl.studies.comparison.summary import summarise

    whole_number("--seeds", args.seeds, 1, 1_000)
    plan = Plan(
        red_agent=args.red_agent,
        rules=args.rules,
        episode_length=args.max_steps,
        order=order_index(parse_order(args.workflow)),
        ppo=args.ppo,
        transitions=args.transitions,
        presets=tuple(name.strip() for name in args.presets.split(",") if name.strip()),
        seeds=tuple(range(args.seed, args.seed + args.seeds)),
    )
    execution = execution_of(args)
    number = getattr(args, "parallel_trainings", 1 if execution.executor == "serial" else 2)
    whole_number("--parallel-trainings", number, 1, 100_000)
    with ExitStack() as stack:
        comparison: ComparisonRun | None = None
        if "resume" in args:
            comparison = ComparisonRun.open(args.resume)
            stack.callback(comparison.directory.close)
            _refuse_other_settings(plan, Plan(), comparison.plan)
        place = stack.enter_context(open_place(execution, number))
        if comparison is None:
            comparison = ComparisonRun.create(Path(args.checkpoint_dir), plan, sys.argv)
            stack.callback(comparison.directory.close)
        console = make_console()
        path, plan = comparison.directory.path, comparison.plan
        with saying_how_to_go_on(console, "compare-updates", path):
            print_whole(
                console,
                f"red {plan.red_agent}, rules {plan.rules}, {plan.transitions:,} transitions, "
                f"seeds {', '.join(map(str, plan.seeds))}, {format_order(plan.order)}; directory "
                f"{path}",
            )
            with _Progress(console, comparison.steps) as progress:
                trainings, noise = comparison.measure(
                    number,
                    place=place,
                    on_start=progress.began,
                    on_news=progress.told,
                    on_done=progress.done,
                )
            summaries, seconds = summarise(trainings, noise, args.reward_thresholds)
            print_comparison(console, plan, summaries, seconds)
            data = comparison.write(summaries, seconds)
            page = path / "comparison.html"
            title = f"Update strategies: red {plan.red_agent}, rules {plan.rules}"
            write_page(page, title, figures(trainings, summaries))
            print_whole(console, f"written: {data}, {page}")
    return 0


def _refuse_other_settings(given: "Plan", fresh: "Plan", begun: "Plan") -> None:
    """Checks that flags given beside --resume say what the comparison was begun with.

    Raises:
        InvalidInputError: one says something else, which would silently be ignored.
    """
    refuse_flags(
        [
            flag
            for field, flag in _FLAGS.items()
            if getattr(given, field) not in (getattr(fresh, field), getattr(begun, field))
        ]
    )


class _Progress:
    """Shows what is being trained: a bar in a terminal, a line for each training elsewhere."""

    def __init__(self, console: "Console", steps: int) -> None:
        from rich.progress import TimeElapsedColumn

        self._console = console
        self._bars = make_bars(console, TimeElapsedColumn())
        self._task = self._bars.add_task("trainings", total=steps, news="")

    def __enter__(self) -> "_Progress":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def began(self, what: str) -> None:
        if not self._console.is_terminal:
            self._console.print(what)

    def told(self, what: str, news: str) -> None:
        self._bars.update(self._task, news=f"{what}: {news}")

    def done(self, number: int) -> None:
        self._bars.update(self._task, completed=number)
