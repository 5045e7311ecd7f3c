import numpy as np

from workflow_rl.scenario.tables import HOST_NAMES, host_set
from workflow_rl.scenario.units import UNIT_HOSTS, UNIT_OF, UNITS

HOSTS_BY_UNIT = {
    "defender": {"Defender"},
    "enterprise": {"Enterprise0", "Enterprise1", "Enterprise2"},
    "op_server": {"Op_Server0"},
    "op_host": {"Op_Host0", "Op_Host1", "Op_Host2"},
    "user": {"User0", "User1", "User2", "User3", "User4"},
}


def test_every_host_is_of_one_of_five_types_under_the_names_users_know() -> None:
    assert tuple(HOSTS_BY_UNIT) == UNITS
    assert len(UNIT_HOSTS) == len(UNITS) == 5
    for number, (unit, hosts) in enumerate(zip(UNITS, UNIT_HOSTS, strict=True)):
        assert set(np.array(HOST_NAMES)[number == UNIT_OF]) == HOSTS_BY_UNIT[unit]
        assert int(hosts) == host_set(HOSTS_BY_UNIT[unit])
