"""One training in a folder of its own, and those that a search asks for."""

import multiprocessing
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runs.toy import tiny
from tests.runs.work import assert_same_folder, expected, job, outcome, task
from workflow_rl.agents.policy import load_policy
from workflow_rl.config import ExperimentConfig
from workflow_rl.ordersearch.strategies import Decision
from workflow_rl.runs.pool import Done, ProcessPool, Rows
from workflow_rl.runs.store import RunDirectory
from workflow_rl.runs.training import base_task, polish_task, trial_task
from workflow_rl.runs.trials import Trial


@pytest.mark.slow
def test_a_training_outlives_its_worker_process(tmp_path: Path) -> None:
    """The worker is killed at its fourth row; another goes on from the checkpoint."""
    one = task(tmp_path / "ours", 3, updates=12)
    pool, killed, updates = ProcessPool(1), False, []
    try:
        for event in pool.events([one]):
            if isinstance(event, Rows):
                updates += [row["update"] for row in event.rows]
            if not killed and updates[-1:] == [4]:
                killed = True
                for process in multiprocessing.active_children():
                    process.kill()
    finally:
        pool.close()
    assert isinstance(event, Done)
    assert event.result == expected(tmp_path / "theirs", [one])[one.name]
    assert_same_folder(one.folder, tmp_path / "theirs" / one.name)
    assert len(updates) == len(set(updates)) >= 11  # one row may be lost, but not in the log


# --- those of a search

WEIGHTS = {"weight": np.arange(3, dtype=np.float32)}


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[RunDirectory]:
    with closing(RunDirectory.create(tmp_path, tiny(seed=3), [])) as made:
        for name in ("base", "trial_000"):
            made.training(name).path.mkdir(parents=True)
            made.training(name).save_result(job(7), outcome(7, -3.0), WEIGHTS)
        yield made


def trial(number: int = 0, order: int = 7, repeat: int = 0, start: str | None = None) -> Trial:
    return Trial(number, order, repeat, Decision(order, "given"), start, 0.0, 0.0)


def test_seeds_depend_on_what_a_training_is_and_not_on_when_it_is(
    directory: RunDirectory, tmp_path: Path
) -> None:
    seed = trial_task(directory, trial()).job.seed
    assert trial_task(directory, trial(number=5)).job.seed == seed
    others = [
        trial_task(directory, trial(order=8)).job.seed,
        trial_task(directory, trial(repeat=1)).job.seed,
        base_task(directory).job.seed,
        polish_task(directory, trial().order, None).job.seed,
    ]
    with closing(RunDirectory.create(tmp_path, tiny(seed=4), [])) as other:
        others.append(trial_task(other, trial()).job.seed)
    assert len({seed, *others}) == 6


def test_trials_and_polish_from_universal_start_from_its_weights_wherever_they_run(
    tmp_path: Path,
) -> None:
    config = ExperimentConfig.preset(
        "parallel200",
        game={"red_agent": "meander", "green_agent": "active"},
        search={"warm_start": "universal"},
    )
    with closing(RunDirectory.create(tmp_path, config, [])) as directory:
        tried = trial_task(directory, trial(start="universal")).job
        polished = polish_task(directory, trial().order, trial()).job
    universal = load_policy("universal").weights
    for made in (tried, polished):  # a result depends on the job alone
        assert made.base is not None
        assert all((made.base[name] == universal[name]).all() for name in universal)
        assert (made.order, made.train.follow, made.game.observation) == (7, "shielded", "recall")
        assert made.game.green_agent == "active"
    assert (tried.game.red_agent, polished.game.red_agent) == ("meander", "mixed")
    assert polished.train.snapshot_every == polished.train.max_updates(100) == 20


@pytest.mark.parametrize(("alignment", "weight"), [("adaptive", 30.0), ("fixed", 8.0)])
def test_an_adaptive_weight_of_compliance_goes_on_where_it_was(
    tmp_path: Path, alignment: str, weight: float
) -> None:
    config = tiny(alignment=alignment, alignment_lambda=8.0)
    with closing(RunDirectory.create(tmp_path, config, [])) as directory:
        directory.training("base").path.mkdir(parents=True)
        directory.training("base").save_result(job(7), outcome(7, -3.0), WEIGHTS)
        train = trial_task(directory, trial(start="base")).job.train
        assert train.alignment_lambda == weight


@pytest.mark.parametrize(
    ("changes", "updates"),
    [
        ({"base_updates": 5}, 5),
        ({"base_updates": 1, "update_steps": 6 * 5}, 4),  # of 5 steps each: one episode at least
    ],
)
def test_base_and_polish_are_as_long_as_asked_for_and_never_end_early(
    tmp_path: Path, changes: dict[str, Any], updates: int
) -> None:
    changes = changes | {"polish_updates": changes["base_updates"]}
    with closing(RunDirectory.create(tmp_path, tiny(**changes), [])) as directory:
        directory.training("trial_000").path.mkdir(parents=True)
        directory.training("trial_000").save_result(job(7), outcome(7, -3.0), WEIGHTS)
        tasks = [base_task(directory), polish_task(directory, trial().order, trial())]
    for one in tasks:
        assert one.job.train.max_updates(20) == updates
        assert (one.job.train.min_updates, one.job.train.stop_at) == (1, "budget")
    assert [(one.name, one.job.order) for one in tasks] == [("base", None), ("polish", 7)]
