"""`workflow-rl parity`: replays recordings of the real CybORG."""

import argparse
from pathlib import Path

from workflow_rl.cli.arguments import Commands, add_command, add_rules
from workflow_rl.config import RULE_SETS, one_of
from workflow_rl.parity.replay import compare
from workflow_rl.parity.trace import find_traces, load_trace


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "parity",
        "replay recordings of the real CybORG and compare every step",
        "workflow-rl parity tests/parity/traces/main\n"
        "workflow-rl parity tests/parity/traces/competition --rules competition",
    )
    parser.add_argument("path", metavar="DIR", type=Path, help="folder of .npz traces, or one file")
    add_rules(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
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
