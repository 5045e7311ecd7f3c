"""`workflow-rl replay`: an episode on the network diagram, as one HTML page."""

import argparse
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from workflow_rl.cli.arguments import (
    GAME,
    SEED,
    Commands,
    add_command,
    add_network,
    add_output,
    add_setting,
    add_workflow,
    given_network,
    workflow_units,
)
from workflow_rl.config import RULE_SETS, GameConfig, one_of
from workflow_rl.errors import InvalidInputError, printable
from workflow_rl.scenario.loading import SCENARIO2

if TYPE_CHECKING:
    from workflow_rl.config.units import Groups
    from workflow_rl.pages.replay import Replay
    from workflow_rl.scenario.network import Network
    from workflow_rl.workflow.orders import Order

_EXAMPLES = """workflow-rl replay logs/exp_20260101_120000_4242
workflow-rl replay logs/exp_20260101_120000_4242 --red-agent meander --seed 7
workflow-rl replay policy.safetensors --sampled --output policy.html
workflow-rl replay universal --workflow jewels,rest --units units.toml
workflow-rl replay cardiff --red-agent meander --rules competition
workflow-rl replay tests/parity/traces/main/bline.npz --episode 3"""
_TRACE = ".npz"


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands, "replay", "show an episode on the network diagram, as one HTML page", _EXAMPLES
    )
    parser.add_argument(
        "source",
        metavar="RUN",
        help="run directory (its recommended policy), policy file, whatever else `evaluate` takes "
        f"(universal, cardiff, bline=PATH,meander=PATH, greedy ...), or recording ({_TRACE})",
    )
    policy = parser.add_argument_group("of a policy")
    add_setting(policy, GAME["red_agent"], default="as in training; of a search as it was searched")
    length = GAME["episode_length"]
    names = (*length.flags, "--steps")
    add_setting(policy, length, dest="steps", names=names, default="as in training")
    add_setting(policy, SEED, text="random seed of the game")
    sampled = "sample actions, or take the most probable (default: as in the policy's file)"
    policy.add_argument("--sampled", action=argparse.BooleanOptionalAction, help=sampled)
    recording = parser.add_argument_group("of a recording")
    recording.add_argument(
        "--episode", type=int, default=0, metavar="N", help="of a recording: which episode, from 0"
    )
    add_setting(parser, GAME["rules"], default="as in training; of a recording main")
    add_network(parser, "that of the training, or scenario2")
    add_workflow(parser)
    add_output(parser, "replay.html in the run, or here")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plays the episode, writes the page and says where it is."""
    written, replay = run_replay(args)
    print(f"{replay.episode.length} steps, return {replay.episode.moments[-1].total:.1f}")
    print(printable(f"replay: {written}"))
    return 0


def run_replay(args: argparse.Namespace) -> "tuple[Path, Replay]":
    """Plays the episode that flags ask for; returns where its page is, and the episode."""
    # Imported here: the networks take seconds that no other command needs.
    from workflow_rl.files import named_output
    from workflow_rl.pages.replay import write_replay
    from workflow_rl.runs.store import REPLAY_FILE

    source = Path(args.source)
    folder = source if source.is_dir() else Path()
    output = named_output(args.output) if "output" in args else folder / REPLAY_FILE
    replay = _recorded(args) if source.suffix == _TRACE else _played(args)
    return write_replay(replay, output), replay


def _played(args: argparse.Namespace) -> "Replay":
    from workflow_rl.agents.agent import is_sampled
    from workflow_rl.agents.named import make_agent
    from workflow_rl.files import check_manifest
    from workflow_rl.pages.replay import play_agent
    from workflow_rl.runs.store import CONFIG_FILE, stored_config

    if args.episode:
        raise InvalidInputError("--episode goes with a recording; a policy's game is its --seed")
    flags = {"red_agent": "red_agent", "rules": "rules", "steps": "episode_length"}
    changes = {field: getattr(args, flag) for flag, field in flags.items() if flag in args}
    source, workflow = Path(args.source), getattr(args, "workflow", None)
    units, network = workflow_units(args), given_network(args)
    rules = one_of("rule set", changes.get("rules", RULE_SETS[0]), RULE_SETS)
    agent = make_agent(
        args.source, workflow, units=units, sampled=args.sampled, rules=rules, network=network
    )
    game: GameConfig = getattr(agent, "game", None) or GameConfig.on(network or SCENARIO2)
    check_manifest(source, CONFIG_FILE)
    with contextlib.suppress(InvalidInputError):  # of a search its own; its policy knows others
        game = stored_config(source).game
    return play_agent(
        agent,
        game.changed(**changes),
        args.seed,
        who=source.resolve().name if source.exists() else str(source),
        order=None if agent.order or workflow is None else _order(workflow, units, game.network),
        sampled=is_sampled(agent),
    )


def _order(workflow: str, units: "Groups | str | None", network: "Network") -> "Order":
    from workflow_rl.workflow.orders import read_order
    from workflow_rl.workflow.units import units_of

    return read_order(workflow, None if units is None else units_of(units, network), network)


def _recorded(args: argparse.Namespace) -> "Replay":
    from workflow_rl.pages.replay import play_trace
    from workflow_rl.parity.trace import load_trace

    given = [name for name in ("red_agent", "steps") if name in args]
    given += [name for name in ("seed", "sampled") if getattr(args, name) not in (None, 0)]
    if given:
        flag = given[0].replace("_", "-")
        raise InvalidInputError(f"--{flag} goes with a policy; a recording is as it is")
    source = Path(args.source)
    if not source.is_file():
        raise InvalidInputError(f"there is no file {source}")
    rules = one_of("rule set", getattr(args, "rules", "main"), RULE_SETS)
    network = given_network(args) or SCENARIO2
    units = workflow_units(args)
    order = _order(args.workflow, units, network) if "workflow" in args else None
    return play_trace(load_trace(source, network), args.episode, rules, order)
