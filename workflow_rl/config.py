"""What a user can choose, as frozen dataclasses that check themselves; one per layer."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Final

from workflow_rl.errors import InvalidInputError

RED_AGENTS: Final = ("bline", "meander", "sleep")  # in the order of sim.state.RedAgent
MIXED: Final = "mixed"
RULE_SETS: Final = ("main", "competition")
OBSERVATIONS: Final = ("challenge", "cardiff")
GREEN_AGENTS: Final = ("sleep", "active")

_RED_ALIASES: Final = {
    "b_lineagent": "bline",
    "b_line": "bline",
    "redmeanderagent": "meander",
    "sleepagent": "sleep",
}
MAX_ENVS: Final = 10_000_000
MAX_EPISODE_LENGTH: Final = 1_000_000


def one_of(what: str, value: object, allowed: tuple[str, ...]) -> str:
    """Returns the value if it is one of the allowed names, else raises a sentence naming them."""
    if value in allowed:
        return str(value)
    raise InvalidInputError(f"unknown {what} {value!r}: choose one of {', '.join(allowed)}")


def whole_number(what: str, value: object, low: int, high: int) -> int:
    """Returns the value as an int in [low, high], else raises a sentence naming the range."""
    try:
        number = value.__index__()  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        number = None
    if number is None or isinstance(value, bool) or not low <= number <= high:
        raise InvalidInputError(
            f"{what} must be a whole number from {low} to {high}, not {value!r}"
        )
    return int(number)


def fraction(what: str, value: float) -> float:
    """Returns the value if it lies in [0, 1], else raises a sentence saying so."""
    if isinstance(value, (int, float)) and 0 <= value <= 1:
        return float(value)
    raise InvalidInputError(f"{what} must be a number from 0 to 1, not {value!r}")


def not_negative(what: str, value: float) -> float:
    """Returns the value if it is a finite number of 0 or more, else raises a sentence saying so."""
    if isinstance(value, (int, float)) and math.isfinite(value) and value >= 0:
        return float(value)
    raise InvalidInputError(f"{what} must be a number of 0 or more, not {value!r}")


def positive(what: str, value: float) -> float:
    """Returns the value if it is a finite number above 0, else raises a sentence saying so."""
    if isinstance(value, (int, float)) and math.isfinite(value) and value > 0:
        return float(value)
    raise InvalidInputError(f"{what} must be a number above 0, not {value!r}")


def red_agent_name(value: object) -> str:
    """Returns our name of a red agent given by it or by the reference's class name."""
    name = value
    if isinstance(value, str):
        name = _RED_ALIASES.get(value.casefold(), value.casefold())
    if name in RED_AGENTS or name == MIXED:
        return str(name)
    raise InvalidInputError(
        f"unknown red agent {value!r}: choose one of {', '.join((*RED_AGENTS, MIXED))}"
    )


@dataclass(frozen=True)
class GameConfig:
    """Which game is played: the same for every environment of a batch."""

    red_agent: str = "bline"
    """bline, meander, sleep, or mixed (drawn for each episode of each environment)."""
    episode_length: int = 100
    """Steps of an episode; reaching it truncates the episode."""
    rules: str = "main"
    """main (the official repository today) or competition (the 2022 leaderboard)."""
    observation: str = "challenge"
    """challenge (52 bits) or cardiff (those bits and 10 scan-state values)."""
    green_agent: str = "sleep"
    """sleep (the challenge) or active (scans hosts at random)."""
    red_probabilities: Mapping[str, float] | None = field(default=None)
    """With mixed: the weight of each red agent; equal weights if not given."""

    def __post_init__(self) -> None:
        """Checks every field and brings it to its standard form."""
        put = object.__setattr__
        put(self, "red_agent", red_agent_name(self.red_agent))
        put(
            self,
            "episode_length",
            whole_number("episode_length", self.episode_length, 1, MAX_EPISODE_LENGTH),
        )
        one_of("rule set", self.rules, RULE_SETS)
        one_of("observation", self.observation, OBSERVATIONS)
        one_of("green agent", self.green_agent, GREEN_AGENTS)
        if self.red_probabilities is not None:
            put(self, "red_probabilities", _probabilities(self.red_agent, self.red_probabilities))

    @property
    def red_weights(self) -> tuple[float, ...]:
        """The probability of each of RED_AGENTS."""
        if self.red_agent != MIXED:
            return tuple(float(name == self.red_agent) for name in RED_AGENTS)
        if self.red_probabilities is None:
            return tuple(1 / len(RED_AGENTS) for _ in RED_AGENTS)
        return tuple(self.red_probabilities.get(name, 0.0) for name in RED_AGENTS)


