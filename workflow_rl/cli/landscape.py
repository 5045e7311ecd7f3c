"""`workflow-rl landscape`: train, or play, every order for several seeds; see what that says."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Final

from workflow_rl.cli.arguments import Commands, add_command, given_settings
from workflow_rl.cli.console import make_console, print_whole
from workflow_rl.cli.execution import execution_of
from workflow_rl.cli.experiment import (
    add_experiment_flags,
    experiment_config,
    refuse_other_settings,
)
from workflow_rl.cli.resuming import add_resume, refuse_flags, resume_hint
from workflow_rl.config import (
    PPO_FORM,
    PRESET,
    BackendConfig,
    Execution,
    ExperimentConfig,
    GameConfig,
    PPOConfig,
    SearchConfig,
    TrainConfig,
    setting_fields,
    whole_number,
)
from workflow_rl.errors import InvalidInputError

_EXAMPLES = """workflow-rl landscape --red-agent bline
workflow-rl landscape --red-agent meander --seeds 5 --parallel-workflows 2
workflow-rl landscape --red-agent bline --stop-at compliance --replays 200
workflow-rl landscape --policy universal --red-agent meander
workflow-rl landscape --policy universal --units hosts --sample 500
workflow-rl landscape --executor ray --ray-address auto --parallel-workflows 120
workflow-rl landscape --resume logs/exp_20260101_120000_4242"""
# Orders are compared after equal training: a training that ends as soon as it complies leaves
# orders that are easy to comply with after fewer updates.
_DEFAULTS: Final = TrainConfig(stop_at="budget")
_SEEDS: Final = 3
_REPLAYS: Final = 50
_GAMES: Final = 100  # of an order that is played
_FIXED: Final = (
    "n_workflows",
    "strategy",
    "polish",
    "polish_updates",
    "total_episodes",
    "ordered_results",
)
_SECTIONS: Final = {  # of flags -> what their settings are of
    "game": GameConfig,
    "ppo": PPOConfig,
    "train": TrainConfig,
    "search": SearchConfig,
    "backend": BackendConfig,
    "execution": Execution,
}
_PLAYED: Final = {  # settings that count where nothing is trained
    "game": ("red_agent", "episode_length", "rules"),
    "train": ("units", "require", "compliance_threshold"),
    "search": ("gp_beta", "initial_design"),
}


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "landscape",
        "train all orders, 120 of the five types, for several seeds: how much the order matters, "
        "the true ranking, and how well strategies search it",
        _EXAMPLES,
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=argparse.SUPPRESS,
        metavar="N",
        help="trainings of each order, each with a base policy of its own, or sets of games; the "
        f"first is --seed (default: {_SEEDS})",
    )
    parser.add_argument(
        "--replays",
        type=int,
        default=argparse.SUPPRESS,
        metavar="N",
        help="searches of each strategy on the finished landscape, or of a sample by playing; 0 "
        f"leaves them out (default: {_REPLAYS}; with --policy 0)",
    )
    _add_played_flags(parser)
    add_resume(
        parser,
        "DIR",
        "go on with an interrupted landscape, or analyse a finished one again (default: a new one)",
    )
    add_experiment_flags(parser, search=True, without=_FIXED, train=_DEFAULTS)
    parser.set_defaults(run=run)


def _add_played_flags(parser: argparse.ArgumentParser) -> None:
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
        help="with --policy: play so many orders, drawn by --seed, one set of games each "
        "(default: all of them)",
    )
    group.add_argument(
        "--beside",
        type=Path,
        default=argparse.SUPPRESS,
        metavar="FILE",
        help="with --policy: the landscape.json of the same orders, trained, to say how far both "
        "agree (default: none)",
    )


def run(args: argparse.Namespace) -> int:
    """Trains or plays, analyses, prints the tables and writes figures and data."""
    is_played = "policy" in args
    replays: int = getattr(args, "replays", 0 if is_played else _REPLAYS)
    seeds: int = getattr(args, "seeds", _SEEDS)
    whole_number("--replays", replays, 0, 100_000)
    if not is_played:
        for name in ("games", "sample", "beside"):
            if name in args:
                raise InvalidInputError(f"--{name} goes with --policy")
        return _train(args, seeds, replays)
    _refuse_training_flags(args)
    from workflow_rl.cli.landscape_played import run_played

    return run_played(args, _config(args), getattr(args, "games", _GAMES), seeds, replays)


def _refuse_training_flags(args: argparse.Namespace) -> None:
    """Checks that beside --policy no flag is given that would be ignored.

    Raises:
        InvalidInputError: one is.
    """
    if "resume" in args:
        raise InvalidInputError("with --policy nothing is trained, so nothing is resumed")
    given = [field.setting.flags[0] for field in (PRESET, PPO_FORM) if field.name in args]
    for section, kind in _SECTIONS.items():
        used, fields = _PLAYED.get(section, ()), setting_fields(kind)
        named = (name for name in given_settings(args, section) if name not in used)
        given += [fields[name].setting.flags[0] for name in named]
    if given:
        raise InvalidInputError(f"with --policy nothing is trained: leave out {', '.join(given)}")
    for name in ("seeds", "beside"):
        if "sample" in args and name in args:
            raise InvalidInputError(f"--{name} goes with all orders, not with a --sample of them")


def _train(args: argparse.Namespace, seeds: int, replays: int) -> int:
    """Trains every order, or goes on with that."""
    # Imported here: the networks and the Gaussian process take seconds that no other command needs.
    from workflow_rl.cli.landscape_tables import tell_landscape
    from workflow_rl.cli.progress import LandscapeProgress
    from workflow_rl.runs.store import stored_config
    from workflow_rl.studies.landscape.run import PURPOSE, open_landscape, stored_seeds

    resume: Path | None = getattr(args, "resume", None)
    config = None
    if resume is not None:
        refuse_other_settings(args, stored_config(resume, PURPOSE))
        if getattr(args, "seeds", None) not in (None, len(stored_seeds(resume))):
            refuse_flags(["--seeds"])
    else:
        config = _config(args)
    console = make_console()
    with open_landscape(
        config,
        seeds,
        checkpoint_dir=Path(args.checkpoint_dir),
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
            with LandscapeProgress(console, config, len(landscape.seeds)) as progress:
                for seed, event in landscape.events():
                    progress.show(seed, event, landscape.done)
            tell_landscape(console, landscape.directory, landscape.table(), replays)
    return 0


def _config(args: argparse.Namespace) -> ExperimentConfig:
    config = experiment_config(args)
    if "stop_at" not in given_settings(args, "train"):
        config = replace(config, train=replace(config.train, stop_at=_DEFAULTS.stop_at))
    if not config.train.conditioned:
        raise InvalidInputError(
            f"the preset {args.preset} trains without a workflow: choose another"
        )
    return config
