"""A network as the compiled rules look things up in it: one record of small integers.

Everything is derived from a `Network` and from nothing else. Sets of hosts are bit masks (bit h =
host h), sets of zones likewise, sets of ports as in `images.PORTS`.
"""

from collections import deque
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from workflow_rl.scenario.actions import ActionKind, actions_of
from workflow_rl.scenario.images import (
    ALL_PORTS,
    DECOY_NAMES,
    IMAGE_NAMES,
    IMAGE_PORTS,
    IMAGE_REFUSES,
    IMAGE_YIELD,
    IMAGES,
    NUM_DECOY_TYPES,
    NUM_DECOYS,
    NUM_EXPLOITS,
    PORTS_OF_DECOYS,
    port_set,
)
from workflow_rl.scenario.network import Blue, Network, Reveal
from workflow_rl.scenario.records import HOSTS_IN_WORD, Axis, capacity_of, record_dtype

NOBODY: Final = -1  # no host, no zone, no action
UNTOLD: Final = -2  # a host whose address is not shown
MOST_GREEN: Final = 64  # hosts that Green chooses from
THIRD: Final = 2  # of a zone's hosts: the one that B_line goes on with

Small = Annotated[int, np.int8, ()]
Number = Annotated[int, np.int64, ()]
HostSet = Annotated[int, np.int64, ()]
ZoneSet = Annotated[int, np.int64, ()]
SmallPerHost = Annotated[NDArray[np.int8], np.int8, (Axis.HOSTS,)]
PortsPerHost = Annotated[NDArray[np.int16], np.int16, (Axis.HOSTS,)]
HostsPerHost = Annotated[NDArray[np.int64], np.int64, (Axis.HOSTS,)]
WordPerDecoy = Annotated[NDArray[np.int64], np.int64, (Axis.HOSTS, NUM_DECOYS)]


class Tables(Protocol):
    """One network; arrays of a host or zone are longer than there are hosts and zones."""

    num_hosts: Number
    num_zones: Number
    num_observed: Number  # hosts of Blue's observation
    num_actions: Number

    # --- Blue's actions
    action_kind: Annotated[NDArray[np.int8], np.int8, (Axis.ACTIONS,)]  # ActionKind
    action_host: Annotated[NDArray[np.int8], np.int8, (Axis.ACTIONS,)]  # or NOBODY
    decoy_action: Annotated[NDArray[np.int16], np.int16, (Axis.HOSTS, NUM_DECOYS)]  # or NOBODY
    misinform_action: Annotated[NDArray[np.int16], np.int16, (Axis.HOSTS,)]  # or NOBODY
    misinforms: Annotated[bool, np.bool_, ()]  # there are any

    # --- what Blue sees
    slot: SmallPerHost  # place in the observation, or NOBODY
    observed_host: SmallPerHost  # the host at each place
    observed: HostSet
    watched: HostSet
    agents: HostSet  # where Blue's actions have an effect
    placeable: PortsPerHost  # decoys that an empty host accepts
    decoy_word: SmallPerHost  # word of Blue's memory with the decoys of the host
    decoys_on: HostsPerHost  # their bits in it
    placed_by: WordPerDecoy  # the bit of a decoy in its word, 0 if it is never accepted
    refused_by: WordPerDecoy  # the bits of those that keep it from being placed
    decoy_bits: Annotated[NDArray[np.int8], np.int8, (Axis.WORDS,)]  # that a word has
    host_bits: Annotated[NDArray[np.int8], np.int8, (Axis.WORDS,)]  # that a word of hosts has

    # --- hosts
    ports: PortsPerHost  # on which the image listens
    doubled: PortsPerHost  # those on which two of its processes do
    passing: PortsPerHost  # that Red's connections reach
    refuses: Annotated[NDArray[np.int16], np.int16, (Axis.HOSTS, NUM_DECOY_TYPES)]  # any in use
    yields: Annotated[NDArray[np.int8], np.int8, (Axis.HOSTS, NUM_EXPLOITS)]  # ServiceYield
    runs_ot: HostSet
    ot_tenths: Annotated[NDArray[np.int16], np.int16, (Axis.HOSTS,)]  # charged while it is down
    uncharged: HostSet  # the foothold, if the session that Red begins with is not charged
    num_costs: Number
    cost_tenths: Annotated[NDArray[np.int16], np.int16, (Axis.HOSTS,)]  # a cost,
    cost_hosts: HostsPerHost  # and the hosts that have it while Red is privileged there

    # --- zones
    zone: SmallPerHost  # of each host
    zone_hosts: HostsPerHost  # of each zone
    opened_by: HostsPerHost  # of each zone: while Red holds one of them it is reached

    # --- what Red is told
    foothold: Number
    reveals: HostsPerHost  # addresses that an escalation on the host shows
    reveals_zones: HostsPerHost
    reveals_ot: HostSet  # hosts that tell of the OT service
    targets: HostSet  # whose service the scripts stop

    # --- Meander
    sweep_order: SmallPerHost  # of zones
    retried_first: HostSet
    retried_second: HostSet

    # --- B_line: CybORG's chain
    bline_zone: Number  # its first sweep, or NOBODY
    bline_first: HostSet  # where it begins
    bline_second: SmallPerHost  # of each first host: the pivot that it leads to, NOBODY or UNTOLD
    bline_second_zone: SmallPerHost  # of each pivot: the zone that it tells of, or NOBODY
    bline_third: SmallPerHost  # of each zone, or NOBODY
    bline_target: Number  # or NOBODY
    bline_told: HostSet  # hosts that reveal the target

    # --- path: B_line's chain along what escalations reveal
    path_first: HostSet
    path_next: SmallPerHost  # of each host: the next one towards a target, or NOBODY
    path_sweeps: HostSet  # hosts whose zone is swept before the next one

    # --- bait
    bait_zone: Number  # its sweep
    bait_first: HostSet
    outside: HostSet  # hosts of other zones

    # --- Green
    num_green: Number
    green: Annotated[NDArray[np.int8], np.int8, (MOST_GREEN,)]  # a host, or NOBODY


