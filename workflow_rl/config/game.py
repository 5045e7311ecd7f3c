"""The game: red agent, rule set, observation, length of an episode."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from workflow_rl.config.checks import one_of, whole_number
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
