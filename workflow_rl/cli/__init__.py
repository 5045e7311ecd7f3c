"""The command line: `workflow-rl COMMAND`."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Sequence

from workflow_rl import __version__
from workflow_rl.cli import (
    compare_updates,
    evaluate,
    export,
    landscape,
    parity,
    play,
    playbook,
    replay,
    report,
    search,
    select,
    train,
    watch,
)
from workflow_rl.cli.arguments import Parser
from workflow_rl.cli.streams import open_streams, outlive_reader, output_failure
from workflow_rl.errors import (
    EnvironmentFailedError,
    InvalidInputError,
    TrainingFailedError,
    WorkerDiedError,
    explain_missing,
)

PROGRAM = "workflow-rl"
_SYSTEM_ERROR = 1
_USER_ERROR = 2
_INTERRUPTED = 130
_SHOWING = ("watch", "play")  # commands that end when nobody reads what they show


def build_parser() -> Parser:
    """Returns the parser of the whole command line."""
    parser = Parser(
        prog=PROGRAM,
        description="Autonomous cyber defence on CAGE Challenge 2 (CybORG Scenario2).",
        epilog=f"`{PROGRAM} COMMAND --help` explains a command and shows examples. Exit codes: "
        "0 done; 1 the work failed (a full disk, a training that diverged, a worker that died); "
        "2 the request was wrong, nothing was begun; 130 interrupted, a run goes on with --resume.",
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    runs = (search, train, watch, report, replay, select, evaluate, playbook, export)
    for module in (*runs, landscape, compare_updates, play, parity):
        module.add_to(commands)
    return parser


def _interrupt(signum: int, frame: object) -> None:
    """Ends the program as Ctrl-C does: what is open is closed, what is finished is kept."""
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; a user's mistake is one sentence and code 2."""
    open_streams()
    args = build_parser().parse_args(argv)
    if args.command not in _SHOWING:
        outlive_reader()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)
    try:
        with explain_missing(args.command):
            code = int(args.run(args))
        sys.stdout.flush()  # here, where a reader that went away is no error
        if (failure := output_failure()) is not None:
            print(f"{PROGRAM}: error: standard output: {failure}", file=sys.stderr)
            return code or _SYSTEM_ERROR
        return code
    except InvalidInputError as error:
        print(f"{PROGRAM}: error: {error}", file=sys.stderr)
        return _USER_ERROR
    except (EnvironmentFailedError, TrainingFailedError, WorkerDiedError) as error:
        print(f"{PROGRAM}: error: {error}", file=sys.stderr)
        return _SYSTEM_ERROR
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except OSError as error:
        if isinstance(error, BrokenPipeError):  # the reader of our output went away: `| head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        if error.errno == errno.ENAMETOOLONG:
            name = str(error.filename)
            print(
                f"{PROGRAM}: error: {name[:40]}... is too long for the name of a file: it has "
                f"{len(name):,} characters",
                file=sys.stderr,
            )
            return _USER_ERROR
        print(f"{PROGRAM}: error: {error}", file=sys.stderr)  # a full or read-only disk, say
        return _SYSTEM_ERROR
