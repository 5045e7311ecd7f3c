"""Which units must come before which: a partial order, and the orders that agree with it."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.workflow.units import Units

_BEFORE: Final = re.compile(r"->|>|→")


@dataclass(frozen=True)
class Requirements:
    """Pairs of units, the first of which must come before the second; they contradict nothing."""

    pairs: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        """Returns whether anything is required."""
        return bool(self.pairs)

    @property
    def texts(self) -> list[str]:
        """The pairs as they are given."""
        return [f"{first} > {second}" for first, second in self.pairs]

    @classmethod
    def read(cls, texts: Sequence[str], units: Units) -> "Requirements":
        """Reads requirements such as `op_server > user`, or chains of more units.

        Raises:
            InvalidInputError: one names no two units, or they contradict each other.
        """
        known = {name.casefold(): name for name in units.names}
        pairs: list[tuple[str, str]] = []
        for text in texts:
            words = [word.strip() for word in _BEFORE.split(text)]
            names = [known.get(word.casefold()) for word in words]
            if len(names) < 2 or None in names:
                raise InvalidInputError(
                    f'{shown(text)} requires nothing: write "A > B" with units of '
                    f"{', '.join(units.names)}"
                )
            chain = [name for name in names if name is not None]
            pairs += itertools.pairwise(chain)
        return cls.of(pairs)

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]]) -> "Requirements":
        """Returns what pairs of units require.

        Raises:
            InvalidInputError: they contradict each other; the sentence names the cycle.
        """
        before: dict[str, list[str]] = {}
        for first, second in pairs:
            before.setdefault(second, []).append(first)
        try:
            TopologicalSorter(before).prepare()
        except CycleError as error:
            cycle = " > ".join(error.args[1])
            raise InvalidInputError(
                f"what is required contradicts itself: {cycle}, so no order agrees"
            ) from None
        return cls(tuple(dict.fromkeys(pairs)))

    def check(self, names: Sequence[str]) -> None:
        """Checks that an order agrees.

        Raises:
            InvalidInputError: it does not; the sentence says where.
        """
        for first, second in self.pairs:
            if names.index(first) > names.index(second):
                raise InvalidInputError(
                    f"{' > '.join(names)} has {second} before {first}, but {first} > {second} is "
                    "required"
                )

    def by_number(self, names: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yields the pairs by the numbers of their units."""
        for first, second in self.pairs:
            yield names.index(first), names.index(second)

    # An order is built from the front. Which units are placed is a set; what can follow depends on
    # that set alone, so 2^n counts say how many orders begin in any way.

    def ways(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Returns (2^n,) in how many ways the rest can follow a set of placed units."""
        n, before = len(names), self.before(names)
        found = [0] * (1 << n)
        found[-1] = 1
        for placed in range((1 << n) - 2, -1, -1):
            found[placed] = sum(
                found[placed | 1 << unit]
                for unit in range(n)
                if not placed >> unit & 1 and not before[unit] & ~placed
            )
        return np.array(found, np.int64)

    def sequences(
        self, names: Sequence[str], ways: NDArray[np.int64], numbers: NDArray[np.int64]
    ) -> NDArray[np.int8]:
        """Returns (k, n) the orders at places (k,), from 0, of the list of those that agree."""
        n, before = len(names), np.array(self.before(names))
        left, placed = np.array(numbers, np.int64), np.zeros(len(numbers), np.int64)
        out = np.empty((len(left), n), np.int8)
        for place in range(n):
            chosen = np.full(len(left), -1)
            for unit in range(n):
                may = (chosen < 0) & (placed >> unit & 1 == 0) & (before[unit] & ~placed == 0)
                ahead = np.where(may, ways[placed | 1 << unit], 0)
                here = may & (left < ahead)
                chosen[here] = unit
                left -= np.where(may & ~here, ahead, 0)
            out[:, place] = chosen
            placed |= np.int64(1) << chosen
        return out

    def before(self, names: Sequence[str]) -> list[int]:
        """Returns the set of units that come before each unit in every order that agrees."""
        before = [0] * len(names)
        for first, second in self.by_number(names):
            before[second] |= 1 << first
        for other in range(len(names)):  # what comes before it comes before what follows it
            for unit in range(len(names)):
                if before[unit] >> other & 1:
                    before[unit] |= before[other]
        return before


NOTHING: Final = Requirements()
