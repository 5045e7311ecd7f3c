"""What is said of a network beforehand, beside what CybORG did on it when it was recorded."""

from dataclasses import replace

import pytest
from hypothesis import given

from tests.scenario.networks import SMALL, random_networks, scenario
from workflow_rl.scenario.attackers import (
    Course,
    cannot_matter,
    forecasts,
    passing_ports,
    places_decoy,
    spread_of,
    usable_exploits,
    what_blue_can,
)
from workflow_rl.scenario.images import IMAGES
from workflow_rl.scenario.loading import network_of
from workflow_rl.scenario.network import Blue, Host, Network, Reach, Zone
from workflow_rl.scenario.network_toml import network_from_toml

# B_line, Meander: what the recordings show. An agent that stalls never raised in them.
SEEN = {
    "cage1": (Course.PLAYS, Course.PLAYS),
    "cage2": (Course.PLAYS, Course.PLAYS),
    "net_00": (Course.MAY_RAISE, Course.STALLS),  # IndexError in 10 of 12 episodes
    "net_01": (Course.RAISES, Course.PLAYS),  # IndexError
    "net_04": (Course.RAISES, Course.PLAYS),  # KeyError
    "net_07": (Course.STALLS, Course.STALLS),
    "net_08": (Course.PLAYS, Course.PLAYS),
    "crash_01": (Course.RAISES, Course.RAISES),  # KeyError; NotImplementedError
    "crash_03": (Course.RAISES, Course.MAY_RAISE),  # KeyError; KeyError in 1 of 4 episodes
    "crash_04": (Course.RAISES, Course.PLAYS),  # KeyError
    "feat_01": (Course.MAY_RAISE, Course.STALLS),  # IndexError in 5 of 6 episodes
    "feat_03": (Course.STALLS, Course.STALLS),
    "feat_04": (Course.STALLS, Course.STALLS),
    "feat_06": (Course.PLAYS, Course.PLAYS),
    "feat_08": (Course.PLAYS, Course.PLAYS),
    "feat_09": (Course.PLAYS, Course.PLAYS),
}


@pytest.mark.parametrize("name", SEEN)
def test_what_cyborg_s_agents_do(name: str) -> None:
    bline, meander = forecasts(network_of(scenario(name)))
    assert (bline.red, meander.red) == ("bline", "meander")
    assert (bline.course, meander.course) == SEEN[name]


def test_why_an_agent_raises_is_said() -> None:
    def sentences(name: str) -> tuple[str, str]:
        bline, meander = forecasts(network_of(scenario(name)))
        return bline.sentence, meander.sentence

    assert sentences("net_04")[0] == "KeyError at step 1: Red does not know User0"
    assert sentences("net_01")[0] == "IndexError: User1 reveals no pivot"
    assert sentences("net_00")[0] == "IndexError: hmi0 reveals no pivot (1 of its 2 ways)"
    assert sentences("crash_01")[1].startswith("NotImplementedError when it has taken every host")
    assert sentences("crash_03")[1].startswith("KeyError at an early failed exploit: Entry_start")
    assert sentences("net_07")[0].startswith("no exploit takes Enterprise0")


CAGE2 = network_of("scenario2")


def with_host(name: str, **changes: object) -> Network:
    hosts = tuple(
        replace(host, **changes) if host.name == name else host  # type: ignore[arg-type]
        for host in CAGE2.hosts
    )
    return replace(CAGE2, hosts=hosts)


def without_own(name: str) -> Network:
    host = CAGE2.hosts[CAGE2.number(name)]
    return with_host(name, reveals=tuple(r for r in host.reveals if r.host != name))


def with_enterprise(**changes: object) -> Network:
    zones = tuple(
        replace(zone, **changes) if zone.name == "Enterprise" else zone  # type: ignore[arg-type]
        for zone in CAGE2.zones
    )
    return replace(CAGE2, zones=zones)


