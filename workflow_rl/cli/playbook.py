"""`workflow-rl playbook`: the recommended order of a run to take away, and back."""

import argparse
from pathlib import Path

from workflow_rl.cli.arguments import Commands, add_command, add_flag, add_output
from workflow_rl.errors import InvalidInputError, printable

_EXAMPLES = """workflow-rl playbook logs/exp_20260101_120000_4242
workflow-rl playbook logs/exp_A --format cacao --output playbook.json
workflow-rl playbook --from playbook.json"""


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "playbook",
        "write a run's recommended order as a runbook and as a CACAO playbook, or read one back",
        _EXAMPLES,
    )
    parser.add_argument(
        "source", nargs="?", type=Path, metavar="RUN", help="directory of a finished run"
    )
    formats = "markdown (for people), cacao (CACAO 2.0, JSON) or both"
    add_flag(parser, "--format", formats, "both", metavar="NAME")
    add_output(
        parser,
        "playbook.md and playbook.json in the run",
        "where to write it; of both formats, its name ends in .md and in .json",
    )
    add_flag(
        parser,
        "--from",
        "print the order of a CACAO playbook that was written here, and the hosts of its units if "
        "they are not the five types",
        dest="file",
        type=Path,
        metavar="FILE",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Writes the playbook and says where it is, or prints the order of one."""
    if "file" in args:
        return _read(args)
    if args.source is None:
        raise InvalidInputError("name the directory of a finished run, or a playbook by --from")
    # Imported here: what runs are read with takes a second that no other command needs.
    from workflow_rl.agents.standing_orders import sentences_of, standing_orders_of
    from workflow_rl.playbook.handout import handout_of
    from workflow_rl.playbook.writing import BOTH, write_playbook

    output = getattr(args, "output", None)
    for path in write_playbook(args.source, output, format=getattr(args, "format", BOTH)):
        print(printable(f"playbook: {path}"))
    network = handout_of(args.source).config.game.network
    print("standing orders, at every step the first that applies:")
    for number, sentence in enumerate(sentences_of(standing_orders_of(network)), 1):
        print(f"{number:>2}. {sentence}")
    return 0


def _read(args: argparse.Namespace) -> int:
    from workflow_rl.playbook.plan import formatted, is_of_types
    from workflow_rl.playbook.reading import read_playbook

    others = [name for name in ("format", "output") if name in args]
    if args.source is not None or others:
        what = f"--{others[0]}" if others else "a run"
        raise InvalidInputError(f"--from reads a playbook: {what} goes with writing one")
    plan = read_playbook(args.file)
    print(formatted(plan))
    if not is_of_types(plan):
        for unit in plan:
            print(f"{unit.name}: {', '.join(unit.hosts)}")
    return 0
