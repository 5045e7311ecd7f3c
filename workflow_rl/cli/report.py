"""`workflow-rl report`: a run, or a comparison of several, as one HTML page."""

import argparse
from pathlib import Path

from workflow_rl.cli.arguments import Commands, add_command, add_flag, add_output
from workflow_rl.errors import printable

_EXAMPLES = """workflow-rl report logs/exp_20260101_120000_4242
workflow-rl report logs/exp_A logs/exp_B --output compared.html
workflow-rl report logs/exp_A --landscape landscape.json"""


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands, "report", "write a run, or a comparison of several, as one HTML page", _EXAMPLES
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directory")
    add_output(parser, "report.html in the run, or here for several")
    add_flag(
        parser,
        "--landscape",
        "JSON with the true mean of every workflow, for the regret",
        "the run's landscape.json, if it has one",
        type=Path,
        metavar="FILE",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Writes the page and says where it is and what was missing."""
    print(printable(f"report: {run_report(args)}"))
    return 0


def run_report(args: argparse.Namespace) -> Path:
    """Writes the page that flags ask for and returns where it is."""
    # Imported here: the networks and the Gaussian process take seconds that no other command needs.
    from workflow_rl.files import named_output
    from workflow_rl.pages.report import write_report
    from workflow_rl.runs.store import REPORT_FILE

    folder = args.runs[0] if len(args.runs) == 1 else Path()
    output = named_output(args.output) if "output" in args else folder / REPORT_FILE
    return write_report(args.runs, output, getattr(args, "landscape", None))