@pytest.mark.parametrize(
    ("network", "course", "sentence"),
    [
        (without_own("Enterprise0"), Course.MAY_RAISE, "KeyError: Enterprise0 does not reveal its"),
        (with_host("Enterprise2", reveals=()), Course.RAISES, "KeyError: Enterprise2 does not rev"),
        (with_host("User1", reveals=()), Course.MAY_RAISE, "IndexError: User1 reveals no pivot (1"),
        (with_enterprise(reach=Reach.CLOSED), Course.RAISES, "IndexError when it has scanned Ent"),
        (
            with_enterprise(reach=Reach.GATED),
            Course.RAISES,  # nothing opens the gate
            "IndexError when it has scanned Enterprise",
        ),
        (with_enterprise(ports=(22,)), Course.PLAYS, "it can follow its path to the end"),
        (with_enterprise(ports=(21,)), Course.RAISES, "IndexError when it has scanned Enterprise"),
        (
            with_enterprise(ports=(135,)),
            Course.MAY_RAISE,
            "IndexError when it has scanned Enterprise0: it sees no port (2 of its 4 ways)",
        ),
        (
            with_host("Enterprise2", image="Velociraptor_Server"),
            Course.STALLS,
            "no exploit takes Enterprise2",
        ),
        (
            with_host("User2", image="Kali_Box"),
            Course.PLAYS,
            "no exploit takes User2, which it tries for ever (1 of its 4 ways)",
        ),
        (with_host("Op_Server0", image="Gateway", reveals=()), Course.STALLS, "it never stops a s"),
    ],
    ids=range(11),
)
def test_b_line_s_path(network: Network, course: Course, sentence: str) -> None:
    bline = forecasts(network)[0]
    assert (bline.course, bline.sentence[: len(sentence)]) == (course, sentence)


def test_b_line_wants_three_hosts_in_the_second_zone() -> None:
    zones = {zone.name: zone for zone in CAGE2.zones}
    two = replace(zones["Enterprise"], hosts=("Enterprise0", "Enterprise1"))
    rest = replace(zones["User"], hosts=(*zones["User"].hosts, "Enterprise2", "Defender"))
    bline = forecasts(replace(CAGE2, zones=(rest, two, zones["Operational"])))[0]
    assert bline.course is not Course.PLAYS
    assert "IndexError: Enterprise has 2 hosts, it wants three" in bline.sentence


def test_meander_without_a_target_raises_unless_a_host_resists() -> None:
    gone = replace(CAGE2, roles=replace(CAGE2.roles, targets=()))
    assert forecasts(gone)[1].course is Course.STALLS
    assert "tries Defender for ever" in forecasts(gone)[1].sentence
    hosts = tuple(replace(h, image="Gateway") if h.name == "Defender" else h for h in gone.hosts)
    assert forecasts(replace(gone, hosts=hosts))[1].course is Course.MAY_RAISE  # by the gate
    zones = tuple(replace(zone, reach=Reach.OPEN) for zone in gone.zones)
    assert forecasts(replace(gone, hosts=hosts, zones=zones))[1].course is Course.RAISES


# --- what Red can take --------------------------------------------------------------------------


def alone(image: str, ports: tuple[int, ...] | None = None) -> tuple[Network, Host]:
    network = network_from_toml(
        f'foothold = "a"\n[zones]\nz = {{}}\n[hosts]\na = {{ zone = "z", image = "{image}" }}', "x"
    )
    zone = replace(network.zones[0], ports=ports)
    return replace(network, zones=(zone,)), network.hosts[0]


def test_which_exploits_take_an_image() -> None:
    taken = {image: usable_exploits(*alone(image)) for image in IMAGES}
    assert taken["Kali_Box"] == taken["Velociraptor_Server"] == ()
    assert taken["Gateway"] == ("SSHBruteForce",)
    assert taken["windows_user_host2"] == ("EternalBlue", "BlueKeep")
    assert "EternalBlue" not in taken["Internal"]
    assert usable_exploits(*alone("linux_user_host2", (3390,))) == ()
    assert usable_exploits(*alone("linux_user_host2", (80, 3390))) == ("SQLInjection", "HTTPRFI")
    assert passing_ports(*alone("Internal", (22, 25, 80))) == {22, 80}


