"""The orders that episodes sample from in training: those of some units, or of any."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import TrainConfig
from workflow_rl.config.units import ANY
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.tables import NUM_HOSTS, USER0
from workflow_rl.workflow.orders import TYPES, Indices, Orders, orders_of
from workflow_rl.workflow.units import FIXABLE_HOSTS, STANDS_FOR_USER0, units_of

_HOSTS: Final = Orders(units_of("hosts"))
_KINDS: Final = 3  # the five types, each host by itself, a random grouping: equally often
_FEWEST_GROUPS: Final = 2
_GROUPINGS: Final = 10  # from 2 to 11 groups


class AnyOrders:
    """Orders of any units, each by a number that says everything: the units, and their order.

    A third of them are orders of the five types, a third of single hosts, and a third of random
    groups of hosts, which is an order with ties.
    """

    count: Final = 2**62  # numbers to draw from

    def nth(self, numbers: NDArray[np.int64]) -> Indices:
        """Returns the numbers themselves: every one is an order."""
        return np.asarray(numbers, np.int64)

    def host_ranks(self, indices: Sequence[int] | Indices) -> NDArray[np.int8]:
        """Returns (k, 13) the place of each host's unit."""
        rest, kind = np.divmod(np.asarray(indices, np.int64), _KINDS)
        ranks = TYPES.host_ranks(rest % TYPES.total)
        single = kind == 1
        ranks[single] = _HOSTS.host_ranks(rest[single] % _HOSTS.total)
        grouped = kind == 2
        ranks[grouped] = _thrown(rest[grouped])
        return ranks

    def formatted(self, indices: Sequence[int] | Indices) -> list[str]:
        """Returns the name of each in logs, the same for all: there are too many."""
        return ["any"] * len(indices)


def _thrown(numbers: Indices) -> NDArray[np.int8]:
    """Returns (k, 13) ranks of groups: a number's last digit is their count, the rest the members.

    Empty groups leave no gap in the ranks.
    """
    rest, more = np.divmod(numbers, _GROUPINGS)
    groups = more + _FEWEST_GROUPS
    drawn = np.zeros((len(numbers), NUM_HOSTS), np.int64)
    for host in FIXABLE_HOSTS:
        rest, drawn[:, host] = np.divmod(rest, groups)
    drawn[:, USER0] = drawn[:, STANDS_FOR_USER0]
    is_used = np.zeros((len(numbers), NUM_HOSTS), np.bool_)
    np.put_along_axis(is_used, drawn, True, axis=1)
    dense = is_used.cumsum(axis=1) - 1
    return np.take_along_axis(dense, drawn, axis=1).astype(np.int8)


EpisodeOrders = Orders | AnyOrders


def episode_orders_of(config: TrainConfig) -> EpisodeOrders:
    """Returns the orders that the episodes of a training sample from.

    Raises:
        InvalidInputError: the units are none, or something is required of any units.
    """
    if config.units != ANY:
        return orders_of(config)
    if config.require:
        raise InvalidInputError(
            f"{shown(config.require[0])} cannot be required of the units any, which have no names"
        )
    return AnyOrders()
