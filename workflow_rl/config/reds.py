"""Who attacks: a red agent by its name, a policy in a file, or a mixture of several.

bline, meander, sleep           CybORG's own scripts
bait                            exploits one enterprise host again and again, never escalates it
random                          takes legal actions at random
path                            B_line's chain on any network, along what escalations reveal
patient, patient:5:meander      sleeps 3 (5) steps, then plays B_line (Meander)
vs-best, vs-robust, vs-universal   red policies of the package: best responses to these
red.safetensors                 a red policy
mixed                           bline, meander and sleep with equal probability
bline=1,bait=1,red.safetensors=2   a mixture: one is sampled for each episode

In an environment of both sides Red is `given`: what it does is an argument of the step.
"""

import math
from dataclasses import dataclass
from typing import Final

from workflow_rl.config.checks import not_allowed, unknown
from workflow_rl.errors import InvalidInputError, shown

MIXED: Final = "mixed"
RED_AGENTS: Final = ("bline", "meander", "sleep")  # CybORG's own; sim.state.RedAgent begins so
BUILT_IN: Final = (*RED_AGENTS, "bait", "random", "path")  # played by the rules; sim.state.RedAgent
GIVEN: Final = "given"  # its actions are arguments of the step
PATIENT: Final = "patient"
SHIPPED_REDS: Final = ("vs-best", "vs-robust", "vs-universal")  # best responses to these policies
POLICY_SUFFIX: Final = ".safetensors"
MAX_REDS: Final = 32  # of a mixture
_MAX_WAIT: Final = 100
_DIGITS: Final = 3  # of it
_PATIENCE: Final = ("3", "bline")  # steps and script
_MOST_WEIGHT: Final = 1e300  # that several still add up to a number
_ALIASES: Final = {
    "b_lineagent": "bline",
    "b_line": "bline",
    "redmeanderagent": "meander",
    "sleepagent": "sleep",
}
_NAMES: Final = (*BUILT_IN, PATIENT, MIXED, *SHIPPED_REDS)
_ALLOWED: Final = (
    f"{', '.join(_NAMES)}, a red policy (*{POLICY_SUFFIX}), or a mixture such as bline=1,bait=2"
)


@dataclass(frozen=True)
class Red:
    """One attacker of a game."""

    name: str
    agent: str  # one of BUILT_IN, or GIVEN
    wait: int = 0  # steps that it sleeps first
    weight: float = 1.0  # its probability in the game

    @property
    def is_policy(self) -> bool:
        """Whether its actions come from a policy, whose file is its name."""
        return self.agent == GIVEN != self.name


def red_agent_name(value: object) -> str:
    """Returns the canonical name of a red agent or of a mixture.

    Raises:
        InvalidInputError: there is no such red agent, or a weight is no number.
    """
    if not isinstance(value, str) or not value.strip():
        raise unknown("red agent", value, _NAMES)
    if "=" not in value:
        return _single(value).name
    parts = [(red.name, weight) for red, weight in _mixture(value)]
    return ",".join(f"{name}={weight:g}" for name, weight in parts)


def reds_of(name: str) -> tuple[Red, ...]:
    """Returns the attackers of a red agent's canonical name, with their probabilities."""
    if name == MIXED:
        return tuple(Red(red, red, weight=1 / len(RED_AGENTS)) for red in RED_AGENTS)
    if "=" not in name:
        return (_single(name),)
    parts = _mixture(name)
    total = sum(weight for _, weight in parts)
    return tuple(Red(red.name, red.agent, red.wait, weight / total) for red, weight in parts)


def _single(text: str) -> Red:
    name = text.strip()
    folded = _ALIASES.get(name.casefold(), name.casefold())
    if folded in (MIXED, GIVEN, *BUILT_IN):
        return Red(folded, folded)
    if folded.split(":")[0] == PATIENT:
        return _patient(folded)
    if folded in SHIPPED_REDS:
        return Red(folded, GIVEN)
    if folded.endswith(POLICY_SUFFIX):
        return Red(name, GIVEN)
    raise InvalidInputError(f"unknown red agent {shown(text)}: choose from {_ALLOWED}")


def _patient(text: str) -> Red:
    """Reads `patient`, `patient:STEPS` or `patient:STEPS:SCRIPT`."""
    _, *parts = text.split(":")
    wait, script, *more = (*parts, *_PATIENCE[len(parts) :])
    is_number = wait.isascii() and wait.isdigit() and len(wait) <= _DIGITS
    if more or not is_number or not 1 <= int(wait) <= _MAX_WAIT or script not in BUILT_IN:
        raise not_allowed(
            "a patient red agent",
            text,
            f"{PATIENT}:STEPS:SCRIPT with 1 to {_MAX_WAIT} steps and a script of "
            f"{', '.join(BUILT_IN)}",
        )
    return Red(f"{PATIENT}:{int(wait)}:{script}", script, int(wait))


def _mixture(text: str) -> list[tuple[Red, float]]:
    """Reads `NAME=WEIGHT,NAME=WEIGHT`; the same name twice has both weights."""
    weights: dict[Red, float] = {}
    for part in text.split(","):
        name, equals, number = part.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = math.nan
        if not equals or not 0 <= weight <= _MOST_WEIGHT:
            raise InvalidInputError(
                f"{shown(part)} is no part of a mixture of red agents: write NAME=WEIGHT with a "
                f"weight of at least 0, such as bline=1,bait=2"
            )
        red = _single(name)
        if red.agent == MIXED:
            raise InvalidInputError(f"{MIXED} is a mixture itself: name its red agents instead")
        if red.name == GIVEN:
            raise InvalidInputError(f"{GIVEN} is part of no mixture: it stands for one player")
        weights[red] = weights.get(red, 0.0) + weight
    if len(weights) > MAX_REDS or not 0 < sum(weights.values()) <= _MOST_WEIGHT:
        raise InvalidInputError(
            f"a mixture needs 1 to {MAX_REDS} red agents and a weight above 0, not {shown(text)}"
        )
    return [(red, weight) for red, weight in weights.items() if weight > 0]
