"""`workflow-rl parity`: compares the simulator with recordings of CybORG, or with CybORG itself."""

import argparse
from pathlib import Path

from workflow_rl.cli import parity_live
from workflow_rl.cli.arguments import GAME, Commands, add_command, add_setting
from workflow_rl.config import RULE_SETS, one_of
from workflow_rl.errors import InvalidInputError
from workflow_rl.parity.replay import compare
from workflow_rl.parity.trace import find_traces, load_trace


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "parity",
        "replay recordings of the real CybORG, or play it live, and compare every step",
        "workflow-rl parity tests/parity/traces/main\n"
        "workflow-rl parity tests/parity/traces/competition --rules competition\n"
        "workflow-rl parity --live --episodes 50 --cyborg-path cage-challenge-2\n"
        "workflow-rl parity --live --red-agent meander --blue random logs/exp_...",
    )
    parser.add_argument(
        "path",
        metavar="DIR",
        nargs="?",
        type=Path,
        default=None,
        help="folder of .npz traces, or one file",
    )
    add_setting(parser, GAME["rules"])
    parity_live.add_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Replays recordings or plays live, as asked."""
    if "live" in args:
        if args.path is not None:
            raise InvalidInputError("give either DIR or --live, not both")
        return parity_live.run_live(args)
    misplaced = [name for name in parity_live.DEFAULTS if name in args]
    if misplaced:
        raise InvalidInputError(f"--{misplaced[0].replace('_', '-')} only goes with --live")
    if args.path is None:
        raise InvalidInputError("give DIR, a folder of recordings, or --live")
    return _replay(args)


def _replay(args: argparse.Namespace) -> int:
    """Replays every file; the last line counts, the exit code is 0 only without a mismatch."""
    rules = one_of("rule set", args.rules, RULE_SETS)
    traces = [load_trace(path) for path in find_traces(args.path)]
    episodes = steps = mismatches = 0
    for trace in traces:
        result = compare(trace, rules)
        print(
            f"{result.file}: red {trace.red_agent}, rules {rules}: {result.episodes} episodes, "
            f"{result.steps} steps, {len(result.fields)} fields a step, "
            f"{result.mismatches} mismatches",
            flush=True,
        )
        if result.first:
            print(f"  {result.first}", flush=True)
        episodes += result.episodes
        steps += result.steps
        mismatches += result.mismatches
    if traces:
        print(f"compared: {', '.join(result.fields)}")
    print(f"parity: {episodes} episodes, {steps} steps, {mismatches} mismatches")
    return 0 if mismatches == 0 else 1
