"""Networks by name, or from files in either format."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Final

from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.network_toml import network_from_toml, toml_of
from workflow_rl.scenario.tree import LARGEST

SHIPPED: Final = ("scenario2", "cage1", "office", "plant")
TOML_ENDINGS: Final = (".toml",)
YAML_ENDINGS: Final = (".yaml", ".yml")
ENDINGS: Final = TOML_ENDINGS + YAML_ENDINGS
_FOLDER: Final = Path(__file__).parent / "networks"
_CACHED: Final = 256


def network_of(given: str | Path | Network) -> Network:
    """Returns a network that ships, by its name, or the one in a file.

    Args:
        given: one of SHIPPED, the path of a file of our own format (.toml) or of CybORG's (.yaml,
            .yml), what `stored_network` gave, or a network, which is returned as it is.

    Raises:
        InvalidInputError: there is no such network, or the file holds none.
    """
    if isinstance(given, Network):
        return given
    if not isinstance(given, str | os.PathLike):
        raise InvalidInputError(
            f"network {shown(given)} is not allowed: name {', '.join(SHIPPED)}, or a file that "
            f"ends in {', '.join(ENDINGS)}"
        )
    name = os.fspath(given)
    if name in SHIPPED:
        return _read(_FOLDER / f"{name}.toml")
    if "\n" in name:
        return _network_in(name.encode(), "the stored network", "network", ".toml")
    path = Path(name)
    if path.suffix not in ENDINGS:
        raise InvalidInputError(
            f"there is no network {shown(name)}: name {', '.join(SHIPPED)}, or a file that "
            f"ends in {', '.join(ENDINGS)}"
        )
    return _read(path)


def stored_network(network: Network) -> str:
    """Returns what a configuration stores: a shipped network's name, else our own format."""
    for name in SHIPPED:
        if network.name == name and network == network_of(name):
            return name
    return toml_of(network)


def _read(path: Path) -> Network:
    if not path.is_file():
        raise InvalidInputError(
            f"{path} is not a file" if path.exists() else f"there is no file {path}"
        )
    if (size := path.stat().st_size) > LARGEST:
        raise InvalidInputError(f"{path} has {size:,} bytes; allowed are at most {LARGEST:,}")
    try:
        return _network_in(path.read_bytes(), str(path), path.stem, path.suffix)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error


@lru_cache(_CACHED)
def _network_in(content: bytes, file: str, stem: str, ending: str) -> Network:
    try:
        text = content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInputError(f"{file}, line {line}: not text in UTF-8") from error
    if ending in YAML_ENDINGS:
        from workflow_rl.scenario.cyborg_yaml import network_from_yaml

        return network_from_yaml(text, file, stem)
    return network_from_toml(text, file, stem)


SCENARIO2: Final = network_of("scenario2")
