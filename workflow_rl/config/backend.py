"""What is played: the simulator, or CybORG in worker processes."""

from dataclasses import dataclass
from typing import Final

from workflow_rl.config.checks import one_of, positive, whole_number
from workflow_rl.config.game import MAX_ENVS
from workflow_rl.errors import InvalidInputError

BACKENDS: Final = ("cage2", "cyborg")
VECTORS: Final = ("shared", "pipes", "serial")
VECTOR_MODES: Final = ("sync", "async")


@dataclass(frozen=True)
class BackendConfig:
    """What plays the game: the simulator, or the real CybORG in worker processes."""

    name: str = "cage2"
    """cage2 (the simulator) or cyborg (the original)."""
    cyborg_path: str | None = None
    """Where CybORG is; None: where Python, or CYBORG_PATH, finds it."""
    vector: str = "shared"
    """shared (a few workers over shared memory), pipes (a process each) or serial (none)."""
    vector_mode: str = "sync"
    """sync (all step together) or async (whoever is ready goes on)."""
    env_workers: int | None = None
    """Worker processes; None: one for each core."""
    step_timeout: float | None = None
    """Seconds that a step may take; None: for ever."""
    max_restarts: int = 10
    """Workers that are replaced when they die."""

    def __post_init__(self) -> None:
        """Checks every field."""
        one_of("backend", self.name, BACKENDS)
        one_of("vector", self.vector, VECTORS)
        one_of("vector mode", self.vector_mode, VECTOR_MODES)
        if self.env_workers is not None:
            whole_number("env_workers", self.env_workers, 1, MAX_ENVS)
        if self.step_timeout is not None:
            positive("step_timeout", self.step_timeout)
        whole_number("max_restarts", self.max_restarts, 0, 10**6)
        if self.vector_mode == "async" and self.vector != "shared":
            raise InvalidInputError("the vector mode async goes with the vector shared only")
