"""The five types of unit a workflow orders, and which hosts are of each."""

from typing import Final

import numpy as np

from workflow_rl.scenario.tables import HOST_NAMES, NUM_HOSTS, host_set

UNITS: Final = ("defender", "enterprise", "op_server", "op_host", "user")


def _unit_of(host: str) -> str:
    return host.rstrip("0123456789").lower()


UNIT_OF: Final = np.array([UNITS.index(_unit_of(name)) for name in HOST_NAMES], dtype=np.int8)
UNIT_HOSTS: Final = np.array(  # (unit,) its hosts as a set
    [host_set(name for name in HOST_NAMES if _unit_of(name) == unit) for unit in UNITS],
    dtype=np.int16,
)
assert len(UNIT_OF) == NUM_HOSTS
