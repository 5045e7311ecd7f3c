from typing import Any

import numpy as np
import pytest

from tests.sim.board import HOSTS, Board
from workflow_rl.scenario.tables import HOSTS as SCENARIO
from workflow_rl.scenario.tables import port_set
from workflow_rl.sim.network import held_hosts, open_ports, red_hosts
from workflow_rl.sim.state import STATE_DTYPE, Outcome, Success

OPERATIONAL = {"OpS", "OpH0", "OpH1", "OpH2"}


def reached(board: Board) -> set[str]:
    """The hosts on which a scan finds anything at this moment."""
    return {host for host in HOSTS if board.turn(red=f"DNS {host}").red.outcome is Outcome.SUCCESS}


def test_the_hosts_red_holds_are_those_with_any_session() -> None:
    states: Any = np.zeros(4, STATE_DTYPE)
    states["privileged"] = [1, 0, 0, 1]
    states["removable"] = [0, 2, 0, 2]
    states["persistent"] = [0, 0, 4, 4]
    assert held_hosts(states).tolist() == [1, 2, 4, 7]
    assert [red_hosts(state) for state in states] == [1, 2, 4, 7]
    assert int(held_hosts(states[3])) == 7
    assert held_hosts(states.reshape(2, 2)).tolist() == [[1, 2], [4, 7]]


def test_user_and_enterprise_are_always_reachable() -> None:
    assert reached(Board()) == set(HOSTS) - OPERATIONAL


@pytest.mark.parametrize("kind", ["privileged", "removable", "persistent"])
@pytest.mark.parametrize("foothold", ["Ent0", "Ent1", "Ent2"])
def test_any_session_on_an_enterprise_host_opens_operational(foothold: str, kind: str) -> None:
    assert reached(Board().put(kind, "U0", foothold)) == set(HOSTS)


@pytest.mark.parametrize("host", ["Def", "U0", "U1", "OpH0", "OpS"])
def test_a_session_elsewhere_does_not_open_operational(host: str) -> None:
    assert reached(Board().put("privileged", "U0", host)) == set(HOSTS) - OPERATIONAL


def test_reachability_through_a_game() -> None:
    board = Board()
    expected = [
        ("Sleep", "DNS OpS", Success.TRUE, {}, 0.0),  # finds nothing
        ("Sleep", "EXP OpS", Success.FALSE, {}, 0.0),
        ("Sleep", "DRS Operational", Success.FALSE, {}, 0.0),
        ("Sleep", "DNS Ent0", Success.TRUE, {"Ent0": "1000"}, 0.0),
        ("Sleep", "EXP Ent0", Success.TRUE, {"Ent0": "1101"}, 0.0),
        ("Sleep", "DRS Operational", Success.TRUE, {"Ent0": "0001"}, 0.0),
        ("Sleep", "DNS OpS", Success.TRUE, {"Ent0": "0001", "OpS": "1000"}, 0.0),
        ("Restore Ent0", "EXP OpS", Success.FALSE, {}, -1.0),
        ("Sleep", "DNS Ent0", Success.TRUE, {"Ent0": "1000"}, 0.0),
        ("Sleep", "EXP Ent0", Success.TRUE, {"Ent0": "1101"}, 0.0),
        ("Sleep", "EXP OpS", Success.TRUE, {"Ent0": "0001", "OpS": "1101"}, 0.0),
        ("Restore Ent0", "PE OpS", Success.TRUE, {"OpS": "0001"}, -2.0),
        ("Sleep", "IMP OpS", Success.TRUE, {"OpS": "0001"}, -11.0),  # no foothold needed any more
    ]
    got = []
    for blue, red, *_ in expected:
        board.turn(blue, red)
        got.append((blue, red, board.red.success, board.shown(), board.reward))
    assert got == expected


def test_sessions_in_operational_outlive_the_enterprise_foothold() -> None:
    board = Board().put("removable", "Ent1").put("persistent", "OpS").turn("Remove Ent1")
    for _ in range(5):
        board.turn(red="DRS Operational")
    assert (board.red.success, board.sessions("OpS")) == (Success.FALSE, {"persistent"})


@pytest.mark.parametrize("host", HOSTS)
def test_open_ports_are_those_of_services_and_decoys(host: str) -> None:
    board = Board()
    original = {service.port for service in SCENARIO[HOSTS.index(host)].services}
    assert open_ports(board.state, HOSTS.index(host)) == port_set(original)
    decoys = {"DecoyApache": 80, "DecoyTomcat": 443, "DecoyFemitter": 21, "DecoySSHD": 22}
    opened = set()
    for decoy, port in decoys.items():
        if board.turn(f"{decoy} {host}").blue_success is Success.TRUE:
            opened.add(port)
    assert open_ports(board.state, HOSTS.index(host)) == port_set(original | opened)
