"""Toy searches on a disk that fails at given points; resumed, they end as if it had not."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.faults import Crash, failing_disk
from tests.runs.toy import assert_same, run_search, the_run, tiny
from workflow_rl.config import ExperimentConfig

SMALL = tiny(n_workflows=2, base_updates=2, max_episodes=2, polish_updates=1)
SIDE_BY_SIDE = replace(
    SMALL, search=replace(SMALL.search, parallel_workflows=2, ordered_results=True)
)


def counted(config: ExperimentConfig, folder: Path) -> tuple[int, Path]:
    """How many operations the disk does for a whole search, and the search's run."""
    with failing_disk(None) as disk:
        run = run_search(config, checkpoint_dir=folder).path
    return disk.count, run


def crashed(folder: Path, at: int, config: ExperimentConfig = SMALL) -> Path:
    """The directory of a search that died at an operation of its disk."""
    with failing_disk(at), pytest.raises(Crash):
        run_search(config, checkpoint_dir=folder)
    return the_run(folder)


def survives(config: ExperimentConfig, at: int, kind: str, whole: Path, folder: Path) -> None:
    """Fails at a point, goes on, and compares everything; without a run nothing may be left."""
    try:
        with failing_disk(at, kind):
            run_search(config, checkpoint_dir=folder)
    except (Crash, OSError):
        pass
    runs = list(folder.glob("exp_*")) if folder.exists() else []
    for run in runs:
        assert (run / "experiment_config.json").exists(), f"{run} is half a run"
    if runs:
        run_search(resume=runs[0])
        assert_same(runs[0], whole)
        assert list(runs[0].rglob("*.tmp")) == []
        shutil.rmtree(folder)
