"""What plays the game, and where trainings run."""

from typing import Final, Literal, get_args

from workflow_rl.config.game import MAX_ENVS
from workflow_rl.config.setting import setting, settings
from workflow_rl.errors import InvalidInputError

BackendName = Literal["cage2", "cyborg"]
VectorName = Literal["shared", "pipes", "serial"]
VectorModeName = Literal["sync", "async"]
ExecutorName = Literal["serial", "processes", "ray"]
BACKENDS: Final[tuple[BackendName, ...]] = get_args(BackendName)
VECTORS: Final[tuple[VectorName, ...]] = get_args(VectorName)


@settings
class BackendConfig:
    """What plays the game: the simulator, or the real CybORG in worker processes."""

    name: BackendName = setting(
        "what plays the game",
        flag="--backend",
        default="cage2",
        called="backend",
        meanings={"cage2": "the simulator", "cyborg": "the original; slow"},
    )
    cyborg_path: str | None = setting(
        "where CybORG is: a clone of CAGE Challenge 2",
        default=None,
        unset="CYBORG_PATH, or where Python finds it",
        metavar="DIR",
    )
    vector: VectorName = setting(
        "with cyborg: how environments are run",
        default="shared",
        meanings={
            "shared": "a few workers over shared memory",
            "pipes": "one process each",
            "serial": "in this process",
        },
    )
    vector_mode: VectorModeName = setting(
        "with cyborg: how environments step",
        default="sync",
        meanings={"sync": "all together", "async": "each as soon as it is ready"},
    )
    env_workers: int | None = setting(
        "with cyborg: worker processes", default=None, within=(1, MAX_ENVS), unset="one per core"
    )
    step_timeout: float | None = setting(
        "with cyborg: seconds a step may take",
        default=None,
        above=0,
        unset="no limit",
        metavar="SECONDS",
    )
    max_restarts: int = setting(
        "with cyborg: maximum number of crashed workers that are replaced",
        default=10,
        within=(0, 10**6),
    )

    def __post_init__(self) -> None:
        """Checks what goes together."""
        if self.vector_mode == "async" and self.vector != "shared":
            raise InvalidInputError("the vector mode async goes with the vector shared only")


@settings
class Execution:
    """How trainings are run; a resumed run may change all of it."""

    executor: ExecutorName | None = setting(
        "where trainings run", default=None, unset="serial, or processes with several at a time"
    )
    ray_address: str | None = setting(
        "with ray: a cluster to join, or auto",
        default=None,
        unset="a local Ray is started",
        metavar="HOST:PORT",
    )
    time_limit: float | None = setting(
        "seconds per workflow; after that it is retried once, then given up",
        default=None,
        above=0,
        unset="no limit",
        called="--time-limit",
        metavar="SECONDS",
    )

    def __post_init__(self) -> None:
        """Checks what goes together."""
        if self.ray_address is not None and self.executor != "ray":
            raise InvalidInputError("--ray-address only goes with --executor ray")

    def resolve(self, number: int) -> ExecutorName:
        """Returns the executor for so many workflows at a time.

        Raises:
            InvalidInputError: the executor cannot do that.
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
