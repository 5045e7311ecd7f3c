"""Reads from a running CybORG what its own interface does not give, without its slow true state.

`controller` is everywhere CybORG's environment controller, `state` its simulated network.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.envs.cyborg_import import Cyborg
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.images import DECOY_NAMES, PORTS
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import (
    ACTION_NAMES,
    DECOY_ACTIONS,
    HOST_NAMES,
    NUM_HOSTS,
    OP_SERVER0,
)
from workflow_rl.sim.red_given import (
    RED_ACTION_CLASSES,
    RED_SLEEP,
    red_actions_of,
)

Fields = dict[str, Any]  # by the names of a trace's arrays (docs/parity.md)

HOST_INDEX: Final = {name: host for host, name in enumerate(HOST_NAMES)}
RED_SERVER: Final = 0  # the session on User0 through which Red acts, and which remembers ports
_BLUE_SERVER: Final = 0  # the session on Defender that remembers suspicious process ids
_DECOY_SSHD_USER3: Final = ACTION_NAMES.index("DecoySSHD User3")
_PRIVILEGED_USERS: Final = frozenset(("root", "SYSTEM"))
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


# --- Red's sessions and Blue's suspicions


def is_privileged(session: Any) -> bool:
    """Says whether a session has all rights on its host."""
    return session.username in _PRIVILEGED_USERS


def suspicious_processes(state: Any) -> dict[str, list[int]]:
    """Returns by host name the process ids that Blue's monitor found suspicious, in their order."""
    pids: dict[str, list[int]] = state.sessions["Blue"][_BLUE_SERVER].sus_pids
    return pids


def is_removable(state: Any, session: Any) -> bool:
    """Says whether Remove would end a session."""
    suspicious = suspicious_processes(state).get(session.host, ())
    return session.pid in suspicious and not is_privileged(session)


def red_presence(state: Any) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Returns (13,) Red's access, as in `Cage2Env`, and (13,) where Remove would kill a session."""
    access = [0] * NUM_HOSTS
    removable = [False] * NUM_HOSTS
    for session in state.sessions["Red"].values():
        host = HOST_INDEX[session.host]
        access[host] = max(access[host], 1 + is_privileged(session))
        removable[host] = removable[host] or is_removable(state, session)
    return np.array(access, np.int8), np.array(removable, np.bool_)


def _session_kinds(state: Any) -> NDArray[np.int64]:
    """Returns (13, 4) sessions of Red's: removable, undetected, by SSH, privileged."""
    kinds = np.zeros((NUM_HOSTS, 4), np.int64)
    for session in state.sessions["Red"].values():
        if is_privileged(session):
            kind = 3
        elif is_removable(state, session):
            kind = 0
        else:
            kind = 2 if session.session_type.name == "SSH" else 1
        kinds[HOST_INDEX[session.host], kind] += 1
    return kinds


# --- addresses, ports and decoys


def addresses_of(state: Any) -> dict[Any, int]:
    """Returns the host of each address; they are drawn anew for every episode."""
    return {address: HOST_INDEX[name] for address, name in state.ip_addresses.items()}


def subnets_of(state: Any) -> dict[Any, int]:
    """Returns the number of each subnet, by its block of addresses."""
    blocks = state.subnet_name_to_cidr.items()
    return {block: SCENARIO2.zone_names.index(name) for name, block in blocks}


def _ports_of(process: Any) -> list[int]:
    """Returns the ports on which a process listens."""
    return [c["local_port"] for c in process.connections if "remote_port" not in c]


def _port_set(ports: list[int]) -> int:
    """Returns ports as a bit mask, bits as in tables.PORTS."""
    return sum({1 << PORTS.index(port) for port in ports})


def live_decoys(machine: Any) -> list[tuple[int, list[int]]]:
    """Returns each decoy's type and ports, in the order in which Red meets them."""
    return [
        (_DECOY_OF_PROCESS[process.name], _ports_of(process))
        for process in machine.processes
        if process.decoy_type
    ]


def write_decoy_mask(state: Any, actions: list[Any], host: int, mask: NDArray[np.bool_]) -> None:
    """Writes, for the host's eight decoy actions, whether CybORG would accept them."""
    machine = state.hosts[HOST_NAMES[host]]
    for index in DECOY_ACTIONS[host]:
        candidates = actions[index].candidate_decoys
        mask[index] = any(candidate.is_host_compatible(machine) for candidate in candidates)


# --- the reward


def reward_parts(controller: Any) -> tuple[float, float, float]:
    """Returns the last reward's parts, each <= 0: confidentiality, availability, action cost."""
    calculator = controller.agent_interfaces["Blue"].reward_calculator
    return (
        sum(calculator.confidentiality_calculator.compromised_hosts.values()),
        sum(calculator.availability_calculator.impacted_hosts.values()),
        controller.action["Blue"].cost,
    )


def short_true_state() -> dict[str, dict[str, Any]]:
    """Returns a request for that part of the true state which the reward is computed from.

    At every step CybORG describes the whole network to its reward calculators, which takes most
    of its time. They look at Red's sessions and, on Op_Server0, for the OT service.
    """
    request: dict[str, dict[str, Any]] = {
        name: {"System info": "All", "Sessions": "Red"} for name in HOST_NAMES
    }
    request[HOST_NAMES[OP_SERVER0]]["Processes"] = ["All"]
    return request


# --- what Red knows


