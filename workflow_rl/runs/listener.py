"""Who is told how a search goes."""

from typing import Protocol

from workflow_rl.ordersearch.loop import Trial
from workflow_rl.runs.logs import Row
from workflow_rl.train.loop import TrainResult


class Listener(Protocol):
    """Who is told how a search goes."""

    def began(self, phase: str, detail: str) -> None:
        """A phase or a trial begins."""
        ...

    def updated(self, row: Row) -> None:
        """An update was made."""
        ...

    def finished(self, trial: Trial, result: TrainResult, done: int) -> None:
        """A trial is over; `done` of them are."""
        ...

    def noticed(self, text: str) -> None:
        """Something out of the ordinary happened: a worker was lost, a trial failed."""
        ...
