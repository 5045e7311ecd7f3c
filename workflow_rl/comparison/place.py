"""Where the trainings of a comparison run: fresh processes here, or on Ray."""

from collections.abc import Iterator
from contextlib import contextmanager

from workflow_rl.comparison.process import Here, Place
from workflow_rl.experiment.execution import Execution, importing_ray


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
        from workflow_rl.comparison.ray_place import OnRay
        from workflow_rl.experiment.ray_cluster import connected

    with connected(execution.ray_address, number):
        yield OnRay()
