"""Our own format: short, exact about mistakes, and the same after writing and reading."""

import re
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.refused import refusal
from tests.scenario.networks import SMALL, random_networks
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.images import IMAGES
from workflow_rl.scenario.loading import SHIPPED, network_of
from workflow_rl.scenario.network import (
    CHALLENGE_ACTIONS,
    Blue,
    Host,
    Network,
    Reach,
    Reachability,
    Reveal,
    Roles,
)
from workflow_rl.scenario.network_toml import FILE, HOST, REVEAL, ROLES, network_from_toml, toml_of

DESK = 'desk   = { zone = "office", image = "linux_user_host1", reveals = ["plc"] }'
LINE_OF_DESK = 1 + SMALL.splitlines().index(DESK)


def read(text: str) -> Network:
    return network_from_toml(text, "file.toml", "file")


def edited(old: str, new: str) -> str:
    assert old in SMALL
    return SMALL.replace(old, new, 1)


def desk(more: str) -> Host:
    """Returns the desk, its entry ended by more fields."""
    return read(edited(DESK, f"{DESK.split(', reveals')[0]}, {more} }}")).hosts[1]


# --- what is read -------------------------------------------------------------------------------


def test_a_small_network_by_hand() -> None:
    network = read(SMALL)
    assert [zone.reach for zone in network.zones] == [Reach.ROUTES] * 2
    assert network.zones[1].routes == ("office",)
    laptop, machine, plc = network.hosts
    assert (laptop.value, machine.value, plc.service_value) == (0.0, 0.1, 10.0)
    assert laptop.reveals == (Reveal("laptop", zone=True),)
    assert machine.reveals == (Reveal("desk", zone=True), Reveal("plc"))
    assert plc.reveals == (Reveal("plc", zone=True, ot_service=True),)
    assert network.known == (Reveal("laptop", zone=True),)
    assert network.actions == CHALLENGE_ACTIONS
    assert network.roles == Roles(
        targets=("plc",),
        pivots=(),
        entry="laptop",
        retried_first=("plc",),
        retried_second=(),
        green=("laptop", "desk"),
    )


def test_ten_hosts_fit_in_forty_lines() -> None:
    hosts = "".join(f'h{n} = {{ zone = "office", image = "Gateway" }}\n' for n in range(7))
    text = SMALL + hosts
    assert len(read(text).hosts) == 10
    assert len(text.splitlines()) <= 40


def test_the_roles_of_a_longer_way() -> None:
    roles = network_of("plant").roles
    assert roles.targets == ("boiler", "turbine")
    assert roles.retried_first == ("boiler", "turbine", "feedwater", "cooling", "safety")
    assert set(roles.pivots) == set(roles.retried_second)
    assert not set(roles.retried_second) & {"desk1", *roles.retried_first}


def test_reveals_in_full() -> None:
    assert desk('reveals = ["plc", "laptop"]').reveals == (
        Reveal("laptop"),
        Reveal("desk", zone=True),
        Reveal("plc"),
    )
    nothing = 'reveals = [{ host = "desk", address = false }]'
    assert desk(nothing).reveals == ()
    shown = 'reveals = [{ host = "plc", zone = true, service = true }]'
    assert desk(shown).reveals[1] == Reveal("plc", zone=True, ot_service=True)
    alone = 'reveals = [{ host = "plc", address = false, service = true }]'
    assert desk(alone).reveals[1] == Reveal("plc", address=False, ot_service=True)


def test_the_other_fields() -> None:
    assert desk('blue = "no-agent"').blue is Blue.NO_AGENT
    more = 'known = ["plc"]\nactions = ["Sleep", "Restore"]\nfoothold_charged = false\n'
    network = read(more + SMALL)
    assert network.known == (Reveal("laptop", zone=True), Reveal("plc"))
    assert network.actions == ("Sleep", "Restore")
    assert not network.foothold_charged
    ports = read(edited('from = ["office"]', 'from = ["office"], ports = [443, 22]'))
    assert ports.zones[1].ports == (22, 443)
    swept = read(edited("office = {}", 'office = { hosts = ["desk", "laptop"] }'))
    assert swept.zones[0].hosts == ("desk", "laptop")
    grouped = read(f'{SMALL}\n[units]\nmachines = ["laptop", "desk"]\n')
    assert grouped.units == (("machines", ("laptop", "desk")),)
    roles = read(f'{SMALL}\n[roles]\ntargets = []\nentry = ""\ngreen = ["desk", ""]\n').roles
    assert (roles.targets, roles.entry, roles.green) == ((), None, ("desk", None))
    assert roles.retried_first == ("plc",)
    assert read(SMALL.split("\n", 1)[1]).name == "file"


