"""`workflow-rl landscape`: train, or play, every order for several seeds; see what that says."""

import argparse
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workflow_rl.cli.arguments import Commands, TakesFlags, add_command, add_flag, given_settings
from workflow_rl.cli.console import (
    Bars,
    make_console,
    print_sentence,
    print_table,
    print_whole,
    unbroken,
)
from workflow_rl.cli.experiment import (
    add_experiment_flags,
    add_resume,
    execution_of,
    experiment_config,
    plan_of,
    refuse_flags,
    refuse_no_workflow,
    refuse_other_settings,
    resume_hint,
)
from workflow_rl.config import (
    PPO_FORM,
    PRESET,
    SECTIONS,
    Execution,
    ExperimentConfig,
    TrainConfig,
    setting_fields,
    whole_number,
)
from workflow_rl.errors import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

    from workflow_rl.runs.store import RunDirectory
    from workflow_rl.studies.landscape import Landscape
    from workflow_rl.studies.landscape_analysis import Analysis
    from workflow_rl.studies.played_landscape import PlayedRun, PlayedSample

_EXAMPLES = """workflow-rl landscape --red-agent bline
workflow-rl landscape --red-agent meander --seeds 5 --parallel-workflows 2
workflow-rl landscape --red-agent bline --stop-at compliance --replays 200
workflow-rl landscape --policy universal --red-agent meander
workflow-rl landscape --policy universal --units hosts --sample 500
workflow-rl landscape --executor ray --parallel-workflows 120
workflow-rl landscape --resume logs/exp_20260101_120000_4242"""
# Orders are compared after equal training: a training that ends as soon as it complies leaves
# orders that are easy to comply with after fewer updates.
_DEFAULTS: Final[Mapping[str, Any]] = {"stop_at": "budget"}
_SEEDS: Final = 3
_REPLAYS: Final = 50
_PLAN: Final = ("policy", "games", "sample", "seeds")  # beyond the configuration
_FIXED: Final = (
    "n_workflows",
    "strategy",
    "polish",
    "polish_updates",
    "responses",
    "response_transitions",
    "total_episodes",
    "ordered_results",
)
_PLAYED: Final = {  # settings that count where nothing is trained
    "game": ("red_agent", "episode_length", "rules", "green_agent", "network"),
    "train": ("units", "require", "compliance_threshold"),
    "search": ("gp_beta", "initial_design"),
}


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "landscape",
        "train all orders (120 of the five types) with several seeds: how much the order "
        "matters, the ranking of all orders, and the regret of each search strategy",
        _EXAMPLES,
    )
    add_flag(
        parser,
        "--seeds",
        "trainings of each order (each seed has its own base policy), or sets of games; the first "
        "seed is --seed",
        str(_SEEDS),
        type=int,
        metavar="N",
    )
    add_flag(
        parser,
        "--replays",
        "simulated searches per strategy on the finished landscape, or on a sample by playing",
        f"{_REPLAYS}; with --policy 0",
        type=int,
        metavar="N",
    )
    _add_played_flags(parser.add_argument_group("without training"))
    add_resume(
        parser,
        "DIR",
        "resume an interrupted landscape, or analyse a finished one again",
    )
    advanced = ("preset", "min_updates")
    usual = ExperimentConfig(train=TrainConfig(**_DEFAULTS))
    add_experiment_flags(parser, search=True, without=_FIXED, advanced=advanced, usual=usual)
    parser.set_defaults(run=run)


def _add_played_flags(group: TakesFlags) -> None:
    add_flag(
        group,
        "--policy",
        "without training: a policy that follows any order (universal, a policy file or a run) "
        "plays every order",
        "train each",
        metavar="POLICY",
    )
    games = "with --policy: its games under each order for each seed"
    add_flag(group, "--games", games, "100", basic=False, type=int, metavar="N")
    sample = "with --policy: play a random sample of so many orders, one set of games each"
    add_flag(group, "--sample", sample, "all of them", basic=False, type=int, metavar="N")
    add_flag(
        group,
        "--beside",
        "with --policy: the landscape.json of trained policies, for the rank correlation with it",
        "none",
        basic=False,
        type=Path,
        metavar="FILE",
    )


def run(args: argparse.Namespace) -> int:
    """Trains or plays, analyses, prints the tables and writes figures and data."""
    run_landscape(args, make_console())
    return 0


