"""CybORG's scenario files: read as CybORG plays them, written so that they read the same."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.refused import refusal
from tests.scenario.networks import SCENARIOS, SMALL, random_networks, scenario
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.cyborg_writer import scenario_of, why_not_in_cyborg
from workflow_rl.scenario.cyborg_yaml import network_from_yaml
from workflow_rl.scenario.loading import network_of
from workflow_rl.scenario.network import Blue, Network, Reach, Reachability, Reveal
from workflow_rl.scenario.network_toml import network_from_toml, toml_of
from workflow_rl.scenario.roles import GREEN_NAMES

CAGE2 = scenario("cage2").read_text(encoding="utf-8")
LINES = CAGE2.splitlines(keepends=True)


def read(text: str) -> Network:
    return network_from_yaml(text, "file.yaml")


def edited(*changes: tuple[str, str]) -> str:
    """Returns CAGE-2's file with the first of each text replaced."""
    text = CAGE2
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


# --- what is read -------------------------------------------------------------------------------


def test_cage_2_is_read_as_its_rules_say() -> None:
    network = read(CAGE2)
    hosts = {host.name: host for host in network.hosts}
    assert list(hosts) == sorted(hosts)
    assert network.zone_names == ("Enterprise", "Operational", "User")
    assert [zone.reach for zone in network.zones] == [Reach.OPEN, Reach.GATED, Reach.OPEN]
    assert network.zones[0].hosts == ("Enterprise0", "Enterprise1", "Enterprise2", "Defender")
    assert (hosts["Op_Server0"].value, hosts["Op_Server0"].service_value) == (1.0, 10.0)
    assert (hosts["User0"].value, hosts["User1"].value) == (0.0, 0.1)
    assert hosts["Defender"].reveals == ()
    assert hosts["User1"].reveals == (Reveal("Enterprise1"), Reveal("User1", zone=True))
    assert hosts["Op_Server0"].reveals == (Reveal("Op_Server0", zone=True, ot_service=True),)
    assert network.known == (Reveal("User0", zone=True),)
    roles = network.roles
    assert (roles.targets, roles.entry) == (("Op_Server0",), "User0")
    assert roles.pivots == roles.retried_second == ("Enterprise0", "Enterprise1", "Enterprise2")
    assert roles.retried_first == ("Op_Host0", "Op_Host1", "Op_Host2", "Op_Server0")
    assert roles.green == GREEN_NAMES
    assert {host.blue for host in network.hosts} == {Blue.WATCHED}
    assert network.foothold_charged


@pytest.mark.parametrize(("name", "file"), [("scenario2", "cage2"), ("cage1", "cage1")])
def test_the_challenges_that_ship_are_their_scenario_files(name: str, file: str) -> None:
    ours, theirs = network_of(name), network_of(scenario(file))
    named = {zone.name: zone for zone in theirs.zones}
    zones = tuple(named[zone] for zone in ("User", "Enterprise", "Operational"))  # of our actions
    assert replace(theirs, name=name, zones=zones, units=ours.units) == ours


def test_rare_features_are_read() -> None:
    networks = {path.parent.name: network_of(path) for path in SCENARIOS}

    def blues(name: str) -> dict[str, str]:
        hosts = networks[name].hosts
        return {host.name: host.blue for host in hosts if host.blue is not Blue.WATCHED}

    assert set(blues("feat_09").values()) == {Blue.NO_AGENT}
    assert set(blues("feat_06").values()) == {Blue.HIDDEN}
    assert set(blues("crash_03").values()) == {Blue.UNWATCHED}
    assert not networks["feat_04"].foothold_charged
    assert Reveal("lab0", zone=True) in networks["feat_04"].known
    ports = {zone.name: zone.ports for zone in networks["feat_01"].zones}
    assert ports == {"Plant": (22, 25, 139), "Enterprise": None, "Dmz": (22,), "User": None}
    assert Reach.CLOSED in {zone.reach for zone in networks["net_00"].zones}
    assert networks["crash_04"].zones[0].reach is Reach.GATED
    assert "Misinform" in networks["feat_08"].actions


def test_a_zone_is_gated_closed_or_open_by_one_rule() -> None:
    operational = "      User: {in: None, out: all}\n      all: {in: all, out: all}\n"

    def zone(rules: str) -> tuple[Reach, tuple[int, ...] | None]:
        found = read(edited((operational, rules))).zones[1]
        return found.reach, found.ports

    assert zone(operational) == (Reach.GATED, None)
    assert zone("      User: {in: [None], out: all}\n") == (Reach.GATED, None)
    assert zone("      Enterprise: {in: all, out: all}\n") == (Reach.CLOSED, None)
    assert zone("      all: {in: [all]}\n") == (Reach.OPEN, None)
    assert zone("      User: {in: all}\n      all: {in: None}\n") == (Reach.OPEN, None)
    ranges = "      User: {in: [{PortRange: [22, 25]}, {PortRange: [80, 81]}]}\n"
    assert zone(ranges) == (Reach.OPEN, (22, 80))  # the end of a range is not in it
    assert zone("      User: {in: []}\n") == (Reach.OPEN, ())


