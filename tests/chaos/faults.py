"""Disks that fail: at a chosen operation, as by kill -9, full or broken; and small ones."""

import builtins
import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

KINDS: Final = ("crash", "ENOSPC", "EIO")


class Crash(BaseException):
    """Nobody catches this, as nobody catches kill -9."""


class Disk:
    """Counts opening for writing, writing and renaming; at one of them it fails."""

    def __init__(self, at: int | None, kind: str) -> None:
        self.count = 0
        self._at, self._kind = at, kind

    def _fault(self) -> BaseException | None:
        self.count += 1
        if self.count != self._at:
            return None
        if self._kind == "crash":
            return Crash()
        code = getattr(errno, self._kind)
        return OSError(code, os.strerror(code))

    def open(self, path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR) and (fault := self._fault()) is not None:
            raise fault
        return os.open(path, flags, mode, **more)

    def replace(self, source: Any, target: Any) -> None:
        if (fault := self._fault()) is not None:
            raise fault
        os.rename(source, target)

    def file(self, descriptor: Any, mode: str, buffering: int = -1) -> Any:
        opened = builtins.open(descriptor, mode, buffering=buffering)  # noqa: SIM115
        return opened if mode == "rb" else _File(opened, self)

    def write(self, file: Any, data: bytes) -> int:
        if (fault := self._fault()) is None:
            return int(file.write(data))
        file.write(data[: len(data) // 2])
        file.flush()
        raise fault


class _File:
    """A file whose writes the disk hears of."""

    def __init__(self, file: Any, disk: Disk) -> None:
        self._file, self._disk = file, disk

    def write(self, data: bytes) -> int:
        return self._disk.write(self._file, data)

    def __enter__(self) -> "_File":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _System:
    """The module `os` as `workflow_rl.files` sees it on that disk."""

    def __init__(self, disk: Disk) -> None:
        self.open, self.replace = disk.open, disk.replace

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


@contextmanager
def failing_disk(at: int | None, kind: str = "crash") -> Iterator[Disk]:
    """Lets the n-th operation of `workflow_rl.files` fail in the block; None only counts."""
    disk = Disk(at, kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workflow_rl.files.os", _System(disk))
        patch.setattr("workflow_rl.files.open", disk.file, raising=False)
        yield disk


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    mounted = (
        shutil.which("mount")
        and not subprocess.run(["mount", *options], capture_output=True, check=False).returncode
    )
    if not mounted:
        pytest.skip("only a superuser can make a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)
