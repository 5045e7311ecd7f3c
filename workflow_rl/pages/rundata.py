"""What is in a run's directory, read as far as it can be: what is missing is said, not raised."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import ExperimentConfig
from workflow_rl.errors import InvalidInputError, MissingDependencyError
from workflow_rl.files import check_manifest, read_json
from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.runs.answer import ByHand
from workflow_rl.runs.folder import CsvLog, TrainingFolder
from workflow_rl.runs.store import (
    BASE,
    BY_HAND_FILE,
    CONFIG_FILE,
    LANDSCAPE_FILE,
    POLISH,
    ROUNDS_FILE,
    SCORES_FILE,
    SEARCH,
    SUMMARY_FILE,
    TRAINING,
    TRAINING_LOG,
    TRAININGS,
    TRIALS_FILE,
    is_held,
    is_response,
)
from workflow_rl.runs.trials import HandedOver, Trial, tried_in, with_status
from workflow_rl.train.job import TrainOutcome
from workflow_rl.workflow.orders import LISTABLE, TYPES, Orders, orders_of

_ANY_OF: Final = (CONFIG_FILE, TRIALS_FILE, TRAINING_LOG, SUMMARY_FILE, TRAININGS)
_READ: Final = (
    *(CONFIG_FILE, TRIALS_FILE, TRAINING_LOG, BY_HAND_FILE, SCORES_FILE, SUMMARY_FILE),
    ROUNDS_FILE,
    f"{TRAININGS}/*/result.safetensors",
)
_COLUMNS: Final = (
    "update",
    "transitions",
    "env_reward",
    "compliance_observed",
    "simulate_seconds",
    "infer_seconds",
    "update_seconds",
    "cpu_percent",
    "rss_mb",
)


@dataclass(frozen=True)
class Curve:
    """One training, an entry per update; NaN where nothing is known."""

    name: str
    order: int | None  # None: all orders at once
    columns: Mapping[str, NDArray[np.float64]]
    workflow: str = ""  # the order in words

    @property
    def label(self) -> str:
        """What it is called, and which order it trains."""
        return self.name if self.order is None else f"{self.name}: {self.workflow}"

    def __len__(self) -> int:
        """Returns the number of updates."""
        return len(self.columns["update"])

    @property
    def seconds(self) -> NDArray[np.float64]:
        """What each update took."""
        names = ("simulate_seconds", "infer_seconds", "update_seconds")
        return np.asarray(sum(np.nan_to_num(self.columns[name]) for name in names))

    @property
    def played(self) -> NDArray[np.float64]:
        """Transitions of each update."""
        return np.diff(np.nan_to_num(self.columns["transitions"]), prepend=0.0)


@dataclass(frozen=True)
class RunData:
    """Everything that could be read of a run."""

    path: Path
    noted: Mapping[str, Any]  # when it began
    config: ExperimentConfig | None
    trials: tuple[Trial, ...]
    curves: tuple[Curve, ...]
    is_finished: bool
    policy: HandedOver | None  # of a finished search
    by_hand: ByHand  # what its orders score by hand
    trained: TrainOutcome | None  # of a training that has ended
    landscape: NDArray[np.float64] | None  # (n!,) the true mean of every order, if known
    is_live: bool  # whether its process is there
    problems: tuple[str, ...]  # what is missing or damaged, a sentence each
    orders: Orders = TYPES  # what the numbers of orders mean
    rounds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # of a population

    @property
    def name(self) -> str:
        """What the run is called."""
        return self.path.resolve().name

    @property
    def purpose(self) -> str:
        """The command that made it."""
        return str(self.noted.get("purpose", SEARCH))

    @property
    def revision(self) -> str | None:
        """Of the program that made it, if that is known."""
        found = self.noted.get("git_revision")
        return found if isinstance(found, str) else None

    @property
    def packages(self) -> Mapping[str, Any]:
        """The versions of what it was made with, as far as they are known."""
        found = self.noted.get("packages")
        return found if isinstance(found, dict) else {}

    @property
    def is_search(self) -> bool:
        """Whether orders were searched; else one was trained."""
        return self.purpose == SEARCH

    @property
    def is_under_way(self) -> bool:
        """Whether something is still to come: its report is written while its process is there."""
        return self.is_live and not self.is_finished

    @property
    def trial_curves(self) -> list[Curve]:
        """Those of trials: not the base policy's, nor of what is done with the recommended one."""
        curves = [curve for curve in self.curves if curve.name not in (BASE, POLISH)]
        return [curve for curve in curves if not (self.is_search and is_response(curve.name))]

    @property
    def tried(self) -> list[TriedOrder]:
        """What the search has learnt so far."""
        return tried_in(self.trials)


