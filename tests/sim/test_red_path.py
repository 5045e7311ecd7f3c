"""Path: it is B_line on Scenario2, and goes on where B_line would raise."""

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings

from tests.scenario.drawn import networks
from tests.sim import tiny
from tests.sim.board import Match, host_index
from tests.sim.games import ACTING, SEEDS, random_actions
from tests.sim.tiny import host, in_zone, service
from workflow_rl.config import RULE_SETS, GameConfig
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.network import Network, Reach, Reveal, Roles, Zone
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.draws import WORDS
from workflow_rl.sim.red_given import legal_actions, red_actions_of
from workflow_rl.sim.state import Outcome, RedAgent, Success

N, STEPS = 20, 60
USER_HOSTS = [host_index(f"U{i}") for i in range(1, 5)]
PLANS = ("red_agent", "red_raised", "bline_", "path_", "meander_", "_padding_")


def path(network: Network) -> Match:
    return Match(network=network, red_agent="sleep").by(RedAgent.PATH)


def played(match: Match, steps: int, *blue: str) -> list[str]:
    """What Red does in so many steps, in the first of which Blue takes these actions."""
    actions = [*blue, *["Sleep"] * (steps - len(blue))]
    return [match.turn(action).did.split(" by ")[0] for action in actions]


@settings(deadline=None, max_examples=15)
@given(seed=SEEDS, acting=ACTING)
def test_on_scenario2_it_plays_blines_games_until_bline_finds_nothing_at_op_server(
    seed: int, acting: float
) -> None:
    rng = np.random.default_rng(seed)
    game = GameConfig(red_agent="bline", rules=RULE_SETS[seed % 2], green_agent="active")
    bline, ours = (Batch(N, game, autoreset=False) for _ in "ab")
    for batch in (bline, ours):
        batch.reset(seed)
    ours.state["red_agent"] = RedAgent.PATH
    first = rng.choice(USER_HOSTS, N)  # drawn at different steps: the same host for both
    same = np.ones(N, bool)
    names = [name for name in bline.state.dtype.names or () if not name.startswith(PLANS)]
    for actions in random_actions(seed, acting, N, STEPS):
        draws = rng.integers(0, WORDS, (N, 5))
        draws[:, 0] = ~first
        for batch in (bline, ours):
            batch.step(actions, draws)
        assert (bline.state[names] == ours.state[names])[same].all()
        assert (bline.observation == ours.observation)[same].all()
        at_op_server = bline.state["bline_index"] == 11
        same &= ~(at_op_server & (bline.state["red_outcome"] == Outcome.NO_ROUTE))


def chain(length: int, *, target: str = "plant") -> Network:
    """Zones in a row, reached by routes; each host tells of the one in the next zone."""
    names = [f"stage{i}" for i in range(length)]
    hosts = [
        host(name, "Gateway", following)
        for name, following in zip(names, [*names[1:], "plant"], strict=True)
    ]
    zones = [Zone("zone0", ("start", names[0]), Reach.ROUTES)]
    zones += [
        Zone(f"zone{i}", (name,), Reach.ROUTES, (f"zone{i - 1}",))
        for i, name in enumerate(names[1:], start=1)
    ]
    zones.append(Zone("field", ("plant",), Reach.ROUTES, (f"zone{length - 1}",)))
    plant = host("plant", "OP_Server", service("plant"))
    return tiny.network(host("start"), *hosts, plant, *zones, roles=Roles(targets=(target,)))


def test_on_a_chain_of_zones_it_takes_one_after_the_other_and_stops_the_service() -> None:
    for length in (1, 2, 5, 17):
        names = [*(f"stage{i}" for i in range(length)), "plant"]
        expected = ["DRS zone0"]
        expected += [f"{do} {name}" for name in names for do in ("DNS", "EXP", "PE")]
        match = path(chain(length))
        assert played(match, len(expected) + 2) == [*expected, "IMP plant", "IMP plant"]
        assert not match.ot_running


def test_where_only_a_sweep_tells_of_the_next_host_it_sweeps_that_zone() -> None:
    network = tiny.network(
        *(host("start"), host("door", "Gateway", in_zone("beside")), host("beside")),
        host("plant", "OP_Server", service("plant")),
        *(Zone("home", ("start", "door")), Zone("field", ("beside", "plant"))),
        roles=Roles(targets=("plant",)),
    )
    assert played(path(network), 9) == [
        *("DRS home", "DNS door", "EXP door", "PE door", "DRS field"),
        *("DNS plant", "EXP plant", "PE plant", "IMP plant"),
    ]