def _probabilities(red_agent: str, weights: Mapping[str, float]) -> Mapping[str, float]:
    """Returns the weights by our names, scaled to a sum of 1."""
    if red_agent != MIXED:
        raise InvalidInputError(
            f"red_probabilities only go with the red agent {MIXED!r}, not {red_agent!r}"
        )
    named: dict[str, float] = {}
    for name, weight in weights.items():
        key = one_of("red agent in red_probabilities", red_agent_name(name), RED_AGENTS)
        if (
            isinstance(weight, bool)
            or not isinstance(weight, (int, float))
            or not math.isfinite(weight)
            or weight < 0
        ):
            raise InvalidInputError(
                f"the probability of red agent {name!r} must be a number of 0 or more, "
                f"not {weight!r}"
            )
        named[key] = named.get(key, 0.0) + float(weight)
    total = sum(named.values())
    if not total > 0:
        raise InvalidInputError(
            "red_probabilities must give at least one red agent a probability above 0"
        )
    return {name: weight / total for name, weight in named.items()}


@dataclass(frozen=True)
class PPOConfig:
    """How the policy is improved; the defaults are the documented form."""

    epochs: int = 4
    """Passes over the batch at each update."""
    minibatch_size: int | None = None
    """Samples of a gradient step; None takes the whole batch."""
    learning_rate: float = 0.002
    """Of Adam."""
    betas: tuple[float, float] = (0.9, 0.99)
    """Of Adam."""
    gamma: float = 0.99
    """Discount per step."""
    clip: float = 0.2
    """How far the probability ratio may move from 1."""
    value_weight: float = 0.5
    """Weight of the critic's loss."""
    entropy_weight: float = 0.01
    """Weight of the entropy bonus."""
    gae_lambda: float | None = None
    """Generalised advantages; None: normalised Monte-Carlo returns minus the critic's value."""
    value_scale: float = 1.0
    """With generalised advantages: reward units of one unit of the critic's output."""
    max_gradient_norm: float | None = None
    """Longer gradients are cut to this; None leaves them."""
    anneal: bool = False
    """Whether the learning rate falls linearly to a tenth over the training."""
    orthogonal: bool = False
    """Whether the networks start orthogonal."""
    mask_actions: bool = False
    """Whether decoys that would be refused are never chosen."""
    alignment_baseline: bool = False
    """Whether advantages leave out what the alignment reward brings anyway."""

    def __post_init__(self) -> None:
        """Checks every field."""
        whole_number("epochs", self.epochs, 1, 10_000)
        if self.minibatch_size is not None:
            whole_number("minibatch_size", self.minibatch_size, 1, 10**9)
        fraction("gamma", self.gamma)
        if self.gae_lambda is not None:
            fraction("gae_lambda", self.gae_lambda)
        for name in ("learning_rate", "clip", "value_scale"):
            positive(name, getattr(self, name))
        for name in ("value_weight", "entropy_weight"):
            not_negative(name, getattr(self, name))
        if self.max_gradient_norm is not None:
            positive("max_gradient_norm", self.max_gradient_norm)


PPO_FORMS: Final = MappingProxyType(
    {
        "tuned": PPOConfig(gamma=0.95, alignment_baseline=True),  # else as documented
        "documented": PPOConfig(),
        "modern": PPOConfig(
            epochs=4,
            minibatch_size=5_000,
            learning_rate=0.001,
            gamma=0.95,
            gae_lambda=1.0,
            value_scale=10.0,
            max_gradient_norm=0.5,
            anneal=True,
            orthogonal=True,
            mask_actions=True,
            alignment_baseline=True,
        ),
    }
)
DEFAULT_PPO: Final = "tuned"
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
        steps = self.rollout_steps(episode_length)
        budget = self.max_episodes * episode_length
        if budget < steps:
            raise InvalidInputError(
                f"this would never update: {self.max_episodes} episodes of {episode_length} steps "
                f"are {budget} steps per environment, but an update needs {steps} "
                f"({steps * self.n_envs} transitions from {self.n_envs} environments)"
            )
        updates = budget // steps
        if updates * steps < episode_length:
            raise InvalidInputError(
                f"this would never finish an episode: {updates} updates of {steps} steps per "
                f"environment are fewer than the {episode_length} steps of an episode"
            )
        return updates


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

WARM_STARTS: Final = ("common", "previous", "nearest", "none")
STRATEGIES: Final = ("gp-ucb", "random", "round-robin", "exhaustive")


