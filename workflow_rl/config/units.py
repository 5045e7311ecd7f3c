"""Which units a workflow puts in order: a kind by its name, or groups of hosts.

A file of groups is read here, once: a configuration holds the groups themselves, so that a run
knows its units when the file is gone. Whether the hosts exist, and each has one group, is for
`workflow/units.py` to say: no setting knows the network.
"""

import os
import tomllib
from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

from workflow_rl.config.checks import file_path, not_allowed
from workflow_rl.errors import InvalidInputError, shown

UnitKindName = Literal["types", "hosts", "subnets", "any"]
UNIT_KINDS: Final[tuple[UnitKindName, ...]] = get_args(UnitKindName)
ANY: Final = "any"  # no units to name an order by, but a draw of units in every episode
Groups = Mapping[str, tuple[str, ...]]

_KINDS = ", ".join(UNIT_KINDS)


def read_groups(value: Any) -> Any:
    """Returns the name of a kind as it is, and groups as a mapping of names to hosts.

    Args:
        value: a kind's name, the path of a TOML file, or groups.

    Raises:
        InvalidInputError: it is none of these, or the file is no table of groups.
    """
    if isinstance(value, Mapping):
        return _checked(value, "units")
    if not isinstance(value, str | os.PathLike):
        raise not_allowed("units", value, f"one of {_KINDS}, a TOML file or groups of hosts")
    if value in UNIT_KINDS:
        return value
    path = file_path("units", value)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        if path.exists():
            raise InvalidInputError(f"the units of {path} cannot be read: {error}") from None
        raise InvalidInputError(
            f"unknown units {shown(str(value))}: choose one of {_KINDS}, or name a TOML file of "
            "groups"
        ) from None
    try:
        return _checked(tomllib.loads(text), str(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # of brackets in brackets in ...
        raise InvalidInputError(f"{path} is not TOML: {error}") from None


def _checked(groups: Mapping[Any, Any], where: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, hosts in groups.items():
        names = hosts if isinstance(hosts, list | tuple) else (None,)
        if not isinstance(name, str) or not all(isinstance(host, str) for host in names):
            raise InvalidInputError(
                f"{where}: {shown(name)} must be a list of hosts, such as "
                f'["User1", "User2"], not {shown(hosts)}'
            )
        found[name] = tuple(names)
    return found
