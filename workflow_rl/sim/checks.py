"""Blue's actions and masks as a caller hands them in, checked by the network."""

import numpy as np
from numpy.typing import NDArray

from workflow_rl.arrays import Shape, checked_array
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.network import Network


def checked_actions(
    network: Network, actions: object, shape: Shape, what: str = "actions", lowest: int = 0
) -> NDArray[np.int64]:
    """Returns actions as an array of a shape; InvalidInputError if they are none."""
    highest = actions_of(network).size - 1
    return checked_array(what, actions, shape, np.int64, (lowest, highest))


def checked_mask(network: Network, action_mask: object, n: int | None) -> NDArray[np.bool_]:
    """Returns an action mask (n, actions), n None for any number; InvalidInputError if none."""
    return checked_array("an action mask", action_mask, (n, actions_of(network).size), np.bool_)
