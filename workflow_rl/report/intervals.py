"""A value with how sure it is."""

import math
from dataclasses import dataclass
from typing import Final

Z95: Final = 1.959964  # standard deviations to each side that hold 95 % of a normal distribution


@dataclass(frozen=True)
class Estimate:
    """A mean and its standard error, NaN if that is not known."""

    mean: float
    error: float = math.nan

    @property
    def half(self) -> float:
        """Half the width of the 95 % interval."""
        return Z95 * self.error

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.mean + self.half
