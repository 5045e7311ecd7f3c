"""Reads from a running CybORG what its own interface does not give, without its slow true state.

`controller` is everywhere CybORG's environment controller, `state` its simulated network.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.envs.cyborg_import import Cyborg, load_cyborg
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import ActionKind, actions_of
from workflow_rl.scenario.images import DECOY_NAMES, IMAGES, NUM_DECOYS, port_set
from workflow_rl.scenario.network import Blue, Network
from workflow_rl.sim.red_given import RED_ACTION_CLASSES, RED_SLEEP, red_actions_of

Fields = dict[str, Any]  # by the names of a trace's arrays (docs/parity.md)

RED_SERVER: Final = 0  # the session on the foothold through which Red acts; it remembers ports
_BLUE_SERVER: Final = 0  # the session that remembers suspicious process ids
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
_VSFTPD: Final = DECOY_NAMES.index("DecoyVsftpd")
# The type that a decoy's process has unless Misinform placed it, and the decoy that it is then.
_OF_MISINFORM: Final = {"Smss.exe": ("SMB", NUM_DECOYS), "Svchost.exe": ("RDP", NUM_DECOYS + 1)}


# --- sessions, processes and files


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


def _ports_of(process: Any) -> list[int]:
    """Returns the ports on which a process listens."""
    return [c["local_port"] for c in process.connections if "remote_port" not in c]


def _decoy_of(process: Any) -> int:
    """Returns the number of the decoy that a process is."""
    usual, otherwise = _OF_MISINFORM.get(process.name, (process.process_type.name, 0))
    is_usual = process.process_type.name == usual
    return _DECOY_OF_PROCESS[process.name] if is_usual else otherwise


def live_decoys(machine: Any) -> list[tuple[int, list[int]]]:
    """Returns each decoy's type and ports, in the order in which Red meets them."""
    return [
        (_decoy_of(process), _ports_of(process))
        for process in machine.processes
        if process.decoy_type
    ]


def reward_parts(controller: Any) -> tuple[float, float, float]:
    """Returns the last reward's parts, each <= 0: confidentiality, availability, action cost."""
    calculator = controller.agent_interfaces["Blue"].reward_calculator
    return (
        sum(calculator.confidentiality_calculator.compromised_hosts.values()),
        sum(calculator.availability_calculator.impacted_hosts.values()),
        controller.action["Blue"].cost,
    )


