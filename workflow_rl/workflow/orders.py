"""Workflows: the orders of some units, first to be fixed first, and what may be required of them.

In public an order is a tuple of unit names that knows its units; inside it is one whole number,
its lexicographic place among the n! orders of its n units (12! fits in 64 bits), whatever is
required. `Orders` is the one place that turns one into the other.
"""

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import TrainConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.workflow.precedence import NOTHING, Requirements
from workflow_rl.workflow.units import SHORT_ORDER, TYPE_UNITS, Units, units_of

LISTABLE: Final = 5_040  # orders that are listed rather than searched: those of seven units
_TABLED: Final = 720  # orders whose host ranks are looked up
_SEPARATOR: Final = re.compile(r"\s*(?:->|>|→|,|\s)\s*")
# Defender can never really be taken: its place acts only through false alarms, which bline never
# causes; and bline never touches an Op_Host.
_UNTOUCHED_BY_BLINE: Final = sum(
    1 << h
    for h, name in enumerate(SCENARIO2.host_names)
    if name == "Defender" or name.startswith("Op_Host")
)

Indices = NDArray[np.int64]


class Order(tuple[str, ...]):
    """The names of units, first to be fixed first, and which units these are."""

    units: Units

    def __new__(cls, names: Iterable[str], units: Units = TYPE_UNITS) -> "Order":
        """Makes an order of units, by default of the five types; `Orders.read` checks one."""
        order = super().__new__(cls, names)
        order.units = units
        return order

    def __str__(self) -> str:
        """Returns it as `op_server > enterprise > ...`."""
        return " > ".join(self)

    @property
    def short(self) -> str:
        """The order in a table: as `op_s > ent > ...`, or of many units as `S0>E0>...`."""
        names = [self.units.short_names[unit] for unit in self]
        text = " > ".join(names)
        return text if len(text) <= SHORT_ORDER else ">".join(names)

    @property
    def host_ranks(self) -> NDArray[np.int8]:
        """(hosts,) the place of each host's unit: what compliance needs of an order."""
        places = np.array([self.index(name) for name in self.units.names], np.int8)
        return places[self.units.unit_of]


