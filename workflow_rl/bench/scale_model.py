"""Forecasts from measured constants how many workers of a larger cluster one driver feeds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

TRAINING: Final = "training"  # nobody waits for the driver
SCHEDULING: Final = "scheduling"
UPDATES: Final = "updates"
PICKS: Final = "picks"


@dataclass(frozen=True)
class Constants:
    """Seconds that one workflow costs: a worker, and the one driver."""

    training: float  # on one core
    updates: int  # of a training, each a row that the driver notes
    scheduling: float  # the driver's: submitting, receiving, noting, all but rows and picks
    row: float  # the driver's, for each update
    picks: Mapping[int, float]  # observations -> one pick, with as many trainings pending

    def pick(self, observations: float) -> float:
        """Returns the seconds of a pick, along lines between the measured points in log-log."""
        known = sorted(self.picks)
        if len(known) == 1 or observations <= known[0]:
            return self.picks[known[0]]
        logs = [math.log(self.picks[n]) for n in known]
        at, marks = math.log(observations), [math.log(n) for n in known]
        if observations > known[-1]:  # on, as steeply as between the last two
            slope = (logs[-1] - logs[-2]) / (marks[-1] - marks[-2])
            return math.exp(logs[-1] + slope * (at - marks[-1]))
        return math.exp(float(np.interp(at, marks, logs)))


@dataclass(frozen=True)
class Forecast:
    """What is expected of a cluster."""

    nodes: int
    slots: int  # trainings at a time
    strategy: str
    driver: float  # its seconds for each workflow
    most_slots: float  # that the driver can keep busy
    busy: float  # share of the slots that is
    workflows_per_hour: float
    first: str  # what everything else waits for


def forecast(constants: Constants, nodes: int, cores: int, strategy: str) -> Forecast:
    """Forecasts a cluster in which every slot has trained one workflow and trains another.

    Args:
        constants: measured.
        nodes: of the cluster.
        cores: of each node; one training runs on one.
        strategy: gp-ucb, whose picks take longer the more is known; or any other, whose do not.
    """
    slots = nodes * cores
    parts = {
        SCHEDULING: constants.scheduling,
        UPDATES: constants.updates * constants.row,
        PICKS: constants.pick(slots) if strategy == "gp-ucb" else 0.0,
    }
    driver = sum(parts.values())
    most = constants.training / driver
    busy = min(1.0, most / slots)
    return Forecast(
        nodes=nodes,
        slots=slots,
        strategy=strategy,
        driver=driver,
        most_slots=most,
        busy=busy,
        workflows_per_hour=3_600 * busy * slots / constants.training,
        first=TRAINING if busy == 1.0 else max(parts, key=lambda name: parts[name]),
    )