class Truth:
    """What is true in a CybORG, by the numbers of the network that it plays."""

    def __init__(self, network: Network, controller: Any) -> None:
        """Takes the network, and the controller of the CybORG that plays it."""
        self.network = network
        self.controller = controller
        self.host_index: Final = {name: host for host, name in enumerate(network.host_names)}
        self._zone_index = {name: zone for zone, name in enumerate(network.zone_names)}
        self._acting = [host.blue in (Blue.WATCHED, Blue.UNWATCHED) for host in network.hosts]
        self._targets = [h for h, host in enumerate(network.hosts) if _runs_ot(host.image)]
        actions = actions_of(network)
        decoys = actions.kinds >= ActionKind.FIRST_DECOY
        self._decoy_actions = [
            np.flatnonzero(decoys & (actions.hosts == host)).tolist()
            for host in range(len(network.hosts))
        ]

    @property
    def state(self) -> Any:
        """CybORG's simulated network."""
        return self.controller.state

    # --- for Blue's side

    def red_presence(self) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
        """Returns (hosts,) Red's access, as in `Cage2Env`, and where Remove would kill a shell."""
        access = [0] * len(self.host_index)
        removable = [False] * len(self.host_index)
        for session in self.state.sessions["Red"].values():
            host = self.host_index[session.host]
            access[host] = max(access[host], 1 + is_privileged(session))
            removable[host] = removable[host] or is_removable(self.state, session)
        return np.array(access, np.int8), np.array(removable, np.bool_)

    def write_decoy_mask(self, actions: list[Any], host: int, mask: NDArray[np.bool_]) -> None:
        """Writes, for the host's decoy actions, whether CybORG would accept them."""
        machine = self.machine(host)
        for index in self._decoy_actions[host]:
            candidates = actions[index].candidate_decoys
            fits = any(candidate.is_host_compatible(machine) for candidate in candidates)
            mask[index] = self._acting[host] and fits

    def short_request(self) -> dict[str, dict[str, Any]]:
        """Returns a request for that part of the true state which the reward is computed from.

        At every step CybORG describes the whole network to its reward calculators, which takes
        most of its time. They look at Red's sessions and for the OT services.
        """
        request: dict[str, dict[str, Any]] = {
            name: {"System info": "All", "Sessions": "Red"} for name in self.network.host_names
        }
        for host in self._targets:
            request[self.network.host_names[host]]["Processes"] = ["All"]
        return request

    # --- hosts, addresses, zones

    def machine(self, host: int) -> Any:
        """Returns CybORG's object of a host."""
        return self.state.hosts[self.network.host_names[host]]

    def addresses(self) -> dict[Any, int]:
        """Returns the host of each address; they are drawn anew for every episode."""
        return {address: self.host_index[name] for address, name in self.state.ip_addresses.items()}

    def zones(self) -> dict[Any, int]:
        """Returns the number of each zone, by its block of addresses."""
        blocks = self.state.subnet_name_to_cidr.items()
        return {block: self._zone_index[name] for name, block in blocks}

    # --- what Red knows

    def red_knowledge(self) -> Fields:
        """Returns what Red knows: zones, addresses, names, ports, the OT service."""
        space = self.controller.agent_interfaces["Red"].action_space
        memory = self.state.sessions["Red"][RED_SERVER]
        addresses = self.addresses()
        remembered = {addresses[address]: port_set(seen) for address, seen in memory.ports.items()}
        hosts = range(len(self.host_index))
        return {
            "ot_known": memory.ot_service is not None,
            "red_ip_known": _flags(space.ip_address, addresses),
            "red_host_known": _flags(space.hostname, self.host_index),
            "red_subnet_known": _flags(space.subnet, self.zones()),
            "red_scanned": [host in remembered for host in hosts],
            "red_ports": [remembered.get(host, 0) for host in hosts],
        }

    def offered_red_actions(self) -> list[bool]:
        """Returns which of Red's actions CybORG offers, and whether it offers them with more.

        More would be another session or a subnet, address or name that is none of ours. The
        concrete exploits, which CybORG offers as well, are left out: `ExploitRemoteService` draws
        one of them.
        """
        space = self.controller.agent_interfaces["Red"].action_space.get_action_space()
        addresses = self.addresses()
        parameters = {
            "DiscoverRemoteSystems": ("subnet", self.zones()),
            "DiscoverNetworkServices": ("ip_address", addresses),
            "ExploitRemoteService": ("ip_address", addresses),
            "PrivilegeEscalate": ("hostname", self.host_index),
            "Impact": ("hostname", self.host_index),
        }
        classes = {kind.__name__ for kind, allowed in space["action"].items() if allowed}
        sessions = [session for session, known in space["session"].items() if known]
        red_actions = red_actions_of(self.network)
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

    def script_plan(self, red_agent: Any) -> Fields:
        """Returns what one of CybORG's own red agents plans."""
        addresses = self.addresses()

        def planned(name: str, index: Mapping[Any, int]) -> list[bool]:
            return _flags(dict.fromkeys(getattr(red_agent, name, ()), True), index)

        return {
            "bline_state": getattr(red_agent, "action", -1),
            "meander_scanned": planned("scanned_ips", addresses),
            "meander_exploited": planned("exploited_ips", addresses),
            "meander_escalated": planned("escalated_hosts", self.host_index),
            "meander_mapped": planned("host_ip_map", self.host_index),
            "meander_subnets": planned("scanned_subnets", self.zones()),
        }

    def moment(self) -> Fields:
        """Returns what is true now, what Red knows and what it may do."""
        machines = [self.machine(host) for host in range(len(self.host_index))]
        listening = [[p for process in m.processes for p in _ports_of(process)] for m in machines]
        decoys = [[decoy for decoy, _ in live_decoys(machine)] for machine in machines]
        down, stoppable = self._ot_services()
        return {
            "red_access": self.red_presence()[0],
            "red_session_kinds": self._session_kinds(),
            "malware": [any(f.density >= _MALWARE_DENSITY for f in m.files) for m in machines],
            "decoys": [sum(1 << decoy for decoy in set(there)) for there in decoys],
            "vsftpd_count": [there.count(_VSFTPD) for there in decoys],
            "open_ports": [port_set(ports) for ports in listening],
            "ot_down": down,
            "ot_stoppable": stoppable,
            **self.red_knowledge(),
            "red_legal": self.offered_red_actions(),
        }

    def _ot_services(self) -> tuple[list[bool], list[bool]]:
        """Returns (hosts,) whose OT service is down, and where an impact would stop it."""
        down, stoppable = [False] * len(self.host_index), [False] * len(self.host_index)
        for host in self._targets:
            machine = self.machine(host)
            running = [p.pid for p in machine.processes if p.name == _OT_SERVICE]
            service = machine.services[_OT_SERVICE]
            down[host] = not running
            stoppable[host] = bool(service["active"]) and service["process"] in running
        return down, stoppable

    def _session_kinds(self) -> NDArray[np.int64]:
        """Returns (hosts, 4) sessions of Red's: removable, undetected, by SSH, privileged."""
        kinds = np.zeros((len(self.host_index), 4), np.int64)
        for session in self.state.sessions["Red"].values():
            if is_privileged(session):
                kind = 3
            elif is_removable(self.state, session):
                kind = 0
            else:
                kind = 2 if session.session_type.name == "SSH" else 1
            kinds[self.host_index[session.host], kind] += 1
        return kinds


