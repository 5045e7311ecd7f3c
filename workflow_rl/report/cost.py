"""What a run cost: transitions per second, processor time and memory over its updates."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workflow_rl.report.rundata import RunData


@dataclass(frozen=True)
class Cost:
    """A run's updates one after the other; (U,) each."""

    training: list[str]
    clock: NDArray[np.float64]  # seconds of training up to each update, all processes added up
    speed: NDArray[np.float64]  # transitions per second of training
    cpu_percent: NDArray[np.float64]  # of one core
    rss_mb: NDArray[np.float64]
    transitions: float  # of all updates
    simulate_seconds: float
    infer_seconds: float  # choosing actions and judging them
    update_seconds: float

    @property
    def seconds(self) -> float:
        """Seconds of training, all processes added up."""
        return self.simulate_seconds + self.infer_seconds + self.update_seconds


def cost_of(run: RunData) -> Cost | None:
    """Returns what a run has cost so far; None before its first update."""
    if not sum(len(curve) for curve in run.curves):
        return None

    def joined(name: str) -> NDArray[np.float64]:
        return np.concatenate([curve.columns[name] for curve in run.curves])

    seconds = np.concatenate([curve.seconds for curve in run.curves])
    played = np.concatenate([curve.played for curve in run.curves])
    return Cost(
        training=[curve.name for curve in run.curves for _ in range(len(curve))],
        clock=seconds.cumsum(),
        speed=np.divide(played, seconds, out=np.full(len(played), np.nan), where=seconds > 0),
        cpu_percent=joined("cpu_percent"),
        rss_mb=joined("rss_mb"),
        transitions=float(played.sum()),
        simulate_seconds=float(np.nansum(joined("simulate_seconds"))),
        infer_seconds=float(np.nansum(joined("infer_seconds"))),
        update_seconds=float(np.nansum(joined("update_seconds"))),
    )


def thinned(values: NDArray[np.float64], points: int) -> NDArray[np.float64]:
    """Returns at most so many values, each the mean of a stretch; NaN is left out."""
    if len(values) <= points:
        return values
    edges = np.linspace(0, len(values), points + 1).astype(int)
    known = np.isfinite(values)
    sums = np.add.reduceat(np.where(known, values, 0.0), edges[:-1])
    counts = np.add.reduceat(known.astype(float), edges[:-1])
    means: NDArray[np.float64] = np.divide(
        sums, counts, out=np.full(points, np.nan), where=counts > 0
    )
    return means
