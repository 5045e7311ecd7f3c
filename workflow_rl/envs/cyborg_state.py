"""Reads from a running CybORG what its own interface does not give, without its slow true state.

`controller` is everywhere CybORG's environment controller, `state` its simulated network.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.envs.cyborg_import import Cyborg
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import ACTION_NAMES, DECOY_ACTIONS
from workflow_rl.scenario.tables import HOST_NAMES, NUM_HOSTS, OP_SERVER0

HOST_INDEX: Final = {name: host for host, name in enumerate(HOST_NAMES)}
RED_SERVER: Final = 0  # the session on User0 through which Red acts, and which remembers ports
_BLUE_SERVER = 0  # the session on Defender that remembers suspicious process ids
_DECOY_SSHD_USER3 = ACTION_NAMES.index("DecoySSHD User3")
_PRIVILEGED_USERS = frozenset(("root", "SYSTEM"))


def is_privileged(session: Any) -> bool:
    """Says whether a session has all rights on its host."""
    return session.username in _PRIVILEGED_USERS


def suspicious_processes(state: Any) -> dict[str, list[int]]:
    """Returns by host name the process ids that Blue's monitor found suspicious, in their order."""
    pids: dict[str, list[int]] = state.sessions["Blue"][_BLUE_SERVER].sus_pids
    return pids


def is_removable(state: Any, session: Any) -> bool:
    """Says whether Remove would end it."""
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


def reward_parts(controller: Any) -> tuple[float, float, float]:
    """Returns the last reward's parts, each <= 0: confidentiality, availability, action cost."""
    calculator = controller.agent_interfaces["Blue"].reward_calculator
    return (
        sum(calculator.confidentiality_calculator.compromised_hosts.values()),
        sum(calculator.availability_calculator.impacted_hosts.values()),
        controller.action["Blue"].cost,
    )


def write_decoy_mask(state: Any, actions: list[Any], host: int, mask: NDArray[np.bool_]) -> None:
    """Writes, for the host's eight decoy actions, whether CybORG would accept them."""
    machine = state.hosts[HOST_NAMES[host]]
    for index in DECOY_ACTIONS[host]:
        candidates = actions[index].candidate_decoys
        mask[index] = any(candidate.is_host_compatible(machine) for candidate in candidates)


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
    scan = cyborg.port_scan(session=RED_SERVER, agent="Red", ip_address=address)
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
