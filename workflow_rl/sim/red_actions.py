"""Red's five actions, executed through its first session on its foothold."""

from workflow_rl.jit import rule
from workflow_rl.scenario.images import (
    BRUTE_FORCE_ATTEMPTS,
    DECOYS_TRAPPING,
    EXPLOIT_NEEDS_ONE_OF,
    EXPLOIT_PORT,
    HARAKA_RCE,
    NUM_EXPLOITS,
    SHELL_DETECTION_PROBABILITY,
    SSH_BRUTE_FORCE,
    ServiceYield,
)
from workflow_rl.scenario.records import ONE
from workflow_rl.scenario.tables import NOBODY, Tables
from workflow_rl.sim.draws import Draws, choose_exploit, count, first, happens
from workflow_rl.sim.network import (
    is_reachable,
    open_ports,
    record_events,
    record_scan,
    record_shell_event,
    red_hosts,
    zone_is_reached,
)
from workflow_rl.sim.state import Outcome, RedAction, Settings, State, Success

_SWEEP = int(RedAction.DISCOVER_REMOTE_SYSTEMS)
_SCAN = int(RedAction.DISCOVER_NETWORK_SERVICES)
_EXPLOIT = int(RedAction.EXPLOIT)
_ESCALATE = int(RedAction.PRIVILEGE_ESCALATE)
_IMPACT = int(RedAction.IMPACT)

_TRUE, _FALSE, _UNKNOWN = int(Success.TRUE), int(Success.FALSE), int(Success.UNKNOWN)

_NOTHING = int(Outcome.NOTHING)
_SUCCESS = int(Outcome.SUCCESS)
_HIT_DECOY = int(Outcome.HIT_DECOY)
_NO_ROUTE = int(Outcome.NO_ROUTE)
_SERVICE_ABSENT = int(Outcome.SERVICE_ABSENT)
_BROKEN_SERVICE = int(Outcome.BROKEN_SERVICE)
_NO_ACCOUNT = int(Outcome.NO_ACCOUNT)
_NOT_SCANNED = int(Outcome.NOT_SCANNED)
_NO_SESSION = int(Outcome.NO_SESSION)
_ALREADY_PRIVILEGED = int(Outcome.ALREADY_PRIVILEGED)
_OT_UNKNOWN = int(Outcome.OT_UNKNOWN)
_NO_OPTION = int(Outcome.NO_OPTION)
_NO_OT_SERVICE = int(Outcome.NO_OT_SERVICE)

_MOST_COUNTED = 127  # sessions of a kind on one host

_NO_SERVICE = int(ServiceYield.NO_SERVICE)
_PRIVILEGED_SHELL = int(ServiceYield.PRIVILEGED_SHELL)
_YIELDS_NO_ACCOUNT = int(ServiceYield.NO_ACCOUNT)


@rule
def red_acts(env: State, net: Tables, settings: Settings, draws: Draws) -> None:
    """Executes the action that Red's agent has chosen."""
    env.red_exploit = NOBODY
    env.red_options = -1
    env.red_decoy_hit = NOBODY
    action = env.red_action
    target = env.red_target
    if action == _EXPLOIT:
        outcome = exploit_remote_service(env, net, settings, target, draws)
    elif action == _ESCALATE:
        outcome = privilege_escalate(env, net, target, draws.detection)
    elif action == _SCAN:
        outcome = discover_network_services(env, net, settings, target)
    elif action == _IMPACT:
        outcome = impact(env, net, target)
    elif action == _SWEEP:
        outcome = discover_remote_systems(env, net, target)
    else:
        outcome = _NOTHING
    env.red_outcome = outcome
    env.red_success = success_of(action, outcome)


@rule
def success_of(action: int, outcome: int) -> int:
    """Returns the success that Red observes for an outcome.

    Reference quirk: a port scan without a route finds nothing and still reports success.
    """
    if outcome == _NOTHING:
        return _UNKNOWN
    if outcome in (_SUCCESS, _ALREADY_PRIVILEGED):
        return _TRUE
    return _TRUE if action == _SCAN else _FALSE


@rule
def discover_remote_systems(env: State, net: Tables, zone: int) -> int:
    """Sweeps a zone: all its addresses become known. Blue sees nothing."""
    if not zone_is_reached(env, net, zone):
        return _NO_ROUTE
    env.addresses_known |= net.zone_hosts[zone]
    return _SUCCESS


@rule
def discover_network_services(env: State, net: Tables, settings: Settings, host: int) -> int:
    """Scans a host's ports, decoys included; Red remembers what it saw at the last scan.

    It sees the ports that its zone lets pass; if there are none, nothing is remembered anew. Under
    the competition rules Red unites what it saw with what it remembered.
    """
    seen = open_ports(env, net, host) & net.passing[host]
    if not seen or not is_reachable(env, net, host):
        return _NO_ROUTE
    remembered = env.ports[host] if settings.rescan_unites_ports else 0
    env.ports[host] = remembered | seen
    env.ports_known |= ONE << host
    record_scan(env, net, host, net.passing[host])
    return _SUCCESS


@rule
def exploit_options(ports: int) -> int:
    """Returns the exploits (bit e = exploit e) that fit the ports Red remembers."""
    options = 0
    for exploit in range(NUM_EXPLOITS):
        if ports & EXPLOIT_PORT[exploit] and ports & EXPLOIT_NEEDS_ONE_OF[exploit]:
            options |= 1 << exploit
    return options


