"""Units, orders and compliance on networks that are not Scenario2."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.envs.networks import OFFICE, OTHERS
from tests.refused import refusal
from tests.scenario.networks import random_networks
from tests.workflow.reference import judge_by_marks, judge_by_truth
from workflow_rl.config import GameConfig
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.network import Network
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.network import held_hosts
from workflow_rl.sim.state import Mark
from workflow_rl.sim.table import read_table
from workflow_rl.workflow.compliance import (
    COMPLIANT,
    NOT_A_FIX,
    VIOLATION,
    judge_observed,
    judge_true,
    without_violations,
)
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.explain import explain_observed, explain_true
from workflow_rl.workflow.orders import Order
from workflow_rl.workflow.units import fixable, units_of

N, STEPS = 6, 25


def judged_as_the_reference_does(network: Network, seed: int) -> int:
    """Compares both views in played games; returns how many fixes counted."""
    rng, actions = np.random.default_rng(seed), actions_of(network)
    hosts = fixable(network)
    groups: dict[str, list[str]] = {"v": [hosts[0]], "w": [hosts[1]]}
    for host in hosts[2:]:
        groups.setdefault(f"u{rng.integers(5)}", []).append(host)
    units = units_of(groups, network)
    home = {host: unit for unit, members in groups.items() for host in members}
    fixes = [a for a, n in enumerate(actions.names) if n.startswith(("Remove", "Restore"))]
    batch = Batch(N, GameConfig(network=network, red_agent="meander", episode_length=STEPS + 1))
    batch.reset(seed)
    counted = 0
    for _ in range(STEPS):
        chosen = np.where(
            rng.random(N) < 0.5, rng.choice(fixes, N), rng.integers(0, actions.size, N)
        )
        orders = [Order(rng.permutation(units.names).tolist(), units) for _ in range(N)]
        ranks = np.array([order.host_ranks for order in orders])
        tables, held = batch.state["table"].copy(), held_hosts(batch.state)
        removable = batch.state["removable"].copy()
        seen = judge_observed(tables, chosen, ranks, network)
        true = judge_true(held, removable, chosen, ranks, network)
        allowed = without_violations(np.ones((N, actions.size), np.bool_), tables, ranks, network)
        for k, action in enumerate(chosen):
            marks = {
                host: Mark(mark).name.capitalize()
                for host, (_, mark) in zip(
                    network.host_names, read_table(network, tables[k]), strict=True
                )
            }
            access = {h: int(held[k]) >> i & 1 for i, h in enumerate(network.host_names)}
            killable = {h for i, h in enumerate(network.host_names) if removable[k] >> i & 1}
            what = actions.names[action], orders[k], home, network.foothold
            for judgement, expected in (
                (seen, judge_by_marks(marks, *what)),
                (true, judge_by_truth(access, killable, *what)),
            ):
                verdict = judgement.verdict[k]
                assert judgement.any_open[k] == expected.any_open
                assert (verdict != NOT_A_FIX) == expected.is_fix
                assert (verdict in (VIOLATION, COMPLIANT)) == expected.counts
                assert (verdict == COMPLIANT) == expected.complies
            assert allowed[k, action] == (seen.verdict[k] != VIOLATION)
            told = explain_observed(tables[k], int(action), orders[k])
            truly = explain_true(int(held[k]), int(removable[k]), int(action), orders[k])
            assert (told.verdict, truly.verdict) == (seen.verdict[k], true.verdict[k])
            assert all((told.why, truly.why))
            counted += int(true.counted[k])
        batch.step(chosen)
    return counted


@pytest.mark.parametrize("network", OTHERS.values(), ids=OTHERS)
def test_fixes_are_judged_as_the_reference_does(network: Network) -> None:
    assert judged_as_the_reference_does(network, 3) > 10


@settings(max_examples=8, deadline=None)
@given(random_networks(most_hosts=16), st.integers(0, 2**20))
def test_they_are_on_random_networks(network: Network, seed: int) -> None:
    judged_as_the_reference_does(network, seed)


@pytest.mark.parametrize("network", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("kind", ["types", "subnets"])
def test_every_host_that_can_be_fixed_is_of_exactly_one_unit(network: Network, kind: str) -> None:
    units = units_of(kind, network)
    grouped = [host for hosts in units.groups.values() for host in hosts]
    assert sorted(grouped) == sorted(fixable(network))
    assert units_of(units.setting, network) == units
    assert units.unit_of.shape == (len(network.hosts),)


def test_the_types_are_what_the_file_names_else_the_zones() -> None:
    assert units_of("types", OFFICE).names == ("billing", "backup", "servers", "owner", "desks")
    assert units_of("types", OFFICE).groups["desks"] == ["clerk", "printer"]
    strange = OTHERS["strange"]
    assert units_of("types", strange).names == tuple(zone.name.lower() for zone in strange.zones)
    says = refusal(units_of, "hosts", OTHERS["plant"])
    assert says.startswith("a workflow orders 2 to 12 units, not ")


@pytest.mark.parametrize("network", OTHERS.values(), ids=OTHERS)
def test_an_order_is_shown_by_the_hosts_of_the_network(network: Network) -> None:
    hosts, units = len(fixable(network)), units_of("types", network)
    order = Order(units.names[::-1], units)
    ranks = order.host_ranks[None]
    sizes = {
        "onehot": len(units) ** 2,
        "ranks": hosts * hosts,
        "precedence": hosts * (hosts - 1),
        "due": hosts,
    }
    for name, size in sizes.items():
        encoding = OrderEncoding(name, units, network)  # type: ignore[arg-type]
        assert encoding.size == size
        assert encoding.order_bits(ranks).shape == (1, encoding.lasting)
