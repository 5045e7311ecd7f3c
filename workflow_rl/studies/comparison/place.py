"""Where the trainings of a comparison run: fresh processes here, or on Ray."""

from collections.abc import Iterator
from contextlib import contextmanager

from workflow_rl.runs.execution import Execution, importing_ray
from workflow_rl.studies.comparison.process import Here, Place


@contextmanager
def open_place(execution: Execution, number: int) -> Iterator[Place]:
    """Gives a place for so many trainings at a time.

    Raises:
        InvalidInputError: the executor cannot do it, or the cluster cannot be used.
        MissingDependencyError: Ray is not installed.
    """
    if execution.resolve(number) != "ray":
        yield Here()
        return
    with importing_ray():
        from workflow_rl.runs.ray_cluster import connected
        from workflow_rl.studies.comparison.ray_place import OnRay

    with connected(execution.ray_address, number):
        yield OnRay()
