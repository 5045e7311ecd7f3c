"""What Ray's errors mean, in our words."""

from ray.exceptions import (
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RaySystemError,
    RayTaskError,
    WorkerCrashedError,
)

from workflow_rl.errors import InvalidInputError, MissingDependencyError
from workflow_rl.runs.remote import installed


def cause_of(error: RayTaskError, host: str) -> Exception:
    """Returns what to raise here for an error that was raised on a node."""
    cause: Exception = error.cause
    if isinstance(cause, MissingDependencyError):
        return InvalidInputError(f"on the node {host}: {cause}")
    if isinstance(cause, (ImportError, RaySystemError)):
        why = str(cause).splitlines()[0].removeprefix("System error: ")
        return InvalidInputError(
            f"a node that joined the cluster cannot load workflow-rl ({why}): install "
            f"version {installed()['workflow-rl']} on every node, then go on with --resume"
        )
    return cause


def how_lost(error: Exception, host: str) -> str:
    """Returns in words how what ran on a node was lost."""
    if isinstance(error, NodeDiedError):
        return f"the node {host} went away"
    if isinstance(error, OutOfMemoryError):
        return f"the node {host} ran out of memory"
    if isinstance(error, WorkerCrashedError):
        return f"its process on {host} died"
    if isinstance(error, ObjectLostError):
        return f"its result went away with the node {host}"
    return f"of {type(error).__name__} on {host}"
