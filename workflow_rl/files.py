"""Files: written atomically, with their description inside, and checked when read."""

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import shutil
import stat
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final, cast

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config.checks import file_path
from workflow_rl.errors import InvalidInputError, explain_missing
from workflow_rl.processes import is_running

FORMAT: Final = 1
_KEY: Final = "workflow_rl"
MANIFEST_FILE: Final = "manifest.json"
_LARGEST: Final = 4_000_000_000  # bytes of a file that is read whole
_MADE_AGAIN: Final = "go on with --resume, which makes it again"
_DEPTH: Final = 2  # a training is made again with all of its folder
_TEMPORARY: Final = re.compile(r"\..+\.(\d+)\.tmp")  # the process that writes it
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_atomically(path: Path, data: bytes | str) -> None:
    """Writes a file so that a reader sees the old or the new one, never half of it.

    Text is written as UTF-8; a character that it cannot encode becomes "?", so that no result is
    lost.

    A link is replaced, not followed. The folder is made, but not the one that holds it: where a
    run's directory was removed, it is not made again.

    Raises:
        InvalidInputError: something is there that is no file.
    """
    if is_something_else(path):
        raise InvalidInputError(f"{path} is not a file that can be replaced")
    path.parent.mkdir(exist_ok=True)
    temporary = temporary_of(path)
    try:
        temporary.unlink(missing_ok=True)
        with open(os.open(temporary, _NEW, 0o666), "wb") as file:
            file.write(_as_bytes(data))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def temporary_of(path: Path) -> Path:
    """Returns what a file or folder is called while this process makes it, for `sweep`."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def make_folder(path: Path) -> None:
    """Makes a folder and those that hold it, unless they are there; pathlib fails at a thousand."""
    missing = [path]
    while not missing[-1].exists():
        missing.append(missing[-1].parent)
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)


def append(path: Path, data: bytes | str) -> None:
    """Adds to the end of a file, which is made with its folder if need be; follows no link."""
    path.parent.mkdir(exist_ok=True)
    with open_unlinked(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as file:
        file.write(_as_bytes(data))


def _as_bytes(data: bytes | str) -> bytes:
    return data.encode(errors="replace") if isinstance(data, str) else data


def open_unlinked(path: Path, flags: int, buffering: int = -1) -> BinaryIO:
    """Opens a file of a run: no link, no device, and nothing that would block.

    Raises:
        InvalidInputError: it is such a thing.
    """
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise InvalidInputError(f"{path} is a link, or no file at all") from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InvalidInputError(f"{path} is no file")
    mode = "rb" if flags & os.O_ACCMODE == os.O_RDONLY else "wb"
    return cast(BinaryIO, open(descriptor, mode, buffering=buffering))


def is_something_else(path: Path) -> bool:
    """Returns whether there is something that is neither a file nor a link: a device, a folder."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISLNK(mode)


def write_named(path: Path, data: bytes | str) -> None:
    """Writes an output named by the user: makes the folders that hold it."""
    make_folder(path.parent)
    write_atomically(path, data)


def named_output(path: Path) -> Path:
    """Returns the file that an output named by the user goes to, behind all links.

    Call it before any work.

    Raises:
        InvalidInputError: nothing can be written there.
    """
    file_path("an output", path)
    try:
        target = Path(os.path.realpath(path))
        if target.is_symlink():  # a cycle of links
            raise InvalidInputError(f"{path} is a link that leads nowhere")
        if is_something_else(target):
            kind = "a directory" if target.is_dir() else "a device or the like"
            raise InvalidInputError(f"{path} is {kind}: name a file")
        check_folder(target.parent)
    except OSError as error:
        raise InvalidInputError(f"nothing can be written to {path}: {error.strerror}") from error
    return target


def check_folder(path: Path) -> None:
    """Checks that files can be written to a folder, which may yet have to be made.

    Raises:
        InvalidInputError: they cannot.
    """
    there = file_path("an output", path)
    try:
        while not there.exists():
            there = there.parent
    except OSError as error:
        raise InvalidInputError(f"nothing can be written to {path}: {error.strerror}") from error
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise InvalidInputError(f"nothing can be written to {path}: {there} is not writable")


def refuse_links_out_of(folder: Path) -> None:
    """Checks that no link below a folder leads out of it, where we would then write.

    Raises:
        InvalidInputError: one does.
    """
    home = os.path.realpath(folder)
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            target = os.path.realpath(path) if path.is_symlink() else home
            if not Path(target).is_relative_to(home):
                raise InvalidInputError(f"{path} leads out of {folder}, to {target}: remove it")


def sweep(folder: Path, pattern: str = "**/.*.tmp") -> None:
    """Deletes what processes that were killed while they wrote have left below a folder."""
    for path in folder.glob(pattern):
        found = _TEMPORARY.fullmatch(path.name)
        if found and not is_running(int(found[1])):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def save_arrays(
    path: Path, kind: str, arrays: dict[str, NDArray[Any]], description: dict[str, Any]
) -> None:
    """Writes arrays with a description of plain data.

    Raises:
        MissingDependencyError: safetensors is not installed.
    """
    with explain_missing(str(path)):
        from safetensors.numpy import save

    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    content = {"format": FORMAT, "kind": kind, "description": description}
    text = json.dumps(content)
    header = json.dumps({"content": text, "digest": digest_of(contiguous, text)})
    write_atomically(path, save(contiguous, metadata={_KEY: header}))


