from workflow_rl.scenario.tables import HOST_NAMES
from workflow_rl.scenario.units import UNIT_HOSTS, UNIT_OF, UNITS

HOSTS_BY_UNIT = {
    "defender": {"Defender"},
    "enterprise": {"Enterprise0", "Enterprise1", "Enterprise2"},
    "op_server": {"Op_Server0"},
    "op_host": {"Op_Host0", "Op_Host1", "Op_Host2"},
    "user": {"User0", "User1", "User2", "User3", "User4"},
}


def test_there_are_five_types_under_the_names_users_know() -> None:
    assert tuple(HOSTS_BY_UNIT) == UNITS


def test_every_host_is_of_its_type() -> None:
    by_unit: dict[str, set[str]] = {unit: set() for unit in UNITS}
    for name, unit in zip(HOST_NAMES, UNIT_OF, strict=True):
        by_unit[UNITS[unit]].add(name)
    assert by_unit == HOSTS_BY_UNIT


def test_the_host_set_of_a_type_holds_exactly_its_hosts() -> None:
    assert len(UNIT_HOSTS) == len(UNITS) == 5
    for unit, hosts in zip(UNITS, UNIT_HOSTS, strict=True):
        members = {name for h, name in enumerate(HOST_NAMES) if int(hosts) >> h & 1}
        assert members == HOSTS_BY_UNIT[unit]
        assert int(hosts) < 1 << len(HOST_NAMES)
