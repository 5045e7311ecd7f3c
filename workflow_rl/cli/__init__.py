"""The command line: `workflow-rl COMMAND`."""

import argparse
import contextlib
import errno
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any, Final, TextIO

from workflow_rl import __version__
from workflow_rl.cli.arguments import Parser
from workflow_rl.errors import (
    EnvironmentFailedError,
    InvalidInputError,
    TrainingFailedError,
    WorkerDiedError,
    explain_missing,
    printable,
)

PROGRAM: Final = "workflow-rl"
_SYSTEM_ERROR: Final = 1
_USER_ERROR: Final = 2
_INTERRUPTED: Final = 130
_SHOWING: Final = ("watch", "play")  # commands that end when their output is closed
_NO_MEMORY: Final = "can't allocate memory"  # torch says so by a RuntimeError
_FAILED: set[str] = set()  # why standard output could not be written, but for want of a reader


def build_parser() -> Parser:
    """Returns the parser of the whole command line."""
    # Here, where a compiler that cannot be loaded is one sentence, too.
    from workflow_rl.cli import (
        compare_updates,
        evaluate,
        exploit,
        export,
        landscape,
        network,
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

    parser = Parser(
        prog=PROGRAM,
        description="Autonomous cyber defence on CAGE Challenge 2 (CybORG Scenario2).",
        epilog=f"`{PROGRAM} COMMAND --help` explains a command and shows examples. Exit codes: "
        "0 done; 1 the work failed (a full disk, a training that diverged, a worker that died); "
        "2 the request was wrong, nothing was begun; 130 interrupted, a run goes on with --resume.",
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    runs = (search, train, watch, report, replay, select, evaluate, exploit, playbook, export)
    for module in (*runs, landscape, compare_updates, play, parity, network):
        module.add_to(commands)
    return parser


def main(argv: Sequence[str] | None = None, **known: Any) -> int:
    """Runs one command and returns its exit code; a user's mistake is one sentence and code 2.

    Args:
        argv: the words of the command line.
        **known: what the command is told besides its flags.
    """
    _open_streams()
    try:
        _check_place()
        args = build_parser().parse_args(argv, argparse.Namespace(**known))
        if args.command not in _SHOWING and sys.stdout is sys.__stdout__:
            sys.stdout = _lasting(1, sys.stdout)  # the work goes on when the reader is gone
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, _interrupt)
            if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as `nohup` has it
                signal.signal(signal.SIGHUP, _interrupt)
        with explain_missing(args.command):
            code = int(args.run(args))
        sys.stdout.flush()  # here, where a reader that went away is no error
        if _FAILED:
            return _say(f"standard output: {', '.join(sorted(_FAILED))}", code or _SYSTEM_ERROR)
        return code
    except InvalidInputError as error:
        return _say(error, _USER_ERROR)
    except (EnvironmentFailedError, TrainingFailedError, WorkerDiedError) as error:
        return _say(error, _SYSTEM_ERROR)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and _NO_MEMORY not in str(error):
            raise
        return _say(_too_large(error), _SYSTEM_ERROR)
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away: `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            return _say(error, _SYSTEM_ERROR)  # a full or read-only disk, say
        name = str(error.filename)
        long = f"it has {len(name):,} characters"
        return _say(f"{name[:40]}... is too long for the name of a file: {long}", _USER_ERROR)


def _check_place() -> None:
    """Checks that the working directory is there: libraries ask for it when they are imported."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise InvalidInputError("the working directory was removed: go to another one") from None


def _too_large(error: BaseException) -> str:
    """Says that memory has no room, and for how much, where numpy or torch tell."""
    asked = re.search(r"allocate ([\d.]+) (\w+)", str(error))
    much = ""
    if asked:
        number, unit = float(asked[1]), asked[2]
        much = f" for {number:g} {unit} more"
        if unit == "bytes":
            much = f" for {number / 2**30:.3g} GiB more"
    return f"memory has no room{much}: fewer or smaller environments, episodes or layers need less"


def _interrupt(signum: int, frame: object) -> None:
    """Ends the program as Ctrl-C does: what is open is closed, what is finished is kept."""
    raise KeyboardInterrupt


def _say(error: object, code: int) -> int:
    print(printable(f"{PROGRAM}: error: {error}"), file=sys.stderr)
    return code


# --- standard streams that never cost a result: closed, narrow, full, or without a reader


class _Lasting(io.FileIO):
    """A stream that swallows what cannot be written any more, so that work goes on."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            if error.errno != errno.EPIPE and self.fileno() == 1:
                _FAILED.add(error.strerror or "an unknown reason")
            with contextlib.suppress(OSError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self.fileno())
                os.close(nowhere)
            return len(data)


def _open_streams() -> None:
    """Makes the standard streams of this process usable, whatever they are.

    One that is closed leads nowhere, so that no file that is opened later takes its number; what an
    encoding does not have is shown as "?". Streams that a program has put in their place stay.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if sys.stdout is None:
        sys.stdout = _lasting(1, None)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = _lasting(2, sys.stderr)


def _lasting(number: int, before: TextIO | None) -> TextIO:
    if before is not None:
        with contextlib.suppress(OSError, ValueError):
            before.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Lasting(number, "w", closefd=False)),
        encoding=before.encoding if before is not None else "utf-8",
        errors="replace",
        line_buffering=number == 2 or os.isatty(number),
    )
