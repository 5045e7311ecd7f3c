"""Recordings of CybORG on other networks than Scenario2: each has a rare feature."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.parity.fixtures import changed, corrupted
from tests.refused import refused
from workflow_rl.config import RuleSetName
from workflow_rl.parity.replay import Comparison, compare
from workflow_rl.parity.trace import Trace, find_networks, load_trace
from workflow_rl.scenario.images import PORTS
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Blue, Host, Network, Reach, Zone
from workflow_rl.sim.state import Raised

FOLDER = Path(__file__).parent / "networks"
NETWORKS = {
    folder: network
    for folder, network in find_networks(FOLDER).items()
    if any(folder.glob("*.npz"))
}
RECORDINGS = [path for folder in NETWORKS for path in sorted(folder.glob("*.npz"))]


def network_of(name: str) -> Network:
    return NETWORKS[FOLDER / name]


def recording(path: Path, network: Network | None = None) -> Trace:
    return load_trace(path, network or NETWORKS[path.parent])


def rules_of(trace: Trace) -> RuleSetName:
    assert trace.rules is not None
    return trace.rules


def replayed(path: Path, network: Network | None = None) -> Comparison:
    trace = recording(path, network)
    return compare(trace, rules_of(trace))


def name_of(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


@pytest.mark.parametrize("path", RECORDINGS, ids=name_of)
def test_the_recordings_replay_without_a_mismatch(path: Path) -> None:
    trace = recording(path)
    result = compare(trace, rules_of(trace))
    assert result.first is None
    assert (result.mismatches, result.episodes) == (0, trace.episodes)
    assert result.steps == trace.lengths.sum()
    assert "red_raised" in result.fields


def test_the_networks_have_the_features_that_scenario2_has_not() -> None:
    networks = list(NETWORKS.values())
    hosts = [host for network in networks for host in network.hosts]
    zones = [zone for network in networks for zone in network.zones]
    assert {host.blue for host in hosts} >= {Blue.WATCHED, Blue.NO_AGENT, Blue.HIDDEN}
    assert {zone.reach for zone in zones} == {Reach.OPEN, Reach.GATED, Reach.CLOSED}
    assert any(zone.ports for zone in zones)
    assert any("Misinform" in network.actions for network in networks)
    services = [Counter(host.image for host in network.hosts)["OP_Server"] for network in networks]
    assert max(services) > 1
    assert not all(network.foothold_charged for network in networks)
    assert len({len(network.hosts) for network in networks}) > 5
    raised = {
        Raised(kind) for path in RECORDINGS for kind in recording(path).raised.tolist() if kind
    }
    assert raised == set(Raised) - {Raised.NOTHING}
    assert {rules_of(recording(path)) for path in RECORDINGS} == {"main", "competition"}


@pytest.mark.parametrize("name", sorted(path.name for path in NETWORKS))
def test_another_network_is_refused(name: str) -> None:
    folder = FOLDER / name
    other = next(network for path, network in NETWORKS.items() if path != folder)
    for path in sorted(folder.glob("*.npz")):
        for wrong in (SCENARIO2, other):
            refused(
                f"^{path.name} (was recorded on another|is not a trace)", load_trace, path, wrong
            )


def with_hosts(network: Network, **fields: Any) -> Network:
    return replace(network, hosts=tuple(replace(host, **fields) for host in network.hosts))


def with_zones(network: Network, change: Any) -> Network:
    return replace(network, zones=tuple(change(zone) for zone in network.zones))


def without_closed(zone: Zone) -> Zone:
    return replace(zone, reach=Reach.OPEN) if zone.reach is Reach.CLOSED else zone


def without_gate(zone: Zone) -> Zone:
    return replace(zone, reach=Reach.OPEN) if zone.reach is Reach.GATED else zone


def shut(zone: Zone) -> Zone:
    return replace(zone, reach=Reach.CLOSED) if zone.reach is Reach.GATED else zone


def all_ports(zone: Zone) -> Zone:
    return replace(zone, ports=None)


def with_ssh(zone: Zone) -> Zone:
    return zone if zone.ports is None else replace(zone, ports=PORTS)


def turned(zone: Zone) -> Zone:
    return replace(zone, hosts=zone.hosts[::-1])


def seen(host: Host) -> Host:
    return host if host.blue is Blue.HIDDEN else replace(host, blue=Blue.WATCHED)


CHANGES: dict[str, tuple[str, Any]] = {  # a network, and the same with one rule changed
    "a closed zone is open": ("feat_02", lambda net: with_zones(net, without_closed)),
    "a gate is always open": ("net_16", lambda net: with_zones(net, without_gate)),
    "a gate is always shut": ("net_16", lambda net: with_zones(net, shut)),
    "a port list lets everything pass": ("feat_01", lambda net: with_zones(net, all_ports)),
    "a port list lets more pass": ("feat_01", lambda net: with_zones(net, with_ssh)),
    "hosts in a zone stand in another order": ("net_02", lambda net: with_zones(net, turned)),
    "every host has an agent": (
        "feat_09",
        lambda net: replace(net, hosts=tuple(seen(host) for host in net.hosts)),
    ),
    "nothing is watched": ("net_02", lambda net: with_hosts(net, blue=Blue.UNWATCHED)),
    "no host has a value": ("net_02", lambda net: with_hosts(net, value=0.0)),
    "escalations reveal nothing": ("net_08", lambda net: with_hosts(net, reveals=())),
    "the foothold is charged": ("feat_04", lambda net: replace(net, foothold_charged=True)),
    "nothing is retried after a failed exploit": (
        "net_08",
        lambda net: replace(net, roles=replace(net.roles, retried_first=(), retried_second=())),
    ),
    "every service is a target": (
        "feat_08",
        lambda net: replace(
            net,
            roles=replace(
                net.roles,
                targets=tuple(host.name for host in net.hosts if host.image == "OP_Server"),
            ),
        ),
    ),
    "no host is a target": (
        "feat_08",
        lambda net: replace(net, roles=replace(net.roles, targets=())),
    ),
    "there is an entry": (
        "crash_01",
        lambda net: replace(net, roles=replace(net.roles, entry=net.foothold)),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_rule_is_noticed(change: str) -> None:
    name, change_of = CHANGES[change]
    wrong = change_of(network_of(name))
    results = [replayed(path, wrong) for path in sorted((FOLDER / name).glob("*.npz"))]
    assert sum(result.mismatches for result in results) > 0
    assert any(result.first is not None for result in results)


@pytest.mark.parametrize("name", ["crash_01", "crash_02"])
def test_the_step_in_which_red_raises_is_compared(name: str) -> None:
    for path in sorted((FOLDER / name).glob("*.npz")):
        trace = recording(path)
        rules = rules_of(trace)
        later = compare(replace(trace, raised=np.zeros_like(trace.raised)), rules)
        assert later.mismatches == np.count_nonzero(trace.raised) > 0
        assert later.first is not None
        episode = int(np.flatnonzero(trace.raised)[0])
        assert (later.first.field, later.first.episode, later.first.step) == (
            *("red_raised", episode),
            trace.lengths[episode],
        )


@pytest.mark.parametrize(
    "field", ["blue_valid", "vsftpd_count", "meander_mapped", "meander_subnets"]
)
def test_what_only_these_recordings_have_is_compared(field: str) -> None:
    trace = recording(FOLDER / "feat_06" / "meander.npz")
    inner = (0,) * (trace.arrays[field].ndim - 2)
    result = compare(corrupted(trace, field, (1, 40, *inner)), "main")
    assert (result.mismatches, result.first and result.first.field) == (1, field)


def test_the_decoy_that_misinform_placed_is_a_draw_of_the_recording() -> None:
    trace = recording(FOLDER / "feat_08" / "meander.npz")
    decoys = trace.arrays["decoys"]
    new = decoys[:, 1:] & ~decoys[:, :-1]
    episode, step, host = (int(i) for i in np.argwhere(new > 1 << 7)[0])  # an imitation
    other = changed(trace, "decoys", (episode, step + 1, host), int(decoys[episode, step, host]))
    result = compare(other, "main")
    assert result.first is not None
    assert (result.first.episode, result.first.step) == (episode, step + 1)
