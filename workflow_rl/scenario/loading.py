"""Networks by name, or from files in either format."""

from functools import lru_cache
from pathlib import Path
from typing import Final

from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.files import check_file
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.network_toml import network_from_toml
from workflow_rl.scenario.tree import LARGEST

SHIPPED: Final = ("scenario2", "cage1", "office", "plant")
TOML_ENDINGS: Final = (".toml",)
YAML_ENDINGS: Final = (".yaml", ".yml")
ENDINGS: Final = TOML_ENDINGS + YAML_ENDINGS
_FOLDER: Final = Path(__file__).parent / "networks"
_CACHED: Final = 256


def network_of(name: str | Path) -> Network:
    """Returns a network that ships, by its name, or the one in a file.

    Args:
        name: one of SHIPPED, or the path of a file of our own format (.toml) or of CybORG's
            (.yaml, .yml).

    Raises:
        InvalidInputError: there is no such network, or the file holds none.
    """
    if name in SHIPPED:
        return _read(_FOLDER / f"{name}.toml")
    path = Path(name)
    if path.suffix not in ENDINGS:
        raise InvalidInputError(
            f"there is no network {shown(str(name))}: name {', '.join(SHIPPED)}, or a file that "
            f"ends in {', '.join(ENDINGS)}"
        )
    return _read(path)


def _read(path: Path) -> Network:
    check_file(path)
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