def test_it_takes_a_shortest_way_and_begins_where_there_is_one() -> None:
    network = tiny.network(
        *(host("start"), host("dull"), host("long", "Gateway", "round"), host("round")),
        host("short", "Gateway", "plant"),
        host("plant", "OP_Server", service("plant")),
        *(Zone("home", ("start", "dull", "long", "short")), Zone("field", ("round", "plant"))),
        roles=Roles(targets=("plant",)),
    )
    did = played(path(network), 6)
    assert did == ["DRS home", "DNS short", "EXP short", "PE short", "DNS plant", "EXP plant"]


def test_alone_in_its_zone_it_goes_on_from_its_foothold() -> None:
    network = tiny.network(
        *(host("start", "Gateway", "plant"), host("plant", "OP_Server", service("plant"))),
        *(Zone("home", ("start",)), Zone("field", ("plant",))),
        roles=Roles(targets=("plant",)),
    )
    match = path(network)
    assert played(match, 5) == ["PE start", "DNS plant", "EXP plant", "PE plant", "IMP plant"]
    match.last("EXP plant", Success.FALSE).arrange(path_kind=3, path_stage=1)
    assert played(match, 1) == ["PE start"]  # which it holds without an exploit


def test_after_a_failure_it_goes_back_to_an_exploit() -> None:
    match = path(chain(2))
    did = played(match, 7, *["Sleep"] * 3, "Restore stage0")  # thrown out before it escalates
    assert did[3:] == ["PE stage0", "EXP stage0", "PE stage0", "DNS stage1"]
    match.turn()
    assert match.did == "EXP stage1 by SSH"
    match.last("EXP stage1", Success.FALSE)
    assert played(match, 3) == ["EXP stage0", "PE stage0", "DNS stage1"]


def test_a_failed_impact_goes_back_to_the_escalation_and_from_there_to_the_exploit() -> None:
    match = path(chain(1))
    did = played(match, 12, *["Sleep"] * 7, "Restore plant")
    assert did[6:] == ["PE plant", "IMP plant", "PE plant", "EXP plant", "PE plant", "IMP plant"]


def several(*targets: str) -> Network:
    def plant(name: str) -> Any:
        return host(name, "OP_Server", Reveal(name, zone=True, ot_service=True))

    return tiny.network(
        *(host("start"), host("door", "Gateway", in_zone("one"))),
        *(plant("one"), plant("two"), plant("three")),
        *(Zone("home", ("start", "door")), Zone("field", ("one", "two", "three"))),
        roles=Roles(targets=targets),
    )


def test_of_several_targets_it_goes_on_to_those_that_it_knows() -> None:
    match = path(several("one", "two", "three")).put("addresses_known", "start", "three")
    assert played(match, 8)[4:] == ["DNS one", "EXP one", "PE one", "IMP one"]
    assert played(match, 6) == [
        "DNS three",
        "EXP three",
        "PE three",
        "IMP three",
        *["IMP three"] * 2,
    ]
    assert match.hosts("ot_down") == {"one", "three"}
    match.put("addresses_known", "two")
    assert played(match, 4)[-1] == "IMP two"


def test_without_a_way_it_repeats_its_last_action_and_raises_nothing() -> None:
    network = tiny.network(host("start"), host("other"))
    match = path(network)
    assert played(match, 4) == ["PE start"] * 4
    assert match.red.success is Success.TRUE
    assert int(match.state["red_raised"]) == 0


@settings(deadline=None, max_examples=25)
@given(network=networks(), seed=SEEDS)
def test_on_every_network_it_acts_on_what_red_knows(network: Network, seed: int) -> None:
    batch = Batch(5, GameConfig(network=network, red_agent="sleep"), autoreset=False)
    batch.reset(seed)
    batch.state["red_agent"] = RedAgent.PATH
    numbers = red_actions_of(network).numbers
    for actions in random_actions(seed, 0.2, 5, 40, actions_of(network).size):
        states: Any = batch.state
        legal = [legal_actions(network, env) for env in states]
        batch.step(actions)
        taken = numbers(batch.state["red_action"], batch.state["red_target"])
        names = red_actions_of(network).names
        assert [names[a] for k, a in enumerate(taken) if not legal[k][a]] == []


def test_the_addresses_that_the_start_tells_do_not_change_where_it_begins() -> None:
    network = several("one")
    known = (Reveal("two"),)
    told = replace(network, known=(*network.known, *known))
    assert played(path(told), 8) == played(path(network), 8)
