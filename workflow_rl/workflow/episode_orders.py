"""The orders that episodes sample from in training: those of some units, or of any."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import TrainConfig
from workflow_rl.config.units import ANY
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.workflow.orders import Indices, Orders, orders_of
from workflow_rl.workflow.units import MOST, fixable_hosts, stands_for_foothold, units_of

_KINDS: Final = 3  # the five types, each host by itself, a random grouping: equally often
_FEWEST_GROUPS: Final = 2
_GROUPINGS: Final = 10  # from 2 to 11 groups
_HOSTS_OF_A_NUMBER: Final = 15  # whose groups a number of 62 bits can say
_MIXING: Final = 6364136223846793005  # of a linear congruential generator (Knuth)
_POSITIVE: Final = 2**62 - 1


class AnyOrders:
    """Orders of any units, each by a number that says everything: the units, and their order.

    A third of them are orders of the five types, a third of single hosts, and a third of random
    groups of hosts, which is an order with ties.
    """

    count: Final = 2**62  # numbers to draw from

    def __init__(self, network: Network = SCENARIO2) -> None:
        """Makes the orders of any units of a network; orders of single hosts if they are few."""
        self._network = network
        self._types = Orders(units_of("types", network))
        few = len(network.hosts) - 1 <= MOST
        self._hosts = Orders(units_of("hosts", network)) if few else None

    def nth(self, numbers: NDArray[np.int64]) -> Indices:
        """Returns the numbers themselves: every one is an order."""
        return np.asarray(numbers, np.int64)

    def host_ranks(self, indices: Sequence[int] | Indices) -> NDArray[np.int8]:
        """Returns (k, hosts) the place of each host's unit."""
        rest, kind = np.divmod(np.asarray(indices, np.int64), _KINDS)
        ranks = self._types.host_ranks(rest % self._types.total)
        grouped = kind >= 1
        if self._hosts is not None:
            single = kind == 1
            ranks[single] = self._hosts.host_ranks(rest[single] % self._hosts.total)
            grouped = kind == 2
        ranks[grouped] = _thrown(self._network, rest[grouped])
        return ranks

    def formatted(self, indices: Sequence[int] | Indices) -> list[str]:
        """Returns the name of each in logs, the same for all: there are too many."""
        return ["any"] * len(indices)


def _thrown(network: Network, numbers: Indices) -> NDArray[np.int8]:
    """Returns (k, hosts) ranks of groups: a number's last digit is their count, the rest members.

    Empty groups leave no gap in the ranks. Of many hosts, further ones repeat the draw.
    """
    hosts = len(network.hosts)
    rest, more = np.divmod(numbers, _GROUPINGS)
    groups = more + _FEWEST_GROUPS
    drawn = np.zeros((len(numbers), hosts), np.int64)
    fixable = fixable_hosts(network)
    for start in range(0, len(fixable), _HOSTS_OF_A_NUMBER):
        left = rest
        for host in fixable[start : start + _HOSTS_OF_A_NUMBER]:
            left, drawn[:, host] = np.divmod(left, groups)
        rest = rest * _MIXING & _POSITIVE
    drawn[:, network.number(network.foothold)] = drawn[:, stands_for_foothold(network)]
    is_used = np.zeros((len(numbers), _FEWEST_GROUPS + _GROUPINGS), np.bool_)
    np.put_along_axis(is_used, drawn, True, axis=1)
    dense = is_used.cumsum(axis=1) - 1
    return np.take_along_axis(dense, drawn, axis=1).astype(np.int8)


EpisodeOrders = Orders | AnyOrders


def episode_orders_of(config: TrainConfig, network: Network = SCENARIO2) -> EpisodeOrders:
    """Returns the orders that the episodes of a training sample from.

    Raises:
        InvalidInputError: the units are none, or something is required of any units.
    """
    if config.units != ANY:
        return orders_of(config, network)
    if config.require:
        raise InvalidInputError(
            f"{shown(config.require[0])} cannot be required of the units any, which have no names"
        )
    return AnyOrders(network)