def run_landscape(
    args: argparse.Namespace, console: "Console"
) -> "tuple[Path, Analysis | PlayedSample]":
    """Does what flags ask for, shows it, and returns the run directory and what was found."""
    _take_plan(args)
    resume: Path | None = getattr(args, "resume", None)
    is_played = "policy" in args
    if resume is not None:
        from workflow_rl.studies.played_landscape import is_played as was_played

        is_played = was_played(resume)
    replays: int = getattr(args, "replays", 0 if is_played else _REPLAYS)
    whole_number("--replays", replays, 0, 100_000)
    return (_play if is_played else _train)(args, console, resume, replays)


def _take_plan(args: argparse.Namespace) -> None:
    """Takes what the file of --config says beyond settings as if flags had said it."""
    plan = plan_of(args, "landscape", *_PLAN, "policy_sha256")
    seeds = plan.pop("seeds", None)
    if isinstance(seeds, list) and getattr(args, "sample", plan.get("sample")) is None:
        plan["seeds"] = len(seeds)
    for name in _PLAN:
        if name not in args and plan.get(name) is not None:
            setattr(args, name, plan[name])


def _config(args: argparse.Namespace) -> ExperimentConfig:
    config = experiment_config(args, train=_DEFAULTS)
    refuse_no_workflow(config, "choose others")
    return config


def _train(
    args: argparse.Namespace, console: "Console", resume: Path | None, replays: int
) -> "tuple[Path, Analysis]":
    """Trains every order, or goes on with that."""
    # Imported here: the networks and the Gaussian process take seconds that no other command needs.
    from workflow_rl.cli.progress import print_network, show_task
    from workflow_rl.runs.store import stored_config
    from workflow_rl.studies.landscape_run import PURPOSE, open_landscape, stored_seeds

    config, seeds = None, getattr(args, "seeds", _SEEDS)
    if resume is not None:
        refuse_other_settings(args, stored_config(resume, PURPOSE))
        if seeds != len(stored_seeds(resume)) and "seeds" in args:
            refuse_flags(["--seeds"])
    else:
        config = _config(args)
    for name in ("policy", "games", "sample", "beside"):
        if name in args:
            raise InvalidInputError(f"--{name} goes with --policy, and without training")
    with open_landscape(
        config,
        seeds,
        checkpoint_dir=args.checkpoint_dir,
        resume=resume,
        execution=execution_of(args),
    ) as landscape:
        path, config = landscape.directory.path, landscape.config
        with resume_hint(console, "landscape", path):
            print_whole(
                console,
                f"red {config.game.red_agent}, rules {config.game.rules}, seeds "
                f"{', '.join(map(str, landscape.seeds))}, trainings end at "
                f"{config.train.stop_at}; directory {path}",
            )
            print_network(console, config.game)
            with Bars(console) as bars:
                bars.begin("orders", len(landscape.seeds) * landscape.orders.count)
                for number, event in landscape.events():
                    where = f"seed {number + 1} of {len(landscape.seeds)}, "
                    show_task(bars, "orders", event, landscape.done, where)
            return path, _tell(console, landscape.directory, landscape.table(), replays)


def _play(
    args: argparse.Namespace, console: "Console", resume: Path | None, replays: int
) -> "tuple[Path, Analysis | PlayedSample]":
    """Lets a policy play every order, or a sample, or goes on with that."""
    from workflow_rl.cli.progress import print_network
    from workflow_rl.files import read_json
    from workflow_rl.runs.store import stored_config
    from workflow_rl.studies.landscape import Landscape
    from workflow_rl.studies.played_landscape import PURPOSE, PlayedPlan, open_played
    from workflow_rl.workflow.orders import orders_of

    given = {name: getattr(args, name) for name in _PLAN if name in args}
    if resume is not None:
        config, plan = stored_config(resume, PURPOSE), PlayedPlan.stored(resume)
        refuse_other_settings(args, config)
        refuse_flags([f"--{name}" for name in given if given[name] != getattr(plan, name)])
    else:
        _refuse_training_flags(args)
        config, plan = _config(args), PlayedPlan(**given)
    beside = Landscape.from_json(read_json(args.beside)) if "beside" in args else None
    if beside is not None and beside.orders != orders_of(config.train, config.game.network):
        raise InvalidInputError(f"{args.beside} is a landscape of other orders")
    with open_played(config, plan, checkpoint_dir=args.checkpoint_dir, resume=resume) as landscape:
        path = landscape.directory.path
        with resume_hint(console, "landscape", path):
            print_whole(
                console,
                f"red {config.game.red_agent}, rules {config.game.rules}, played by {plan.policy}, "
                f"{plan.games} games of each order and seed; directory {path}",
            )
            print_network(console, config.game)
            return path, _tell_played(console, landscape, replays, beside)


