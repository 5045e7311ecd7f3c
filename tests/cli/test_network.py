"""`workflow-rl network`: says what a network is, shows it, draws one, and writes either format."""

from pathlib import Path

import pytest

from tests.cli.run import Capture, complaint, refusal, run, run_here
from tests.scenario.networks import SCENARIOS, SMALL, scenario
from workflow_rl.cli import main
from workflow_rl.scenario.loading import SHIPPED, network_of


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def test_check_says_what_is_known_beforehand(tmp_path: Path) -> None:
    out = run_here("network", "check", "office", cwd=tmp_path)
    assert out.startswith("office: 8 hosts in 3 zones; Red goes on from what it holds; digest ")
    assert "CybORG cannot play it: zones.office: routes between zones are no rule" in out
    assert "- bline plays: it can follow its path to the end\n" in out
    assert "- Blue observes 8 of 8 hosts (32 bits) and watches 8.\n" in out
    assert "Everything in it can matter.\n" in out
    out = run_here("network", "check", str(scenario("crash_01")), cwd=tmp_path)
    assert "\nCybORG can play it.\n" in out
    assert "- bline raises: KeyError at step 1: Red does not know User0\n" in out
    assert "- meander raises: NotImplementedError when it has taken every host" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("name", SHIPPED)
def test_show_draws_every_zone_with_its_hosts(name: str, tmp_path: Path) -> None:
    out = run_here("network", "show", name, cwd=tmp_path)
    network = network_of(name)
    for zone in network.zones:
        assert f"+- {zone.name} -" in out
    for host in network.hosts:
        mark = "*" if host.name == network.foothold else " "
        assert f"{mark} {host.name} {host.value:g}" in out


def test_show_draws_targets_routes_and_reveals(mine: Path, capsys: Capture) -> None:
    mine.write_text(SMALL.replace("value = 1,", 'value = 1, blue = "no-agent",'), encoding="utf-8")
    assert main(["network", "show", str(mine)]) == 0
    out = capsys.readouterr().out
    assert "  plc 1 + 10 ! no-agent" in out
    assert "reached from office" in out
    assert "    > plc" in out


def test_show_writes_a_page(tmp_path: Path) -> None:
    out = run_here("network", "show", "plant", "--output", "plant.html", cwd=tmp_path)
    assert out == "page: plant.html\n"
    page = (tmp_path / "plant.html").read_text(encoding="utf-8")
    for host in network_of("plant").host_names:
        assert f"<strong>{host}</strong>" in page


def test_new_draws_the_same_network_again(tmp_path: Path) -> None:
    words = ("network", "new", "--hosts", "30", "--zones", "4", "--seed", "1")
    printed = run_here(*words, cwd=tmp_path)
    assert run_here(*words, "--output", "a/new.toml", cwd=tmp_path) == "network: a/new.toml\n"
    assert (tmp_path / "a" / "new.toml").read_text(encoding="utf-8") == printed
    assert len(network_of(tmp_path / "a" / "new.toml").hosts) == 30
    more = ("--reachability", "cyborg", "--rare", "0.5", "--output", "new.yaml")
    run_here(*words, *more, cwd=tmp_path)
    assert len(network_of(tmp_path / "new.yaml").zones) == 4


def test_convert_goes_both_ways(tmp_path: Path) -> None:
    for path in SCENARIOS[:3]:
        run_here("network", "convert", str(path), "--output", "there.toml", cwd=tmp_path)
        run_here("network", "convert", "there.toml", "--output", "back.yml", cwd=tmp_path)
        digests = {network_of(file).digest for file in (path, tmp_path / "back.yml")}
        assert len(digests) == 1


MISTAKES = [
    ("fly", "unknown action 'fly': choose one of check, show, new, convert"),
    ("check", "name a network: scenario2, cage1, office, plant, or a file"),
    ("check nowhere.toml", "there is no file nowhere.toml"),
    ("check scenario3", "there is no network 'scenario3'"),
    ("check office --output x", "--output does not go with `network check`"),
    ("check office --seed 3", "--seed only goes with `network new`"),
    ("show office --output x.txt", "x.txt must end in .html"),
    ("convert office", "convert needs --output, a file of .toml, .yaml, .yml"),
    ("convert office --output x.json", "x.json must end in one of .toml, .yaml, .yml"),
    ("convert office --output x.yaml", "CybORG cannot play office: zones.office: routes"),
    ("new office", "`network new` draws a network: it takes none"),
    ("new --hosts 3", "hosts must be a whole number from 4 to 64, not 3"),
    ("new --zones 99", "zones must be a whole number from 1 to 10, not 99"),
    ("new --hosts 4 --zones 5 --output x.toml", "zones must be a whole number from 1 to 4"),
    ("new --reachability magic", "unknown reachability 'magic': choose one of cyborg, routes"),
    ("new --rare 2", "rare must be a number from 0 to 1"),
    ("new --output x.yaml", "CybORG cannot play random-12-3-0: zones.office: routes"),
]


@pytest.mark.parametrize(("words", "sentence"), MISTAKES, ids=[words for words, _ in MISTAKES])
def test_a_mistake_is_one_sentence_and_nothing_is_written(
    words: str, sentence: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sentence in refusal(["network", *words.split()], capsys, tmp_path)


def test_a_file_s_mistake_names_file_line_and_field(mine: Path, capsys: Capture) -> None:
    mine.write_text(SMALL.replace("value = 1,", 'value = "1",'), encoding="utf-8")
    said = refusal(["network", "check", str(mine)], capsys, mine.parent)
    assert f"{mine}, line 11, hosts.plc.value: '1' must be a number" in said


def test_names_that_a_terminal_might_obey_are_not_printed(mine: Path) -> None:
    mine.write_text(SMALL.replace('"small"', '"\\u001b[31mred"'), encoding="utf-8")
    said = complaint(run("network", "show", str(mine)))
    assert "\x1b" not in said
    assert "control characters are not allowed" in said