@rule
def exploit_remote_service(
    env: State, net: Tables, settings: Settings, host: int, draws: Draws
) -> int:
    """Attacks a host by one of the exploits that fit the ports Red remembers of it."""
    if not (env.ports_known >> host & 1):
        return _NOT_SCANNED
    options = exploit_options(env.ports[host])
    env.red_options = count(options)
    if not options:
        return _NO_OPTION
    exploit = choose_exploit(draws.exploit, options)
    env.red_exploit = exploit
    if not is_reachable(env, net, host):
        return _NO_ROUTE
    service = net.yields[host, exploit]
    if service == _NO_SERVICE:
        return attack_decoy(env, host, exploit)
    if exploit == SSH_BRUTE_FORCE:
        return brute_force_ssh(env, host, service)
    if settings.haraka_breaks and exploit == HARAKA_RCE and env.restored >> host & 1:
        record_events(env, host, EXPLOIT_PORT[exploit], 1)
        return _BROKEN_SERVICE
    record_events(env, host, EXPLOIT_PORT[exploit], 1)
    open_reverse_shell(env, net, host, service == _PRIVILEGED_SHELL, draws.detection)
    learn_name(env, host)
    return _SUCCESS


@rule
def attack_decoy(env: State, host: int, exploit: int) -> int:
    """Hits a decoy that imitates the attacked service, or nothing at all.

    Reference quirk: a remembered port without its service absorbs the exploit with no event.
    """
    trapping = env.decoys[host] & DECOYS_TRAPPING[exploit]
    if not trapping:
        return _SERVICE_ABSENT
    env.red_decoy_hit = first(trapping)
    connections = BRUTE_FORCE_ATTEMPTS if exploit == SSH_BRUTE_FORCE else 2
    record_events(env, host, EXPLOIT_PORT[exploit], connections)
    return _HIT_DECOY


@rule
def brute_force_ssh(env: State, host: int, service: int) -> int:
    """Guesses a password: a user-level session that Remove never finds, and no file."""
    record_events(env, host, EXPLOIT_PORT[SSH_BRUTE_FORCE], BRUTE_FORCE_ATTEMPTS)
    if service == _YIELDS_NO_ACCOUNT:
        return _NO_ACCOUNT
    record_events(env, host, EXPLOIT_PORT[SSH_BRUTE_FORCE], 1)
    add_user_session(env, host, False)
    learn_name(env, host)
    return _SUCCESS


@rule
def open_reverse_shell(
    env: State, net: Tables, host: int, privileged: bool, detection: int
) -> None:
    """Opens a shell as the owner of the attacked process and leaves a malware file.

    Only a shell whose call home Blue's monitor has seen (95 % where it watches) can be killed by
    Remove.
    """
    env.malware |= ONE << host
    detected = happens(detection, SHELL_DETECTION_PROBABILITY)
    if detected:
        record_shell_event(env, host)
    if privileged:
        env.privileged |= ONE << host
        env.foothold_root = env.foothold_root or host == net.foothold
    else:
        add_user_session(env, host, detected and net.watched >> host & 1 != 0)


@rule
def add_user_session(env: State, host: int, removable: bool) -> None:
    """Adds a user-level session, and counts those of its kind beyond the first."""
    sessions = env.removable if removable else env.persistent
    if sessions >> host & 1 and not (env.privileged >> host & 1):
        more = env.more_removable if removable else env.more_persistent
        more[host] = min(more[host] + 1, _MOST_COUNTED)
    if removable:
        env.removable |= ONE << host
    else:
        env.persistent |= ONE << host


@rule
def learn_name(env: State, host: int) -> None:
    """Notes the name and address of a host Red got into."""
    env.names_known |= ONE << host
    env.addresses_known |= ONE << host


@rule
def privilege_escalate(env: State, net: Tables, host: int, draw: int) -> int:
    """Turns a user session into a privileged one; it never fails where a session exists.

    Success shows Red what the host reveals: zones, addresses, the OT service. Blue sees nothing.
    """
    if not (red_hosts(env) >> host & 1):
        return _NO_SESSION
    outcome = _ALREADY_PRIVILEGED
    if not (env.privileged >> host & 1):
        escalate_session(env, host, draw)
        outcome = _SUCCESS
    env.subnets_known |= net.reveals_zones[host]
    env.addresses_known |= net.reveals[host]
    if net.reveals_ot >> host & 1:
        env.ot_known = True
    return outcome


@rule
def escalate_session(env: State, host: int, draw: int) -> None:
    """Makes one of a host's user-level sessions, any of them, a privileged one and leaves a file.

    An escalated shell is out of Remove's reach; further ones that Remove kills stay so.
    """
    persistent = (env.persistent >> host & 1) + env.more_persistent[host]
    if not env.more_removable[host] and (
        not persistent or happens(draw, 1 / (1 + persistent))  # the only one that Remove kills
    ):
        env.removable &= ~(ONE << host)
    env.more_removable[host] = 0
    env.more_persistent[host] = 0
    env.privileged |= ONE << host
    env.malware |= ONE << host


@rule
def impact(env: State, net: Tables, host: int) -> int:
    """Stops the OT service, through a session of any level once the service is known.

    It fails on a host that does not run the service.

    Reference quirk: after any Restore of the host it still succeeds but stops nothing.
    """
    if not (red_hosts(env) >> host & 1):
        return _NO_SESSION
    if not env.ot_known:
        return _OT_UNKNOWN
    if not (net.runs_ot >> host & 1):
        return _NO_OT_SERVICE
    if not (env.restored >> host & 1):
        env.ot_down |= ONE << host
    return _SUCCESS
