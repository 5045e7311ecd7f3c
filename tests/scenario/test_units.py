from workflow_rl.scenario.loading import SCENARIO2

HOSTS_BY_UNIT = {
    "defender": {"Defender"},
    "enterprise": {"Enterprise0", "Enterprise1", "Enterprise2"},
    "op_server": {"Op_Server0"},
    "op_host": {"Op_Host0", "Op_Host1", "Op_Host2"},
    "user": {"User0", "User1", "User2", "User3", "User4"},
}


def test_every_host_is_of_one_of_five_types_under_the_names_users_know() -> None:
    assert {unit: set(hosts) for unit, hosts in SCENARIO2.units} == HOSTS_BY_UNIT
    assert [unit for unit, _ in SCENARIO2.units] == list(HOSTS_BY_UNIT)