def test_what_red_may_not_learn_is_not_revealed() -> None:
    red = "  Red:\n    AllowedSubnets: [Enterprise, Operational, User]"
    network = read(edited((red, red.replace("Operational, ", ""))))
    hosts = {host.name: host for host in network.hosts}
    assert hosts["Op_Host0"].reveals == ()  # the address and the zone
    assert hosts["Enterprise2"].reveals[1] == Reveal("Op_Server0")  # the address alone
    assert hosts["Op_Server0"].reveals == (Reveal("Op_Server0", address=False, ot_service=True),)


def test_reveals_of_nobody_show_nothing() -> None:
    more = "      Op_Server0: {Interfaces: IP Address}\n"
    network = read(edited((more, more + "      Nobody: {Interfaces: All}\n")))
    assert network == read(CAGE2)


def test_who_is_scanned_by_green() -> None:
    green = CAGE2.index("  Green:")
    unseen = "        User1: {Interfaces: All, System info: All, User info: All}\n"
    text = CAGE2[:green] + CAGE2[green:].replace(unseen, "", 1)
    assert read(text).roles.green[4] is None
    head, rest = CAGE2[:green], CAGE2[green:]
    sessions = rest[rest.index("    starting_sessions:") : rest.index("    wrappers:")]
    assert set(
        read(head + rest.replace(sessions, "    starting_sessions: []\n", 1)).roles.green
    ) == {None}
    assert read(head + rest[rest.index("  Red:") :]).roles.green == ()


def test_aliases_stand_for_their_values() -> None:
    known = "{Interfaces: All, System info: All, User info: All}"
    text = edited((f"Defender: {known}", "Defender: {Interfaces: &all All, System info: *all}"))
    assert read(text) == read(CAGE2)


# --- what is refused ----------------------------------------------------------------------------