def host_set(network: Network, hosts: Iterable[str]) -> int:
    """Returns the set of the named hosts, signed as in a record of 64 bits."""
    return signed(sum(1 << network.number(name) for name in set(hosts)))


def signed(word: int) -> int:
    """Returns a word of 64 bits as the signed number of the same bits."""
    return word - (1 << 64) if word >> 63 else word


@cache
def tables_of(network: Network) -> NDArray[np.void]:
    """Returns (1,) the record of a network, which nobody may change."""
    record = np.zeros(1, record_dtype(Tables, capacity_of(network)))
    tables: Any = record[0]
    tables["num_hosts"], tables["num_zones"] = len(network.hosts), len(network.zones)
    _fill_actions(tables, network)
    _fill_sight(tables, network)
    _fill_hosts(tables, network)
    _fill_zones(tables, network)
    _fill_told(tables, network)
    _fill_bline(tables, network)
    _fill_path(tables, network)
    roles, home = network.roles, network.home
    tables["targets"] = host_set(network, roles.targets)
    tables["retried_first"] = host_set(network, roles.retried_first)
    tables["retried_second"] = host_set(network, roles.retried_second)
    tables["bait_zone"] = network.zone_names.index(home)
    tables["bait_first"] = _first_hosts(network, home, network.foothold)
    tables["outside"] = host_set(
        network, (host for host in network.host_names if network.zone_of[host] != home)
    )
    tables["num_green"] = len(roles.green)
    tables["green"][:] = NOBODY
    for i, host in enumerate(roles.green):
        tables["green"][i] = NOBODY if host is None else network.number(host)
    record.flags.writeable = False
    return record


def _fill_actions(tables: Any, network: Network) -> None:
    actions = actions_of(network)
    tables["num_actions"] = actions.size
    tables["action_kind"][: actions.size] = actions.kinds
    tables["action_host"][: actions.size] = actions.hosts
    tables["decoy_action"][:] = NOBODY
    tables["misinform_action"][:] = NOBODY
    for action, (kind, host) in enumerate(zip(actions.kinds, actions.hosts, strict=True)):
        if kind == ActionKind.MISINFORM:
            tables["misinform_action"][host] = action
            tables["misinforms"] = True
        elif kind >= ActionKind.FIRST_DECOY:
            tables["decoy_action"][host, kind - ActionKind.FIRST_DECOY] = action


