"""What training every order gave, seed by seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.estimates import Floats
from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.workflow.orders import TYPES, Indices, Order, Orders
from workflow_rl.workflow.units import units_of

_KINDS: Final = {  # column -> its type
    "reward": np.float64,
    "error": np.float64,
    "compliance": np.float64,
    "compliance_true": np.float64,
    "is_compliant": np.bool_,
}


@dataclass(frozen=True)
class Landscape:
    """Every allowed order, trained, or played by one policy, for each seed: (seeds, orders) each.

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
    policy: str = ""  # who played every order; empty: each was trained

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

    def format(self, place: int) -> str:
        """Writes the order of a column."""
        return str(self.order(place))

    def order(self, place: int) -> Order:
        """Returns the order of a column."""
        return self.orders[int(self.listed[place])]

    @property
    def tries(self) -> str:
        """What a reward is the result of, in words."""
        return "sets of games" if self.policy else "trainings"

    @property
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

    @property
    def is_eligible(self) -> NDArray[np.bool_]:
        """(orders,) whether an order, or its equals, complied in most trainings."""
        classes = self.classes
        complied = np.bincount(classes, self.is_compliant.sum(axis=0))
        trained = np.bincount(classes) * len(self.seeds)
        return np.asarray(2 * complied > trained)[classes]

    @property
    def levelled(self) -> Floats:
        """(seeds, orders) rewards without what a seed, by its base policy, gives all alike."""
        level = self.reward.mean(axis=1, keepdims=True)
        return np.asarray(self.reward - level + level.mean())

    @classmethod
    def of_tried(
        cls,
        game: GameConfig,
        threshold: float,
        tried: Mapping[int, Sequence[TriedOrder]],
        orders: Orders = TYPES,
        policy: str = "",
    ) -> Self:
        """Returns the landscape of orders that were all tried.

        Args:
            game: what was played.
            threshold: compliance that makes an order compliant.
            tried: every order once for each seed.
            orders: those that there are.
            policy: who played them, if none was trained.

        Raises:
            InvalidInputError: an order is missing.
        """
        columns: dict[str, NDArray[Any]] = {
            name: np.zeros((len(tried), orders.count), kind) for name, kind in _KINDS.items()
        }
        for row, (seed, those) in enumerate(tried.items()):
            found = {one.order: one for one in those}
            if len(found) != orders.count:
                raise InvalidInputError(
                    f"the run of seed {seed} has {len(found)} of the {orders.count} orders"
                )
            for place, order in enumerate(orders.listed().tolist()):
                result = found[order].result
                columns["reward"][row, place] = result.reward.mean
                columns["error"][row, place] = result.reward.error
                columns["compliance"][row, place] = result.compliance.mean
                columns["compliance_true"][row, place] = result.compliance_true.mean
                columns["is_compliant"][row, place] = found[order].is_compliant
        return cls(
            game.red_agent,
            game.rules,
            threshold,
            tuple(tried),
            **columns,
            orders=orders,
            policy=policy,
        )

    def as_json(self) -> dict[str, Any]:
        """Returns the landscape as plain data, a row per order."""
        rows = []
        for order in range(self.orders.count):
            row: dict[str, Any] = {"workflow": self.format(order)}
            row |= {name: getattr(self, name)[:, order].tolist() for name in _KINDS}
            rows.append(row)
        return {
            "red_agent": self.red_agent,
            "rules": self.rules,
            "compliance_threshold": self.threshold,
            "seeds": list(self.seeds),
            "policy": self.policy,
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
            orders = Orders.of(units_of(data.get("units", "types")), data.get("required", ()))
            rows = {orders.index(row["workflow"]): row for row in data["orders"]}
            columns: dict[str, NDArray[Any]] = {
                name: np.array([rows[order][name] for order in orders.listed().tolist()], kind).T
                for name, kind in _KINDS.items()
            }
            return cls(
                data["red_agent"],
                data["rules"],
                data["compliance_threshold"],
                tuple(data["seeds"]),
                **columns,
                orders=orders,
                policy=str(data.get("policy", "")),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"this is not a landscape of this version: {error}") from error