SERVER = "type: VelociraptorServer"
CLIENT = "- {hostname: User1, name: VeloUser1, parent: VeloServer, type: VelociraptorClient"
START = "- {hostname: User0, name: RedPhish, type: RedAbstractSession, username: SYSTEM}"
KNOWN = "        User0: {Interfaces: All, System info: All}\n"
REFUSED = [
    ("Agents:", "Agents: !!python/object:os.system", "the tag .* is not allowed"),
    ("image: Gateway", "image: !!str Gateway", "Hosts.Enterprise0.image: the tag"),
    ("image: Gateway", "image: *gone", "the alias \\*gone stands for nothing"),
    ("image: Gateway", "image: [[[[[[[[[[[[Gateway]]]]]]]]]]]]", "nested more than 12 levels"),
    ("image: Gateway", 'image: "Gate\\eway"', "Hosts.Enterprise0.image: control characters"),
    ("image: Gateway", "image: Gateway\n    image: Internal", "'image' stands here twice"),
    ("image: Gateway", "image: 'Gateway", "not YAML"),
    ("image: Gateway", "image: Toaster", "'Toaster' must be one of Gateway.*; CybORG raises"),
    ("image: Gateway", "picture: Gateway", "Hosts.Enterprise0.picture: there is no such field"),
    ("image: Gateway", "Services: {}", "Hosts.Enterprise0.Services: there is no such field"),
    ("  Defender: {image", "  1: {image", "a name must be text"),
    ("  Defender: {image", "  defender: {image", "Subnets.Enterprise.Hosts.4: 'Defender' must be"),
    ("Size: 5", "Size: big", "Subnets.User.Size: 'big' must be a whole number"),
    ("Size: 5", "Size: 200000", "200000 gives no addresses for 5 hosts"),
    ("Size: 5", "Size: 60000", "there are no addresses for 3 subnets of the largest Size"),
    ("Size: 5", "Size: -3", "-3 gives no addresses"),
    ("Size: 5", "Size: 05", "'05' must be text in quotes or a plain decimal"),
    ("User0, User1, User2", "User0, User1, User1, User2", "'User1' is in two subnets, User and Us"),
    ("User0, User1, User2", "User0, Defender, User1, User2", "in two subnets, Enterprise and User"),
    ("User0, User1, User2", "User0, User2", "Hosts.User1: the host is in no subnet"),
    ("ConfidentialityValue: None", "ConfidentialityValue: null", "Hosts.User0.Confidentiality"),
    ("ConfidentialityValue: Medium", "ConfidentialityValue: 1", "1 must be one of None, Low"),
    ("Interfaces: IP Address", "Interfaces: Some", "'Some' must be .* NotImplementedError"),
    ("Interfaces: IP Address", "System info: All", "System info: there is no such field"),
    ("[OTService]", "[SSH]", "Services: 'SSH' must be OTService or All"),
    ("      User: {in: None", "      User: {in: null", "User.in: None must be a list"),
    ("      User: {in: None", "      User: {in: nobody", "'nobody' must be all"),
    ("      User: {in: None", "      User: {in: [{PortRange: 22}]", "must be two ports"),
    ("      User: {in: None", "      User: {out: None", "NACLs.User.out: 'out' .*|twice"),
    (
        "      User: {in: None, out: all}\n      all: {in: all",
        "      all: {in: None",
        "None is known",
    ),
    ("adversary: Red\n", "adversary: Green\n", "Agents.Blue.adversary: 'Green' must be one of Red"),
    ("    adversary: Red\n", "", "Agents.Blue: the field adversary is missing"),
    ("agent_type: SleepAgent", "agent_type: Monkey", "Agents.Blue.agent_type"),
    ("HybridAvailabilityConfidentiality", "Pwn", "Agents.Blue.reward_calculator_type: 'Pwn' must"),
    ("wrappers: []", "wrappers: [Some]", "Agents.Blue.wrappers.1: 'Some' must be"),
    ("[Sleep, Monitor,", "[Sleep, Dance,", "Agents.Blue.actions.2: 'Dance' must be one of"),
    ("[Sleep, Monitor,", "[Sleep, Sleep,", "Agents.Blue.actions: 'Sleep' is named twice"),
    ("[Sleep, Monitor,", "[Monitor,", "Agents.Blue.actions: Sleep must be one of them"),
    ("[Enterprise, Operational, User]", "[Enterprise, User]", "Operational must be in it"),
    ("[Enterprise, Operational, User]", "[Enterprise, Moon]", "AllowedSubnets.2: 'Moon' must be"),
    (SERVER, "type: SSH", "'SSH' must be one of VelociraptorServer, VelociraptorClient"),
    (SERVER, "type: VelociraptorClient", "there are 0 sessions of the type VelociraptorServer"),
    (CLIENT, "- {hostname: User1, name: V, type: VelociraptorServer", "there are 2 sessions of"),
    (CLIENT, CLIENT.replace("VeloServer", "VeloUser2"), "its parent must be the server VeloServer"),
    (CLIENT, CLIENT.replace("VeloUser1", "VeloServer"), "the session has the name of the server"),
    (CLIENT, CLIENT.replace("User1,", "User9,"), "hostname: 'User9' must be one of"),
    ("[NetworkConnections, ProcessCreation]", "[ProcessCreation]", "must have NetworkConnections"),
    (
        "        User1: {Interfaces: All, System info: All, User info: All}\n",
        "",
        "User1 is watched and must be in Blue's INT; CybORG raises a KeyError",
    ),
    (
        "Defender: {Interfaces: All, System info: All, User info: All}",
        "Defender: {System info: All}",
        "the field Interfaces is missing",
    ),
    (START, START + "\n    " + START, "there are 2; Red must have one"),
    (START, START.replace("RedAbstractSession", "MetasploitServer"), "RedAbstractSession; CybORG"),
    (START, START.replace("SYSTEM", "bob"), "'bob' must be one of SYSTEM, root; CybORG's Meander"),
    (KNOWN, "        User1: {Interfaces: All}\n", "Red's start host User0 needs Interfaces and Sy"),
    (KNOWN, KNOWN.replace("All,", "IP Address,"), "'IP Address' must be one of All"),
    (KNOWN, KNOWN + KNOWN.replace("User0", "User1"), "User1.System info: Red may know the name of"),
    ("PrivilegeEscalate, Impact]", "PrivilegeEscalate]", "Impact must be in it"),
    ("PrivilegeEscalate, Impact]", "PrivilegeEscalate, Impact, Fly]", "'Fly' must be one of"),
]


@pytest.mark.parametrize(("old", "new", "sentence"), REFUSED, ids=range(len(REFUSED)))
def test_what_lies_outside_is_refused_with_file_line_and_field(
    old: str, new: str, sentence: str
) -> None:
    said = refusal(read, edited((old, new)))
    assert re.match(r"file\.yaml, line \d+(, |: )", said), said
    assert re.search(sentence, said), said