def test_with_cyborg_s_rule_zones_are_open_and_roles_follow_from_names() -> None:
    text = 'reachability = "cyborg"\n' + edited('from = ["office"]', 'reach = "gated"')
    network = read(text.replace("desk ", "Enterprise7 "))
    assert network.reachability is Reachability.CYBORG
    assert [zone.reach for zone in network.zones] == [Reach.OPEN, Reach.GATED]
    assert network.roles.pivots == ("Enterprise7",)
    assert network.roles.targets == ()
    assert network.roles.green == (None,) * 8


# --- what is refused ----------------------------------------------------------------------------

REFUSED = [
    ("laptop = {", "laptop = ", "line 9: not TOML: Invalid|line 9.*not TOML"),
    ("[zones]", "[zones", "line 4: not TOML"),
    ('name = "small"', 'name = "sm\\u001ball"', "line 1, name: control characters"),
    ('name = "small"', "name = 5", "line 1, name: 5 must be text"),
    ('name = "small"', 'title = "small"', "line 1, title: there is no such field; allowed are"),
    ('foothold = "laptop"\n', "", "line 1: the field foothold is missing"),
    ('foothold = "laptop"', 'foothold = "toaster"', "line 2, .*there is no host 'toaster'"),
    ("[hosts]", "[machines]", "line 8, machines: there is no such field"),
    (DESK, "", ""),
    ('desk   = { zone = "office", ', "desk   = { ", "hosts.desk: the field zone is missing"),
    ('desk   = { zone = "office"', 'desk   = { zone = "cellar"', "desk.zone: there is no zone 'c"),
    ("linux_user_host1", "Toaster", "hosts.desk.image: 'Toaster' must be one of Gateway, linux_"),
    ("value = 0 ", 'value = "0" ', "hosts.laptop.value: '0' must be a number"),
    ("value = 0 ", "value = true ", "hosts.laptop.value: True must be a number"),
    ("value = 0 ", "value = nan ", "hosts.laptop.value: nan is not allowed"),
    ("value = 0 ", "value = -1 ", "hosts.laptop.value: -1.0 is not allowed; allowed is 0 to 50"),
    ("value = 0 ", f"value = 1{'0' * 400} ", "hosts.laptop.value: .* is too large"),
    ("value = 0 ", f"value = 1{'0' * 5000} ", "line 9|not TOML"),
    ("value = 0 ", "valeu = 0 ", "hosts.laptop.valeu: there is no such field; allowed are zone"),
    ('["plc"]', '["nobody"]', "hosts.desk.reveals.1: there is no host 'nobody'"),
    ('["plc"]', '["plc", "plc"]', "hosts.desk.reveals.2: 'plc' is named twice"),
    ('["plc"]', "[5]", "hosts.desk.reveals.1: 5 must be text"),
    ('["plc"]', '"plc"', "hosts.desk.reveals: 'plc' must be a list"),
    ('["plc"]', '[{ host = "plc", zone = 1 }]', "hosts.desk.reveals.1.zone: 1 must be true or fal"),
    ('["plc"]', '[{ host = "laptop", service = true }]', "laptop does not run the OT service"),
    ('from = ["office"]', 'from = ["moon"]', "line 6, zones.vault.from: there is no zone 'moon'"),
    ('from = ["office"]', "ports = [23]", "zones.vault.ports: there is no service .* on port 23"),
    ('from = ["office"]', 'ports = ["22"]', "zones.vault.ports.1: '22' must be a whole number"),
    ('from = ["office"]', 'reach = "near"', "zones.vault.reach: 'near' must be one of open, close"),
    ('from = ["office"]', 'reach = "open", from = ["office"]', "a zone that is open has no routes"),
    (
        "office = {}",
        'office = { hosts = ["laptop"] }',
        "the hosts whose zone is office are laptop, ",
    ),
    (
        "office = {}",
        'office = { hosts = ["laptop", "desk", "plc"] }',
        "zones.office.hosts: the host",
    ),
    (
        "office = {}",
        "OFFICE = {}\noffice = {}",
        "zones.office: there is 'office' and 'OFFICE', which",
    ),
    (
        "laptop = {",
        "Plc    = {",
        "line 11, hosts.plc: there is 'plc' and 'Plc', which differ in",
    ),
    ("plc    = {", "desk   = {", "not TOML"),
    ("plc    = {", '"p\\nlc"    = {', "line 8, hosts: control characters are not allowed"),
    ("desk   = {", '" desk"   = {', "a name has 1 to 64 printable characters"),
    ("office = {}", "office = []", "zones.office: this list must be fields with their values"),
    ("office = {}", "office = {}\na.b.c.d.e.f.g.h.i.j.k.l.m = 1", "more than 12 levels deep"),
]


