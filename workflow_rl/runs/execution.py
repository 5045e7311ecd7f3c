"""Where trainings run: here, in processes, or on Ray; no result depends on it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from workflow_rl.config import one_of, positive
from workflow_rl.errors import InvalidInputError, MissingDependencyError

if TYPE_CHECKING:
    from workflow_rl.runs.tasks import Workers

EXECUTORS: Final = ("serial", "processes", "ray")


@dataclass(frozen=True)
class Execution:
    """How trainings are run; a resumed run may change all of it."""

    executor: str | None = None
    """serial, processes or ray; None: serial for one workflow at a time, else processes."""
    ray_address: str | None = None
    """Of the Ray cluster to join: host:port, or auto; None starts Ray on this machine."""
    time_limit: float | None = None
    """Seconds after which a workflow is begun anew, the second time given up; None: no limit."""

    def __post_init__(self) -> None:
        """Checks every field."""
        if self.executor is not None:
            one_of("executor", self.executor, EXECUTORS)
        if self.ray_address is not None and self.executor != "ray":
            raise InvalidInputError("--ray-address only goes with --executor ray")
        if self.time_limit is not None:
            positive("--time-limit", self.time_limit)

    def resolve(self, number: int) -> str:
        """Returns the executor for so many workflows at a time.

        Raises:
            InvalidInputError: it cannot do what is asked for.
        """
        executor = self.executor or ("serial" if number == 1 else "processes")
        if executor == "serial" and number > 1:
            raise InvalidInputError(
                f"the executor serial trains one workflow at a time: for {number} at a time "
                "choose processes or ray"
            )
        if executor == "serial" and self.time_limit is not None:
            raise InvalidInputError(
                "a time limit needs trainings outside of this process: choose the executor "
                "processes or ray"
            )
        return executor


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
        raise MissingDependencyError("the executor ray needs Ray: pip install '.[ray]'") from error


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
