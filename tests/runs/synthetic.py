"""Searches in their directories whose every decision is real, but that train nothing."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ordersearch.test_synthetic import pairs
from tests.runs.toy import tiny
from tests.runs.work import SideBySide, outcome
from workflow_rl.config import ExperimentConfig
from workflow_rl.ordersearch.strategies import Decision, Strategy, TriedOrder
from workflow_rl.runs.folder import TrainingFolder
from workflow_rl.runs.pool import Pool, Returned, Row, Task
from workflow_rl.runs.search import Search
from workflow_rl.runs.store import RunDirectory
from workflow_rl.runs.training import TrainTask
from workflow_rl.runs.trials import SearchOutcome

Objective = Callable[[int, int], TriedOrder]  # of an order and the seed of its training
PAIRS: Objective = pairs(0).trial


def weights(seed: int) -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
    """The weights of a policy that always does the same, another thing for each seed."""
    bias = np.random.default_rng(seed).random(145).astype(np.float32)
    return {"actor.0.weight": np.zeros((145, 77), np.float32), "actor.0.bias": bias}


class Valued(SideBySide):
    """Gives each trial its value, by its order and its training's seed, instead of training it."""

    def __init__(
        self,
        capacity: int = 1,
        of: Objective = PAIRS,
        *,
        ranks: Sequence[int] = (),
        fails: Collection[int] = (),
    ) -> None:
        super().__init__(capacity, ranks=ranks, fails=fails)
        self._of = of

    def _work(self, task: Task) -> Iterator[Row | Returned]:
        assert isinstance(task, TrainTask)
        assert task.job.order is not None
        seen = self._of(task.job.order, task.job.seed)
        found = outcome(seen.order, seen.value, compliance=seen.compliance, good=seen.is_compliant)
        TrainingFolder(task.folder).save_result(task.job, found, weights(task.job.seed))
        yield Returned(found)


class Recorder:
    """A strategy that lists orders and notes what it was told."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[int], list[int]]] = []

    def pick(self, seen: Sequence[TriedOrder], pending: Sequence[int]) -> Decision:
        self.asked.append(([o.order for o in seen], list(pending)))
        return Decision(len(self.asked) - 1, "listed")


def settings(number: int, **changes: Any) -> ExperimentConfig:
    """A search of nothing but decisions."""
    return tiny(n_workflows=number, warm_start="none", polish_updates=0, **changes)


@contextmanager
def opened(
    where: Path, config: ExperimentConfig, pool: Pool, strategy: Strategy | None = None
) -> Iterator[Search]:
    """A search, new or resumed; perhaps with another strategy than its own."""
    begun = (where / "run" / "experiment_config.json").exists()
    directory = (
        RunDirectory.open(where / "run")
        if begun
        else RunDirectory.create(where, config, [], name="run")
    )
    with closing(directory), pytest.MonkeyPatch.context() as patch:
        if strategy is not None:
            patch.setattr("workflow_rl.runs.search.make_strategy", lambda *_, **__: strategy)
        yield Search(directory, pool)


def searched(
    where: Path, config: ExperimentConfig, pool: Pool, strategy: Strategy | None = None
) -> SearchOutcome:
    """What a search, new or resumed, found."""
    with opened(where, config, pool, strategy) as search:
        for _ in search.events():
            pass
    assert search.outcome is not None
    return search.outcome
