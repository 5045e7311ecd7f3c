"""What matters in an order: what it is worth to put one unit type before another."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from workflow_rl.scenario.units import UNITS
from workflow_rl.studies.landscape.table import Landscape
from workflow_rl.workflow.orders import PAIRS, PRECEDENCE

_TAIL: Final = 0.025  # on each side of a 95 % interval


@dataclass(frozen=True)
class PairEffect:
    """What one type before another is worth, with the other pairs as they are."""

    first: str  # the better way round
    second: str
    worth: float  # mean over seeds
    half_width: float  # of its 95 % interval over seeds; NaN with one seed
    of_seeds: tuple[float, ...]


def pair_effects(landscape: Landscape) -> list[PairEffect]:
    """Returns the effect of each of the ten pairs, the largest first.

    For each seed by itself the rewards are regressed on the ten pairs; the interval is that of the
    seeds' coefficients, so it holds for other base policies, too. Orders that mostly do not comply
    are left out.
    """
    kept = landscape.is_eligible
    design = np.hstack([np.ones((int(kept.sum()), 1)), PRECEDENCE[kept].astype(np.float64)])
    # A feature goes from -1 to +1, so a pair is worth twice its coefficient.
    worth = 2 * (np.linalg.pinv(design) @ landscape.reward[:, kept].T)[1:]  # (pair, seed)
    seeds = worth.shape[1]
    effects = []
    for (a, b), values in zip(PAIRS, worth, strict=True):
        if values.mean() < 0:
            a, b, values = b, a, -values
        half = math.nan
        if seeds > 1:
            from scipy.stats import t

            half = float(t.ppf(1 - _TAIL, seeds - 1) * values.std(ddof=1) / math.sqrt(seeds))
        effects.append(
            PairEffect(UNITS[a], UNITS[b], float(values.mean()), half, tuple(values.tolist()))
        )
    return sorted(effects, key=lambda effect: -effect.worth)
