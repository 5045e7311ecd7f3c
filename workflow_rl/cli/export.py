"""`workflow-rl export`: a policy as a model that other programs run."""

import argparse
from pathlib import Path

from workflow_rl.cli.arguments import GAME, Commands, add_command, add_output, add_setting
from workflow_rl.errors import printable

_EXAMPLES = """workflow-rl export logs/exp_20260101_120000_4242
workflow-rl export policy.safetensors --format onnx --output policy.onnx
workflow-rl export best --with-memory
workflow-rl export universal --rules competition"""


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands, "export", "write a policy as a model that other programs run", _EXAMPLES
    )
    parser.add_argument(
        "policy",
        metavar="POLICY",
        help="run directory (its recommended policy), policy file, SB3 PPO model (.zip), or one of "
        "those that come with the package: best, universal",
    )
    parser.add_argument(
        "--format",
        default="onnx",
        metavar="NAME",
        help="onnx, with the layout of inputs and outputs in its metadata",
    )
    parser.add_argument(
        "--with-memory",
        action="store_true",
        help="of a policy with a memory, such as best: a model that takes the challenge's 52 bits "
        "and keeps its memory in a state (inputs observation, state; outputs action, next_state)",
    )
    add_setting(parser, GAME["rules"], text="for which rules best or universal was trained")
    add_output(parser, "next to the policy, its name ending in the format's")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Writes the model and says where it is."""
    from workflow_rl.agents.export import EXPORT_FORMATS, export_policy
    from workflow_rl.config import one_of
    from workflow_rl.nets.policy_file import RECOMMENDED_FILE

    kind = one_of("format", args.format, EXPORT_FORMATS)
    path = Path(args.policy)
    source = path / RECOMMENDED_FILE if path.is_dir() else path
    suffix = f".memory.{kind}" if args.with_memory else f".{kind}"
    output = args.output if "output" in args else source.with_suffix(suffix)
    content = export_policy(
        args.policy, output, format=kind, with_memory=args.with_memory, rules=args.rules
    )
    print(printable(f"{kind}: {output} ({len(content):,} bytes)"))
    return 0
