"""How an order is shown to a network: as bits behind the observation.

- `onehot`: which unit stands at which place, n x n bits; the documents' 25 for the five types. Only
  orders of the same units can be encoded so.
- `ranks`: of each host, one-hot, its place in the order; 12 x 12 bits, hosts of a unit alike.
- `precedence`: for each two hosts, whether the first comes before the second; 12 x 11 bits.
- `due`: of each host, whether it is the next to be fixed: marked in Blue's table, and no marked
  host comes before it; 12 bits that change from step to step.

All but `onehot` describe any order of any units. Two may be shown together: `ranks+due`.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import OrderEncodingName
from workflow_rl.jit import kernel
from workflow_rl.workflow.compliance import checked_ranks, checked_tables, is_due, open_by_table
from workflow_rl.workflow.units import FIXABLE_HOSTS, Units

_FIRST, _SECOND = np.nonzero(~np.eye(len(FIXABLE_HOSTS), dtype=np.bool_))
_SEPARATOR: Final = "+"


@kernel()
def _write_due(tables: NDArray[Any], ranks: NDArray[Any], out: NDArray[Any]) -> None:
    for k in range(len(tables)):
        open_hosts = open_by_table(tables[k])
        for place in range(len(FIXABLE_HOSTS)):
            out[k, place] = is_due(FIXABLE_HOSTS[place], open_hosts, ranks[k])


class OrderEncoding:
    """The bits of an order: some that hold for an episode, then some that hold for a step."""

    def __init__(self, name: OrderEncodingName, units: Units | None) -> None:
        """Makes the encoding of a name, with `onehot` of the orders of some units."""
        self.name = name
        self.parts = tuple(name.split(_SEPARATOR))
        self._units = units
        lasting = [part for part in self.parts if part != "due"]
        self.lasting = sum(self.size_of(part) for part in lasting)  # bits that hold for an episode
        self.of_step = len(FIXABLE_HOSTS) if "due" in self.parts else 0  # bits of a step
        self.size = self.lasting + self.of_step

    @property
    def is_general(self) -> bool:
        """Whether it can encode any order of any units."""
        return "onehot" not in self.parts

    @property
    def unit_hosts(self) -> NDArray[np.int64]:
        """(units,) a host of each unit, whose rank is the unit's."""
        assert self._units is not None
        unit_of = self._units.unit_of.tolist()
        return np.array([unit_of.index(unit) for unit in range(len(self._units))])

    def size_of(self, part: str) -> int:
        """Returns the number of bits of a part that holds for an episode."""
        if part == "onehot":
            assert self._units is not None
            return len(self._units) ** 2
        return len(FIXABLE_HOSTS) ** 2 if part == "ranks" else len(_FIRST)

    def order_bits(self, ranks: NDArray[np.int8]) -> NDArray[np.int8]:
        """Returns (k, lasting) what is shown for the whole of an episode, for ranks (k, 13)."""
        ranks = checked_ranks(ranks)
        found = [np.empty((len(ranks), 0), np.int8)]
        places = ranks[:, FIXABLE_HOSTS]
        for part in self.parts:
            if part == "onehot":
                of_units = ranks[:, self.unit_hosts]
                bits = of_units[:, None, :] == np.arange(len(self.unit_hosts))[None, :, None]
            elif part == "ranks":
                bits = places[:, :, None] == np.arange(len(FIXABLE_HOSTS))
            elif part == "precedence":
                bits = places[:, _FIRST] < places[:, _SECOND]
            else:
                continue
            found.append(bits.reshape(len(ranks), self.size_of(part)).astype(np.int8))
        return np.hstack(found)

    def step_bits(self, tables: NDArray[np.int64], ranks: NDArray[np.int8]) -> NDArray[np.int8]:
        """Returns (k, of_step) what is shown in one step, for tables (k,) and ranks (k, 13)."""
        ranks = checked_ranks(ranks)
        tables = checked_tables(tables, len(ranks))
        out = np.zeros((len(tables), self.of_step), np.int8)
        if self.of_step:
            _write_due(tables, ranks, out)
        return out
