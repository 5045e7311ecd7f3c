"""One record of a trial, from the decision to try an order to what its training gave."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, Self

from workflow_rl.errors import InvalidInputError
from workflow_rl.files import json_text, read_json, write_atomically
from workflow_rl.ordersearch.strategies import Decision, Observation
from workflow_rl.runs.logs import Row
from workflow_rl.train.job import TrainResult
from workflow_rl.workflow.orders import Orders

_TOP: Final = 3  # candidates of a decision that its row lists
Status = Literal["running", "done", "failed"]


@dataclass(frozen=True)
class Trial:
    """One order tried: why it was picked, what its training starts from, how it ended."""

    number: int  # from 0, in the order of decisions
    order: int
    repeat: int  # how often this order was tried before
    decision: Decision
    start: str | None  # the training whose best policy this one starts from
    pick_seconds: float  # of deciding
    run_seconds: float  # of the run when the trial was noted last
    result: TrainResult | None = None
    failure: str | None = None  # why it gave no result

    @property
    def name(self) -> str:
        """The name of its training, in logs and folders."""
        return f"trial_{self.number:03d}"

    @property
    def status(self) -> Status:
        """How far it is."""
        if self.result is not None:
            return "done"
        return "running" if self.failure is None else "failed"

    @property
    def observation(self) -> Observation | None:
        """What the strategy learns from it; None unless it is done."""
        if self.result is None:
            return None
        result = self.result
        return Observation(self.order, result.env_reward, result.compliance, result.is_compliant)

    def as_json(self) -> dict[str, Any]:
        """Returns the trial as plain data."""
        data: dict[str, Any] = {
            "trial": {"number": self.number, "order": self.order, "repeat": self.repeat},
            "decision": asdict(self.decision),
            "pick_seconds": self.pick_seconds,
            "start": self.start,
            "run_seconds": self.run_seconds,
        }
        if self.result is not None:
            data["result"] = asdict(self.result)
        if self.failure is not None:
            data["failed"] = self.failure
        return data

    @classmethod
    def from_json(cls, data: Any, orders: Orders) -> Self:
        """Returns the trial that `as_json` gave, NaN where null was written.

        Args:
            data: what it gave.
            orders: those that the search is of.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it is not such data.
        """
        trial, result = data["trial"], data.get("result")
        found = cls(
            number=int(trial["number"]),
            order=_order(trial["order"], orders),
            repeat=int(trial["repeat"]),
            decision=_decision(data["decision"], orders),
            start=data["start"],
            pick_seconds=float(data["pick_seconds"]),
            run_seconds=float(data["run_seconds"]),
            result=None if result is None else TrainResult.from_json(result),
            failure=data.get("failed"),
        )
        _ = found.observation  # raises if the result is none that a trial can give
        return found

    def decision_row(self, orders: Orders) -> Row:
        """Returns the trial's row of `gp_sampling_log.csv`, orders by their names."""
        decision = self.decision
        row: dict[str, Any] = {
            "trial": self.number,
            "workflow": orders.format(self.order),
            "reason": decision.reason,
            "ucb": decision.ucb,
            "mean": decision.mean,
            "std": decision.deviation,
            "compliance_chance": decision.compliance_chance,
            "score": decision.score,
            "pick_seconds": self.pick_seconds,
        }
        for i in range(_TOP):
            order, score = decision.top[i] if i < len(decision.top) else (None, "")
            row[f"top{i + 1}"] = "" if order is None else orders.format(order)
            row[f"top{i + 1}_score"] = score
        return row


def _order(value: Any, orders: Orders) -> int:
    order = int(value)
    if not orders.holds(order):
        raise ValueError(f"{order} is not the index of an order")
    return order


def _decision(data: dict[str, Any], orders: Orders) -> Decision:
    known = {f.name: data[f.name] for f in fields(Decision)}
    known = {name: math.nan if value is None else value for name, value in known.items()}
    known["top"] = tuple((_order(order, orders), float(score)) for order, score in data["top"])
    return Decision(**known)


class TrialFile:
    """The trials of a run, on disk after every change."""

    def __init__(self, path: Path, orders: Orders) -> None:
        """Names the file, and what the orders in it are of; `read` takes in what it holds."""
        self._path = path
        self._orders = orders
        self.trials: list[Trial] = []  # by number
        self._lines: list[str] = []  # as they stand in the file: a change encodes only its own

    def read(self, retry_failed: bool = False) -> None:
        """Takes in what earlier attempts left.

        Args:
            retry_failed: whether failed trials are tried once more.

        Raises:
            InvalidInputError: the file is damaged.
        """
        entries = read_json(self._path) if self._path.exists() else []
        try:
            if not isinstance(entries, list):
                raise TypeError("no list")
            self.trials = [Trial.from_json(entry, self._orders) for entry in entries]
            if [trial.number for trial in self.trials] != list(range(len(entries))):
                raise ValueError("trials are missing")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidInputError(
                f"{self._path} is damaged: it is not a list of trials of this version"
            ) from error
        if retry_failed:
            self.trials = [replace(trial, failure=None) for trial in self.trials]
        self._lines = [json_text(trial.as_json()) for trial in self.trials]

    def put(self, trial: Trial) -> None:
        """Notes a new trial, or what became of one."""
        line = json_text(trial.as_json())
        if trial.number == len(self.trials):
            self.trials.append(trial)
            self._lines.append(line)
        else:
            self.trials[trial.number] = trial
            self._lines[trial.number] = line
        write_atomically(self._path, ("[\n" + ",\n".join(self._lines) + "\n]\n").encode())


def with_status(trials: Sequence[Trial], status: Status) -> list[Trial]:
    """Returns the trials that are so far, in the order of decisions."""
    return [trial for trial in trials if trial.status == status]
