"""A process that dies at a chosen one of its writes."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from workflow_rl.runs.folder import CsvLog, EpisodeLog


class Crash(BaseException):
    """Nobody catches this, as nobody catches kill -9."""


class Writes:
    """Counts the writes of a run and dies at one of them, with half of it written."""

    def __init__(self, dies_at: int | None) -> None:
        self.count = 0
        self._dies_at = dies_at

    def _is_last(self) -> bool:
        self.count += 1
        return self.count == self._dies_at

    def appending(self, append: Callable[..., None]) -> Callable[..., None]:
        def half(log: CsvLog | EpisodeLog, *args: Any) -> None:
            last = self._is_last()
            before = log.path.stat().st_size if log.path.exists() else 0
            append(log, *args)
            if last:
                os.truncate(log.path, (before + log.path.stat().st_size) // 2)
                raise Crash

        return half

    def replacing(self, source: Path, target: Path) -> None:
        if self._is_last():
            raise Crash
        os.rename(source, target)


@contextmanager
def crashing(at: int | None) -> Iterator[Writes]:
    """Lets the n-th write below fail halfway; None only counts."""
    writes = Writes(at)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CsvLog, "append", writes.appending(CsvLog.append))
        patch.setattr(EpisodeLog, "append", writes.appending(EpisodeLog.append))
        patch.setattr("workflow_rl.files.os.replace", writes.replacing)
        yield writes
