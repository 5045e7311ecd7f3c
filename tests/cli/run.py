"""The real command in a process of its own."""

import contextlib
import io
import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from workflow_rl.cli import main

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
Made = tuple[Path, str]  # the directory of a run, and what was printed about it
COMMAND = (sys.executable, "-m", "workflow_rl")
WIDE = os.environ | {"COLUMNS": "200", "TERM": "xterm-256color"}
_NOTICE = "workflow-rl: compiling"  # may come on standard error before anything else


def flags(text: str) -> list[str]:
    """Returns the words of a command line."""
    return text.split()


TOY_TRAIN = flags("--n-envs 6 --max-episodes 2 --max-steps 20 --hidden 8")
TOY_SEARCH = [
    *TOY_TRAIN,
    *flags("--n-workflows 2 --base-updates 2 --polish-updates 1 --score-games 5"),
]


def run(*args: str, actions: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; what it reads is `actions`."""
    return subprocess.run(
        [*COMMAND, *args],
        input=actions,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=WIDE,
        timeout=300,
        check=False,
    )


def run_here(*args: str, cwd: Path) -> str:
    """Runs a command to its good end in this process; returns what it printed on a wide screen."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.chdir(cwd)
        patch.setenv("COLUMNS", "200")
        assert main(list(args)) == 0
    return out.getvalue()


def said(err: str) -> str:
    """Returns standard error without the notice that something is being compiled."""
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(_NOTICE))


def complaint(result: subprocess.CompletedProcess[str]) -> str:
    """Returns the one line a user's mistake is answered with."""
    lines = said(result.stderr).splitlines()
    assert result.returncode == 2
    assert len(lines) == 1
    assert lines[0].startswith("workflow-rl: error: ")
    return lines[0]


def refusal(args: Sequence[str], capsys: Capture, folder: Path) -> str:
    """Gives the command a mistake, here; returns its one sentence, nothing else said or written."""
    before = sorted(folder.iterdir())
    assert main(list(args)) == 2
    out, err = capsys.readouterr()
    err = said(err)
    assert out == ""
    assert err.startswith("workflow-rl: error: ")
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before
    return err


class Terminal:
    """A command that believes to be at a terminal, and the keyboard and screen of that terminal."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self.process = process
        self.shown = ""
        self._descriptor = descriptor

    def type(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def wait_for(self, text: str, seconds: float = 60) -> None:
        """Reads on until the text was shown; an empty text waits for the end."""
        end = time.monotonic() + seconds
        while not text or text not in self.shown:
            assert time.monotonic() < end, self.shown
            if not select.select([self._descriptor], [], [], 1)[0]:
                continue
            try:
                part = os.read(self._descriptor, 65536)
            except OSError:  # the other side is closed: the process has ended
                part = b""
            self.shown += part.decode(errors="replace")
            if not part:
                assert not text, self.shown
                return

    def code(self) -> int:
        self.wait_for("")
        return self.process.wait(timeout=60)


@contextmanager
def terminal(*args: str, cwd: Path | None = None) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 120))
    process = subprocess.Popen(
        [*COMMAND, *args],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cwd,
        env=os.environ | {"TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
