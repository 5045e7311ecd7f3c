"""Settings that are asked for, by flags or by a file: TOML, or what a run noted of itself (JSON).

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Self

from workflow_rl.config.backend import BackendConfig
from workflow_rl.config.game import GameConfig
from workflow_rl.config.ppo import PPO_FORM, PPOConfig
from workflow_rl.config.presets import PRESET, Changes
from workflow_rl.config.search import SearchConfig
from workflow_rl.config.setting import (
    Setting,
    SettingField,
    current_names,
    described,
    setting_fields,
)
from workflow_rl.config.train import TrainConfig
from workflow_rl.errors import InvalidInputError

MAX_SEED: Final = 2**63 - 1
SeedSetting = Annotated[
    int, Setting("same seed, same result", ("--seed",), low=0, high=MAX_SEED, basic=True)
]
SEED: Final = described("seed", SeedSetting, 0)
SECTIONS: Final[Mapping[str, type]] = {
    "game": GameConfig,
    "ppo": PPOConfig,
    "train": TrainConfig,
    "search": SearchConfig,
    "backend": BackendConfig,
}
_NAMED: Final = {"preset": PRESET, "form": PPO_FORM, "seed": SEED}
_CONFIG, _PLAN, _PURPOSE = "config", "plan", "purpose"  # in what a run noted


@dataclass(frozen=True)
class Asked:
    """What is asked for; the rest is left to the preset, or to whoever is asked less."""

    preset: str | None = None
    form: str | None = None
    seed: int | None = None
    sections: Mapping[str, Changes] = field(default_factory=dict)

    def over(self, other: "Asked") -> "Asked":
        """Returns both together: where both ask for something, ours wins."""
        return Asked(
            self.preset if self.preset is not None else other.preset,
            self.form if self.form is not None else other.form,
            self.seed if self.seed is not None else other.seed,
            {
                name: {**other.sections.get(name, {}), **self.sections.get(name, {})}
                for name in SECTIONS
            },
        )


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

        Args:
            command: whose plan it is to be.
            names: what it may say.

        Raises:
            InvalidInputError: it says something else.
        """
        if self.purpose is not None and self.purpose.split()[:1] != [command]:
            return {}
        _refuse_unknown(self.path, _PLAN, self.plan, names)
        return dict(self.plan)


def checked(
    path: Path, section: str, given: Mapping[str, Any], fields: Mapping[str, SettingField]
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