def refuse_no_run(path: Path) -> None:
    """Checks that a directory has anything of a run in it.

    Raises:
        InvalidInputError: it has nothing.
    """
    if path.is_dir() and not any((path / name).exists() for name in _ANY_OF):
        raise InvalidInputError(f"{path} is not a run directory: it has no {CONFIG_FILE}")


def read_run(path: Path, landscape: Path | None = None, *, curves: bool = True) -> RunData:
    """Reads a run's directory.

    Args:
        path: the directory.
        landscape: a file with the mean of every order; by default the run's own, if it has one.
        curves: whether to read every update of every training, too.

    Raises:
        InvalidInputError: there is no such directory, or the given landscape is none.
    """
    if not path.is_dir():
        raise InvalidInputError(f"there is no run directory {path}")
    check_manifest(path, *_READ)
    problems: list[str] = []
    live = is_held(path)
    noted, config = _read_noted(path, problems)
    is_search = noted.get("purpose", SEARCH) == SEARCH
    orders = _orders(config)
    trials = _read_trials(path, orders, problems) if is_search else ()
    trainings = _read_curves(path, orders, problems) if curves else ()
    is_finished = (path / SUMMARY_FILE).exists()
    if not is_finished:
        problems.append(
            f"The run is under way: there is no {SUMMARY_FILE} yet."
            if live
            else f"There is no {SUMMARY_FILE}: the run was interrupted before its end."
        )
    policy = trained = means = None
    by_hand = ByHand({})
    with _noting(problems, "What the run concluded is not known."):
        if is_finished and is_search:
            policy, by_hand = HandedOver.load(path), ByHand.load(path, orders)
        elif is_finished and not (path / ROUNDS_FILE).exists():
            trained, _ = TrainingFolder(path / TRAININGS / TRAINING).load_result()
    if landscape is not None:
        means = read_landscape(landscape, orders)
    elif (own := path / LANDSCAPE_FILE).exists():
        with _noting(problems, "Regret is left out."):
            means = read_landscape(own, orders)
    return RunData(
        path=path,
        noted=noted,
        config=config,
        trials=trials,
        curves=trainings,
        is_finished=is_finished,
        policy=policy,
        by_hand=by_hand,
        trained=trained,
        landscape=means,
        is_live=live,
        problems=tuple(problems),
        orders=orders,
        rounds=_read_rounds(path, problems),
    )


def _read_rounds(path: Path, problems: list[str]) -> dict[str, dict[str, float]]:
    """Returns the scores of each round of a population by attacker; nothing for other runs."""
    file, rounds = path / ROUNDS_FILE, {}
    if file.exists():
        try:
            for line in file.read_text().splitlines():
                entry = json.loads(line)
                scores = {str(name): float(score) for name, score in entry["scores"].items()}
                rounds[f"round {int(entry['round'])}"] = scores
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            problems.append(f"{ROUNDS_FILE} cannot be read to its end.")
    return rounds


def _orders(config: ExperimentConfig | None) -> Orders:
    """Returns the orders that a run is of; of a run that does not say so, those of the types."""
    try:
        return TYPES if config is None else orders_of(config.train, config.game.network)
    except InvalidInputError:  # a training on any units, which names none
        return TYPES


@contextmanager
def _noting(problems: list[str], consequence: str) -> Iterator[None]:
    """Notes what is wrong with a file, and what follows from it, instead of raising it."""
    try:
        yield
    except MissingDependencyError:
        raise
    except InvalidInputError as error:
        problems.append(_problem(error, consequence))


def _problem(error: InvalidInputError, consequence: str) -> str:
    text = str(error).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}. {consequence}"


