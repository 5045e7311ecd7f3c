"""A toy search on a disk that fails at given points; resumed, it is what it would have been."""

import shutil
from dataclasses import replace
from pathlib import Path

from tests.chaos.faults import Crash, failing_disk
from tests.runs.toy import assert_same, run_search, tiny
from workflow_rl.config import Execution, ExperimentConfig

SERIAL = tiny(n_workflows=2, base_updates=2, max_episodes=2, polish_updates=1)
SIDE_BY_SIDE = replace(
    SERIAL, search=replace(SERIAL.search, parallel_workflows=2, ordered_results=True)
)


def number_of_operations(config: ExperimentConfig, folder: Path) -> tuple[int, Path]:
    """How many operations the disk does for a whole search, and the search's run."""
    with failing_disk(None) as disk:
        run = run_search(config, checkpoint_dir=folder).path
    return disk.count, run


def survives(config: ExperimentConfig, at: int, kind: str, whole: Path, folder: Path) -> None:
    """Fails at a point, goes on, and compares everything; without a run nothing may be left."""
    execution = Execution()
    try:
        with failing_disk(at, kind):
            run_search(config, checkpoint_dir=folder, execution=execution)
    except (Crash, OSError):
        pass
    runs = list(folder.glob("exp_*")) if folder.exists() else []
    for run in runs:
        assert (run / "experiment_config.json").exists(), f"{run} is half a run"
    if runs:
        run_search(resume=runs[0], execution=execution)
        assert_same(runs[0], whole)
        assert list(runs[0].rglob("*.tmp")) == []
        shutil.rmtree(folder)