def _runs_ot(image: str) -> bool:
    return IMAGES[image].runs_ot_service


def _flags(known: Mapping[Any, bool], index: Mapping[Any, int]) -> list[bool]:
    """Turns a dictionary of what is known into flags by our numbers."""
    flags = [False] * len(index)
    for key, value in known.items():
        if key in index:
            flags[index[key]] = value
    return flags


# --- its rules


@cache
def played_rules(folder: Path) -> str:
    """Returns the rule set that the CybORG in a folder plays, by what the two differ in.

    It is tried out on Scenario2: on another network the hosts that show it might not exist.

    Raises:
        InvalidInputError: it plays neither rule set.
    """
    cyborg = load_cyborg(folder)
    controller = cyborg.environment(cyborg.scenario, "sim").environment_controller
    breaks = _breaks_haraka(controller)
    controller.reset()
    unites = _unites_ports(cyborg, controller)
    if unites != breaks:
        raise InvalidInputError(
            f"the CybORG in {folder} plays neither the rule set main nor competition but "
            "something between them; docs/cyborg.md names commits that work"
        )
    return "competition" if unites else "main"


def _breaks_haraka(controller: Any) -> bool:
    """Says whether a restored User3 has another Haraka."""
    user3 = controller.state.hosts["User3"]
    fresh = _haraka_version(user3)
    user3.restore()
    return bool(_haraka_version(user3) != fresh)


def _unites_ports(cyborg: Cyborg, controller: Any) -> bool:
    """Says whether a second scan adds to the ports that Red remembers of User3."""
    state = controller.state
    address = controller.hostname_ip_map["User3"]
    memory = state.sessions["Red"][RED_SERVER].ports
    scan_class = cyborg.red_actions["DiscoverNetworkServices"]
    scan = scan_class(session=RED_SERVER, agent="Red", ip_address=address)
    scan.sim_execute(state)
    ports = set(memory[address])
    cyborg.decoy_sshd(session=_BLUE_SERVER, agent="Blue", hostname="User3").sim_execute(state)
    scan.sim_execute(state)
    state.hosts["User3"].restore()
    scan.sim_execute(state)
    return set(memory[address]) != ports


def _haraka_version(machine: Any) -> Any:
    return next(
        process.version
        for process in machine.processes
        if any(connection["local_port"] == 25 for connection in process.connections)
    )
