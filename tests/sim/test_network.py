import numpy as np
import pytest

from tests.sim.board import HOSTS, Board
from workflow_rl.scenario.images import IMAGES, port_set
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.sim.network import (
    open_ports,
    record_events,
    record_shell_event,
)
from workflow_rl.sim.state import Outcome, Success

OPERATIONAL = {"OpS", "OpH0", "OpH1", "OpH2"}


def reached(board: Board) -> set[str]:
    """The hosts on which a scan finds anything at this moment."""
    return {host for host in HOSTS if board.turn(red=f"DNS {host}").red.outcome is Outcome.SUCCESS}


@pytest.mark.parametrize("kind", ["privileged", "removable", "persistent"])
@pytest.mark.parametrize("foothold", ["Ent0", "Ent1", "Ent2"])
def test_any_session_on_an_enterprise_host_opens_operational(foothold: str, kind: str) -> None:
    assert reached(Board().put(kind, "U0", foothold)) == set(HOSTS)


@pytest.mark.parametrize("host", ["Def", "U0", "U1", "OpH0", "OpS"])
def test_a_session_elsewhere_does_not_open_operational(host: str) -> None:
    assert reached(Board().put("privileged", "U0", host)) == set(HOSTS) - OPERATIONAL


def test_a_session_in_operational_needs_no_route_any_more() -> None:
    board = Board().put("persistent", "Ent0", "OpS").turn("Restore Ent0", "PE OpS")
    assert (board.red.success, board.sessions("OpS")) == (
        Success.TRUE,
        {"privileged", "persistent"},
    )
    board.turn(red="IMP OpS")
    assert (board.red.success, board.reward) == (Success.TRUE, -11.0)


@pytest.mark.parametrize("host", HOSTS)
def test_open_ports_are_those_of_services_and_decoys(host: str) -> None:
    board = Board()
    image = IMAGES[SCENARIO2.hosts[HOSTS.index(host)].image]
    original = {service.port for service in image.services}
    assert open_ports(board.state, board.net, HOSTS.index(host)) == port_set(original)
    decoys = {"DecoyApache": 80, "DecoyTomcat": 443, "DecoyFemitter": 21, "DecoySSHD": 22}
    opened = {
        port
        for decoy, port in decoys.items()
        if board.turn(f"{decoy} {host}").blue_success is Success.TRUE
    }
    assert open_ports(board.state, board.net, HOSTS.index(host)) == port_set(original | opened)


def test_connections_are_recorded_by_host_number_and_local_ports() -> None:
    board = Board()
    u3, u4 = HOSTS.index("U3"), HOSTS.index("U4")
    record_events(board.state, u3, port_set([80, 443]), 2)
    record_events(board.state, u3, port_set([443]), 1)
    record_shell_event(board.state, u4)  # its port is none that anybody listens on
    assert board.hosts("event_hosts") == {"U3", "U4"}
    assert board.hosts("shell_events") == {"U4"}
    counts, ports = board.state["event_count"], board.state["event_ports"]
    assert {int(h): int(counts[h]) for h in np.flatnonzero(counts)} == {u3: 3, u4: 1}
    assert {int(h): int(ports[h]) for h in np.flatnonzero(ports)} == {u3: port_set([80, 443])}
