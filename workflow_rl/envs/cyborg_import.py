"""Finds and imports the real CybORG of CAGE Challenge 2, which is on no package index.

It is looked for in the folder given, else in the one that the environment variable CYBORG_PATH
names, else where Python finds modules.
"""

import importlib.util
import os
import sys
import types
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from workflow_rl.config.checks import file_path
from workflow_rl.errors import InvalidInputError, MissingDependencyError

PATH_VARIABLE: Final = "CYBORG_PATH"
_PACKAGE: Final = "CybORG"
_SCENARIO: Final = Path("Shared", "Scenarios", "Scenario2.yaml")
_GUIDE: Final = "docs/cyborg.md says how"


@dataclass(frozen=True)
class Cyborg:
    """What is used of an imported CybORG."""

    folder: Path  # of the package
    environment: Any  # the class CybORG
    red_agents: Mapping[str, Any]  # classes, by our names
    active_green: Any
    blue_table: Any  # the wrapper that turns Blue's observations into 52 bits
    action_list: Any  # the wrapper that numbers the actions
    challenge_wrapper: Any
    decoy_sshd: Any  # an action of Blue's
    red_actions: Mapping[str, Any]  # classes of Red's actions, by their names

    @property
    def scenario(self) -> str:
        """The path of Scenario2."""
        return str(self.folder / _SCENARIO)


def load_cyborg(path: str | Path | None = None) -> Cyborg:
    """Imports CybORG without its warnings and notices.

    Args:
        path: a clone of CAGE Challenge 2, its folder `CybORG`, or the package in there; None
            CYBORG_PATH, then Python's module path.

    Raises:
        MissingDependencyError: CybORG, or a module it needs, is not installed.
        InvalidInputError: the path leads to no CybORG of CAGE Challenge 2, or this process has
            imported another one.
    """
    if path is not None:
        file_path("cyborg_path", path)
    parent = _parent_of_package(path or os.environ.get(PATH_VARIABLE) or None)
    folder = parent / _PACKAGE
    silence_gym()
    try:
        with _first_on_path(parent), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from CybORG import CybORG
            from CybORG.Agents import B_lineAgent, GreenAgent, RedMeanderAgent, SleepAgent
            from CybORG.Agents.Wrappers import (
                BlueTableWrapper,
                ChallengeWrapper,
                EnumActionWrapper,
            )
            from CybORG.Shared.Actions import (
                DecoySSHD,
                DiscoverNetworkServices,
                DiscoverRemoteSystems,
                ExploitRemoteService,
                Impact,
                PrivilegeEscalate,
                Sleep,
            )
    except ModuleNotFoundError as error:
        if (error.name or _PACKAGE).split(".")[0] == _PACKAGE:
            raise _not_of_the_challenge(folder) from error
        raise MissingDependencyError(
            f"CybORG needs the module {error.name!r}, which is not installed; {_GUIDE}"
        ) from error
    except ImportError as error:
        raise _not_of_the_challenge(folder) from error
    imported = Path(str(sys.modules[_PACKAGE].__file__)).resolve().parent
    if imported != folder:
        raise InvalidInputError(
            f"CybORG is already imported from {imported}, and one process can only use one: "
            f"{folder} needs another process"
        )
    return Cyborg(
        folder=folder,
        environment=CybORG,
        red_agents={"bline": B_lineAgent, "meander": RedMeanderAgent, "sleep": SleepAgent},
        active_green=GreenAgent,
        blue_table=BlueTableWrapper,
        action_list=EnumActionWrapper,
        challenge_wrapper=ChallengeWrapper,
        decoy_sshd=DecoySSHD,
        red_actions={
            "Sleep": Sleep,
            "DiscoverRemoteSystems": DiscoverRemoteSystems,
            "DiscoverNetworkServices": DiscoverNetworkServices,
            "ExploitRemoteService": ExploitRemoteService,
            "PrivilegeEscalate": PrivilegeEscalate,
            "Impact": Impact,
        },
    )


def _parent_of_package(path: str | Path | None) -> Path:
    """Returns the folder that holds the package, whichever of its neighbours was named."""
    given = path is not None
    if path is None:
        spec = importlib.util.find_spec(_PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise MissingDependencyError(
                "CybORG is not installed: get CAGE Challenge 2 and point to it by the environment "
                f"variable {PATH_VARIABLE}; {_GUIDE}"
            )
        path = next(iter(spec.submodule_search_locations))
    named = Path(path).expanduser().resolve()
    for folder in (named / _PACKAGE, named / _PACKAGE / _PACKAGE, named):
        if (folder / "CybORG.py").is_file() and folder.name == _PACKAGE:
            if not (folder / _SCENARIO).is_file():
                raise _not_of_the_challenge(folder)
            return folder.parent
    if not given:
        raise _not_of_the_challenge(named)
    raise InvalidInputError(
        f"there is no CybORG in {path}: give the clone of CAGE Challenge 2 or its folder CybORG"
    )


def _not_of_the_challenge(folder: Path) -> InvalidInputError:
    return InvalidInputError(f"{folder} is not the CybORG of CAGE Challenge 2; {_GUIDE}")


@contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def silence_gym() -> None:
    """Keeps the old gym, if it is imported later, from printing its notice of retirement."""
    notices = types.ModuleType("gym_notices.notices")
    notices.notices = {}  # type: ignore[attr-defined]
    sys.modules.setdefault("gym_notices", types.ModuleType("gym_notices"))
    sys.modules.setdefault("gym_notices.notices", notices)
