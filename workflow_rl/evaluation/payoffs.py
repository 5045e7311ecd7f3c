"""Who does how well against whom: a matrix of Blue's scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class Payoffs:
    """Blue's mean score of every row, a defender or an order, against every attacker."""

    rows: tuple[str, ...]
    attackers: tuple[str, ...]
    scores: NDArray[np.float64]  # (rows, attackers); NaN: not played

    @classmethod
    def of(cls, rows: Mapping[str, Mapping[str, float]]) -> Self:
        """Returns the matrix of some rows, each a score by the attacker's name."""
        attackers = tuple(dict.fromkeys(name for row in rows.values() for name in row))
        scores = [[row.get(name, np.nan) for name in attackers] for row in rows.values()]
        return cls(tuple(rows), attackers, np.array(scores, float).reshape(len(rows), -1))

    @property
    def worst(self) -> NDArray[np.float64]:
        """(rows,) the score of each row against its own worst attacker."""
        return np.asarray(np.nanmin(self.scores, axis=1))

    @property
    def best_row(self) -> int:
        """The row that is best against its own worst attacker."""
        return int(np.nanargmax(self.worst))

    def kept(self, rows: Sequence[int], attackers: Sequence[int]) -> Self:
        """Returns the matrix of some rows and attackers, in the order given."""
        names = tuple(self.rows[k] for k in rows), tuple(self.attackers[k] for k in attackers)
        return type(self)(*names, self.scores[np.ix_(list(rows), list(attackers))])

    def as_json(self) -> dict[str, Any]:
        """Returns it as plain data; what was not played is left out."""
        return {
            name: {
                red: float(score)
                for red, score in zip(self.attackers, row, strict=True)
                if not np.isnan(score)
            }
            for name, row in zip(self.rows, self.scores, strict=True)
        }

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Returns the matrix that `as_json` gave; InvalidInputError if it is none."""
        try:
            rows = {str(k): {str(n): float(v) for n, v in row.items()} for k, row in data.items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise InvalidInputError("this is no matrix of scores by attacker") from error
        return cls.of(rows)
