"""`workflow-rl export`: a policy as a model that other programs run."""

import argparse
from pathlib import Path

from workflow_rl.cli.arguments import Commands, add_command, add_output

_EXAMPLES = """workflow-rl export logs/exp_20260101_120000_4242
workflow-rl export logs/exp_A/policies/trial_003.safetensors --format onnx --output policy.onnx"""


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands, "export", "write a policy as a model that other programs run", _EXAMPLES
    )
    parser.add_argument(
        "policy",
        type=Path,
        metavar="POLICY",
        help="run directory (its recommended policy), policy file, or SB3 PPO model (.zip)",
    )
    parser.add_argument(
        "--format",
        default="onnx",
        metavar="NAME",
        help="onnx, with the layout of inputs and outputs in its metadata",
    )
    add_output(parser, "beside the policy, its name ending in the format's")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Writes the model and says where it is."""
    from workflow_rl.agents.export import EXPORT_FORMATS, export_policy
    from workflow_rl.agents.policy import RECOMMENDED_FILE
    from workflow_rl.config import one_of

    kind = one_of("format", args.format, EXPORT_FORMATS)
    beside = args.policy / RECOMMENDED_FILE if args.policy.is_dir() else args.policy
    output = args.output if "output" in args else beside.with_suffix(f".{kind}")
    content = export_policy(args.policy, output, format=kind)
    print(f"{kind}: {output} ({len(content):,} bytes)")
    return 0
