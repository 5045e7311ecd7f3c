"""Against whom a policy holds: the attackers of its search, and attackers that adapt to it.

An attacker that adapts is a best response: it was trained against this very policy, under its
order. What it takes is a lower bound of what such attackers can take.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any, Final

from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.result import Result
from workflow_rl.ordersearch.equivalence import MARGIN

BEST_RESPONSE: Final = "best response"  # how tables name it


@dataclass(frozen=True)
class Holding:
    """A policy's results against the attackers of its search, and against best responses to it."""

    attackers: tuple[Result, ...]
    responses: tuple[Result, ...]  # each named by its file in the run
    transitions: int  # of the training of each best response

    @property
    def worst(self) -> Result:
        """That against the attacker of the search that takes most."""
        return min(self.attackers, key=_reward)

    @property
    def response(self) -> Result | None:
        """That against the best response that takes most; None if there is none."""
        return min(self.responses, key=_reward, default=None)

    @property
    def taken(self) -> Estimate | None:
        """What that takes beyond the worst attacker, in points an episode; None without it."""
        if self.response is None:
            return None
        known, found = self.worst.reward, self.response.reward
        return Estimate(known.mean - found.mean, math.hypot(known.half_width, found.half_width))

    @property
    def holds(self) -> bool | None:
        """Whether that is no more than the margin, by the whole interval; None: not known.

        It is not known without a best response, nor by one that takes less than an attacker of the
        search: its training was too short to find what there is.
        """
        if self.taken is None or self.taken.mean < -MARGIN:
            return None
        return self.taken.high <= MARGIN

    @property
    def sentences(self) -> tuple[str, ...]:
        """Says against whom the policy holds."""
        worst = self.worst
        told = f"Against {worst.red_agent} the policy scores {worst.reward}"
        if len(self.attackers) > 1:
            told = f"Of the attackers of the search {worst.red_agent} takes most: {worst.reward}"
        return f"{told}.", *self._about_responses()

    def _about_responses(self) -> tuple[str, ...]:
        if self.response is None or self.taken is None:
            return (
                "No best response was trained: whether it holds against attackers that adapt is "
                "not known.",
            )
        number = len(self.responses)
        which = "a best response" if number == 1 else f"the worst of {number} best responses"
        beyond, adapt = self.taken, "against attackers that adapt"
        than = f"{beyond.mean:.1f} ({beyond.low:.1f} to {beyond.high:.1f}) points below that"
        if self.holds:
            claim, than = f"It holds {adapt}", f"not more than {MARGIN:g} point below that"
        elif self.holds is None:
            claim = f"Whether it holds {adapt} is not known"
            than = "less than an attacker of the search takes: the training was too short"
        elif beyond.low > MARGIN:
            claim = f"It does not hold {adapt}"
        else:
            claim = f"It is not shown to hold {adapt} within {MARGIN:g} point"
        return (
            f"{claim}: {which} to it, trained for {self.transitions:,} transitions, brings it to "
            f"{self.response.reward}, {than}.",
            "That is a lower bound of what attackers can take: a longer training can only find "
            "more.",
        )

    def as_json(self) -> dict[str, Any]:
        """Returns it as plain data."""
        return {
            "told": list(self.sentences),
            "holds": self.holds,
            "margin": MARGIN,
            "attackers": {one.red_agent: asdict(one.reward) for one in self.attackers},
            "worst_attacker": self.worst.red_agent,
            "best_responses": [one.as_json() for one in self.responses],
            "taken_by_best_response": None if self.taken is None else asdict(self.taken),
            "is_lower_bound": True,
            "response_transitions": self.transitions,
        }


def _reward(result: Result) -> float:
    return result.reward.mean
