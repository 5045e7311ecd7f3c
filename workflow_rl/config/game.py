"""The game: red agent, rule set, observation, length of an episode."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import PlainSerializer

from workflow_rl.config.checks import not_allowed, numbers_allowed, one_of
from workflow_rl.config.reds import MIXED, RED_AGENTS, Red, red_agent_name, reds_of
from workflow_rl.config.setting import setting, settings
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.attackers import default_red
from workflow_rl.scenario.loading import SCENARIO2, network_of, stored_network
from workflow_rl.scenario.network import Network

RuleSetName = Literal["main", "competition"]
ObservationName = Literal["challenge", "cardiff", "memory", "recall", "belief", "truth"]
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
        "each episode), bait, random, path, patient[:STEPS[:SCRIPT]], a red policy "
        "(*.safetensors), or a mixture such as bline=1,bait=2",
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
            "recall": "memory, the decoys at each host's latest scan, and recent Restores",
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

    network: Annotated[Network, PlainSerializer(stored_network)] = setting(
        "network, by its name or file",
        default=SCENARIO2,
        read=network_of,
        basic=True,
        metavar="FILE",
    )

    def __post_init__(self) -> None:
        """Scales the weights of red agents to probabilities."""
        self._check_model()
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

    @classmethod
    def on(cls, network: Network, **settings: Any) -> Self:
        """Returns a game on a network, by default against an attacker that can play."""
        return cls(**{"red_agent": default_red(network), "network": network, **settings})

    def changed(self, **changes: Any) -> Self:
        """Returns the game with other settings; its probabilities stay only with `mixed`."""
        if red_agent_name(changes.get("red_agent", self.red_agent)) != MIXED:
            changes = {"red_probabilities": None, **changes}
        return replace(self, **changes)

    @property
    def is_scenario2(self) -> bool:
        """Whether it is played on the network of the policies that come with the package."""
        return self.network.digest == SCENARIO2.digest

    @property
    def reds(self) -> tuple[Red, ...]:
        """Who attacks, each with its probability."""
        if self.red_agent == MIXED and self.red_probabilities is not None:
            weights = self.red_probabilities
            return tuple(Red(red, red, weight=weights.get(red, 0.0)) for red in RED_AGENTS)
        return reds_of(self.red_agent)

    @property
    def scored_reds(self) -> tuple[str, ...]:
        """Against whom a policy for this game is scored: CybORG's three, then its other reds."""
        return tuple(dict.fromkeys((*RED_AGENTS, *(red.name for red in self.reds))))

    @property
    def red_weights(self) -> tuple[float, ...]:
        """The probability of each of `scored_reds` in this game."""
        weights = {red.name: red.weight for red in self.reds}
        return tuple(weights.get(name, 0.0) for name in self.scored_reds)

    @property
    def unmodelled_reds(self) -> tuple[str, ...]:
        """The reds of this game that the belief has no model of."""
        return tuple(red.name for red in self.reds if red.name not in RED_AGENTS)

    def _check_model(self) -> None:
        if self.observation == "belief" and self.unmodelled_reds:
            raise InvalidInputError(
                f"the belief has a model of {', '.join(RED_AGENTS)}, and none of "
                f"{', '.join(map(shown, self.unmodelled_reds))}: choose another observation"
            )