def _fill_sight(tables: Any, network: Network) -> None:
    observed = network.observed
    tables["num_observed"] = len(observed)
    tables["slot"][:] = NOBODY
    tables["slot"][[network.number(host) for host in observed]] = np.arange(len(observed))
    tables["observed_host"][: len(observed)] = [network.number(host) for host in observed]
    tables["observed"] = host_set(network, observed)
    blue = {host.name: host.blue for host in network.hosts}
    tables["watched"] = host_set(network, (h for h, has in blue.items() if has is Blue.WATCHED))
    tables["agents"] = host_set(
        network, (h for h, has in blue.items() if has in (Blue.WATCHED, Blue.UNWATCHED))
    )
    words = len(tables["host_bits"])
    for word in range(words):
        shown = len(observed) - word * HOSTS_IN_WORD
        tables["host_bits"][word] = 4 * max(0, min(shown, HOSTS_IN_WORD))
    for host in observed:
        _place_decoys(tables, network, network.number(host))


def _place_decoys(tables: Any, network: Network, host: int) -> None:
    """Gives the decoys that a host can have, and Blue can place, bits of one word of its memory."""
    image = IMAGE_NAMES.index(network.hosts[host].image)
    fit = [
        decoy
        for decoy, name in enumerate(DECOY_NAMES)
        if name in network.actions and not IMAGE_REFUSES[image, decoy] & IMAGE_PORTS[image]
    ]
    word = tables["slot"][host] // HOSTS_IN_WORD
    begin = int(tables["decoy_bits"][word])
    bits = {decoy: 1 << (begin + i) for i, decoy in enumerate(fit)}
    tables["placeable"][host] = sum(1 << decoy for decoy in fit)
    tables["decoy_word"][host] = word
    tables["decoys_on"][host] = signed(sum(bits.values()))
    tables["decoy_bits"][word] = begin + len(fit)
    for decoy in fit:
        needed = IMAGE_REFUSES[image, decoy]
        stop = sum(bit for other, bit in bits.items() if PORTS_OF_DECOYS[1 << other] & needed)
        tables["placed_by"][host, decoy] = signed(bits[decoy])
        tables["refused_by"][host, decoy] = signed(stop)


def _fill_hosts(tables: Any, network: Network) -> None:
    costs: dict[int, int] = {}
    for h, host in enumerate(network.hosts):
        image = IMAGE_NAMES.index(host.image)
        services = [service.port for service in IMAGES[host.image].services]
        tables["ports"][h] = IMAGE_PORTS[image]
        tables["doubled"][h] = port_set(p for p in services if services.count(p) > 1)
        tables["refuses"][h] = IMAGE_REFUSES[image]
        tables["yields"][h] = IMAGE_YIELD[image]
        if IMAGES[host.image].runs_ot_service:
            tables["runs_ot"] |= signed(1 << h)
        tables["ot_tenths"][h] = round(10 * host.service_value)
        if cost := round(10 * host.value):
            costs[cost] = costs.get(cost, 0) | 1 << h
    if not network.foothold_charged:
        tables["uncharged"] = host_set(network, (network.foothold,))
    tables["num_costs"] = len(costs)
    for i, cost in enumerate(sorted(costs)):
        tables["cost_tenths"][i] = cost
        tables["cost_hosts"][i] = signed(costs[cost])


def _fill_zones(tables: Any, network: Network) -> None:
    for z, zone in enumerate(network.zones):
        tables["zone_hosts"][z] = host_set(network, zone.hosts)
        tables["opened_by"][z] = host_set(network, network.openers(zone))
        passing = ALL_PORTS if zone.ports is None else port_set(zone.ports)
        for host in zone.hosts:
            tables["zone"][network.number(host)] = z
            tables["passing"][network.number(host)] = passing
    met = dict.fromkeys(network.zone_of[host] for host in network.host_names)
    order = [network.zone_names.index(zone) for zone in met]
    empty = [z for z in range(len(network.zones)) if z not in order]
    tables["sweep_order"][: len(network.zones)] = order + empty


