"""The configuration of a run, from Python or a file, and the part that a policy's file keeps.

A file is TOML, or what a run noted of itself (JSON). It has the sections and the names of
`ExperimentConfig`, besides them `preset`, `form` (of PPO) and `seed`, and a section `plan` for what
a command depends on beyond its configuration:

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
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self, cast

from workflow_rl.config.checks import file_path
from workflow_rl.config.execution import BackendConfig
from workflow_rl.config.game import GameConfig
from workflow_rl.config.population import PopulationConfig
from workflow_rl.config.ppo import DEFAULT_PPO, PPO_FORM, PPO_FORMS, PPOConfig, PPOFormName
from workflow_rl.config.presets import (
    DEFAULT_PRESET,
    MAX_SEED,
    OF_UNIVERSAL,
    OWN_NETWORK,
    PRESET,
    SEED,
    Asked,
    Changes,
    PresetName,
)
from workflow_rl.config.reds import GIVEN
from workflow_rl.config.search import PolishName, SearchConfig
from workflow_rl.config.setting import (
    Setting,
    current_names,
    restored,
    setting,
    setting_fields,
    settings,
    stored,
    values_of,
)
from workflow_rl.config.train import TrainConfig
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.attackers import default_red
from workflow_rl.scenario.loading import SCENARIO2, network_of

SECTIONS: Final[Mapping[str, Any]] = {
    "game": GameConfig,
    "ppo": PPOConfig,
    "train": TrainConfig,
    "search": SearchConfig,
    "population": PopulationConfig,
    "backend": BackendConfig,
}
_NAMED: Final = {"preset": PRESET, "form": PPO_FORM, "seed": SEED}
_CONFIG, _PLAN, _PURPOSE = "config", "plan", "purpose"  # in what a run noted
_POLISH_UPDATES: Final[Mapping[PolishName, int]] = {
    "universal": 20,
    "common": 200,
    "documented": 200,
}


@settings
class ExperimentConfig:
    """Everything a run depends on."""

    game: GameConfig = GameConfig()
    ppo: PPOConfig = PPO_FORMS[DEFAULT_PPO]
    train: TrainConfig = TrainConfig()
    search: SearchConfig = SearchConfig()
    population: PopulationConfig = PopulationConfig()
    backend: BackendConfig = BackendConfig()
    seed: int = cast(int, SEED)

    def __post_init__(self) -> None:
        """Checks what only the parts together show."""
        self.train.max_updates(self.game.episode_length)
        if self.backend.vector_mode == "async" and self.train.action_space == "cardiff":
            raise InvalidInputError("the action space cardiff goes with the vector mode sync only")
        if self.train.follow == "shielded" and not self.ppo.mask_actions:
            raise InvalidInputError(
                "follow shielded needs masked actions: choose the form of PPO modern"
            )
        if self.train.side == "blue" and self.game.red_agent == GIVEN:
            raise InvalidInputError(
                f"the red agent {GIVEN!r} does what it is told: name another for a training of Blue"
            )
        if self.train.side == "red" and not self.ppo.mask_actions:
            raise InvalidInputError(
                "side red needs masked actions, for Red may take legal ones only: choose the form "
                "of PPO modern"
            )
        if self.search.warm_start == "universal":
            self._check_universal()
        if not self.game.is_scenario2:
            self._check_other_network()
        by_sight = self.search.polish in ("universal", "common")
        if by_sight and self.train.compliance_view == "true":
            raise InvalidInputError(
                f"polish {self.search.polish} keeps to the order by what Blue sees: with the "
                "compliance view true choose polish documented"
            )
        if self.search.polish == "common" and self.search.warm_start != "common":
            raise InvalidInputError(
                "polish common trains the base policy further: it goes with the warm start common"
            )

    def _check_universal(self) -> None:
        """Checks that trainings can go on from the policy `universal`."""
        for section in ("train", "ppo", "game"):
            for name, needed in getattr(OF_UNIVERSAL, section).items():
                found = getattr(getattr(self, section), name)
                if found != needed:
                    raise InvalidInputError(
                        f"the warm start universal goes with {name} {needed}, not {found}: leave "
                        "that to the preset, or choose another warm start"
                    )

    def _check_other_network(self) -> None:
        """Checks that nothing is to begin with a policy of Scenario2."""
        for name, given in (("warm start", self.search.warm_start), ("polish", self.search.polish)):
            if given == "universal":
                raise InvalidInputError(
                    f"{name} universal: the policy universal plays {SCENARIO2.name}, and not "
                    f"{self.game.network.name}; the search trains a policy of its own there with "
                    f"{name} common"
                )

    @property
    def polish(self) -> PolishName:
        """Which policy is trained further for the recommended workflow."""
        if self.search.polish is not None:
            return self.search.polish
        if self.train.compliance_view == "true":
            return "documented"
        if self.game.is_scenario2:
            return "universal"
        return "common" if self.search.warm_start == "common" else "documented"

    @property
    def polish_updates(self) -> int:
        """The updates of that training."""
        given = self.search.polish_updates
        return _POLISH_UPDATES[self.polish] if given is None else given

    @property
    def handed_over(self) -> PolishName:
        """Which policy a search hands over; without further training it is a trial's own."""
        return self.polish if self.polish_updates else "documented"

    @property
    def follows_any(self) -> bool:
        """Whether the policy that is handed over comes from one that follows any order."""
        return self.handed_over != "documented"

    @property
    def responses(self) -> int:
        """How many best responses to the policy that is handed over a search trains."""
        given = self.search.responses
        return int(self.train.objective != "episodes") if given is None else given

    @classmethod
    def preset(
        cls,
        name: PresetName | str,
        *,
        form: PPOFormName | str | None = None,
        game: Changes | None = None,
        ppo: Changes | None = None,
        train: Changes | None = None,
        search: Changes | None = None,
        population: Changes | None = None,
        backend: Changes | None = None,
        seed: int = 0,
    ) -> Self:
        """Returns the configuration of a documented rollout strategy, with changes to it.

        `ExperimentConfig.preset("hybrid", game={"red_agent": "meander"}, train={"n_envs": 4})`

        Args:
            name: of the preset.
            form: of PPO; None for the preset's own, or else the default one.
            game: changes to its settings; so for the other sections.
            ppo: what differs from the form.
            train: what differs from the preset; a max_episodes lowers min_updates with it.
            search: what differs from the defaults.
            population: what differs from the preset.
            backend: what differs from the defaults.
            seed: same seed, same result.

        Raises:
            InvalidInputError: a name or a value is not allowed, or two do not go together.
        """
        given = {"game": game, "ppo": ppo, "train": train, "search": search}
        given |= {"population": population, "backend": backend}
        return cls.of(Asked(name, form, seed, {key: value or {} for key, value in given.items()}))

    @classmethod
    def of(cls, asked: Asked) -> Self:
        """Returns the configuration of requested settings; raises as `preset`.

        Where B_line cannot play the network asked for, Meander attacks by default, or else path.
        """
        preset = DEFAULT_PRESET if asked.preset is None else asked.preset
        chosen = replace(asked, preset=preset).settings()
        if "network" in (game := chosen["game"]):
            chosen["game"] = {"red_agent": default_red(network_of(game["network"])), **game}
        sections = {name: kind(**chosen.get(name, {})) for name, kind in SECTIONS.items()}
        return cls(**sections, seed=0 if asked.seed is None else asked.seed)

    @classmethod
    def for_search(cls, asked: Asked) -> Self:
        """Returns the configuration of a search, from the policy `universal` where that fits.

        It does not where a preset, a warm start, a base policy, the documents' policy or another
        neural network is asked for. On another network than Scenario2 there is no such policy: a
        search there has the preset `own-network`. Raises as `preset`.
        """
        given = asked.sections.get("search", {})
        network = network_of(asked.sections.get("game", {}).get("network", SCENARIO2))
        if network.digest != SCENARIO2.digest:
            return cls.of(asked if asked.preset else replace(asked, preset=OWN_NETWORK))
        if asked.preset is None and not {"warm_start", "base_updates"} & set(given):
            start = Asked(sections={"search": {"warm_start": "universal"}})
            with suppress(InvalidInputError):  # of another network; else it is raised below
                config = cls.of(asked.over(start))
                if config.polish == "universal":
                    return config
        return cls.of(asked)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Returns the configuration of a TOML file, or of a run's `experiment_config.json`.

        Raises:
            InvalidInputError: there is no such file, or something in it is wrong; the sentence
                names both.
        """
        file = ConfigFile.read(path)
        with file.named():
            return cls.of(file.asked)

    def as_json(self) -> dict[str, Any]:
        """Returns the configuration as plain data."""
        return stored(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns the configuration that `as_json` gave, or raises an InvalidInputError."""
        return restored(cls, data, "configuration")


