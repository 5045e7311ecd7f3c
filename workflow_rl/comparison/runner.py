"""Where the trainings of a comparison run: each in a fresh process, here or on Ray."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from workflow_rl.comparison.process import Call, Emit, run_several
from workflow_rl.experiment.execution import Execution, importing_ray

Result = TypeVar("Result")
# Runs named tasks, tells their news, and yields what each gives when it is over.
Runner = Callable[[Iterable[tuple[str, Call[Any]]], Emit], Iterator[tuple[str, Any]]]


def alone(tasks: Iterable[tuple[str, Call[Any]]], on_news: Emit) -> Iterator[tuple[str, Any]]:
    """Runs one task after the other."""
    return run_several(tasks, 1, on_news)


@contextmanager
def open_runner(execution: Execution, number: int) -> Iterator[Runner]:
    """Gives what runs so many trainings at a time.

    Raises:
        InvalidInputError: the executor cannot do it, or the cluster cannot be used.
        MissingDependencyError: Ray is not installed.
    """
    if execution.resolve(number) != "ray":
        yield lambda tasks, on_news: run_several(tasks, number, on_news)
        return
    with importing_ray():
        from workflow_rl.experiment.ray_calls import call_several
        from workflow_rl.experiment.ray_cluster import connected

    with connected(execution.ray_address, number):
        yield lambda tasks, on_news: call_several(
            ((key, partial(_quietly, task)) for key, task in tasks), number
        )


def _quietly(task: Call[Result]) -> Result:
    return task(lambda news: None)