def _refuse_training_flags(args: argparse.Namespace) -> None:
    """Refuses flags that would be ignored with --policy."""
    given = [field.flags[0] for field in (PRESET, PPO_FORM) if field.name in args]
    for section, kind in {**SECTIONS, "execution": Execution}.items():
        used, fields = _PLAYED.get(section, ()), setting_fields(kind)
        named = (name for name in given_settings(args, section) if name not in used)
        given += [fields[name].flags[0] for name in named]
    if given:
        raise InvalidInputError(f"with --policy nothing is trained: leave out {', '.join(given)}")
    for name in ("seeds", "beside"):
        if "sample" in args and name in args:
            raise InvalidInputError(f"--{name} goes with all orders, not with a --sample of them")


def _tell(
    console: "Console", directory: "RunDirectory", found: "Landscape", replays: int
) -> "Analysis":
    """Analyses a landscape, prints what it says and writes figures and data."""
    from workflow_rl.pages.page import write_page
    from workflow_rl.studies.landscape_analysis import analyse_landscape, answer_of
    from workflow_rl.studies.landscape_page import (
        landscape_figures,
        landscape_tables,
        ranking_table,
    )
    from workflow_rl.studies.landscape_run import write_landscape
    from workflow_rl.studies.regret import REPLAYED_STRATEGIES

    config, done = directory.config, count(1)
    with Bars(console) as bars:
        bars.begin("replays", replays * len(REPLAYED_STRATEGIES))
        analysis = analyse_landscape(
            found,
            config.search,
            replays=replays,
            seed=config.seed,
            on_replay=lambda: bars.move("replays", next(done), "of searches on this landscape"),
        )
    answer = answer_of(analysis)
    for sentence in answer:
        print_sentence(console, sentence)
    for table in landscape_tables(analysis):
        print_table(console, table)
    data, page = (
        write_landscape(directory, analysis.as_json()),
        directory.path / "landscape.html",
    )
    by = f", played by {found.policy}" if found.policy else ""
    game = config.game
    where = "" if game.is_scenario2 else f", network {game.network.name}"
    title = f"Landscape: red {found.red_agent}, rules {found.rules}{where}{by}"
    figures = landscape_figures(analysis)
    write_page(page, title, figures, answer=answer, tables=[ranking_table(analysis)])
    print_whole(console, f"written: {unbroken(data)}, {unbroken(page)}")
    return analysis


def _tell_played(
    console: "Console", run: "PlayedRun", replays: int, beside: "Landscape | None"
) -> "Analysis | PlayedSample":
    """Plays, prints what that says and writes figures and data."""
    from workflow_rl.studies.landscape import Landscape
    from workflow_rl.studies.landscape_page import sample_tables
    from workflow_rl.studies.landscape_run import write_landscape
    from workflow_rl.studies.order_effects import rank_agreement
    from workflow_rl.studies.played_landscape import PlayedSample
    from workflow_rl.studies.regret import REPLAYED_STRATEGIES

    with Bars(console) as bars:
        bars.begin("orders", run.number)
        played = run.play(lambda done: bars.move("orders", done, "played"))
    lowest = min(one.compliance for those in played.values() for one in those)
    least = f"least compliance of an order: {lowest:.3f}"
    if run.plan.sample is not None:
        with Bars(console) as bars:
            bars.begin("searches", replays * len(REPLAYED_STRATEGIES))
            searches = run.search(replays, lambda done: bars.move("searches", done, "by playing"))
        sample = PlayedSample(run.player, played[run.seeds[0]], searches)
        for table in sample_tables(sample):
            print_table(console, table)
        for sentence in (f"found: {sample.finding.headline}.", *sample.finding.details, least):
            print_sentence(console, sentence)
        print_whole(console, f"written: {write_landscape(run.directory, sample.as_json())}")
        return sample
    found = Landscape.of_tried(run.directory.config, played, run.plan.policy)
    analysis = _tell(console, run.directory, found, replays)
    print_sentence(console, least)
    if beside is not None:
        how = f"played by {beside.policy}" if beside.policy else "trained"
        print_sentence(
            console,
            f"rank correlation (Spearman) with the orders {how}, red {beside.red_agent}, rules "
            f"{beside.rules}: {rank_agreement(found, beside):.3f}",
        )
    return analysis
