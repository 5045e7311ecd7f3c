"""`workflow-rl compare-updates`: rollout and update strategies side by side."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workflow_rl.cli.arguments import (
    SEED,
    Commands,
    Extend,
    add_checkpoint_dir,
    add_command,
    add_setting,
    add_settings,
    given_settings,
    list_of,
    other_flags,
)
from workflow_rl.cli.console import make_bars, make_console, print_whole
from workflow_rl.cli.execution import add_execution_flags, execution_of
from workflow_rl.cli.experiment import default_of
from workflow_rl.cli.resuming import add_resume, refuse_flags, resume_hint
from workflow_rl.config import PRESETS, ComparisonConfig, setting_fields, whole_number
from workflow_rl.workflow.orders import TYPES

if TYPE_CHECKING:
    from rich.console import Console

    from workflow_rl.runs.pool import Event
    from workflow_rl.studies.comparison.plan import Plan

_EXAMPLES = """workflow-rl compare-updates
workflow-rl compare-updates --red-agent meander --seeds 5
workflow-rl compare-updates --presets parallel25,parallel200 --transitions 5000000
workflow-rl compare-updates --resume logs/exp_20260101_120000_4242"""
_SECTION: Final = "plan"  # of the flags
_MAX_SEEDS: Final = 1_000


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "compare-updates",
        "train every preset from scratch at an equal number of transitions: reward, compliance, "
        "gradient noise, speed and memory of each",
        _EXAMPLES,
    )
    add_settings(parser, _SECTION, ComparisonConfig(), without=("ppo", "order", "presets"))
    fields = setting_fields(ComparisonConfig)
    forms = {preset: chosen.form for preset, chosen in PRESETS.items()}
    add_setting(
        parser, fields["ppo"], dest=f"{_SECTION}.ppo", default=default_of(fields["ppo"], forms)
    )
    add_setting(
        parser,
        fields["order"],
        dest="workflow",
        text="the order to follow",
        default=TYPES.format(fields["order"].default),
        read=str,
    )
    add_setting(
        parser, fields["presets"], dest=f"{_SECTION}.presets", default="the documented ones"
    )
    seeds = fields["seeds"].default
    parser.add_argument(
        "--seeds",
        type=int,
        default=argparse.SUPPRESS,
        metavar="N",
        help=f"trainings of each; the first is --seed (default: {len(seeds)})",
    )
    add_setting(parser, SEED, default=str(seeds[0]))
    parser.add_argument(
        "--reward-thresholds",
        type=list_of(float),
        action=Extend,
        nargs="+",
        default="-200,-50",
        metavar="X,X",
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
    add_checkpoint_dir(parser)
    add_resume(
        parser,
        "DIR",
        "go on with an interrupted comparison, with the settings it began with; finished "
        "trainings are kept (default: a new one)",
    )
    add_execution_flags(parser, without=("time_limit",))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Trains, prints the tables and writes figures and data."""
    # Imported here: the networks take seconds that no other command needs.
    from workflow_rl.cli.compare_tables import print_comparison
    from workflow_rl.report.plots import write_page
    from workflow_rl.runs.store import stored_config
    from workflow_rl.studies.comparison.figures import comparison_figures
    from workflow_rl.studies.comparison.plan import Plan
    from workflow_rl.studies.comparison.run import PURPOSE, open_comparison, stored_plan
    from workflow_rl.studies.comparison.summary import summarise
    from workflow_rl.studies.comparison.words import answer_of, table_of

    execution = execution_of(args)
    number = getattr(args, "parallel_trainings", 1 if execution.executor == "serial" else 2)
    whole_number("--parallel-trainings", number, 1, 100_000)
    resume: Path | None = getattr(args, "resume", None)
    if resume is not None:
        stored_config(resume, PURPOSE)
        plan = stored_plan(resume)
        refuse_flags(_other_settings(args, plan))
    else:
        plan = Plan(**_given(args, Plan()))
    console = make_console()
    with open_comparison(
        plan,
        parallel=number,
        checkpoint_dir=Path(args.checkpoint_dir),
        resume=resume,
        execution=execution,
    ) as comparison:
        path = comparison.directory.path
        with resume_hint(console, "compare-updates", path):
            print_whole(
                console,
                f"red {plan.red_agent}, rules {plan.rules}, {plan.transitions:,} transitions, "
                f"seeds {', '.join(map(str, plan.seeds))}, {TYPES.format(plan.order)}; directory "
                f"{path}",
            )
            done = comparison.number - len(comparison.missing())
            with _Progress(console, comparison.number, done) as progress:
                for event in comparison.events():
                    progress.show(event)
            trainings, noise = comparison.results()
            summaries, seconds = summarise(trainings, noise, args.reward_thresholds)
            print_comparison(console, plan, summaries, seconds)
            data = comparison.write(summaries, seconds)
            page = path / "comparison.html"
            title = f"Update strategies: red {plan.red_agent}, rules {plan.rules}"
            write_page(
                page,
                title,
                comparison_figures(trainings, summaries),
                answer=answer_of(plan, summaries, seconds),
                tables=[table_of(summaries, seconds)],
            )
            print_whole(console, f"written: {data}, {page}")
    return 0


def _given(args: argparse.Namespace, otherwise: "Plan") -> dict[str, Any]:
    """Returns the settings whose flags were given; a seed or their number alone leaves the other.

    Raises:
        InvalidInputError: there is no such order, or no such number of seeds.
    """
    given = given_settings(args, _SECTION)
    if "workflow" in args:
        given["order"] = TYPES.index(args.workflow)
    if "seed" in args or "seeds" in args:
        first = getattr(args, "seed", otherwise.seeds[0])
        number = getattr(args, "seeds", len(otherwise.seeds))
        whole_number("--seeds", number, 1, _MAX_SEEDS)
        given["seeds"] = tuple(range(first, first + number))
    return given


def _other_settings(args: argparse.Namespace, begun: "Plan") -> list[str]:
    """Returns the flags beside --resume that say something else than the comparison began with."""
    given = _given(args, begun)
    seeds = given.pop("seeds", begun.seeds)
    return other_flags(begun, given) + (["--seeds or --seed"] if seeds != begun.seeds else [])


class _Progress:
    """Shows what is being trained: a bar in a terminal, a line for each training elsewhere."""

    def __init__(self, console: "Console", number: int, done: int) -> None:
        from rich.progress import TimeElapsedColumn

        self._console = console
        self._bars = make_bars(console, TimeElapsedColumn())
        self._task = self._bars.add_task("trainings", total=number, completed=done, news="")

    def __enter__(self) -> "_Progress":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def show(self, event: "Event") -> None:
        from workflow_rl.runs.pool import Done, Retried, Rows, Started

        name = event.task.name
        if isinstance(event, Started) and not self._console.is_terminal:
            self._console.print(name)
        elif isinstance(event, Rows):
            row = event.rows[-1]
            news = f"of {row['preset']}" if "preset" in row else ""
            if "transitions" in row:
                news = f"{row['transitions']:,} transitions, reward {row['env_reward']:.1f}"
            self._bars.update(self._task, news=f"{name}: {news}")
        elif isinstance(event, Done):
            self._bars.advance(self._task)
        elif isinstance(event, Retried):
            print_whole(self._console, f"{name} is done again: {event.reason}")