def red_knowledge(controller: Any) -> Fields:
    """Returns what Red knows: subnets, addresses, names, ports, the OT service."""
    state = controller.state
    space = controller.agent_interfaces["Red"].action_space
    memory = state.sessions["Red"][RED_SERVER]
    addresses = addresses_of(state)
    remembered = {addresses[address]: _port_set(seen) for address, seen in memory.ports.items()}
    return {
        "ot_known": memory.ot_service is not None,
        "red_ip_known": _flags(space.ip_address, addresses),
        "red_host_known": _flags(space.hostname, HOST_INDEX),
        "red_subnet_known": _flags(space.subnet, subnets_of(state), len(SCENARIO2.zones)),
        "red_scanned": [host in remembered for host in range(NUM_HOSTS)],
        "red_ports": [remembered.get(host, 0) for host in range(NUM_HOSTS)],
    }


def offered_red_actions(controller: Any) -> list[bool]:
    """Returns which of Red's 56 actions CybORG offers, and whether it offers them with more.

    More would be another session or a subnet, address or name that is none of ours. The concrete
    exploits, which CybORG offers as well, are left out: `ExploitRemoteService` draws one of them.
    """
    state = controller.state
    space = controller.agent_interfaces["Red"].action_space.get_action_space()
    parameters = {
        "DiscoverRemoteSystems": ("subnet", subnets_of(state)),
        "DiscoverNetworkServices": ("ip_address", addresses_of(state)),
        "ExploitRemoteService": ("ip_address", addresses_of(state)),
        "PrivilegeEscalate": ("hostname", HOST_INDEX),
        "Impact": ("hostname", HOST_INDEX),
    }
    classes = {kind.__name__ for kind, allowed in space["action"].items() if allowed}
    sessions = [session for session, known in space["session"].items() if known]
    red_actions = red_actions_of(SCENARIO2)
    offered = [False] * (red_actions.size + 1)
    offered[-1] = sessions != [RED_SERVER]
    offered[RED_SLEEP] = "Sleep" in classes
    for name in classes & parameters.keys():
        parameter, index = parameters[name]
        first = red_actions.kinds.tolist().index(RED_ACTION_CLASSES.index(name))
        for value, known in space[parameter].items():
            if known:
                offered[first + index[value] if value in index else -1] = True
    return offered


# --- a whole moment


def script_plan(state: Any, red_agent: Any) -> Fields:
    """Returns what one of CybORG's own red agents plans."""
    addresses = addresses_of(state)

    def planned(name: str, index: dict[Any, int]) -> list[bool]:
        return _flags(dict.fromkeys(getattr(red_agent, name, ()), True), index)

    return {
        "bline_state": getattr(red_agent, "action", -1),
        "meander_scanned": planned("scanned_ips", addresses),
        "meander_exploited": planned("exploited_ips", addresses),
        "meander_escalated": planned("escalated_hosts", HOST_INDEX),
    }


def moment_fields(controller: Any) -> Fields:
    """Returns what is true now, what Red knows and what it may do."""
    state = controller.state
    machines = [state.hosts[name] for name in HOST_NAMES]
    listening = [[p for process in m.processes for p in _ports_of(process)] for m in machines]
    running = [p.pid for p in machines[OP_SERVER0].processes if p.name == _OT_SERVICE]
    service = machines[OP_SERVER0].services[_OT_SERVICE]
    return {
        "red_access": red_presence(state)[0],
        "red_session_kinds": _session_kinds(state),
        "malware": [any(file.density >= _MALWARE_DENSITY for file in m.files) for m in machines],
        "decoys": [sum({1 << decoy for decoy, _ in live_decoys(m)}) for m in machines],
        "open_ports": [_port_set(ports) for ports in listening],
        "ot_down": not running,
        "ot_stoppable": bool(service["active"]) and service["process"] in running,
        **red_knowledge(controller),
        "red_legal": offered_red_actions(controller),
    }


def _flags(known: dict[Any, bool], index: dict[Any, int], size: int = NUM_HOSTS) -> list[bool]:
    """Turns a dictionary of what is known into flags by our numbers."""
    flags = [False] * size
    for key, value in known.items():
        if key in index:
            flags[index[key]] = value
    return flags


# --- its rules


def played_rules(cyborg: Cyborg, controller: Any, actions: list[Any]) -> str:
    """Returns the rule set an installed CybORG plays, by trying out what the two differ in.

    The state is changed: a reset must follow.

    Raises:
        InvalidInputError: it plays neither rule set.
    """
    state = controller.state
    user3 = state.hosts["User3"]
    address = controller.hostname_ip_map["User3"]
    red = state.sessions["Red"][RED_SERVER]
    scan_class = cyborg.red_actions["DiscoverNetworkServices"]
    scan = scan_class(session=RED_SERVER, agent="Red", ip_address=address)
    scan.sim_execute(state)
    ports, haraka = set(red.ports[address]), _haraka_version(user3)
    actions[_DECOY_SSHD_USER3].sim_execute(state)
    scan.sim_execute(state)
    user3.restore()
    scan.sim_execute(state)
    unites = set(red.ports[address]) != ports
    breaks = _haraka_version(user3) != haraka
    if unites != breaks:
        raise InvalidInputError(
            f"the CybORG in {cyborg.folder} plays neither the rule set main nor competition but "
            "something between them; docs/cyborg.md names commits that work"
        )
    return "competition" if unites else "main"


def _haraka_version(machine: Any) -> Any:
    return next(
        process.version
        for process in machine.processes
        if any(connection["local_port"] == 25 for connection in process.connections)
    )
