"""Functions on a Ray cluster, each in a fresh process."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from typing import Any, Final, TypeVar

import ray
from ray.exceptions import RayTaskError

from workflow_rl.errors import InvalidInputError
from workflow_rl.experiment.remote import Installed, difference, installed

Key = TypeVar("Key", bound=Hashable)
_RETRIES: Final = 3  # of a call whose worker or node went away


def call_several(
    calls: Iterable[tuple[Key, Callable[[], Any]]], number: int
) -> Iterator[tuple[Key, Any]]:
    """Calls functions on the cluster, some side by side; yields what each gives when it is over.

    Args:
        calls: picklable functions, with names; taken when there is room.
        number: at a time.
    """
    remote = ray.remote(num_cpus=1, max_calls=1, max_retries=_RETRIES)(_call)
    waiting = iter(calls)
    under_way: dict[Any, Key] = {}
    try:
        while True:
            for key, function in islice(waiting, number - len(under_way)):
                under_way[remote.remote(function, installed())] = key
            if not under_way:
                return
            ready, _ = ray.wait(list(under_way), num_returns=1)
            try:
                result = ray.get(ready[0])
            except RayTaskError as error:
                raise error.cause from error
            yield under_way.pop(ready[0]), result
    finally:
        for reference in under_way:
            ray.cancel(reference, force=True)


def _call(function: Callable[[], Any], asked_by: Installed) -> Any:
    other = difference(installed(), asked_by)
    if other is not None:
        raise InvalidInputError(f"a node of the cluster {other}")
    return function()
