"""How one workflow is trained, and the documented rollout strategies as presets of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from workflow_rl.config.checks import fraction, not_negative, one_of, whole_number
from workflow_rl.config.game import MAX_ENVS
from workflow_rl.errors import InvalidInputError

VIEWS: Final = ("observed", "true")
ALIGNMENTS: Final = ("adaptive", "fixed")
STOPS: Final = ("compliance", "budget")
ACTION_SPACES: Final = ("all", "cardiff")


@dataclass(frozen=True)
class TrainConfig:
    """How one workflow is trained; the defaults are the preset `parallel200`."""

    n_envs: int = 200
    """Environments that play side by side."""
    update_steps: int | None = None
    """Transitions per update; None: whole episodes of every environment."""
    update_episodes: int = 1
    """Episodes per environment of an update, where update_steps does not say otherwise."""
    max_episodes: int = 50
    """Episodes per environment at most."""
    min_episodes: int = 5
    """Updates at least, before compliance may end the training; the budget ends it all the same."""
    compliance_threshold: float = 0.95
    """Mean compliance of an update's episodes that ends the training."""
    compliance_view: str = "observed"
    """By which view compliance is trained and judged: observed or true."""
    alignment: str = "adaptive"
    """adaptive (a weight that just keeps the threshold) or fixed."""
    alignment_lambda: float = 30.0
    """Weight of an episode's compliance; with adaptive, where it starts."""
    stop_at: str = "compliance"
    """compliance (as soon as the threshold is met) or budget (always max_episodes)."""
    replay_rollouts: int = 0
    """Earlier rollouts kept in each update's batch."""
    conditioned: bool = True
    """Whether the policy is shown the order."""
    hidden: tuple[int, ...] = (64, 64)
    """Units of each hidden layer."""
    action_space: str = "all"
    """all (the 145 actions) or cardiff (the 36 outputs of the challenge's winner)."""
    snapshot_every: int = 0
    """Updates after which the policy is kept each time; 0: only the best and the last."""

    def __post_init__(self) -> None:
        """Checks every field."""
        put = object.__setattr__
        put(self, "n_envs", whole_number("n_envs", self.n_envs, 1, MAX_ENVS))
        put(self, "max_episodes", whole_number("max_episodes", self.max_episodes, 1, 10**9))
        highest = max(self.max_episodes, TrainConfig.min_episodes)
        put(self, "min_episodes", whole_number("min_episodes", self.min_episodes, 1, highest))
        if self.update_steps is not None:
            steps = whole_number("update_steps", self.update_steps, self.n_envs, 10**9)
            put(self, "update_steps", steps)
        episodes = whole_number("update_episodes", self.update_episodes, 1, 10**9)
        put(self, "update_episodes", episodes)
        replayed = whole_number("replay_rollouts", self.replay_rollouts, 0, 1_000)
        put(self, "replay_rollouts", replayed)
        fraction("compliance_threshold", self.compliance_threshold)
        one_of("compliance view", self.compliance_view, VIEWS)
        one_of("alignment", self.alignment, ALIGNMENTS)
        one_of("stop rule", self.stop_at, STOPS)
        every = whole_number("snapshot_every", self.snapshot_every, 0, 10**9)
        put(self, "snapshot_every", every)
        one_of("action space", self.action_space, ACTION_SPACES)
        not_negative("alignment_lambda", self.alignment_lambda)
        units = tuple(whole_number("units of a hidden layer", n, 1, 65_536) for n in self.hidden)
        put(self, "hidden", units)

    def rollout_steps(self, episode_length: int) -> int:
        """Returns the steps each environment plays for an update."""
        if self.update_steps is None:
            return episode_length * self.update_episodes
        return -(-self.update_steps // self.n_envs)

    def max_updates(self, episode_length: int) -> int:
        """Returns the updates that max_episodes allow.

        Raises:
            InvalidInputError: none at all.
        """
        reason = self.why_no_update(episode_length)
        if reason is not None:
            raise InvalidInputError(reason)
        return self.max_episodes * episode_length // self.rollout_steps(episode_length)

    def why_no_update(self, episode_length: int) -> str | None:
        """Says why max_episodes allow no update, or no whole episode; None if they do."""
        steps = self.rollout_steps(episode_length)
        budget = self.max_episodes * episode_length
        updates = budget // steps
        if not updates:
            return (
                f"this would never update: {self.max_episodes} episodes of {episode_length} steps "
                f"are {budget} steps per environment, but an update needs {steps} "
                f"({steps * self.n_envs} transitions from {self.n_envs} environments)"
            )
        if updates * steps < episode_length:
            return (
                f"this would never finish an episode: {updates} updates of {steps} steps per "
                f"environment are fewer than the {episode_length} steps of an episode"
            )
        return None


@dataclass(frozen=True)
class Preset:
    """A rollout strategy: the fields that differ from the defaults."""

    train: Mapping[str, Any] = field(default_factory=dict)
    ppo: Mapping[str, Any] = field(default_factory=dict)
    game: Mapping[str, Any] = field(default_factory=dict)
    form: str | None = None
    """The form of PPO, where it is not the default one."""


PRESETS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        "episode": Preset({"n_envs": 1}, {"epochs": 4}),
        "hybrid": Preset({"n_envs": 1, "update_episodes": 5}, {"epochs": 4}),
        "minibatch": Preset({"n_envs": 1, "update_episodes": 10}, {"epochs": 4}),
        "standard": Preset({"n_envs": 8, "update_steps": 2_048}, {"minibatch_size": 64}),
        "parallel25": Preset({"n_envs": 25, "max_episodes": 400, "min_episodes": 10}),
        "parallel200": Preset(),
        "original": Preset(
            {
                "update_steps": 20_000,
                "max_episodes": 500,
                "conditioned": False,
                "alignment": "fixed",
                "alignment_lambda": 0.0,
                "stop_at": "budget",
                "action_space": "cardiff",
                "snapshot_every": 1,
            },
            {"epochs": 6},
            {"observation": "cardiff"},
            "documented",
        ),
    }
)
