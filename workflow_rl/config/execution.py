"""Where trainings run: here, in processes, or on Ray; no result depends on it."""

from typing import Annotated, Final, Literal, get_args

from workflow_rl.config.setting import Setting, settings
from workflow_rl.errors import InvalidInputError

ExecutorName = Literal["serial", "processes", "ray"]
EXECUTORS: Final[tuple[ExecutorName, ...]] = get_args(ExecutorName)


@settings
class Execution:
    """How trainings are run; a resumed run may change all of it."""

    executor: Annotated[
        ExecutorName | None,
        Setting(
            "where trainings run",
            ("--executor",),
            unset="serial, or processes if several at a time",
        ),
    ] = None
    ray_address: Annotated[
        str | None,
        Setting(
            "with ray: a cluster to join, or auto",
            ("--ray-address",),
            unset="none, Ray is started here",
            metavar="HOST:PORT",
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        Setting(
            "seconds after which a workflow is begun anew, the second time given up",
            ("--time-limit",),
            above=0,
            unset="no limit",
            called="--time-limit",
            metavar="SECONDS",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Checks what goes together."""
        if self.ray_address is not None and self.executor != "ray":
            raise InvalidInputError("--ray-address only goes with --executor ray")

    def resolve(self, number: int) -> ExecutorName:
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
