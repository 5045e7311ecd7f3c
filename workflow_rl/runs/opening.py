"""Opening a run: its directory, new or resumed, and the pool that does its work."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from workflow_rl.config import Execution, ExperimentConfig
from workflow_rl.config.checks import instance
from workflow_rl.envs.python_world import check_backend
from workflow_rl.errors import explain_missing
from workflow_rl.runs.pool import Pool, SerialPool
from workflow_rl.runs.process_pool import ProcessPool
from workflow_rl.runs.store import SEARCH, RunDirectory


@contextmanager
def open_pool(execution: Execution, number: int, *, fresh: bool = False) -> Iterator[Pool]:
    """Gives a pool for so many tasks at a time, and ends its workers with the block.

    Everything that can be wrong with the choice shows here, before any work: enter the block
    before a run directory is made.

    Args:
        execution: where tasks run.
        number: tasks at a time.
        fresh: whether every task gets a new process, also where one runs at a time.

    Raises:
        InvalidInputError: the executor cannot do it, or the cluster cannot be used.
        MissingDependencyError: Ray is not installed.
    """
    executor = execution.resolve(number)
    with ExitStack() as stack:
        pool: Pool
        if executor == "ray":
            with explain_missing("the executor ray"), _read_by_ray(execution.ray_address):
                from workflow_rl.runs.cluster import connected
                from workflow_rl.runs.ray import RayPool
            stack.enter_context(connected(execution.ray_address, number))
            pool = RayPool(number, execution.time_limit, fresh=fresh)
        elif executor == "processes" or fresh:
            pool = ProcessPool(number, execution.time_limit, fresh=fresh)
        else:
            pool = SerialPool()
        stack.callback(pool.close)
        yield pool


@contextmanager
def _read_by_ray(address: str | None) -> Iterator[None]:
    """Sets, for the block, the variables that Ray reads when it is imported.

    No Ray prints pages on standard output when it loses a node, since we say so. One that is
    started here listens to this machine only.
    """
    wanted = {"RAY_DEDUP_LOGS_SKIP_REGEX": "."}
    if address is None:
        wanted["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    missing = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)


@contextmanager
def open_run(
    config: ExperimentConfig | None = None,
    *,
    purpose: str = SEARCH,
    plan: Mapping[str, Any] | None = None,
    checkpoint_dir: Path = Path("logs"),
    resume: Path | None = None,
    execution: Execution | None = None,
    parallel: int | None = None,
    fresh: bool = False,
) -> Iterator[tuple[RunDirectory, Pool]]:
    """Gives the directory of a run, locked, and a pool; both are released with the block.

    Whatever can be wrong with a new run shows before its directory is made.

    Args:
        config: what a new run depends on; by default that of the command line.
        purpose: the command whose run it is.
        plan: what a new run depends on beyond its configuration, as plain data.
        checkpoint_dir: where the directory of a new run is made.
        resume: the directory of an interrupted run to go on with, whose own configuration holds.
        execution: where tasks run: here, in processes or on Ray.
        parallel: tasks at a time; by default the configuration's parallel_workflows.
        fresh: whether every task gets a new process.

    Raises:
        InvalidInputError: what is asked for cannot be done, or the run cannot be resumed.
    """
    with ExitStack() as stack:
        directory: RunDirectory | None = None
        if resume is not None:
            directory = stack.enter_context(closing(RunDirectory.open(resume, purpose)))
            config = directory.config
        else:
            config = instance("config", config or ExperimentConfig(), ExperimentConfig)
            check_backend(config.game, config.backend)
        number = parallel or config.search.parallel_workflows
        chosen = instance("execution", execution or Execution(), Execution)
        pool = stack.enter_context(open_pool(chosen, number, fresh=fresh))
        if directory is None:
            made = RunDirectory.create(checkpoint_dir, config, sys.argv, purpose, plan=plan)
            directory = stack.enter_context(closing(made))
        yield directory, pool
