"""Where trainings run: here, in processes, or on Ray; no result depends on it."""

from dataclasses import dataclass
from typing import Final

from workflow_rl.config.checks import one_of, positive
from workflow_rl.errors import InvalidInputError

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
