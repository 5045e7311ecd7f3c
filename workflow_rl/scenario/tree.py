"""What a file says, with the place of each value, so that a refusal names file, line and field."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.network import NetworkError

DEEPEST: Final = 12  # levels of nesting of a file
LARGEST: Final = 1 << 20  # bytes of a file


@dataclass(frozen=True)
class Node:
    """A value of a file."""

    value: Any  # text, a number, a truth value, None, a list of nodes, or nodes by name
    file: str
    line: int
    field: str = ""  # the names that lead to it, with dots

    def refusal(self, sentence: str) -> InvalidInputError:
        """Returns the error that says what is wrong at this place."""
        field = f", {self.field}" if self.field else ""
        return InvalidInputError(f"{self.file}, line {self.line}{field}: {sentence}")

    def at(self, part: Sequence[str]) -> "Node":
        """Returns the node that a path of names leads to, or the last one on the way."""
        node = self
        for name in part:
            if not isinstance(node.value, dict) or name not in node.value:
                break
            node = node.value[name]
        return node

    def named(self) -> dict[str, "Node"]:
        """Returns the nodes below, by name."""
        if not isinstance(self.value, dict):
            raise self.refusal(f"{self._shown()} must be fields with their values")
        return self.value

    def fields(self, required: Collection[str], optional: Collection[str]) -> dict[str, "Node"]:
        """Returns the nodes below, none of another name than given."""
        found = self.named()
        for name, node in found.items():
            if name not in required and name not in optional:
                allowed = ", ".join((*required, *optional))
                raise node.refusal(f"there is no such field; allowed are {allowed}")
        for name in required:
            if name not in found:
                raise self.refusal(f"the field {name} is missing")
        return found

    def parts(self) -> list["Node"]:
        """Returns the nodes of a list."""
        if not isinstance(self.value, list):
            raise self.refusal(f"{self._shown()} must be a list")
        return self.value

    def text(self) -> str:
        """Returns the text."""
        if not isinstance(self.value, str):
            raise self.refusal(f"{self._shown()} must be text")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """Returns the texts of a list."""
        return tuple(part.text() for part in self.parts())

    def one_of(self, allowed: Collection[str], otherwise: str = "") -> str:
        """Returns the text, which must be one of the given; else says what would happen."""
        if self.value not in list(allowed):
            more = f"; {otherwise}" if otherwise else ""
            raise self.refusal(f"{self._shown()} must be one of {', '.join(allowed)}{more}")
        return self.text()

    def whole_number(self) -> int:
        """Returns the whole number."""
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            raise self.refusal(f"{self._shown()} must be a whole number")
        return self.value

    def number(self) -> float:
        """Returns the number."""
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            raise self.refusal(f"{self._shown()} must be a number")
        try:
            return float(self.value)
        except OverflowError:
            raise self.refusal(f"{self._shown()} is too large") from None

    def flag(self) -> bool:
        """Returns whether it is true."""
        if not isinstance(self.value, bool):
            raise self.refusal(f"{self._shown()} must be true or false")
        return self.value

    def _shown(self) -> str:
        if isinstance(self.value, dict):
            return "what stands here"
        if isinstance(self.value, list):
            return "this list"
        return shown(self.value)


@contextmanager
def locating(root: Node, place: Callable[[tuple[str, ...]], Sequence[str]]) -> Iterator[None]:
    """Adds the place in a file to what is wrong with the network made of it.

    Args:
        root: the file.
        place: the names in the file that lead to a part of the network.
    """
    try:
        yield
    except NetworkError as error:
        found = root.at(place(error.part))
        named = ".".join(error.part)
        same = Node(None, found.file, found.line, found.field or named)
        raise same.refusal(error.sentence) from error