def _read_noted(
    path: Path, problems: list[str]
) -> tuple[Mapping[str, Any], ExperimentConfig | None]:
    try:
        noted = read_json(path / CONFIG_FILE)
        if not isinstance(noted, dict):
            raise InvalidInputError(f"the file {CONFIG_FILE} does not describe a run")
    except InvalidInputError as error:
        problems.append(_problem(error, "The configuration of the run is not known."))
        return {}, None
    try:
        return noted, ExperimentConfig.from_json(noted["config"])
    except (KeyError, TypeError, ValueError) as error:
        problems.append(
            f"experiment_config.json does not hold a configuration of this version ({error}); "
            "it is shown as it is."
        )
        return noted, None


def _read_trials(run: Path, orders: Orders, problems: list[str]) -> tuple[Trial, ...]:
    if not (run / TRIALS_FILE).exists():
        problems.append("There is no trials.json: no workflow has been picked yet.")
        return ()
    entries: Any = []
    with _noting(problems, "The trials are not known."):
        entries = read_json(run / TRIALS_FILE)
    trials, damaged = [], 0
    for entry in entries if isinstance(entries, list) else [None]:
        try:
            with _noting(problems, "This trial is left out."):
                trials.append(Trial.from_json(entry, orders).with_outcome(run))
        except MissingDependencyError:  # the file is whole: what reads it is not installed
            raise
        except (KeyError, TypeError, ValueError, AttributeError):
            damaged += 1
    if damaged:
        problems.append(f"trials.json: {damaged} of its entries cannot be read and are left out.")
    if trials and not with_status(trials, "done"):
        problems.append("No trial has ended yet.")
    return tuple(trials)


def number(value: Any) -> float:
    """Returns what a cell of a table holds, NaN if that is no number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _read_curves(path: Path, orders: Orders, problems: list[str]) -> tuple[Curve, ...]:
    rows = _rows(path / TRAINING_LOG)
    if not rows:  # the raw logs are there before and after the table made of them
        rows = [
            row for file in sorted(path.glob(f"{TRAININGS}/*/updates.csv")) for row in _rows(file)
        ]
        if rows:
            problems.append(
                "training_log.csv is missing or empty; the trainings' own logs are shown instead."
            )
    if not rows:
        problems.append("There is no training_log.csv: no update has been made yet.")
    by_name: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        if row.get("training"):
            by_name.setdefault(row["training"], []).append(row)
    return tuple(curve_of(name, part, orders) for name, part in by_name.items())


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        return CsvLog(path).rows()
    except (OSError, ValueError):  # ValueError: it is not text
        return []


def curve_of(name: str, rows: list[dict[str, str]], orders: Orders) -> Curve:
    """Returns the training of some rows of a log."""
    columns = {c: np.array([number(row.get(c)) for row in rows]) for c in _COLUMNS}
    try:
        order = orders.index(rows[0].get("workflow", ""))
    except InvalidInputError:
        return Curve(name, None, columns)
    return Curve(name, order, columns, orders.format(order))


def read_landscape(path: Path, orders: Orders = TYPES) -> NDArray[np.float64]:
    """Reads (n!,) the mean of every order, NaN where it is not known.

    The file maps a workflow to its mean, or lists such pairs as `workflow` and `mean`, alone or
    under `orders`; `believed`, where given, is the mean without the luck of its trials.

    Raises:
        InvalidInputError: it does not.
    """
    if orders.total > LISTABLE:
        raise InvalidInputError(f"{orders.total:,} orders are too many for a landscape")
    data = read_json(path)
    if isinstance(data, dict) and isinstance(data.get("orders"), (list, dict)):
        data = data["orders"]
    means = np.full(orders.total, np.nan)
    try:
        pairs = (
            data.items()
            if isinstance(data, dict)
            else [(d["workflow"], d["believed"] if "believed" in d else d["mean"]) for d in data]
        )
        for workflow, mean in pairs:
            means[orders.index(workflow)] = float(mean)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError(f"{path} does not give a mean for each workflow") from error
    if not np.isfinite(means).any():
        raise InvalidInputError(f"{path} does not give a mean for any workflow")
    return means
