"""The trace's arrays of one moment, read from a running CybORG: what is true and what Red knows."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.envs.cyborg_state import (
    HOST_INDEX,
    RED_SERVER,
    is_privileged,
    is_removable,
    red_presence,
)
from workflow_rl.scenario.tables import (
    DECOY_NAMES,
    HOST_NAMES,
    NUM_HOSTS,
    NUM_SUBNETS,
    OP_SERVER0,
    PORTS,
    Subnet,
)

Fields = dict[str, Any]  # the trace's arrays -> their values

_OT_SERVICE: Final = "OTService"
_MALWARE_DENSITY: Final = 0.9
_DECOY_OF_PROCESS: Final = {  # what a decoy's process is called
    "apache2": DECOY_NAMES.index("DecoyApache"),
    "femitter": DECOY_NAMES.index("DecoyFemitter"),
    "haraka": DECOY_NAMES.index("DecoyHarakaSMPT"),
    "Smss.exe": DECOY_NAMES.index("DecoySmss"),
    "Sshd.exe": DECOY_NAMES.index("DecoySSHD"),
    "Svchost.exe": DECOY_NAMES.index("DecoySvchost"),
    "Tomcat.exe": DECOY_NAMES.index("DecoyTomcat"),
    "vsftpd": DECOY_NAMES.index("DecoyVsftpd"),
}
# The columns of red_session_kinds.
_REMOVABLE, _UNDETECTED, _SSH, _PRIVILEGED = range(4)


def fields_of(controller: Any, red_agent: Any) -> Fields:
    """Returns every array of the trace that describes a moment.

    Args:
        controller: CybORG's environment controller.
        red_agent: the agent object that plays Red.
    """
    state = controller.state
    machines = [state.hosts[name] for name in HOST_NAMES]
    return {
        "red_access": red_presence(state)[0],
        "red_session_kinds": _session_kinds(state),
        "malware": [
            any(file.density >= _MALWARE_DENSITY for file in machine.files) for machine in machines
        ],
        "decoys": [sum({1 << decoy for decoy, _ in live_decoys(machine)}) for machine in machines],
        "open_ports": [port_set(listening_ports(machine)) for machine in machines],
        **_ot_service(machines[OP_SERVER0]),
        **_red_knowledge(controller),
        **_red_plan(red_agent, addresses_of(state)),
    }


def addresses_of(state: Any) -> dict[Any, int]:
    """Returns the host of each address; they are drawn anew for every episode."""
    return {address: HOST_INDEX[name] for address, name in state.ip_addresses.items()}


def subnets_of(state: Any) -> dict[Any, int]:
    """Returns the number of each subnet, by its block of addresses."""
    blocks = state.subnet_name_to_cidr.items()
    return {block: int(Subnet[name.upper()]) for name, block in blocks}


def port_set(ports: list[int]) -> int:
    """Returns ports as a bit mask, bits as in tables.PORTS."""
    return sum({1 << PORTS.index(port) for port in ports})


def listening_ports(machine: Any) -> list[int]:
    """Returns the ports on which a host's processes listen."""
    return [port for process in machine.processes for port in _ports_of(process)]


def live_decoys(machine: Any) -> list[tuple[int, list[int]]]:
    """Returns each decoy's type and ports, in the order in which Red meets them."""
    return [
        (_DECOY_OF_PROCESS[process.name], _ports_of(process))
        for process in machine.processes
        if process.decoy_type
    ]


def _ports_of(process: Any) -> list[int]:
    return [c["local_port"] for c in process.connections if "remote_port" not in c]


def _session_kinds(state: Any) -> NDArray[np.int64]:
    kinds = np.zeros((NUM_HOSTS, 4), np.int64)
    for session in state.sessions["Red"].values():
        if is_privileged(session):
            kind = _PRIVILEGED
        elif is_removable(state, session):
            kind = _REMOVABLE
        else:
            kind = _SSH if session.session_type.name == "SSH" else _UNDETECTED
        kinds[HOST_INDEX[session.host], kind] += 1
    return kinds


def _ot_service(machine: Any) -> Fields:
    running = [process.pid for process in machine.processes if process.name == _OT_SERVICE]
    service = machine.services[_OT_SERVICE]
    return {
        "ot_down": not running,
        "ot_stoppable": bool(service["active"]) and service["process"] in running,
    }


def _red_knowledge(controller: Any) -> Fields:
    state = controller.state
    space = controller.agent_interfaces["Red"].action_space
    memory = state.sessions["Red"][RED_SERVER]
    addresses = addresses_of(state)
    ports = np.zeros(NUM_HOSTS, np.int64)
    for address, seen in memory.ports.items():
        ports[addresses[address]] = port_set(seen)
    return {
        "ot_known": memory.ot_service is not None,
        "red_ip_known": _flags(space.ip_address, addresses, NUM_HOSTS),
        "red_host_known": _flags(space.hostname, HOST_INDEX, NUM_HOSTS),
        "red_subnet_known": _flags(space.subnet, subnets_of(state), NUM_SUBNETS),
        "red_scanned": _flags(dict.fromkeys(memory.ports, True), addresses, NUM_HOSTS),
        "red_ports": ports,
    }


def _red_plan(agent: Any, addresses: dict[Any, int]) -> Fields:
    def members(name: str, index: dict[Any, int]) -> list[bool]:
        return _flags(dict.fromkeys(getattr(agent, name, ()), True), index, NUM_HOSTS)

    return {
        "bline_state": getattr(agent, "action", -1),
        "meander_scanned": members("scanned_ips", addresses),
        "meander_exploited": members("exploited_ips", addresses),
        "meander_escalated": members("escalated_hosts", HOST_INDEX),
    }


def _flags(known: dict[Any, bool], index: dict[Any, int], size: int) -> list[bool]:
    """Turns a dictionary of what is known into flags by our numbers."""
    flags = [False] * size
    for key, value in known.items():
        if key in index:
            flags[index[key]] = value
    return flags