def _fill_told(tables: Any, network: Network) -> None:
    tables["foothold"] = network.number(network.foothold)
    for h, host in enumerate(network.hosts):
        tables["reveals"][h] = addresses_of(network, host.reveals)
        tables["reveals_zones"][h] = zones_of(network, host.reveals)
        runs = any(r.ot_service and _runs_ot(network, r.host) for r in host.reveals)
        tables["reveals_ot"] |= signed(runs << h)


def _runs_ot(network: Network, host: str) -> bool:
    return IMAGES[network.hosts[network.number(host)].image].runs_ot_service


def addresses_of(network: Network, reveals: Iterable[Reveal]) -> int:
    """Returns the hosts whose addresses are shown."""
    return host_set(network, (reveal.host for reveal in reveals if reveal.address))


def zones_of(network: Network, reveals: Iterable[Reveal]) -> int:
    """Returns the zones that are shown."""
    names = {network.zone_of[reveal.host] for reveal in reveals if reveal.zone}
    return signed(sum(1 << network.zone_names.index(name) for name in names))


def _first_hosts(network: Network, zone: str, but: str) -> int:
    inside = (h for h in network.host_names if network.zone_of[h] == zone and h != but)
    return host_set(network, inside)


def _fill_bline(tables: Any, network: Network) -> None:
    roles, pivots = network.roles, set(network.roles.pivots)
    tables["bline_second"][:] = NOBODY
    tables["bline_second_zone"][:] = NOBODY
    tables["bline_third"][:] = NOBODY
    tables["bline_zone"] = NOBODY
    if roles.entry is not None:
        zone = network.zone_of[roles.entry]
        tables["bline_zone"] = network.zone_names.index(zone)
        tables["bline_first"] = _first_hosts(network, zone, roles.entry)
    tables["bline_target"] = network.number(roles.targets[0]) if roles.targets else NOBODY
    for h, host in enumerate(network.hosts):
        told = {reveal.host: reveal for reveal in host.reveals if reveal.address}
        shown = {host.name, *(reveal.host for reveal in host.reveals)}
        second = [name for name in (host.name, *network.host_names) if name in pivots & shown]
        if second:
            known = second[0] in told
            tables["bline_second"][h] = network.number(second[0]) if known else UNTOLD
        itself = told.get(host.name)
        if itself is not None and itself.zone:
            tables["bline_second_zone"][h] = network.zone_names.index(network.zone_of[host.name])
        if roles.targets and roles.targets[0] in told:
            tables["bline_told"] |= signed(1 << h)
    for z, third_in in enumerate(network.zones):
        if len(third_in.hosts) > THIRD:
            tables["bline_third"][z] = network.number(third_in.hosts[THIRD])


def _fill_path(tables: Any, network: Network) -> None:
    """Finds, from every host, the next one on a shortest way of escalations to a target."""
    leads = [_leads_to(network, h) for h in range(len(network.hosts))]
    tables["path_next"][:] = NOBODY
    steps = {network.number(target): 0 for target in network.roles.targets}
    queue = deque(sorted(steps))
    while queue:
        there = queue.popleft()
        for here in range(len(network.hosts)):
            if here not in steps and there in leads[here]:
                steps[here] = steps[there] + 1
                tables["path_next"][here] = there
                queue.append(here)
    for here in range(len(network.hosts)):
        following = int(tables["path_next"][here])
        if following != NOBODY and not int(tables["reveals"][here]) >> following & 1:
            tables["path_sweeps"] |= signed(1 << here)
    home = [network.number(h) for h in network.host_names if network.zone_of[h] == network.home]
    foothold = network.number(network.foothold)
    first = [host for host in home if host != foothold and host in steps] or [foothold]
    tables["path_first"] = signed(sum(1 << host for host in first))


def _leads_to(network: Network, host: int) -> set[int]:
    """Returns the hosts that Red can go on with after an escalation on a host."""
    told = network.hosts[host].reveals
    names = {reveal.host for reveal in told if reveal.address}
    zones = {network.zone_of[reveal.host] for reveal in told if reveal.zone}
    names |= {name for name, zone in network.zone_of.items() if zone in zones}
    reached = {entered.name for entered in network.zones if network.openers(entered)}
    return {network.number(name) for name in names if network.zone_of[name] in reached} - {host}
