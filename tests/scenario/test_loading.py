"""Networks by name and from files."""

import shutil
from pathlib import Path

import pytest

from tests.refused import refused
from tests.scenario.networks import SMALL, scenario
from workflow_rl.scenario.loading import SHIPPED, network_of


def test_networks_that_ship_have_their_names() -> None:
    for name in SHIPPED:
        assert network_of(name).name == name
    assert len({network_of(name).digest for name in SHIPPED}) == len(SHIPPED)
    assert len(network_of("office").hosts) == 8
    assert len(network_of("plant").hosts) == 30


@pytest.mark.parametrize("ending", [".yaml", ".yml"])
def test_a_file_is_read_by_its_ending(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"mine{ending}"
    shutil.copy(scenario("net_00"), path)
    network = network_of(path)
    assert (network.name, len(network.hosts)) == ("mine", 4)
    assert network_of(str(path)) is network


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(SMALL, encoding="utf-8")
    before = network_of(path)
    path.write_text(SMALL.replace("value = 1,", "value = 2,"), encoding="utf-8")
    assert network_of(path).hosts[2].value == 2.0
    assert before.hosts[2].value == 1.0


def test_what_is_no_network_is_refused(tmp_path: Path) -> None:
    refused(
        "there is no network 'scenario3': name scenario2, cage1, office, plant, or a file that "
        "ends in .toml, .yaml, .yml",
        network_of,
        "scenario3",
    )
    refused("there is no network .*mine.json'", network_of, tmp_path / "mine.json")
    refused("there is no file .*mine.toml", network_of, tmp_path / "mine.toml")
    (tmp_path / "folder.toml").mkdir()
    refused("is not a file", network_of, tmp_path / "folder.toml")
    large = tmp_path / "large.toml"
    large.write_text("# " + "x" * (1 << 20), encoding="utf-8")
    refused("has 1,048,578 bytes; allowed are at most 1,048,576", network_of, large)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"a: b\n\xff\xfe")
    refused("binary.yaml, line 2: not text in UTF-8", network_of, binary)
    for ending in (".toml", ".yaml"):
        other = tmp_path / f"other{ending}"
        other.write_text("some text", encoding="utf-8")
        refused(
            f"other{ending}, line 1: not TOML|other{ending}, line 1: 'some text' must be fields",
            network_of,
            other,
        )