def test_red_goes_on_from_what_it_holds() -> None:
    network = network_from_toml(SMALL, "x")
    assert spread_of(network).held == {"laptop", "desk", "plc"}
    hosts = (network.hosts[0], replace(network.hosts[1], image="Kali_Box"), network.hosts[2])
    stuck = spread_of(replace(network, hosts=hosts))
    assert stuck.held == {"laptop"}
    assert stuck.known == {"laptop", "desk"}
    assert spread_of(CAGE2, gates=False).held.isdisjoint({"Op_Server0", "Op_Host0"})
    assert "Op_Server0" in spread_of(CAGE2).held


@given(random_networks())
def test_what_is_held_is_reached_and_what_is_reached_is_known(network: Network) -> None:
    most, least = spread_of(network), spread_of(network, gates=False)
    assert network.foothold in most.held
    assert most.held - {network.foothold} <= most.reached <= most.known
    assert least.held <= most.held
    assert least.known <= most.known
    for forecast in forecasts(network):
        assert forecast.sentence
        assert "\n" not in forecast.sentence


# --- what cannot matter, and what Blue can do ---------------------------------------------------


def test_what_cannot_matter_is_said() -> None:
    assert cannot_matter(network_of("office")) == ()
    assert cannot_matter(CAGE2) == ("No exploit takes Defender.",)
    network = network_from_toml(
        """foothold = "a"
actions = ["Sleep", "DecoyFemitter"]
[zones]
home   = {}
near   = { from = ["home"] }
far    = {}
gated  = { reach = "gated" }
empty  = { from = ["home"] }
[hosts]
a = { zone = "home", image = "Gateway", reveals = ["b", "c", "g"] }
b = { zone = "near", image = "Kali_Box", blue = "no-agent" }
c = { zone = "far", image = "Gateway", blue = "hidden" }
d = { zone = "far", image = "OP_Server", blue = "unwatched" }
g = { zone = "gated", image = "Gateway" }
[roles]
targets = []
pivots = []
""",
        "x",
    )
    assert cannot_matter(network) == (
        "The zone gated is closed: it is gated, and there is no pivot.",
        "The zone empty has no host.",
        "Red never learns of d.",
        "Red never reaches c, g.",
        "No exploit takes b.",
        "Red never takes a target, so that no service is ever stopped.",
        "The OT service of d is no target and never stopped.",
        "DecoyFemitter can be placed nowhere.",
        "Blue's actions have no effect on b.",
        "Blue neither sees nor can act on c.",
        "Blue sees no event on d.",
    )


def test_what_blue_can_do_is_said() -> None:
    actions, sees, decoys = what_blue_can(CAGE2)
    assert actions.startswith("Blue has 145 actions: Sleep, Monitor, ")
    assert sees == "Blue observes 13 of 13 hosts (52 bits) and watches 13."
    assert decoys == "Of its 104 actions that place a decoy, 41 can have an effect."
    assert "no action that places a decoy of its choice" in what_blue_can(network_of("cage1"))[2]


def test_a_decoy_needs_a_host_with_an_agent_and_a_free_port() -> None:
    host = Host("x", "Gateway")
    assert places_decoy(host, "DecoyApache")
    assert not places_decoy(host, "DecoySSHD")  # its port is in use
    assert not places_decoy(host, "DecoySmss")  # for Windows
    assert not places_decoy(replace(host, blue=Blue.NO_AGENT), "DecoyApache")


def test_a_zone_nobody_leads_to_is_never_reached() -> None:
    network = network_from_toml(SMALL, "x")
    lonely = replace(network.zones[1], routes=())
    assert isinstance(lonely, Zone)
    cut = replace(network, zones=(network.zones[0], lonely))
    assert "Red never reaches plc." in cannot_matter(cut)
