"""Standard streams that never cost a result: closed, narrow, full, or without a reader."""

import contextlib
import errno
import io
import os
import sys
from typing import Any, TextIO

_FAILED: set[str] = (
    set()
)  # why standard output could not be written, other than for want of a reader


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


def open_streams() -> None:
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


def outlive_reader() -> None:
    """Lets the work of a command go on when nobody reads standard output any more."""
    if sys.stdout is sys.__stdout__:
        sys.stdout = _lasting(1, sys.stdout)


def output_failure() -> str | None:
    """Returns why standard output could not be written, if there was a reason but its reader."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    return ", ".join(sorted(_FAILED)) or None


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
