"""Settings in a file: TOML, or what a run noted of itself (JSON).

A file has the sections and the names of `ExperimentConfig`, beside them `preset`, `form` (of PPO)
and `seed`, and a section `plan` for what a command depends on beyond its configuration:

    preset = "hybrid"
    seed = 7
    [game]
    red_agent = "meander"
    [train]
    n_envs = 4
"""

import json
import os
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from workflow_rl.config.execution import BackendConfig
from workflow_rl.config.game import GameConfig
from workflow_rl.config.ppo import PPO_FORM, PPOConfig
from workflow_rl.config.presets import PRESET, SEED, Asked
from workflow_rl.config.search import SearchConfig
from workflow_rl.config.setting import Setting, current_names, setting_fields
from workflow_rl.config.train import TrainConfig
from workflow_rl.errors import InvalidInputError

SECTIONS: Final[Mapping[str, Any]] = {
    "game": GameConfig,
    "ppo": PPOConfig,
    "train": TrainConfig,
    "search": SearchConfig,
    "backend": BackendConfig,
}
_NAMED: Final = {"preset": PRESET, "form": PPO_FORM, "seed": SEED}
_CONFIG, _PLAN, _PURPOSE = "config", "plan", "purpose"  # in what a run noted


@dataclass(frozen=True)
class ConfigFile:
    """What a file asks for, each value checked by itself."""

    path: Path
    asked: Asked
    plan: Mapping[str, Any]
    purpose: str | None
    """The command whose run noted it; None: somebody wrote it."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Reads a TOML file, or the `experiment_config.json` of a run.

        Raises:
            InvalidInputError: there is no such file, it is neither, or it has a section, a setting
                or a value that there is not; the sentence names the file and the field.
        """
        file = Path(path)
        data, purpose = _content(file), None
        if file.suffix == ".json":
            if not isinstance(data.get(_CONFIG), Mapping):
                raise InvalidInputError(f"{file} is no configuration of a run: it has no {_CONFIG}")
            purpose = str(data.get(_PURPOSE))
            data = {**data[_CONFIG], _PLAN: data.get(_PLAN) or {}}
        known = (*_NAMED, *SECTIONS, _PLAN)
        _refuse_unknown(file, "", data, known)
        for name in (*SECTIONS, _PLAN):
            if not isinstance(data.get(name, {}), Mapping):
                raise InvalidInputError(f"{file}: {name} must be a table, not {data[name]!r}")
        named = checked(file, "", {k: v for k, v in data.items() if k in _NAMED}, _NAMED)
        sections = {
            name: checked(file, name, current_names(kind, data[name]), setting_fields(kind))
            for name, kind in SECTIONS.items()
            if name in data
        }
        return cls(file, Asked(**named, sections=sections), data.get(_PLAN, {}), purpose)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Names the file where something is wrong with several of its settings together."""
        try:
            yield
        except InvalidInputError as error:
            raise InvalidInputError(f"{self.path}: {error}") from None

    def plan_for(self, command: str, names: Collection[str]) -> dict[str, Any]:
        """Returns what a command depends on beyond its configuration; nothing of another's run.

        Raises:
            InvalidInputError: it says something other than these names.
        """
        if self.purpose is not None and self.purpose.split()[:1] != [command]:
            return {}
        _refuse_unknown(self.path, _PLAN, self.plan, names)
        return dict(self.plan)


def checked(
    path: Path, section: str, given: Mapping[str, Any], fields: Mapping[str, Setting]
) -> dict[str, Any]:
    """Returns the settings of a file's section in their standard form.

    Raises:
        InvalidInputError: there is no such setting, or a value is not allowed.
    """
    _refuse_unknown(path, section, given, fields)
    values = {}
    for name, value in given.items():
        try:
            values[name] = fields[name].check(value)
        except InvalidInputError as error:
            where = f"{section}.{name}" if section else name
            raise InvalidInputError(f"{path}: {where}: {error}") from None
    return values


def _refuse_unknown(path: Path, section: str, given: Mapping[str, Any], known: Any) -> None:
    for name in given:
        if name not in known:
            what = f"{section} has no setting" if section else "there is no section or setting"
            raise InvalidInputError(f"{path}: {what} {name!r}: there are {', '.join(known)}")


def _content(path: Path) -> Mapping[str, Any]:
    """Returns the table in a file."""
    kind = "JSON" if path.suffix == ".json" else "TOML"
    if not path.is_file():
        raise InvalidInputError(f"there is no file {path}")
    try:
        text = path.read_bytes().decode("utf-8")
        data = json.loads(text) if kind == "JSON" else tomllib.loads(text)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInputError(f"{path} is not {kind}: {reason}") from None
    if not isinstance(data, Mapping):
        raise InvalidInputError(f"{path} is not a table of settings")
    return data