def test_the_line_is_that_of_the_field() -> None:
    line = next(n for n, text in enumerate(LINES, 1) if "image: OP_Server" in text)
    said = refusal(read, edited(("image: OP_Server", "image: Toaster")))
    assert said.startswith(f"file.yaml, line {line}, Hosts.Op_Server0.image: ")
    line = next(n for n, text in enumerate(LINES, 1) if text.startswith("  User4:"))
    said = refusal(read, CAGE2.replace("User4", "USER3"))
    assert said.startswith(f"file.yaml, line {line}, Hosts.USER3: there is 'USER3' and 'User3', wh")


def test_the_order_of_the_agents_is_part_of_the_game() -> None:
    red, hosts = CAGE2.index("  Red:"), CAGE2.index("Hosts:\n  Defender: {image")
    swapped = CAGE2[:8] + CAGE2[red:hosts] + CAGE2[8:red] + CAGE2[hosts:]
    assert "the agents must stand in the order Blue, Green, Red" in refusal(read, swapped)


def test_aliases_explode_in_vain() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefg", "bcdefgh", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    assert "more than 100,000 values, aliases included" in refusal(read, "\n".join(lines))
    assert "stands for nothing, or for itself" in refusal(read, "a: &a [*a]")


def test_an_alias_stands_for_no_whole_host() -> None:
    host = "  Op_Host0:\n    image: Gateway\n    info:\n      Op_Host0: {Interfaces: All}\n"
    text = edited((host, "  Op_Host0: &host {image: Gateway}\n"))
    other = "  Op_Host1:\n    image: Gateway\n    info:\n      Op_Host1: {Interfaces: All}\n"
    assert other in text
    said = refusal(read, text.replace(other, "  Op_Host1: *host\n"))
    assert "Hosts.Op_Host1: an alias must not stand for a whole host" in said


@pytest.mark.parametrize(
    "text", ["", "[]", "1", "a", "---\n...\n---\n", "a: b\n---\nc: d", "\x00", "{", "a: b: c", "%!"]
)
def test_what_is_no_scenario_is_refused(text: str) -> None:
    assert refusal(read, text).startswith("file.yaml, line ")


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(LINES) - 1),
            st.sampled_from(["cut", "twice", "indent", "empty", "swap", "text"]),
            st.text(max_size=8),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_a_damaged_file_is_read_or_refused(damages: list[tuple[int, str, str]]) -> None:
    lines = list(LINES)
    for number, how, text in damages:
        line = lines[number]
        lines[number] = {
            "cut": line[: len(line) // 2] + "\n",
            "twice": line * 2,
            "indent": " " + line,
            "empty": "",
            "swap": lines[(number * 7) % len(lines)],
            "text": line.rstrip("\n") + text + "\n",
        }[how]
    try:
        read("".join(lines))
    except InvalidInputError as error:
        assert str(error).startswith("file.yaml, line ")  # noqa: PT017


# --- what is written ----------------------------------------------------------------------------


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.parent.name)
def test_scenario_files_come_back_from_both_formats(path: Path) -> None:
    network = network_of(path)
    assert why_not_in_cyborg(network) is None
    for again in (
        network_from_yaml(scenario_of(network), "x.yaml", network.name),
        network_from_toml(toml_of(network), "x.toml"),
    ):
        assert again == network
        assert again.digest == network.digest


@given(random_networks(Reachability.CYBORG))
def test_random_networks_come_back_from_scenario_files(network: Network) -> None:
    text = scenario_of(network)
    assert network_from_yaml(text, "x.yaml", network.name) == network


def changed(old: str, new: str) -> Network:
    """Returns CAGE-2's network in our format, with a change."""
    text = toml_of(read(CAGE2))
    assert old in text
    return network_from_toml(text.replace(old, new, 1), "x.toml")


def test_what_cyborg_cannot_play_is_not_written() -> None:
    cage2 = read(CAGE2)
    unwatched = tuple(replace(host, blue=Blue.UNWATCHED) for host in cage2.hosts[:2])
    idle = [replace(host, blue=Blue.NO_AGENT) for host in cage2.hosts[1:]]
    for network, sentence in (
        (network_of("office"), "zones.office: routes between zones are no rule of CybORG's"),
        (changed("service_value = 10", "service_value = 5"), "Op_Server0.service_value: 5 must be"),
        (replace(cage2, roles=replace(cage2.roles, entry=None)), "roles.entry: by the names"),
        (replace(cage2, hosts=(*unwatched, *cage2.hosts[2:])), "at most one may be unwatched"),
        (replace(cage2, hosts=(replace(idle[0], name="Defender"), *idle)), "Blue's server"),
    ):
        assert sentence in refusal(scenario_of, network)
        assert sentence in str(why_not_in_cyborg(network))


def test_our_own_networks_are_no_scenario_files() -> None:
    assert refusal(read, SMALL).startswith("file.yaml, line ")
