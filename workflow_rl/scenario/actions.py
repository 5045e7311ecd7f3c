"""Blue's 145 actions: index <-> (kind, host), names and parsing."""

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import Shape, checked_array
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.tables import (
    DECOY_NAMES,
    DECOY_REFUSED_BY,
    HOST_NAMES,
    HOST_PORTS,
    NUM_DECOYS,
    NUM_HOSTS,
    USER0,
)


class ActionKind(IntEnum):
    """Kinds of Blue action; decoys follow at FIRST_DECOY + decoy index."""

    SLEEP = 0
    MONITOR = 1
    ANALYSE = 2
    REMOVE = 3
    RESTORE = 4
    FIRST_DECOY = 5


_BLOCKS: Final = (  # one block of 13 hosts each, after Sleep and Monitor
    ("Analyse", ActionKind.ANALYSE),
    ("Remove", ActionKind.REMOVE),
    *((name, ActionKind.FIRST_DECOY + decoy) for decoy, name in enumerate(DECOY_NAMES)),
    ("Restore", ActionKind.RESTORE),
)

NO_HOST: Final = -1
SLEEP: Final = 0
MONITOR: Final = 1
NUM_ACTIONS: Final = 2 + NUM_HOSTS * len(_BLOCKS)

ACTION_NAMES: Final = (
    "Sleep",
    "Monitor",
    *(f"{block} {host}" for block, _ in _BLOCKS for host in HOST_NAMES),
)
ACTION_KIND: Final = np.array(
    [ActionKind.SLEEP, ActionKind.MONITOR, *(kind for _, kind in _BLOCKS for _ in HOST_NAMES)],
    dtype=np.int8,
)
ACTION_HOST: Final = np.array(
    [NO_HOST, NO_HOST, *(host for _ in _BLOCKS for host in range(NUM_HOSTS))], dtype=np.int8
)


def _first(kind: int) -> int:
    return int(ACTION_KIND.tolist().index(kind))


FIRST_ANALYSE: Final = _first(ActionKind.ANALYSE)
FIRST_REMOVE: Final = _first(ActionKind.REMOVE)
FIRST_RESTORE: Final = _first(ActionKind.RESTORE)
# (host, decoy) -> action index
DECOY_ACTIONS: Final = np.array(
    [
        [_first(ActionKind.FIRST_DECOY + decoy) + host for decoy in range(NUM_DECOYS)]
        for host in range(NUM_HOSTS)
    ],
    dtype=np.int16,
)

# What can matter: no action on User0, where nothing that Blue does has an effect on Red, no decoy
# where it is never accepted or, on the Op_Hosts, hardly ever met; Monitor does what Sleep does.
USEFUL_ACTIONS: Final = np.array(
    [SLEEP]
    + [
        action
        for action in range(MONITOR + 1, NUM_ACTIONS)
        if (host := ACTION_HOST[action]) != USER0
        and (
            (decoy := ACTION_KIND[action] - ActionKind.FIRST_DECOY) < 0
            or (
                not HOST_NAMES[host].startswith("Op_Host")
                and not DECOY_REFUSED_BY[host, decoy] & HOST_PORTS[host]
            )
        )
    ],
    dtype=np.int64,
)

_BY_NAME: Final = {name.casefold(): index for index, name in enumerate(ACTION_NAMES)}


def parse_action(text: str) -> int:
    """Returns the index of an action given as its number or its name.

    Args:
        text: `139`, `Restore Op_Server0` or the same in any case.

    Raises:
        InvalidInputError: no such action.
    """
    words = " ".join(text.split())
    if words.isdecimal() and len(words) <= len(str(NUM_ACTIONS)) and int(words) < NUM_ACTIONS:
        return int(words)
    if (index := _BY_NAME.get(words.casefold())) is not None:
        return index
    kinds = ", ".join(block for block, _ in _BLOCKS)
    raise InvalidInputError(
        f"unknown action {shown(text)}: give 0 to {NUM_ACTIONS - 1}, Sleep, Monitor, or one of "
        f"{kinds} followed by a host ({', '.join(HOST_NAMES)})"
    )


def checked_actions(
    actions: object, shape: Shape, what: str = "actions", lowest: int = SLEEP
) -> NDArray[np.int64]:
    """Returns actions as an array of a shape; InvalidInputError if they are none."""
    return checked_array(what, actions, shape, np.int64, (lowest, NUM_ACTIONS - 1))


def checked_mask(action_mask: object, n: int | None) -> NDArray[np.bool_]:
    """Returns an action mask (n, 145), n None for any number; InvalidInputError if it is none."""
    return checked_array("an action mask", action_mask, (n, NUM_ACTIONS), np.bool_)
