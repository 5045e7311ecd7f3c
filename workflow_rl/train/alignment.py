"""The weight of the alignment reward: what complying is worth beside the environment's reward."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import TrainConfig
from workflow_rl.workflow.episode_orders import EpisodeOrders
from workflow_rl.workflow.orders import TYPES, Orders

LOWEST_WEIGHT: Final = 0.5
HIGHEST_WEIGHT: Final = 200.0
_MARGIN: Final = 0.015  # adaptive aims this far above the threshold: noise shall not cross it
_SPEED: Final = 3.0  # change of log weight per update and unit of missing compliance
_LARGEST_CHANGE: Final = 0.1  # of log weight, per update
# When all orders are trained at once each has but a few episodes in an update, so the weights move
# more slowly; and a policy that knows nothing yet would drive them so high that it never learns.
_SPEED_OF_ALL: Final = 1.0
_LARGEST_CHANGE_OF_ALL: Final = 0.3
HIGHEST_WEIGHT_OF_ALL: Final = 50.0
_MOST_WEIGHTS: Final = 720  # orders that have a weight each; of more none is met often enough


class AlignmentWeight:
    """What an episode's compliance is worth, in units of reward; one for each order trained.

    `fixed` keeps it. `adaptive` treats "compliance is at least the threshold" as a constraint and
    the weight as its multiplier: dual ascent on its logarithm raises it while the constraint is
    violated and lowers it otherwise, so that a policy that complies spends the rest on reward.
    Orders differ in what complying costs, so when all are trained at once each has its own, up to
    those of six units; the orders of more units, or of any, share one.
    """

    def __init__(
        self, config: TrainConfig, order: int | None, orders: EpisodeOrders = TYPES
    ) -> None:
        """Starts at the configured weight.

        Args:
            config: says how.
            order: the one that is trained; None: all of them.
            orders: those that episodes are drawn from.
        """
        number = orders.total if isinstance(orders, Orders) and order is None else 1
        self.values = np.full(number if number <= _MOST_WEIGHTS else 1, config.alignment_lambda)
        self._start = config.alignment_lambda
        self._order = order
        self._adaptive = config.alignment == "adaptive" and config.alignment_lambda > 0
        self.target = min(config.compliance_threshold + _MARGIN, 1.0)

    @property
    def mean(self) -> float:
        """Their geometric mean."""
        if len(self.values) == 1:
            return float(self.values[0])
        return float(np.exp(np.log(self.values).mean())) if self.values.all() else 0.0

    def of(self, orders: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the weights of orders, in the shape they come in."""
        return self.values[self._places(orders)]

    def _places(self, orders: NDArray[np.int64]) -> NDArray[np.int64]:
        return orders if len(self.values) > 1 else np.zeros_like(orders)

    def adapt(self, orders: NDArray[np.int64], compliance: NDArray[np.float64]) -> None:
        """Takes in the orders and the compliance of an update's episodes."""
        if not self._adaptive:
            return
        places, size = self._places(orders), len(self.values)
        number = np.bincount(places, minlength=size)
        sums = np.bincount(places, compliance, size)
        missing = np.where(number > 0, self.target - sums / np.maximum(number, 1), 0.0)
        speed, largest, highest = _SPEED, _LARGEST_CHANGE, HIGHEST_WEIGHT
        if self._order is None:
            speed, largest, highest = _SPEED_OF_ALL, _LARGEST_CHANGE_OF_ALL, HIGHEST_WEIGHT_OF_ALL
        change = np.clip(speed * missing, -largest, largest)
        highest = max(highest, self._start)
        self.values = np.clip(self.values * np.exp(change), LOWEST_WEIGHT, highest)
