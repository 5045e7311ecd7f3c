"""What is played: the simulator, or CybORG in worker processes."""

from typing import Annotated, Final, Literal, get_args

from workflow_rl.config.game import MAX_ENVS
from workflow_rl.config.setting import Setting, settings
from workflow_rl.errors import InvalidInputError

BackendName = Literal["cage2", "cyborg"]
VectorName = Literal["shared", "pipes", "serial"]
VectorModeName = Literal["sync", "async"]
BACKENDS: Final[tuple[BackendName, ...]] = get_args(BackendName)
VECTORS: Final[tuple[VectorName, ...]] = get_args(VectorName)
VECTOR_MODES: Final[tuple[VectorModeName, ...]] = get_args(VectorModeName)


@settings
class BackendConfig:
    """What plays the game: the simulator, or the real CybORG in worker processes."""

    name: Annotated[
        BackendName,
        Setting(
            "what plays the game",
            ("--backend",),
            called="backend",
            meanings={"cage2": "the simulator", "cyborg": "the original; slow"},
        ),
    ] = "cage2"
    cyborg_path: Annotated[
        str | None,
        Setting(
            "where CybORG is: a clone of CAGE Challenge 2",
            ("--cyborg-path",),
            unset="CYBORG_PATH, or where Python finds it",
            metavar="DIR",
        ),
    ] = None
    vector: Annotated[
        VectorName,
        Setting(
            "with cyborg: how environments are carried",
            ("--vector",),
            meanings={
                "shared": "a few workers over shared memory",
                "pipes": "a process each",
                "serial": "no other process",
            },
        ),
    ] = "shared"
    vector_mode: Annotated[
        VectorModeName,
        Setting(
            "with cyborg: how environments step",
            ("--vector-mode",),
            meanings={"sync": "all together", "async": "whoever is ready goes on"},
        ),
    ] = "sync"
    env_workers: Annotated[
        int | None,
        Setting(
            "with cyborg: worker processes",
            ("--env-workers",),
            low=1,
            high=MAX_ENVS,
            unset="one per core",
        ),
    ] = None
    step_timeout: Annotated[
        float | None,
        Setting(
            "with cyborg: seconds a step may take",
            ("--step-timeout",),
            above=0,
            unset="for ever",
            metavar="SECONDS",
        ),
    ] = None
    max_restarts: Annotated[
        int,
        Setting(
            "with cyborg: workers that are replaced when they die",
            ("--max-restarts",),
            low=0,
            high=10**6,
        ),
    ] = 10

    def __post_init__(self) -> None:
        """Checks what goes together."""
        if self.vector_mode == "async" and self.vector != "shared":
            raise InvalidInputError("the vector mode async goes with the vector shared only")
