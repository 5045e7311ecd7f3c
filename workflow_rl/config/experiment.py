"""Everything a run was asked for, and what a policy's file keeps of it."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Self, cast

from workflow_rl.config.execution import BackendConfig
from workflow_rl.config.file import SECTIONS, ConfigFile
from workflow_rl.config.game import GameConfig
from workflow_rl.config.ppo import DEFAULT_PPO, PPO_FORMS, PPOConfig, PPOFormName
from workflow_rl.config.presets import (
    DEFAULT_PRESET,
    MAX_SEED,
    OF_UNIVERSAL,
    SEED,
    Asked,
    Changes,
    PresetName,
)
from workflow_rl.config.search import PolishName, SearchConfig
from workflow_rl.config.setting import restored, setting, settings, stored
from workflow_rl.config.train import TrainConfig
from workflow_rl.errors import InvalidInputError

_POLISH_UPDATES: Final[Mapping[PolishName, int]] = {"universal": 20, "documented": 200}


@settings
class ExperimentConfig:
    """Everything a run depends on."""

    game: GameConfig = GameConfig()
    ppo: PPOConfig = PPO_FORMS[DEFAULT_PPO]
    train: TrainConfig = TrainConfig()
    search: SearchConfig = SearchConfig()
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
        if self.search.warm_start == "universal":
            self._check_universal()
        if self.search.polish == "universal" and self.train.compliance_view == "true":
            raise InvalidInputError(
                "polish universal keeps to the order by what Blue sees: with the compliance view "
                "true choose polish documented"
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

    @property
    def polish(self) -> PolishName:
        """Which policy is trained further for the recommended workflow."""
        return self.search.polish or (
            "documented" if self.train.compliance_view == "true" else "universal"
        )

    @property
    def polish_updates(self) -> int:
        """The updates of that training."""
        given = self.search.polish_updates
        return _POLISH_UPDATES[self.polish] if given is None else given

    @property
    def handed_over(self) -> PolishName:
        """Which policy a search hands over; without further training it is a trial's own."""
        return self.polish if self.polish_updates else "documented"

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
            backend: what differs from the defaults.
            seed: same seed, same result.

        Raises:
            InvalidInputError: a name or a value is not allowed, or two do not go together.
        """
        given = {"game": game, "ppo": ppo, "train": train, "search": search, "backend": backend}
        return cls.of(Asked(name, form, seed, {key: value or {} for key, value in given.items()}))

    @classmethod
    def of(cls, asked: Asked) -> Self:
        """Returns the configuration that is asked for; raises as `preset`."""
        preset = DEFAULT_PRESET if asked.preset is None else asked.preset
        chosen = replace(asked, preset=preset).settings()
        sections = {name: kind(**chosen.get(name, {})) for name, kind in SECTIONS.items()}
        return cls(**sections, seed=0 if asked.seed is None else asked.seed)

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
    order: str | None = setting("the order it follows", default=None, unset="any, or none")
    seed: int = setting("of its training", default=0, low=0, high=MAX_SEED)