@settings
class PolicyConfig:
    """The training that made a policy: its game, its settings, its order."""

    game: GameConfig = GameConfig()
    train: TrainConfig = TrainConfig()
    ppo: PPOConfig = PPOConfig()
    order: str | None = setting(
        "the order it follows", flag=None, default=None, unset="any, or none"
    )
    seed: int = setting("of its training", flag=None, default=0, within=(0, MAX_SEED))


# --- files


@dataclass(frozen=True)
class ConfigFile:
    """What a file asks for, each value checked by itself."""

    path: Path
    asked: Asked
    plan: Mapping[str, Any]
    purpose: str | None
    """The command whose run wrote it; None: written by hand."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Reads a TOML file, or the `experiment_config.json` of a run.

        Raises:
            InvalidInputError: there is no such file, it is neither, or it has a section, a setting
                or a value that there is not; the sentence names the file and the field.
        """
        file = file_path("a configuration", path)
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
                raise InvalidInputError(f"{file}: {name} must be a table, not {shown(data[name])}")
        named = checked(file, "", {k: v for k, v in data.items() if k in _NAMED}, _NAMED)
        sections = {
            name: checked(file, name, current_names(kind, data[name]), setting_fields(kind))
            for name, kind in SECTIONS.items()
            if name in data
        }
        return cls(file, Asked(**named, sections=sections), data.get(_PLAN, {}), purpose)

    @classmethod
    def of(cls, config: ExperimentConfig) -> Self:
        """Returns a configuration as a file that asks for every setting of it."""
        sections = {name: values_of(getattr(config, name)) for name in SECTIONS}
        return cls(Path(_CONFIG), Asked(seed=config.seed, sections=sections), {}, _CONFIG)

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
            raise InvalidInputError(f"{path}: {what} {shown(name)}: there are {', '.join(known)}")


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
