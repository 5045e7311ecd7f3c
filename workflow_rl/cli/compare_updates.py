"""`workflow-rl compare-updates`: rollout and update strategies compared."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workflow_rl.cli.arguments import (
    SEED,
    Commands,
    Extend,
    add_checkpoint_dir,
    add_command,
    add_flag,
    add_setting,
    add_settings,
    given_settings,
    list_of,
    other_flags,
)
from workflow_rl.cli.console import (
    Bars,
    make_console,
    print_sentence,
    print_table,
    print_whole,
    unbroken,
)
from workflow_rl.cli.experiment import (
    add_config,
    add_execution_flags,
    add_resume,
    default_of,
    execution_of,
    refuse_flags,
    resume_hint,
)
from workflow_rl.config import PRESETS, ComparisonConfig, GameConfig, setting_fields, whole_number
from workflow_rl.workflow.orders import TYPES

if TYPE_CHECKING:
    from rich.console import Console

    from workflow_rl.studies.comparison_run import ComparisonRun

_EXAMPLES = """workflow-rl compare-updates
workflow-rl compare-updates --red-agent meander --seeds 5
workflow-rl compare-updates --presets parallel25,parallel200
workflow-rl compare-updates --resume logs/exp_20260101_120000_4242"""
_SECTION: Final = "plan"  # of the flags
_GAME: Final = "game"
_THRESHOLDS: Final = (-200, -50)  # rewards
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
    # A preset has its own observation, and all of them are for Scenario2.
    add_settings(parser, _GAME, GameConfig(), without=("observation", "network"))
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
    text = "trainings of each; the first is --seed"
    add_flag(parser, "--seeds", text, str(len(seeds)), type=int, metavar="N")
    add_setting(parser, SEED, default=str(seeds[0]))
    add_flag(
        parser,
        "--reward-thresholds",
        "rewards for which the transitions to reach them are reported",
        ",".join(map(str, _THRESHOLDS)),
        basic=False,
        type=list_of(float),
        action=Extend,
        nargs="+",
        metavar="X,X",
    )
    add_flag(
        parser,
        "--parallel-trainings",
        "parallel trainings; 1 disturbs the measured speed least",
        "2, with the executor serial 1",
        type=int,
        metavar="N",
    )
    add_config(parser)
    add_checkpoint_dir(parser)
    add_resume(parser, "DIR", "resume an interrupted comparison; finished trainings are kept")
    add_execution_flags(parser, without=("time_limit",))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Trains, prints the tables and writes figures and data."""
    # Imported here: the networks take seconds that no other command needs.
    from workflow_rl.cli.progress import show_task
    from workflow_rl.runs.pool import Done
    from workflow_rl.runs.store import stored_config
    from workflow_rl.studies.comparison_run import PURPOSE, open_comparison, stored_plan

    execution = execution_of(args)
    number = getattr(args, "parallel_trainings", 1 if execution.executor == "serial" else 2)
    whole_number("--parallel-trainings", number, 1, 100_000)
    resume: Path | None = getattr(args, "resume", None)
    if resume is not None:
        stored_config(resume, PURPOSE)
        plan = stored_plan(resume)
        refuse_flags(_other_settings(args, plan))
    else:
        begun = ComparisonConfig.from_file(args.config) if "config" in args else ComparisonConfig()
        game = begun.game.changed(**given_settings(args, _GAME))
        plan = replace(begun, game=game, **_given(args, begun))
    console = make_console()
    with open_comparison(
        plan,
        parallel=number,
        checkpoint_dir=args.checkpoint_dir,
        resume=resume,
        execution=execution,
    ) as comparison:
        path = comparison.directory.path
        with resume_hint(console, "compare-updates", path):
            print_whole(
                console,
                f"red {plan.game.red_agent}, rules {plan.game.rules}, {plan.transitions:,} "
                f"transitions, seeds {', '.join(map(str, plan.seeds))}, "
                f"{TYPES.format(plan.order)}; directory {path}",
            )
            done = comparison.number - len(comparison.missing())
            with Bars(console) as bars:
                bars.begin("trainings", comparison.number, done)
                for event in comparison.events():
                    done += isinstance(event, Done)
                    show_task(bars, "trainings", event, done)
            _tell(console, comparison, getattr(args, "reward_thresholds", _THRESHOLDS))
    return 0


def _tell(console: "Console", comparison: "ComparisonRun", thresholds: Sequence[float]) -> None:
    """Prints what a comparison says, and writes figures and data."""
    from workflow_rl.pages.page import write_page
    from workflow_rl.studies.comparison import (
        EPISODES,
        answer_of,
        refusal_of_large_updates,
        summarise,
    )
    from workflow_rl.studies.comparison_page import comparison_figures, comparison_tables

    found = summarise(comparison.plan, *comparison.results(), thresholds)
    answer, tables, figures = answer_of(found), comparison_tables(found), comparison_figures(found)
    for sentence in answer:
        print_sentence(console, sentence)
    for table in tables:
        print_table(console, table)
    print_sentence(
        console,
        f"updates of 20,000 steps within {EPISODES} episodes of one environment: refused, "
        f'"{refusal_of_large_updates()}"',
    )
    data, page = comparison.write(found), comparison.directory.path / "comparison.html"
    game = comparison.plan.game
    title = f"Update strategies: red {game.red_agent}, rules {game.rules}"
    write_page(page, title, figures, answer=answer, tables=tables)
    print_whole(console, f"written: {unbroken(data)}, {unbroken(page)}")


def _given(args: argparse.Namespace, otherwise: ComparisonConfig) -> dict[str, Any]:
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


def _other_settings(args: argparse.Namespace, begun: ComparisonConfig) -> list[str]:
    """Returns the flags given with --resume that differ from the comparison's own settings."""
    given = _given(args, begun)
    others = ["--config"] if "config" in args else []
    seeds = given.pop("seeds", begun.seeds)
    others += ["--seeds or --seed"] if seeds != begun.seeds else []
    of_game = other_flags(begun.game, given_settings(args, _GAME))
    return of_game + other_flags(begun, given) + others
