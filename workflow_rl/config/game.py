"""The game: red agent, rule set, observation, length of an episode."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal, Self, get_args

from workflow_rl.config.checks import not_allowed, numbers_allowed, one_of
from workflow_rl.config.reds import MIXED, RED_AGENTS, Red, red_agent_name, reds_of
from workflow_rl.config.setting import setting, settings
from workflow_rl.errors import InvalidInputError, shown

RuleSetName = Literal["main", "competition"]
ObservationName = Literal["challenge", "cardiff", "memory", "belief", "truth"]
GreenAgentName = Literal["sleep", "active"]

RULE_SETS: Final[tuple[RuleSetName, ...]] = get_args(RuleSetName)
OBSERVATIONS: Final[tuple[ObservationName, ...]] = get_args(ObservationName)
GREEN_AGENTS: Final[tuple[GreenAgentName, ...]] = get_args(GreenAgentName)

MAX_ENVS: Final = 10_000_000
MAX_EPISODE_LENGTH: Final = 1_000_000
_MOST_WEIGHT: Final = 1e300  # that several still add up to a number
_NEAR_ONE: Final = 1e-12  # probabilities that add up to 1 but for rounding stay as they are


def _named_weights(weights: object) -> object:
    """Returns weights by our names of red agents."""
    if weights is None:
        return None
    if not isinstance(weights, Mapping):
        raise not_allowed("red_probabilities", weights, "a mapping of red agents to numbers")
    named: dict[str, float] = {}
    for name, weight in weights.items():
        key = one_of("red agent in red_probabilities", red_agent_name(name), RED_AGENTS)
        is_number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
        if not is_number or not 0 <= weight <= _MOST_WEIGHT:
            of_whom = f"the probability of red agent {shown(name)}"
            raise not_allowed(of_whom, weight, numbers_allowed("number", 0, _MOST_WEIGHT))
        named[key] = named.get(key, 0.0) + float(weight)
    return named


@settings
class GameConfig:
    """Which game is played: the same for every environment of a batch."""

    red_agent: str = setting(
        "red agent, the attacker: bline, meander, sleep, mixed (one of these three, sampled for "
        "each episode), bait, random, patient[:STEPS[:SCRIPT]], a red policy (*.safetensors), or a "
        "mixture such as bline=1,bait=2",
        default="bline",
        read=red_agent_name,
        basic=True,
        called="red agent",
    )
    episode_length: int = setting(
        "steps per episode", "--max-steps", default=100, within=(1, MAX_EPISODE_LENGTH)
    )
    rules: RuleSetName = setting(
        "rule set",
        default="main",
        basic=True,
        called="rule set",
        meanings={"main": "the official repository today", "competition": "the 2022 leaderboard"},
    )
    observation: ObservationName = setting(
        "Blue's observation",
        default="challenge",
        meanings={
            "challenge": "52 bits",
            "cardiff": "challenge and 10 scan-state values",
            "memory": "challenge and bits of what Blue remembers",
            "belief": "memory and the probability that Red holds each host",
            "truth": "memory and Red's true access: privileged, for measurements",
        },
    )
    green_agent: GreenAgentName = setting(
        "what Green does",
        default="sleep",
        meanings={"sleep": "nothing, as in the challenge", "active": "scans hosts at random"},
    )
    red_probabilities: Mapping[str, float] | None = setting(
        "with mixed: the probability of each red agent",
        flag=None,
        default=None,
        read=_named_weights,
        unset="equal",
    )

    def __post_init__(self) -> None:
        """Scales the weights of red agents to probabilities."""
        if self.red_probabilities is None:
            return
        if self.red_agent != MIXED:
            raise InvalidInputError(
                f"red_probabilities only go with the red agent {MIXED!r}, not {self.red_agent!r}"
            )
        total = sum(self.red_probabilities.values())
        if not total > 0:
            raise InvalidInputError(
                "red_probabilities must give at least one red agent a probability above 0"
            )
        if abs(total - 1) > _NEAR_ONE:
            scaled = {name: weight / total for name, weight in self.red_probabilities.items()}
            object.__setattr__(self, "red_probabilities", scaled)

    @classmethod
    def of(cls, game: "GameConfig | None", settings: Mapping[str, Any]) -> "GameConfig":
        """Returns a game with some settings changed; without a game, the default one's."""
        return cls(**settings) if game is None else game.changed(**settings)

    def changed(self, **changes: Any) -> Self:
        """Returns the game with other settings; its probabilities stay only with `mixed`."""
        if red_agent_name(changes.get("red_agent", self.red_agent)) != MIXED:
            changes = {"red_probabilities": None, **changes}
        return replace(self, **changes)

    @property
    def reds(self) -> tuple[Red, ...]:
        """Who attacks, each with its probability."""
        if self.red_agent == MIXED and self.red_probabilities is not None:
            weights = self.red_probabilities
            return tuple(Red(red, red, weight=weights.get(red, 0.0)) for red in RED_AGENTS)
        return reds_of(self.red_agent)

    @property
    def red_weights(self) -> tuple[float, ...]:
        """The probability of each of RED_AGENTS, for those who have a model of no others.

        Raises:
            InvalidInputError: another red agent plays, too.
        """
        weights = dict.fromkeys(RED_AGENTS, 0.0)
        for red in self.reds:
            if red.name not in weights:
                known = ", ".join(RED_AGENTS)
                raise InvalidInputError(f"there is a model of {known}, not of {shown(red.name)}")
            weights[red.name] += red.weight
        return tuple(weights.values())
