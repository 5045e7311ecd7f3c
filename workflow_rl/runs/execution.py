"""Where trainings run: here, in processes, or on Ray; no result depends on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from workflow_rl.config import Execution as Execution
from workflow_rl.errors import MissingDependencyError

if TYPE_CHECKING:
    from workflow_rl.runs.tasks import Workers


@contextmanager
def importing_ray() -> Iterator[None]:
    """Says how to install Ray where an import in the block misses it.

    Raises:
        MissingDependencyError: Ray is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise MissingDependencyError(
            "the executor ray needs Ray: pip install 'workflow-rl[ray]'"
        ) from error


@contextmanager
def open_workers(execution: Execution, number: int) -> Iterator["Workers"]:
    """Gives workers for so many trainings at a time, and ends them with the block.

    Everything that can be wrong with the choice shows here, before any work: enter the block
    before a run directory is made.

    Raises:
        InvalidInputError: the executor cannot do it, or the cluster cannot be used.
        MissingDependencyError: Ray is not installed.
    """
    executor = execution.resolve(number)
    workers: Workers
    if executor == "serial":
        from workflow_rl.runs.tasks import SerialWorkers

        workers = SerialWorkers()
    elif executor == "processes":
        from workflow_rl.runs.workers import ProcessWorkers

        workers = ProcessWorkers(number, execution.time_limit)
    else:
        with importing_ray():
            from workflow_rl.runs.ray_cluster import connected
            from workflow_rl.runs.ray_workers import RayWorkers

        with connected(execution.ray_address, number):
            workers = RayWorkers(number, execution.time_limit)
            try:
                yield workers
            finally:
                workers.close()
        return
    try:
        yield workers
    finally:
        workers.close()
