"""The exceptions of the package, and how text from outside is shown."""

import reprlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Which extra of the package brings a module that its core does without.
EXTRA_OF: Final = {
    "torch": "search",
    "safetensors": "search",
    "pyarrow": "search",
    "tensorboard": "search",
    "plotly": "search",
    "jinja2": "search",
    "markupsafe": "search",  # jinja2 brings it
    "rich": "search",
    "prompt_toolkit": "search",
    "scipy": "search",
    "threadpoolctl": "search",
    "psutil": "search",
    "stable_baselines3": "sb3",
    "sb3_contrib": "sb3",
    "pettingzoo": "pettingzoo",
    "ray": "ray",
    "onnx": "export",
}


def printable(text: str) -> str:
    """Returns text to show, "?" for each character that a terminal might obey: no letter, no space.

    Text of files and names of files may hold any character. Lines stay lines.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\u00a0" else "?" for c in text)


def in_line(text: str) -> str:
    """Returns text to show within a line: as `printable`, and "?" for the end of a line, too."""
    return printable(text).replace("\n", "?")


_MOST_SHOWN: Final = 80  # characters of a value
_SHORT: Final = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = _MOST_SHOWN


def shown(value: object) -> str:
    """Returns how a sentence shows a value: in one line, shortened, text in quotes."""
    try:
        text = _SHORT.repr(value)
    except Exception:  # an object's own reason, or a number of thousands of digits
        text = f"<{type(value).__name__}>"
    shape = getattr(value, "shape", None)
    if shape and isinstance(shape, tuple):  # an array, or what is like one
        text = f"{type(value).__name__} of shape {shape}"
    if "\n" in text:
        text = " ".join(text.split())
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


class InvalidInputError(ValueError):
    """Something the caller passed is wrong; the message says what is allowed, in one line.

    The command line prints the message as one sentence and exits with code 2.
    """

    def __init__(self, sentence: object = "") -> None:
        """Takes the sentence; names in it may hold any character."""
        super().__init__(in_line(str(sentence)))


class NotResetError(RuntimeError):
    """An environment was stepped or rendered before its first reset."""


class MissingDependencyError(InvalidInputError, ImportError):
    """An optional dependency is not installed; the message says how to install it."""


@contextmanager
def explain_missing(what: str) -> Iterator[None]:
    """Says in one sentence which extra to install where the block, or a function, misses a module.

    Args:
        what: the subject of the sentence: what cannot be done without it.

    Raises:
        MissingDependencyError: the block imported a module of an extra that is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRA_OF:
            raise
        raise MissingDependencyError(
            f"{what} needs {module}: pip install '.[{EXTRA_OF[module]}]'"
        ) from error


class TrainingFailedError(RuntimeError):
    """A training cannot come to an end, here or anywhere else; the message says why.

    The command line prints the message as one sentence and exits with code 1.
    """


class WorkerDiedError(RuntimeError):
    """A worker process died and is not, or no more, replaced; the message has its last output."""


class EnvironmentFailedError(RuntimeError):
    """An environment raised an exception in its worker; the message has its index and traceback."""


class EnvironmentTimeoutError(TimeoutError):
    """Environments took longer than allowed; the message says which."""
