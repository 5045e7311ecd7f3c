"""What Red did in a step of CybORG, what it drew and how it ended, in the traces' codes."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.envs.cyborg_state import HOST_INDEX, RED_SERVER, red_presence, suspicious_processes
from workflow_rl.parity.cyborg_fields import Fields, addresses_of, live_decoys, subnets_of
from workflow_rl.parity.trace import TRACE_EXPLOIT_NAMES
from workflow_rl.scenario.tables import (
    ENTERPRISE_FOOTHOLDS,
    EXPLOITS,
    HOST_NAMES,
    HOSTS,
    OPERATIONAL_HOSTS,
)
from workflow_rl.sim.state import NOBODY, Access, Outcome, RedAction, Success

Choice = tuple[list[float], float]  # the weights chosen from, and the one taken

_RED_ACTIONS: Final = {
    "Sleep": RedAction.SLEEP,
    "DiscoverRemoteSystems": RedAction.DISCOVER_REMOTE_SYSTEMS,
    "DiscoverNetworkServices": RedAction.DISCOVER_NETWORK_SERVICES,
    "ExploitRemoteService": RedAction.EXPLOIT,
    "PrivilegeEscalate": RedAction.PRIVILEGE_ESCALATE,
    "Impact": RedAction.IMPACT,
}
_EXPLOIT_OF_WEIGHT: Final = {  # CybORG names the candidates of a choice by their weights
    7.0: "FTPDirectoryTraversal",
    6.0: "HarakaRCE",
    5.0: "SQLInjection",
    4.0: "HTTPSRFI",
    3.0: "HTTPRFI",
    2.0: "EternalBlue",
    1.0: "BlueKeep",
    0.1: "SSHBruteForce",
}
_PORT_OF_EXPLOIT: Final = {exploit.name: exploit.port for exploit in EXPLOITS}
_FOOTHOLDS: Final = [host for host in range(len(HOSTS)) if ENTERPRISE_FOOTHOLDS >> host & 1]


@dataclass(frozen=True)
class Before:
    """The moment after Blue and Green have acted and before Red does."""

    access: NDArray[np.int8]  # (13,) Red's
    scanned: frozenset[Any]  # addresses of which Red remembers ports
    suspicious: dict[str, int]  # host -> how many suspicious processes Blue's monitor knows

    @classmethod
    def of(cls, state: Any) -> "Before":
        """Reads the moment from CybORG's state."""
        return cls(
            access=red_presence(state)[0],
            scanned=frozenset(state.sessions["Red"][RED_SERVER].ports),
            suspicious={host: len(pids) for host, pids in suspicious_processes(state).items()},
        )


def success_of(controller: Any, agent: str) -> int:
    """Returns the Success of an agent's last action."""
    return Success[controller.observation[agent].data["success"].name]


def red_fields(controller: Any, before: Before, choices: list[Choice]) -> Fields:
    """Returns what Red did, what it drew and how it ended.

    Args:
        controller: CybORG's environment controller, after the step.
        before: the moment before Red acted.
        choices: what `random.choices` chose in the step.
    """
    action = controller.action["Red"]
    kind = _RED_ACTIONS[type(action).__name__]
    target = _target(controller.state, kind, action)
    success = success_of(controller, "Red")
    exploit = None
    if kind is RedAction.EXPLOIT and action.ip_address in before.scanned:
        exploit = type(action.sub_action).__name__
    decoy = NOBODY
    saw_something = len(controller.observation["Red"].data) > 1
    if exploit and success == Success.FALSE and saw_something:
        decoy = _decoy_on(controller.state, target, _PORT_OF_EXPLOIT[exploit])
    outcome = _outcome(kind, target, success, exploit, decoy, saw_something, before)
    return {
        "red_type": kind,
        "red_target": target,
        "red_success": success,
        "red_outcome": outcome,
        "red_decoy_hit": decoy,
        "red_concrete": TRACE_EXPLOIT_NAMES.index(_technique(kind, target, outcome, exploit)),
        **_exploit_draws(kind, exploit, choices),
        "exploit_detected": _detection(controller.state, target, exploit, outcome, before),
    }


