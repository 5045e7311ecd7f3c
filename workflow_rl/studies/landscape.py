"""The results of every order for each seed: trained, or played by one policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import ExperimentConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.estimates import Floats
from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.scenario.loading import SCENARIO2, network_of, stored_network
from workflow_rl.workflow.orders import TYPES, Indices, Order, Orders, orders_of
from workflow_rl.workflow.units import units_of

_KINDS: Final[dict[str, Any]] = {  # column -> its type
    "reward": np.float64,
    "error": np.float64,
    "compliance": np.float64,
    "compliance_true": np.float64,
    "is_compliant": np.bool_,
}


@dataclass(frozen=True)
class Landscape:
    """Every allowed order for each seed, in columns of shape (seeds, orders).

    An order's column is its place in `listed`, which for the five types is its number.
    """

    red_agent: str
    rules: str
    threshold: float  # compliance that makes an order compliant
    seeds: tuple[int, ...]
    reward: Floats  # the objective: mean over the training's last episodes
    error: Floats  # its standard error
    compliance: Floats
    compliance_true: Floats
    is_compliant: NDArray[np.bool_]
    orders: Orders = TYPES
    policy: str = ""  # that played every order; empty: each order was trained

    def __post_init__(self) -> None:
        """Checks that every order has its place for every seed."""
        for name in _KINDS:
            shape = getattr(self, name).shape
            if shape != (len(self.seeds), self.orders.count) or not self.seeds:
                raise InvalidInputError(
                    f"a landscape holds {self.orders.count} orders for each of its seeds; "
                    f"{name} is of shape {shape} for {len(self.seeds)} seeds"
                )

    @cached_property
    def listed(self) -> Indices:
        """(orders,) the number of the order in each column."""
        return self.orders.listed()

    def order(self, place: int) -> Order:
        """Returns the order of a column."""
        return self.orders[int(self.listed[place])]

    @property
    def tries(self) -> str:
        """What a reward is the result of, in words."""
        return "sets of games" if self.policy else "trainings"

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """(orders,) the class of each; orders of one class are equal against this red agent."""
        return self.orders.classes_of_equals(self.red_agent)

    @property
    def compliant_seeds(self) -> NDArray[np.int64]:
        """(orders,) for how many seeds an order complied."""
        return np.asarray(self.is_compliant.sum(axis=0))

    @property
    def is_reliable(self) -> NDArray[np.bool_]:
        """(orders,) whether an order complied for every seed."""
        return np.asarray(self.is_compliant.all(axis=0))

    @cached_property
    def is_eligible(self) -> NDArray[np.bool_]:
        """(orders,) whether an order and its equals complied in most trainings."""
        complied = np.bincount(self.classes, self.compliant_seeds)
        trained = np.bincount(self.classes) * len(self.seeds)
        return np.asarray(2 * complied > trained)[self.classes]

    @property
    def levelled(self) -> Floats:
        """(seeds, orders) rewards without the offset that a seed's base policy gives all orders."""
        level = self.reward.mean(axis=1, keepdims=True)
        return np.asarray(self.reward - level + level.mean())

    @classmethod
    def of_tried(
        cls, config: ExperimentConfig, tried: Mapping[int, Sequence[TriedOrder]], policy: str = ""
    ) -> Self:
        """Returns the landscape of orders that were all tried.

        Args:
            config: the game, the orders and what makes them compliant.
            tried: every order once for each seed.
            policy: who played them, if none was trained.

        Raises:
            InvalidInputError: an order is missing.
        """
        orders = orders_of(config.train, config.game.network)
        cells = []
        for seed, those in tried.items():
            found = {one.order: one for one in those}
            if len(found) != orders.count:
                raise InvalidInputError(
                    f"the run of seed {seed} has {len(found)} of the {orders.count} orders"
                )
            cells.append([_cell(found[order]) for order in orders.listed().tolist()])
        columns = zip(_KINDS, np.moveaxis(np.array(cells), 2, 0), strict=True)
        return cls(
            config.game.red_agent,
            config.game.rules,
            config.train.compliance_threshold,
            tuple(tried),
            **{name: column.astype(_KINDS[name]) for name, column in columns},
            orders=orders,
            policy=policy,
        )

    def as_json(self) -> dict[str, Any]:
        """Returns the landscape as plain data, a row per order."""
        rows = [
            {"workflow": str(self.order(place))}
            | {name: getattr(self, name)[:, place].tolist() for name in _KINDS}
            for place in range(self.orders.count)
        ]
        return {
            "red_agent": self.red_agent,
            "rules": self.rules,
            "compliance_threshold": self.threshold,
            "seeds": list(self.seeds),
            "policy": self.policy,
            "network": stored_network(self.orders.units.network),
            "units": self.orders.units.setting,
            "required": self.orders.required.texts,
            "orders": rows,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns the landscape that `as_json` gave.

        Raises:
            InvalidInputError: it is not such data.
        """
        try:
            network = network_of(data.get("network", SCENARIO2))
            units = units_of(data.get("units", "types"), network)
            orders = Orders.of(units, data.get("required", ()))
            rows = {orders.index(row["workflow"]): row for row in data["orders"]}
            listed = [rows[order] for order in orders.listed().tolist()]
            return cls(
                data["red_agent"],
                data["rules"],
                data["compliance_threshold"],
                tuple(data["seeds"]),
                **{k: np.array([row[k] for row in listed], kind).T for k, kind in _KINDS.items()},
                orders=orders,
                policy=str(data.get("policy", "")),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"this is not a landscape of this version: {error}") from error


def _cell(one: TriedOrder) -> tuple[float, ...]:
    """Returns what an order gave, a number for each of `_KINDS`."""
    result = one.result
    return (
        result.reward.mean,
        result.reward.error,
        result.compliance.mean,
        result.compliance_true.mean,
        one.is_compliant,
    )
