"""Autonomous cyber defence on CAGE Challenge 2."""

from typing import TYPE_CHECKING, Any

from workflow_rl.envs.registration import register

if TYPE_CHECKING:
    from workflow_rl.envs.single import Cage2Env
    from workflow_rl.envs.vector import Cage2VectorEnv

__version__ = "0.1.0"
__all__ = ["Cage2Env", "Cage2VectorEnv", "__version__"]

register()


def __getattr__(name: str) -> Any:
    """Imports the environments, and with them the compiler, when they are first asked for."""
    if name == "Cage2Env":
        from workflow_rl.envs.single import Cage2Env

        return Cage2Env
    if name == "Cage2VectorEnv":
        from workflow_rl.envs.vector import Cage2VectorEnv

        return Cage2VectorEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