def _target(state: Any, kind: RedAction, action: Any) -> int:
    if kind is RedAction.SLEEP:
        return NOBODY
    if kind is RedAction.DISCOVER_REMOTE_SYSTEMS:
        return subnets_of(state)[action.subnet]
    if kind in (RedAction.PRIVILEGE_ESCALATE, RedAction.IMPACT):
        return HOST_INDEX[action.hostname]
    return addresses_of(state)[action.ip_address]


def _decoy_on(state: Any, host: int, port: int) -> int:
    """Returns the decoy that Red meets on a port, or NOBODY."""
    decoys = live_decoys(state.hosts[HOST_NAMES[host]])
    return next((decoy for decoy, ports in decoys if port in ports), NOBODY)


def _outcome(
    kind: RedAction,
    target: int,
    success: int,
    exploit: str | None,
    decoy: int,
    saw_something: bool,
    before: Before,
) -> Outcome:
    """Names why Red's action ended as it did."""
    if kind is RedAction.SLEEP:
        return Outcome.NOTHING
    if kind is RedAction.DISCOVER_NETWORK_SERVICES:  # it reports success in any case
        return Outcome.SUCCESS if saw_something else Outcome.NO_ROUTE
    escalates = kind is RedAction.PRIVILEGE_ESCALATE
    if success == Success.TRUE:
        held = before.access[target] == Access.PRIVILEGED
        return Outcome.ALREADY_PRIVILEGED if escalates and held else Outcome.SUCCESS
    if kind is RedAction.DISCOVER_REMOTE_SYSTEMS:
        return Outcome.NO_ROUTE
    if escalates:
        return Outcome.NO_SESSION
    if kind is RedAction.IMPACT:
        return Outcome.OT_UNKNOWN if before.access[target] else Outcome.NO_SESSION
    if exploit is None:
        return Outcome.NOT_SCANNED
    if OPERATIONAL_HOSTS >> target & 1 and not before.access[_FOOTHOLDS].any():
        return Outcome.NO_ROUTE
    if not saw_something:
        return Outcome.SERVICE_ABSENT
    if decoy != NOBODY:
        return Outcome.HIT_DECOY
    return Outcome.NO_ACCOUNT if exploit == "SSHBruteForce" else Outcome.BROKEN_SERVICE


def _technique(kind: RedAction, target: int, outcome: Outcome, exploit: str | None) -> str | None:
    if kind is RedAction.PRIVILEGE_ESCALATE and outcome is Outcome.SUCCESS:
        return "JuicyPotato" if HOSTS[target].windows else "V4L2KernelExploit"
    return exploit


def _exploit_draws(kind: RedAction, exploit: str | None, choices: list[Choice]) -> Fields:
    """Returns how the choice between exploits fell; with fewer than two there is none."""
    options, top, other = -1, -1, -1
    if kind is RedAction.EXPLOIT and exploit:
        options = 1
    if choices:
        others, weight = choices[0]
        options = len(others) + 1
        second = _EXPLOIT_OF_WEIGHT[weight]
        top = int(exploit != second)
        other = TRACE_EXPLOIT_NAMES.index(second)
    return {"exploit_n_options": options, "exploit_took_top": top, "exploit_other": other}


def _detection(
    state: Any, target: int, exploit: str | None, outcome: Outcome, before: Before
) -> int:
    """Returns 1 if Blue's monitor has seen the new reverse shell, 0 if not, -1 without a shell.

    A shell that was seen is one suspicious process more.
    """
    if exploit in (None, "SSHBruteForce") or outcome is not Outcome.SUCCESS:
        return -1
    host = HOST_NAMES[target]
    known = len(suspicious_processes(state).get(host, ()))
    return int(known > before.suspicious.get(host, 0))
