"""What training every order gave, seed by seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.errors import InvalidInputError
from workflow_rl.estimates import Floats
from workflow_rl.workflow.orders import TYPES, Indices, Order, Orders
from workflow_rl.workflow.units import units_of

_KINDS: Final = {  # column -> its type
    "reward": np.float64,
    "error": np.float64,
    "compliance": np.float64,
    "compliance_true": np.float64,
    "is_compliant": np.bool_,
    "updates": np.int64,
}
_NAMES: Final = {  # column -> its name in a training's result
    "reward": "env_reward",
    "error": "env_reward_error",
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
    updates: NDArray[np.int64]
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
    def of_trials(
        cls,
        red_agent: str,
        rules: str,
        threshold: float,
        trials: Mapping[int, Sequence[Mapping[str, Any]]],
        orders: Orders = TYPES,
        policy: str = "",
    ) -> Self:
        """Returns the landscape of finished exhaustive searches.

        Args:
            red_agent: who attacked.
            rules: the rule set.
            threshold: compliance that makes an order compliant.
            trials: for each seed the trials as `summary.json` lists them.
            orders: those that were searched.
            policy: who played them, if none was trained.

        Raises:
            InvalidInputError: an order is missing.
        """
        columns: dict[str, NDArray[Any]] = {
            name: np.zeros((len(trials), orders.count), kind) for name, kind in _KINDS.items()
        }
        for row, (seed, entries) in enumerate(trials.items()):
            found = {orders.index(entry["workflow"]): entry for entry in entries}
            if len(found) != orders.count:
                raise InvalidInputError(
                    f"the run of seed {seed} has {len(found)} of the {orders.count} orders"
                )
            for place, order in enumerate(orders.listed().tolist()):
                for name, column in columns.items():
                    column[row, place] = found[order][_NAMES.get(name, name)]
        seeds = tuple(trials)
        return cls(red_agent, rules, threshold, seeds, **columns, orders=orders, policy=policy)

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