@dataclass(frozen=True)
class SearchConfig:
    """How workflows are chosen and compared."""

    n_workflows: int = 20
    """Workflows to try."""
    strategy: str = "gp-ucb"
    """gp-ucb, random, round-robin or exhaustive."""
    gp_beta: float = 2.0
    """Weight of the uncertainty in the upper confidence bound."""
    initial_design: int = 5
    """First picks, spread out over all orders."""
    warm_start: str = "common"
    """What a training starts from: common (one base policy), previous, nearest or none."""
    base_updates: int = 800
    """With common: updates of the base policy, trained on all orders at once."""
    polish_updates: int = 200
    """Further updates of the recommended workflow's policy."""
    parallel_workflows: int = 1
    """Workflows trained side by side, each in a process."""
    ordered_results: bool = False
    """Whether results are waited for in the order of picks, which are then reproducible."""
    total_episodes: int | None = None
    """Episodes of all trials and environments together after which the search ends; None: all."""

    def __post_init__(self) -> None:
        """Checks every field."""
        whole_number("n_workflows", self.n_workflows, 1, 100_000)
        one_of("strategy", self.strategy, STRATEGIES)
        one_of("warm start", self.warm_start, WARM_STARTS)
        whole_number("initial_design", self.initial_design, 1, 120)
        whole_number("base_updates", self.base_updates, 1, 10**7)
        whole_number("polish_updates", self.polish_updates, 0, 10**7)
        whole_number("parallel_workflows", self.parallel_workflows, 1, 100_000)
        if self.total_episodes is not None:
            whole_number("total_episodes", self.total_episodes, 1, 10**12)
        not_negative("gp_beta", self.gp_beta)


BACKENDS: Final = ("cage2", "cyborg")
VECTORS: Final = ("shared", "pipes", "serial")
VECTOR_MODES: Final = ("sync", "async")


@dataclass(frozen=True)
class BackendConfig:
    """What plays the game: the simulator, or the real CybORG in worker processes."""

    name: str = "cage2"
    """cage2 (the simulator) or cyborg (the original)."""
    cyborg_path: str | None = None
    """Where CybORG is; None: where Python, or CYBORG_PATH, finds it."""
    vector: str = "shared"
    """shared (a few workers over shared memory), pipes (a process each) or serial (none)."""
    vector_mode: str = "sync"
    """sync (all step together) or async (whoever is ready goes on)."""
    env_workers: int | None = None
    """Worker processes; None: one for each core."""
    step_timeout: float | None = None
    """Seconds that a step may take; None: for ever."""
    max_restarts: int = 10
    """Workers that are replaced when they die."""

    def __post_init__(self) -> None:
        """Checks every field."""
        one_of("backend", self.name, BACKENDS)
        one_of("vector", self.vector, VECTORS)
        one_of("vector mode", self.vector_mode, VECTOR_MODES)
        if self.env_workers is not None:
            whole_number("env_workers", self.env_workers, 1, MAX_ENVS)
        if self.step_timeout is not None:
            positive("step_timeout", self.step_timeout)
        whole_number("max_restarts", self.max_restarts, 0, 10**6)
        if self.vector_mode == "async" and self.vector != "shared":
            raise InvalidInputError("the vector mode async goes with the vector shared only")


@dataclass(frozen=True)
class ExperimentConfig:
    """Everything a run depends on."""

    game: GameConfig = field(default_factory=GameConfig)
    ppo: PPOConfig = field(default_factory=lambda: PPO_FORMS[DEFAULT_PPO])
    train: TrainConfig = field(default_factory=TrainConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    backend: BackendConfig = field(default_factory=BackendConfig)
    seed: int = 0

    def __post_init__(self) -> None:
        """Checks what only the parts together show."""
        whole_number("seed", self.seed, 0, 2**63 - 1)
        self.train.max_updates(self.game.episode_length)
        if self.ppo.mask_actions and self.train.action_space != "all":
            raise InvalidInputError(
                "decoys cannot be masked in the action space cardiff, which places them by list: "
                "use another form of PPO than modern"
            )
        if self.backend.vector_mode == "async" and self.train.action_space != "all":
            raise InvalidInputError("the action space cardiff goes with the vector mode sync only")

    def as_json(self) -> dict[str, Any]:
        """Returns the configuration as plain data."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ExperimentConfig":
        """Returns the configuration that `as_json` gave.

        Raises:
            InvalidInputError: it is not such data.
        """
        try:
            ppo = dict(data["ppo"])
            train = dict(data["train"])
            return cls(
                game=GameConfig(**data["game"]),
                ppo=PPOConfig(**(ppo | {"betas": tuple(ppo["betas"])})),
                train=TrainConfig(**(train | {"hidden": tuple(train["hidden"])})),
                search=SearchConfig(**data["search"]),
                backend=BackendConfig(**data["backend"]),
                seed=data["seed"],
            )
        except (KeyError, TypeError) as error:
            raise InvalidInputError(f"not a configuration of this version ({error})") from error
