"""What is compared: presets at an equal number of transitions, from scratch, for several seeds."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from workflow_rl.config.experiment import MAX_SEED, ExperimentConfig
from workflow_rl.config.game import (
    EpisodeLengthSetting,
    GameConfig,
    RedAgentSetting,
    RuleSetSetting,
)
from workflow_rl.config.ppo import DEFAULT_PPO, PPOFormSetting
from workflow_rl.config.presets import (
    PRESETS,
    UPDATE_STRATEGIES,
    PresetName,
    chosen_settings,
)
from workflow_rl.config.setting import Setting, restored, settings, stored
from workflow_rl.config.train import TrainConfig
from workflow_rl.errors import InvalidInputError


@settings
class ComparisonConfig:
    """Everything a comparison of presets depends on."""

    red_agent: RedAgentSetting = GameConfig.red_agent
    rules: RuleSetSetting = GameConfig.rules
    episode_length: EpisodeLengthSetting = GameConfig.episode_length
    order: Annotated[
        int,
        Setting(
            "the order to follow, of all 120 by its number",
            ("--workflow",),
            low=0,
            high=119,
            called="the order",
            metavar="ORDER",
        ),
    ] = 57  # op_server > enterprise > op_host > user > defender
    ppo: PPOFormSetting = DEFAULT_PPO
    transitions: Annotated[
        int,
        Setting(
            "transitions of each training, all environments together",
            ("--transitions",),
            low=1,
            high=10**12,
            called="--transitions",
        ),
    ] = 1_000_000  # the whole budget of parallel200: 50 episodes of 200 environments
    presets: Annotated[
        tuple[PresetName, ...],
        Setting("rollout strategies to compare", ("--presets",), called="preset"),
    ] = UPDATE_STRATEGIES
    seeds: Annotated[
        tuple[int, ...],
        Setting(
            "a training of each preset for each: on the command line --seeds of them from --seed",
            low=0,
            high=MAX_SEED,
            called="a seed",
        ),
    ] = (0, 1, 2)

    def __post_init__(self) -> None:
        """Checks that every preset updates at all."""
        if not self.presets or len(set(self.presets)) != len(self.presets):
            raise InvalidInputError("--presets must name at least one preset, and each only once")
        if not self.seeds:
            raise InvalidInputError("there must be at least one seed")
        for name in self.presets:
            self.experiment(name, self.seeds[0])

    @property
    def game(self) -> GameConfig:
        """The game, but for what a preset observes."""
        return GameConfig(
            red_agent=self.red_agent, rules=self.rules, episode_length=self.episode_length
        )

    def experiment(self, preset: PresetName, seed: int) -> ExperimentConfig:
        """Returns the configuration of a preset's training, with nothing to end it early.

        Raises:
            InvalidInputError: so few transitions are not one update.
        """
        changes = {"snapshot_every": 0, "stop_at": "budget", "min_updates": 1}
        train = TrainConfig(**chosen_settings(preset, None, {"train": changes})["train"])
        steps = train.rollout_steps(self.episode_length)
        updates = self.transitions // (steps * train.n_envs)
        if not updates:
            raise InvalidInputError(
                f"the preset {preset} would never update: an update needs "
                f"{steps * train.n_envs:,} transitions, and there are {self.transitions:,}"
            )
        episodes = -(-updates * steps // self.episode_length)
        return ExperimentConfig.preset(
            preset,
            form=PRESETS[preset].form or self.ppo,
            game={
                "red_agent": self.red_agent,
                "rules": self.rules,
                "episode_length": self.episode_length,
            },
            train=changes | {"max_episodes": episodes},
            seed=seed,
        )

    def as_json(self) -> dict[str, Any]:
        """Returns the comparison as plain data."""
        return stored(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns the comparison that `as_json` gave, or raises an InvalidInputError."""
        return restored(cls, data, "comparison")
