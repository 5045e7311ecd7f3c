"""What the policy that is handed over is worth: on fresh games, against every red agent.

A training's own numbers are means over its last updates, of weights that went on changing, and the
best of many such numbers is too good. So the policy is chosen on games of their own, and what was
chosen is scored on others, whose seeds are used for nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from workflow_rl.agents.greedy import DEFAULT_ORDER, GreedyAgent
from workflow_rl.agents.policy import Policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import RED_AGENTS, GameConfig
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.result import Result

# No evaluation that a user asks for has these seeds, nor has the selection of kept policies.
CHOOSING_SEED: Final = 2**41 + 7
SCORING_SEED: Final = 2**42 + 7


@dataclass(frozen=True)
class Score:
    """A policy's fresh games against one red agent."""

    deterministic: Result  # the most probable action taken
    sampled: Result  # actions drawn by their probability, as in training
    greedy: Result  # of the untrained greedy agent under the same order, in the same games

    @property
    def red_agent(self) -> str:
        """Who attacked."""
        return self.deterministic.red_agent

    @property
    def is_unfit(self) -> bool:
        """Whether repairing by the order without having learnt anything would be better."""
        return self.deterministic.reward.high < self.greedy.reward.low

    def as_json(self) -> dict[str, Any]:
        """Returns the score as plain data."""
        return {
            "red_agent": self.red_agent,
            "deterministic": self.deterministic.as_json(),
            "sampled": self.sampled.as_json(),
            "greedy": self.greedy.as_json(),
            "is_unfit": self.is_unfit,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns the score that `as_json` gave.

        Raises:
            KeyError, TypeError, ValueError: it is not such data.
        """
        return cls(*(Result.from_json(data[n]) for n in ("deterministic", "sampled", "greedy")))


def choose(policies: Sequence[Policy], game: GameConfig, threshold: float, games: int) -> int:
    """Returns which policy is best in a game: it complies, then by reward.

    All play the same games, so many. Of equals the first is taken.
    """
    ranks = []
    for policy in policies:
        found = _play(policy, game, CHOOSING_SEED, games)
        complies = policy.order is None or found.compliance.mean >= threshold
        ranks.append((complies, found.reward.mean if complies else found.compliance.mean))
    return max(range(len(policies)), key=lambda i: ranks[i])


def score_policy(policy: Policy, game: GameConfig, games: int) -> Iterator[Score]:
    """Yields a policy's score against each red agent, in so many fresh games each."""
    greedy = GreedyAgent(policy.order or DEFAULT_ORDER)
    for red_agent in RED_AGENTS:
        against = game.changed(red_agent=red_agent)
        yield Score(
            deterministic=_play(policy, against, SCORING_SEED, games),
            sampled=_play(policy, against, SCORING_SEED, games, sampled=True),
            greedy=play_batch(greedy, against, SCORING_SEED, games, policy.order).result,
        )


def _play(
    policy: Policy, game: GameConfig, seed: int, games: int, *, sampled: bool = False
) -> Result:
    agent = PolicyAgent(policy, "policy", sampled=sampled)
    return play_batch(agent, game, seed, games, policy.order).result