@pytest.mark.parametrize(("old", "new", "sentence"), REFUSED, ids=range(len(REFUSED)))
def test_mistakes_are_refused_with_file_line_and_field(old: str, new: str, sentence: str) -> None:
    if not sentence:
        assert len(read(edited(old, new)).hosts) == 2
        return
    said = refusal(read, edited(old, new))
    assert re.match(r"file\.toml, line \d+(, |: )", said), said
    assert re.search(sentence, said), said


def test_the_line_is_that_of_the_field() -> None:
    text = edited("linux_user_host1", "Toaster")
    assert refusal(read, text).startswith(f"file.toml, line {LINE_OF_DESK}, hosts.desk.image: ")
    table = '[hosts.desk]\nzone = "office"\n\nimage = "Toaster"\n'
    said = refusal(read, SMALL.replace(DESK, "") + table)
    assert said.startswith(f"file.toml, line {len(SMALL.splitlines()) + 4}, hosts.desk.image: ")


def test_cyborg_s_rule_knows_no_routes() -> None:
    said = refusal(read, 'reachability = "cyborg"\n' + SMALL)
    assert "zones.vault.from: CybORG's rule knows no routes" in said


@pytest.mark.parametrize("hosts", [0, 65])
def test_a_network_has_1_to_64_hosts(hosts: int) -> None:
    named = "".join(f'h{n} = {{ zone = "a", image = "Gateway" }}\n' for n in range(hosts))
    text = f'foothold = "h0"\n[zones]\na = {{}}\n[hosts]\n{named}'
    assert f"line 4, hosts: there are {hosts}; allowed are 1 to 64" in refusal(read, text)


@pytest.mark.parametrize(
    "text", ["", "x", "= 1", "[" * 5000, "a = " + "[" * 5000, "a." * 9000 + "a = 1", '"\x00" = 1']
)
def test_what_is_no_network_is_refused(text: str) -> None:
    assert refusal(read, text).startswith("file.toml")


@given(st.integers(0, len(SMALL) - 1), st.integers(0, 9), st.text(max_size=9))
def test_a_damaged_file_is_read_or_refused(start: int, cut: int, more: str) -> None:
    try:
        read(SMALL[:start] + more + SMALL[start + cut :])
    except InvalidInputError as error:
        assert str(error).startswith("file.toml, line ")  # noqa: PT017


# --- what is written ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_networks_that_ship_come_back(name: str) -> None:
    network = network_of(name)
    assert read(toml_of(network)) == network


@given(random_networks(most_hosts=64))
def test_networks_come_back(network: Network) -> None:
    again = read(toml_of(network))
    assert again == network
    assert again.digest == network.digest


@given(random_networks(Reachability.ROUTES))
def test_hosts_of_another_name_are_the_same_hosts(network: Network) -> None:
    """Names mean nothing in our own format: written, renamed and read, all else is the same."""
    names = {host: f"m{number} x" for number, host in enumerate(network.host_names)}
    pattern = (
        "|".join(f'"{host}"' for host in names)
        + "|"
        + "|".join(rf"(?m:^{host}(?= +=))" for host in names)
    )
    text = re.sub(pattern, lambda found: f'"{names[found[0].strip(chr(34))]}"', toml_of(network))
    again = read(text)
    assert again.host_names == tuple(names.values())
    assert [host.image for host in again.hosts] == [host.image for host in network.hosts]
    for role in fields(Roles):
        mine, theirs = getattr(network.roles, role.name), getattr(again.roles, role.name)
        if isinstance(mine, tuple):
            assert theirs == tuple(names[host] for host in mine)


def test_odd_names_are_quoted() -> None:
    text = SMALL.replace("desk ", '"a = \\"b\\" #é" ')
    network = read(text)
    assert network.host_names[1] == 'a = "b" #é'
    assert read(toml_of(network)) == network


def test_what_is_usual_is_not_written() -> None:
    assert toml_of(read(SMALL)) == SMALL


def test_every_field_of_the_object_has_an_entry() -> None:
    assert {field.name for field in fields(Roles)} == set(ROLES)
    assert {field.name for field in fields(Host)} - {"name"} == set(HOST) - {"zone"}
    assert len(fields(Reveal)) == len(REVEAL)
    told = {field.name for field in fields(Network)}
    assert told <= set(FILE)
    assert set(FILE) - told == {"reachability"}
    assert all(entry.meaning[-1] != "." for entry in (*FILE.values(), *HOST.values()))
    assert len(IMAGES) == 10