def load_arrays(path: Path, kind: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Reads what `save_arrays` wrote.

    Raises:
        InvalidInputError: the file is missing, damaged, foreign or of another kind or format.
        MissingDependencyError: safetensors is not installed.
    """
    with explain_missing(str(path)):
        from safetensors import SafetensorError, safe_open

    check_file(path)
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if any(array.dtype.isbuiltin != 1 for array in arrays.values()):
            raise TypeError("numbers that numpy knows by another library only")
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError) as error:
        # TypeError, AttributeError: numbers of a kind that numpy does not have
        raise InvalidInputError(f"{path} is damaged or not a {kind} file") from error
    try:
        outer = json.loads(metadata[_KEY])
        text, digest = str(outer["content"]), outer["digest"]
        header = json.loads(text, parse_int=_whole)
        description = dict(header["description"])
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError(f"{path} was not written by workflow-rl") from error
    if digest != digest_of(arrays, text):
        raise InvalidInputError(f"{path} is damaged: its content is not what was written")
    if header.get("kind") != kind:
        raise InvalidInputError(f"{path} holds a {header.get('kind')}, not a {kind}")
    if header.get("format") != FORMAT:
        raise InvalidInputError(
            f"{path} is of format {header.get('format')}; this version reads format {FORMAT}"
        )
    return arrays, description


def digest_of(arrays: dict[str, NDArray[Any]], text: str = "") -> str:
    """Returns a hash of arrays, with their names and shapes, and of a text."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.view(np.uint8).data if array.size else b"")
    return digest.hexdigest()


def write_json(path: Path, data: Any) -> None:
    """Writes plain data as JSON, atomically; NaN becomes null."""
    write_atomically(path, json_text(data, indent=2) + "\n")


def json_text(data: Any, indent: int | None = None) -> str:
    """Returns plain data as JSON; NaN becomes null."""
    return json.dumps(_without_nan(data), indent=indent)


def _without_nan(data: Any) -> Any:
    if isinstance(data, float) and not math.isfinite(data):
        return None
    if isinstance(data, dict):
        return {key: _without_nan(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_without_nan(value) for value in data]
    return data


def read_json(path: Path) -> Any:
    """Reads what `write_json` wrote.

    Raises:
        InvalidInputError: the file is missing or damaged.
    """
    check_file(path)
    try:
        text = path.read_bytes().decode("utf-8")
        return json.loads(text, parse_int=_whole, parse_float=_finite, parse_constant=_finite)
    except (OSError, ValueError, RecursionError) as error:  # nested too deeply
        raise InvalidInputError(f"{path} is damaged: it is not JSON") from error


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is no number of JSON, or too large")
    return number


def _whole(text: str) -> int:
    _finite(text)  # larger than any float
    return int(text)


def check_file(path: Path) -> None:
    """Checks that there is a file to be read, of a size that memory has room for.

    Raises:
        InvalidInputError: there is none, or something else: a folder, a device, a pipe.
    """
    file_path("a file", path)
    try:
        found = path.stat()
    except FileNotFoundError as error:
        raise InvalidInputError(f"there is no file {path}") from error
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(found.st_mode):
        raise InvalidInputError(f"{path} is not a file")
    if found.st_size > _LARGEST:
        raise InvalidInputError(
            f"{path} has {found.st_size:,} bytes; no file of ours has more than {_LARGEST:,}"
        )


# --- the manifest of a finished run's folder


def write_manifest(folder: Path, given: Iterable[Path], made: Iterable[Path]) -> None:
    """Notes the digests of files below a folder: of those it was given, and made of them."""
    noted = {
        kind: {path.relative_to(folder).as_posix(): _digest_of_file(path) for path in paths}
        for kind, paths in (("given", given), ("made", made))
    }
    write_json(folder / MANIFEST_FILE, noted)


def check_manifest(folder: Path, *patterns: str, missing: bool = False) -> bool:
    """Checks files below a folder against its manifest, if it has one.

    Args:
        folder: the folder.
        patterns: which files, by their paths below the folder.
        missing: whether some may be missing.

    Returns:
        Whether there is a manifest, and all of these files are there.

    Raises:
        InvalidInputError: a file is not what was written; the sentence says what can be done.
    """
    file, whole = folder / MANIFEST_FILE, True
    if not os.path.lexists(file):
        return False
    noted = read_json(file)
    try:
        digests = {
            name: (digest, kind == "made")
            for kind in ("given", "made")
            for name, digest in noted[kind].items()
        }
    except (AttributeError, KeyError, TypeError) as error:
        raise InvalidInputError(f"{file} is damaged: remove it and {_MADE_AGAIN}") from error
    for name, (digest, is_made) in digests.items():
        if not any(fnmatchcase(name, pattern) for pattern in patterns):
            continue
        path, parts = folder / name, PurePosixPath(name).parts
        if ".." in parts or not path.is_relative_to(folder):
            raise InvalidInputError(f"{file} is damaged: it names files outside of {folder}")
        unit = folder.joinpath(*parts[:_DEPTH])  # what is made again as a whole
        if missing and is_made and not unit.exists():
            whole = False
        elif not path.exists() or _digest_of_file(path) != digest:
            how = "damaged: its content is not what was written" if path.exists() else "missing"
            first = f"remove {'it' if unit == path else unit} and " if unit.exists() else ""
            remedy = f", or {first}{_MADE_AGAIN}" if is_made else ""
            raise InvalidInputError(f"{path} is {how}; bring back a copy{remedy}")
    return whole


def _digest_of_file(path: Path) -> str:
    check_file(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
