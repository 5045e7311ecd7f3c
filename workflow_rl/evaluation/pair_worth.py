"""What it is worth to a policy that one unit comes before another, by playing it both ways."""

from dataclasses import asdict, dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.policy import Policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import GameConfig
from workflow_rl.estimates import Estimate, Floats
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.result import UNKNOWN
from workflow_rl.evaluation.selection import SCORING_SEED
from workflow_rl.workflow.orders import Orders

WORTH_GAMES: Final = 400  # under each order, at most
_ORDERS: Final = 4  # with the first unit right before the second; each is played swapped, too
_LOOKED_AT: Final = 1_000  # orders drawn to find these
_STREAM: Final = 140  # keeps the draws apart from others


@dataclass(frozen=True)
class PairWorth:
    """What one unit before another is worth to a policy over the reverse."""

    first: str
    second: str
    mean: float  # points an episode
    half_width: float  # of the 95 % interval
    policy: str  # whose

    @property
    def worth(self) -> Estimate:
        """The mean with its interval."""
        return Estimate(self.mean, self.half_width)

    def as_json(self) -> dict[str, Any]:
        """Returns it as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Returns what `as_json` gave; raises KeyError, TypeError or ValueError if it is not."""
        mean, half_width = (float(data[name]) for name in ("mean", "half_width"))
        names = str(data["first"]), str(data["second"])
        return cls(*names, mean, half_width, str(data["policy"]))


def pair_worth(
    policy: Policy, orders: Orders, first: str, second: str, game: GameConfig, games: int
) -> Estimate:
    """Returns what `first` before `second` is worth to a policy, all other pairs as they are.

    The policy plays the same games under a few orders with `first` right before `second`, and
    under the same orders with the two swapped. NaN if no such order was drawn.

    Args:
        policy: it follows any of the orders.
        orders: those that are allowed; some have `first` before `second`, some the reverse.
        first: a unit.
        second: another.
        game: what is played.
        games: how many, under each order.
    """

    def returns(sequence: NDArray[np.int8]) -> Floats:
        order = orders[int(orders.indices(sequence[None])[0])]
        return play_batch(PolicyAgent(policy, "policy", order), game, SCORING_SEED, games).returns

    a, b = orders.units.names.index(first), orders.units.names.index(second)
    gains = []
    for sequence in _neighbouring(orders, a, b):
        swapped = np.array([{a: b, b: a}.get(unit, unit) for unit in sequence.tolist()], np.int8)
        gains.append(returns(sequence) - returns(swapped))
    return Estimate.of_many(np.mean(gains, axis=0)) if gains else UNKNOWN


def _neighbouring(orders: Orders, a: int, b: int) -> NDArray[np.int8]:
    """Returns a few orders, as units, with unit `a` right before unit `b`."""
    some = orders.draw(np.random.default_rng([_STREAM, a, b]), _LOOKED_AT)
    places = orders.positions(some)
    found = np.unique(some[places[:, b] == places[:, a] + 1])
    return orders.sequences(found[:: max(len(found) // _ORDERS, 1)][:_ORDERS])
