"""What is compared: presets at an equal number of transitions, from scratch, for several seeds."""

import os
from collections.abc import Mapping
from typing import Any, Final, Self, cast

from workflow_rl.config.experiment import ConfigFile, ExperimentConfig, checked
from workflow_rl.config.game import GameConfig
from workflow_rl.config.ppo import PPO_FORM, PPOFormName
from workflow_rl.config.presets import MAX_SEED, PRESETS, UPDATE_STRATEGIES, Asked, PresetName
from workflow_rl.config.setting import (
    restored,
    setting,
    setting_fields,
    settings,
    stored,
    values_of,
)
from workflow_rl.config.train import TrainConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.loading import SCENARIO2

_PURPOSE: Final = "compare-updates"  # of the runs that note a comparison


@settings
class ComparisonConfig:
    """Everything a comparison of presets depends on."""

    game: GameConfig = GameConfig()
    order: int = setting(
        "index of the order to follow among all 120",
        flag="--workflow",
        default=57,  # op_server > enterprise > op_host > user > defender
        basic=True,
        within=(0, 119),
        called="the order",
        metavar="ORDER",
    )
    ppo: PPOFormName = cast(PPOFormName, PPO_FORM)
    transitions: int = setting(
        "transitions of each training, over all environments",
        default=1_000_000,  # the whole budget of parallel200: 50 episodes of 200 environments
        basic=True,
        within=(1, 10**12),
        called="--transitions",
    )
    presets: tuple[PresetName, ...] = setting(
        "rollout strategies to compare", default=UPDATE_STRATEGIES, basic=True, called="preset"
    )
    seeds: tuple[int, ...] = setting(
        "seeds of the trainings of each preset; on the command line --seeds of them from --seed",
        flag=None,
        default=(0, 1, 2),
        within=(0, MAX_SEED),
        called="a seed",
    )

    def __post_init__(self) -> None:
        """Checks that every preset updates at all."""
        if not self.presets or len(set(self.presets)) != len(self.presets):
            raise InvalidInputError("--presets must name at least one preset, and each only once")
        if not self.game.is_scenario2:
            raise InvalidInputError(
                f"the presets are compared on {SCENARIO2.name}, whose actions some of them have, "
                f"not on {self.game.network.name}"
            )
        if not self.seeds:
            raise InvalidInputError("there must be at least one seed")
        for name in self.presets:
            self.experiment(name, self.seeds[0])

    def experiment(self, preset: PresetName, seed: int) -> ExperimentConfig:
        """Returns the configuration of a preset's training, with nothing to end it early.

        Raises:
            InvalidInputError: so few transitions are not one update.
        """
        changes = {"snapshot_every": 0, "stop_at": "budget", "min_updates": 1}
        train = TrainConfig(**Asked(preset, sections={"train": changes}).settings()["train"])
        steps = train.rollout_steps(self.game.episode_length)
        updates = self.transitions // (steps * train.n_envs)
        if not updates:
            raise InvalidInputError(
                f"the preset {preset} would never update: an update needs "
                f"{steps * train.n_envs:,} transitions, and there are {self.transitions:,}"
            )
        episodes = -(-updates * steps // self.game.episode_length)
        return ExperimentConfig.preset(
            preset,
            form=PRESETS[preset].form or self.ppo,
            # A preset has its own observation.
            game={**values_of(self.game), **PRESETS[preset].game},
            train=changes | {"max_episodes": episodes},
            seed=seed,
        )

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Returns the comparison of a TOML file, or of another's `experiment_config.json`.

        Of a TOML file that is what its section `plan` says, the section `game`, `form` and `seed`.

        Raises:
            InvalidInputError: there is no such file, or something in it is wrong; the sentence
                names both.
        """
        file, fields = ConfigFile.read(path), setting_fields(cls)
        if file.purpose not in (None, _PURPOSE):
            raise InvalidInputError(f"{file.path} is not of a comparison, but of a {file.purpose}")
        plan = file.plan_for(_PURPOSE, (*fields, "game"))
        if file.purpose is not None:
            return cls.from_json({**cls().as_json(), **plan})
        asked, others = file.asked, dict(file.asked.sections)
        game = GameConfig(**others.pop("game", {}))
        for name in (*others, *(["preset"] if asked.preset else [])):
            raise InvalidInputError(f"{file.path}: a comparison takes no {name} from a file")
        given = checked(file.path, "plan", plan, fields)
        if asked.form is not None:
            given = {"ppo": asked.form, **given}
        if asked.seed is not None:
            given = {"seeds": tuple(asked.seed + seed for seed in cls.seeds), **given}
        with file.named():
            return cls(game=game, **given)

    def as_json(self) -> dict[str, Any]:
        """Returns the comparison as plain data."""
        return stored(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns the comparison that `as_json` gave, or raises an InvalidInputError."""
        return restored(cls, data, "comparison")
