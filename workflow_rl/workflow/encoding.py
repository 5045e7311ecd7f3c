"""How an order is shown to a network: as bits behind the observation.

- `onehot`: which unit stands at which place, n x n bits; the documents' 25 for the five types. Only
  orders of the same units can be encoded so.
- `ranks`: of each host, one-hot, its place in the order; hosts of a unit alike. 12 x 12 bits on
  Scenario2.
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
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.tables import Tables, tables_of
from workflow_rl.workflow.compliance import checked_ranks, checked_tables, is_due, open_by_table
from workflow_rl.workflow.units import Units, fixable_hosts

_SEPARATOR: Final = "+"


@kernel()
def _write_due(
    nets: NDArray[Any],
    fixable: NDArray[Any],
    tables: NDArray[Any],
    ranks: NDArray[Any],
    out: NDArray[Any],
) -> None:
    net: Tables = nets[0]
    for k in range(len(tables)):
        open_hosts = open_by_table(net, tables[k])
        for place in range(len(fixable)):
            out[k, place] = is_due(fixable[place], open_hosts, ranks[k])


class OrderEncoding:
    """The bits of an order: some that hold for an episode, then some that hold for a step."""

    def __init__(
        self, name: OrderEncodingName, units: Units | None, network: Network = SCENARIO2
    ) -> None:
        """Makes the encoding of a name, with `onehot` of the orders of some units."""
        self.name = name
        self.network = network
        self._fixable = fixable_hosts(network)
        self._first, self._second = np.nonzero(~np.eye(len(self._fixable), dtype=np.bool_))
        self.parts = tuple(name.split(_SEPARATOR))
        self._units = units
        lasting = [part for part in self.parts if part != "due"]
        self.lasting = sum(self.size_of(part) for part in lasting)  # bits that hold for an episode
        self.of_step = len(self._fixable) if "due" in self.parts else 0  # bits of a step
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
        return len(self._fixable) ** 2 if part == "ranks" else len(self._first)

    def order_bits(self, ranks: NDArray[np.int8]) -> NDArray[np.int8]:
        """Returns (k, lasting) what is shown for the whole of an episode, for ranks (k, hosts)."""
        ranks = checked_ranks(ranks, self.network)
        found = [np.empty((len(ranks), 0), np.int8)]
        places = ranks[:, self._fixable]
        for part in self.parts:
            if part == "onehot":
                of_units = ranks[:, self.unit_hosts]
                bits = of_units[:, None, :] == np.arange(len(self.unit_hosts))[None, :, None]
            elif part == "ranks":
                bits = places[:, :, None] == np.arange(len(self._fixable))
            elif part == "precedence":
                bits = places[:, self._first] < places[:, self._second]
            else:
                continue
            found.append(bits.reshape(len(ranks), self.size_of(part)).astype(np.int8))
        return np.hstack(found)

    def step_bits(self, tables: NDArray[np.int64], ranks: NDArray[np.int8]) -> NDArray[np.int8]:
        """Returns (k, of_step) what a step shows, for tables (k, words) and ranks (k, hosts)."""
        ranks = checked_ranks(ranks, self.network)
        tables = checked_tables(tables, len(ranks), self.network)
        out = np.zeros((len(tables), self.of_step), np.int8)
        if self.of_step:
            _write_due(tables_of(self.network), self._fixable, tables, ranks, out)
        return out
