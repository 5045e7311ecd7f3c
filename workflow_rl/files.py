"""Files: written atomically, with their description inside, and checked when read."""

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.errors import InvalidInputError, explain_missing

FORMAT: Final = 1
_KEY: Final = "workflow_rl"


def write_atomically(path: Path, data: bytes) -> None:
    """Writes a file so that a reader sees the old or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


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

    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError as error:
        raise InvalidInputError(f"there is no file {path}") from error
    except (SafetensorError, OSError, ValueError) as error:
        raise InvalidInputError(f"{path} is damaged or not a {kind} file") from error
    try:
        outer = json.loads(metadata[_KEY])
        text, digest = str(outer["content"]), outer["digest"]
        header = json.loads(text)
        description = header["description"]
    except (KeyError, ValueError, TypeError) as error:
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
    write_atomically(path, (json_text(data, indent=2) + "\n").encode())


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
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InvalidInputError(f"there is no file {path}") from error
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path} is damaged: it is not JSON") from error