@dataclass(frozen=True)
class Orders:
    """The orders of some units that agree with what is required of them."""

    units: Units
    required: Requirements = NOTHING

    @classmethod
    def of(cls, units: Units, require: Sequence[str]) -> "Orders":
        """Returns the orders of units that agree with what texts require; raises as they do."""
        return cls(units, Requirements.read(require, units))

    @property
    def n(self) -> int:
        """How many units there are."""
        return len(self.units)

    @cached_property
    def total(self) -> int:
        """How many orders the units have, allowed or not."""
        return math.factorial(self.n)

    @cached_property
    def count(self) -> int:
        """How many of them are allowed."""
        return int(self._ways[0]) if self.required else self.total

    @property
    def is_listable(self) -> bool:
        """Whether there are few enough to look at all of them."""
        return self.count <= LISTABLE

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs of units, n (n - 1) / 2."""
        return tuple(itertools.combinations(range(self.n), 2))

    # --- names and numbers

    def read(self, workflow: str | Sequence[str]) -> Order:
        """Returns the order that text or names stand for.

        Args:
            workflow: text with `>`, `->`, `→`, commas or blanks between the units, or their names.

        Raises:
            InvalidInputError: it does not name each unit once, or not as is required.
        """
        if isinstance(workflow, str):
            words = [word for word in _SEPARATOR.split(workflow.strip()) if word]
        else:
            given = workflow if isinstance(workflow, Iterable) else (workflow,)
            words = [str(word) for word in given]
        known = {name.casefold(): name for name in self.units.names}
        names = [known.get(word.casefold(), "") for word in words]
        if sorted(names) != sorted(self.units.names):
            raise InvalidInputError(
                f"{' > '.join(words) or 'nothing'} is not a workflow: "
                f"name each of {', '.join(self.units.names)} once"
            )
        self.required.check(names)
        return Order(names, self.units)

    def index(self, workflow: str | Sequence[str]) -> int:
        """Returns the number of an order; raises as `read`."""
        places = [self.units.names.index(name) for name in self.read(workflow)]
        return int(self.indices(np.array([places], np.int8))[0])

    def __getitem__(self, index: int) -> Order:
        """Returns the order of a number."""
        return Order((self.units.names[unit] for unit in self.sequences([index])[0]), self.units)

    def format(self, index: int) -> str:
        """Writes the order of a number as `op_server > enterprise > ...`."""
        return str(self[index])

    def formatted(self, indices: Sequence[int] | Indices) -> list[str]:
        """Writes many orders."""
        names = self.units.names
        return [" > ".join(names[unit] for unit in row) for row in self.sequences(indices).tolist()]

    def holds(self, index: int) -> bool:
        """Returns whether a number is that of an order, and of one that is allowed."""
        return 0 <= index < self.total and bool(self._agree(self.positions([index]))[0])

    # --- many at once

    def sequences(self, indices: Sequence[int] | Indices) -> NDArray[np.int8]:
        """Returns (k, n) the units of orders, first to be fixed first."""
        left = np.array(indices, np.int64)
        units = np.tile(np.arange(self.n, dtype=np.int8), (len(left), 1))
        rows = np.arange(len(left))
        out = np.empty((len(left), self.n), np.int8)
        for place in range(self.n):
            digit, left = np.divmod(left, math.factorial(self.n - 1 - place))
            out[:, place] = units[rows, digit]
            kept = np.arange(units.shape[1]) != digit[:, None]
            units = units[kept].reshape(len(left), units.shape[1] - 1)
        return out

    def indices(self, sequences: NDArray[np.int8]) -> Indices:
        """Returns (k,) the numbers of orders given as units (k, n)."""
        found = np.zeros(len(sequences), np.int64)
        for place in range(self.n):
            smaller = (sequences[:, place + 1 :] < sequences[:, place : place + 1]).sum(axis=1)
            found += smaller * math.factorial(self.n - 1 - place)
        return found

    def positions(self, indices: Sequence[int] | Indices) -> NDArray[np.int8]:
        """Returns (k, n) the place of each unit."""
        return np.argsort(self.sequences(indices), axis=1).astype(np.int8)

    def host_ranks(self, indices: Sequence[int] | Indices) -> NDArray[np.int8]:
        """Returns (k, hosts) the place of each host's unit."""
        if self.total <= _TABLED:
            return self._rank_table[np.asarray(indices, np.int64)]
        return self._ranks(indices)

    def precedence(self, indices: Sequence[int] | Indices) -> NDArray[np.int8]:
        """Returns (k, pairs) +1 if a pair's first unit comes before its second, else -1."""
        places = self.positions(indices)
        first, second = np.array(self.pairs).T
        return np.where(places[:, first] < places[:, second], 1, -1).astype(np.int8)

    def distances(
        self, some: Sequence[int] | Indices, others: Sequence[int] | Indices
    ) -> NDArray[np.int64]:
        """Returns (k, m) how many pairs of units orders arrange differently (Kendall)."""
        a, b = (self.precedence(indices).astype(np.float64) for indices in (some, others))
        return np.rint((len(self.pairs) - a @ b.T) / 2).astype(np.int64)

    def distance(self, a: int, b: int) -> int:
        """Returns how many pairs of units two orders arrange differently."""
        return int(self.distances([a], [b])[0, 0])

    # --- those that are allowed

    def nth(self, numbers: NDArray[np.int64]) -> Indices:
        """Returns the orders at places 0 to count - 1 among those allowed, by rising number.

        A uniformly sampled place gives every allowed order the same probability.
        """
        if not self.required:
            return np.asarray(numbers, np.int64)
        return self.indices(self.required.sequences(self.units.names, self._ways, numbers))

    def draw(self, rng: np.random.Generator, number: int) -> Indices:
        """Returns (number,) allowed orders, sampled uniformly with replacement."""
        return self.nth(rng.integers(0, self.count, number))

    def listed(self) -> Indices:
        """Returns all allowed orders by rising number; ask `is_listable` first."""
        assert self.is_listable
        return self.nth(np.arange(self.count))

    def neighbours(self, index: int) -> Indices:
        """Returns the allowed orders one swap of two units, or one insertion elsewhere, away."""
        sequences = self.sequences([index])[0][self._moves]
        allowed = self._agree(np.argsort(sequences, axis=1))
        return np.unique(self.indices(sequences[allowed]))

    def is_free(self, first: int, second: int) -> bool:
        """Returns whether there are orders with the two units either way round."""
        return not (self._before[first] >> second & 1 or self._before[second] >> first & 1)

    # --- which are alike

    def classes_of_equals(
        self, red_agent: str, indices: Sequence[int] | Indices | None = None
    ) -> NDArray[np.int64]:
        """Returns the class of each order; against this red agent orders of one class are equal.

        Against bline, orders are equal if they differ only in the places of units that it never
        touches; against others every order is its own class. Classes are numbered as they first
        appear. By default all allowed orders are classified.
        """
        sequences = self.sequences(self.listed() if indices is None else indices)
        matters = ~np.isin(sequences, self.idle_units(red_agent))
        numbers: dict[bytes, int] = {}
        rows = (row[kept].tobytes() for row, kept in zip(sequences, matters, strict=True))
        return np.array([numbers.setdefault(row, len(numbers)) for row in rows])

    def idle_units(self, red_agent: str) -> tuple[int, ...]:
        """Returns the units whose places can make no difference against a red agent."""
        if red_agent != "bline" or self.units.network != SCENARIO2:
            return ()
        hosts = enumerate(self.units.hosts)
        return tuple(unit for unit, those in hosts if not those & ~_UNTOUCHED_BY_BLINE)

    def common_part(self, indices: Sequence[int]) -> tuple[str, ...]:
        """Returns the units that all these orders arrange alike, in that arrangement."""
        agreed = np.abs(self.precedence(indices).sum(axis=0, dtype=np.int64)) == len(indices)
        names = self.units.names
        alike = {
            names[u] for pair, same in zip(self.pairs, agreed, strict=True) if same for u in pair
        }
        return tuple(name for name in self[indices[0]] if name in alike)

    def _ranks(self, indices: Sequence[int] | Indices) -> NDArray[np.int8]:
        return self.positions(indices)[:, self.units.unit_of]

    @cached_property
    def _rank_table(self) -> NDArray[np.int8]:
        return self._ranks(np.arange(self.total))

    @cached_property
    def _before(self) -> list[int]:
        return self.required.before(self.units.names)

    @cached_property
    def _ways(self) -> NDArray[np.int64]:
        return self.required.ways(self.units.names)

    @cached_property
    def _moves(self) -> NDArray[np.int64]:
        """(moves, n) which place's unit comes where: swaps and insertions."""
        n, moves = self.n, set()
        for i, j in itertools.permutations(range(n), 2):
            swapped = list(range(n))
            swapped[i], swapped[j] = j, i
            inserted = list(range(n))
            inserted.insert(j, inserted.pop(i))
            moves |= {tuple(swapped), tuple(inserted)}
        return np.array(sorted(moves))

    def _agree(self, positions: NDArray[Any]) -> NDArray[np.bool_]:
        """Returns (k,) whether orders, as places of units (k, n), are as is required."""
        agree = np.ones(len(positions), np.bool_)
        for first, second in self.required.by_number(self.units.names):
            agree &= positions[:, first] < positions[:, second]
        return agree


TYPES: Final = Orders(TYPE_UNITS)  # the documents' 120
NUM_ORDERS: Final = TYPES.count
ORDERS: Final[tuple[Order, ...]] = tuple(TYPES[index] for index in range(NUM_ORDERS))


def read_order(
    workflow: str | Sequence[str], units: Units | None = None, network: Network = SCENARIO2
) -> Order:
    """Returns the order that a user gave.

    Args:
        workflow: text, names, or an order, which knows its units.
        units: whose names those are; by default the network's types.
        network: what is played on.

    Raises:
        InvalidInputError: it does not name each unit once.
    """
    if isinstance(workflow, Order):
        return workflow
    return Orders(units or units_of("types", network)).read(workflow)


def orders_of(config: TrainConfig, network: Network = SCENARIO2) -> Orders:
    """Returns the orders that a training, or a search of trainings, may follow.

    Raises:
        InvalidInputError: its units are none, or what is required of them contradicts itself.
    """
    units = units_of(config.units, network)
    if not config.require and units == TYPE_UNITS:
        return TYPES
    return Orders.of(units, config.require)
