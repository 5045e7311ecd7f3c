"""Whether weights and a description make a policy: asked before anything is computed with them."""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from workflow_rl.belief.observation import observation_size
from workflow_rl.config import FOLLOWS, OBSERVATIONS, ORDER_ENCODINGS, one_of
from workflow_rl.config.units import ANY
from workflow_rl.errors import InvalidInputError
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.units import Units, units_of

_LAYER: Final = re.compile(r"actor\.(\d{1,4})\.(weight|bias)")
# What a description may say, and of which type it then is.
_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "conditioned": bool,
    "order": str,
    "rules": str,
    "red_agent": str,
    "observation": str,
    "action_space": str,
    "episode_length": int,
    "compliance_view": str,
    "compliance_threshold": (int, float),
    "mask_actions": bool,
    "activation": str,
    "units": (str, Mapping),
    "order_encoding": str,
    "follow": str,
}


def units_told(description: Mapping[str, Any]) -> Units | None:
    """Returns the units whose orders a policy was trained on; None: any.

    Files from before say nothing of units: theirs are the five types.

    Raises:
        InvalidInputError: what it says are no units.
    """
    told = description.get("units") or "types"
    return None if told == ANY else units_of(told)


def encoding_told(description: Mapping[str, Any]) -> OrderEncoding | None:
    """Returns how a policy is shown its order; None: it is shown none.

    Raises:
        InvalidInputError: it does not say so.
    """
    if not description["conditioned"]:
        return None
    name = one_of("order encoding", description.get("order_encoding") or "onehot", ORDER_ENCODINGS)
    units = units_told(description)
    if units is None and name == "onehot":
        raise InvalidInputError("the order encoding onehot of a policy needs its units")
    return OrderEncoding(name, units)


def check_policy(weights: Any, description: Any) -> None:
    """Checks that weights are those of an actor whose layers fit, and what is said of it.

    Raises:
        InvalidInputError: they are not, or not all of them are finite.
    """
    if not isinstance(description, Mapping) or "conditioned" not in description:
        raise InvalidInputError("a policy needs a description that says whether it is conditioned")
    for name, kind in _TYPES.items():
        value = description.get(name)
        if value is not None and not isinstance(value, kind):
            raise InvalidInputError(f"{name} of a policy cannot be {value!r:.60}")
    if description.get("conditioned") is None:
        raise InvalidInputError("conditioned of a policy must be true or false")
    if not isinstance(weights, Mapping):
        raise InvalidInputError("a policy needs its weights by their names")
    numbers = {int(found[1]) for name in weights if (found := _LAYER.fullmatch(str(name)))}
    if not numbers:
        raise InvalidInputError("a policy needs the weights of an actor")
    width = None
    for number in sorted(numbers):
        name = f"actor.{number}"
        weight: Any = weights.get(f"{name}.weight")
        bias: Any = weights.get(f"{name}.bias")
        if not _is_array(weight, 2) or not _is_array(bias, 1) or len(bias) != len(weight):
            raise InvalidInputError(
                f"{name} of a policy is no layer: {_seen(weight)}, {_seen(bias)}"
            )
        if width not in (None, weight.shape[1]) or 0 in weight.shape:
            raise InvalidInputError(f"{name} of a policy does not fit the layer before it")
        if not np.isfinite(weight).all() or not np.isfinite(bias).all():
            raise InvalidInputError(f"{name} of a policy is not finite: its training diverged")
        width = len(weight)
    one_of("follow", description.get("follow") or FOLLOWS[0], FOLLOWS)
    _check_width(weights[f"actor.{min(numbers)}.weight"].shape[1], description)


def _check_width(width: int, description: Mapping[str, Any]) -> None:
    """Checks that a network has an input for each bit of what it is said to be shown."""
    encoding = encoding_told(description)
    of_order = 0 if encoding is None else encoding.size
    if width <= of_order:
        raise InvalidInputError("a policy that is told an order sees more than the order")
    if description.get("observation") is None:
        return
    name = one_of("observation", description["observation"], OBSERVATIONS)
    if width != observation_size(name) + of_order:
        raise InvalidInputError(
            f"a policy of {width} inputs does not fit the observation {name} of "
            f"{observation_size(name)} values and an order of {of_order}"
        )


def _is_array(value: Any, rank: int) -> TypeGuard[NDArray[Any]]:
    return isinstance(value, np.ndarray) and value.ndim == rank and value.dtype.kind == "f"


def _seen(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return "nothing" if value is None else type(value).__name__
