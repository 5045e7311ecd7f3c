"""Tasks that need no networks, so that a process that runs one starts in tenths of a second."""

import os
import signal
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

from workflow_rl.files import write_atomically
from workflow_rl.runs.pool import Returned, Row

NEVER = 600.0  # seconds that nobody waits for


@dataclass(frozen=True)
class Toy:
    """Yields some rows, perhaps waits, and gives the process it ran in."""

    name: str
    rows: int = 2
    seconds: float = 0.0  # before the result
    pause: float = 0.0  # seconds before each row
    folder: Path | None = None
    kept: str | None = None  # the result of an earlier run of it

    def stored(self) -> str | None:
        return self.kept

    def run(self) -> Generator[Row | Returned]:
        for number in range(1, self.rows + 1):
            time.sleep(self.pause)
            yield {"training": self.name, "update": number}
        time.sleep(self.seconds)
        yield Returned(os.getpid())


@dataclass(frozen=True)
class Mortal(Toy):
    """Dies so many times, each time after a row, and gives how often it was begun."""

    notes: Path = Path()  # a letter for every time it was begun
    deaths: int = 0

    def run(self) -> Generator[Row | Returned]:
        begun = (self.notes.read_text() if self.notes.exists() else "") + "x"
        self.notes.write_text(begun)
        yield {"training": self.name, "update": len(begun)}
        if len(begun) <= self.deaths:
            os.kill(os.getpid(), signal.SIGKILL)
        yield Returned(len(begun))


@dataclass(frozen=True)
class Failing(Toy):
    """Yields a row, then raises."""

    error: Exception = field(default_factory=Exception)

    def run(self) -> Generator[Row | Returned]:
        yield {"training": self.name, "update": 1}
        raise self.error


class Deaf(Toy):
    """Is sent Ctrl-C, as a terminal does to every process in it."""

    def run(self) -> Generator[Row | Returned]:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        yield Returned(True)


@dataclass(frozen=True)
class Writer:
    """Leaves files in its folder, as a training does."""

    name: str
    folder: Path

    def stored(self) -> str | None:
        file = self.folder / "result.safetensors"
        return file.read_text() if file.exists() else None

    def run(self) -> Generator[Row | Returned]:
        write_atomically(self.folder / "snapshots" / "one", b"1")
        write_atomically(self.folder / "updates.csv", b"training,update\nwriter,1\n")
        yield {"training": "writer", "update": 1}
        write_atomically(self.folder / "result.safetensors", b"found")
        yield Returned("found")
