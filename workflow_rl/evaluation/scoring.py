"""What the policy that is handed over is worth: on fresh games, against every red agent.

A training's own numbers are means over its last updates, of weights that went on changing, and the
best of many such numbers is too good. So the policy is chosen on games of their own, and what was
chosen is scored on others, whose seeds are used for nothing else.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

import numpy as np

from workflow_rl.agents.greedy import DEFAULT_ORDER, GreedyAgent
from workflow_rl.agents.policy import Policy
from workflow_rl.agents.policy_agent import policy_agent
from workflow_rl.config import RED_AGENTS, GameConfig
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.playing import Game, play_batch
from workflow_rl.evaluation.results import Cell

# No evaluation that a user asks for has these seeds, nor has the selection of kept policies.
CHOOSING_SEED: Final = 2**41 + 7
SCORING_SEED: Final = 2**42 + 7


@dataclass(frozen=True)
class Score:
    """A policy's fresh games against one red agent."""

    red_agent: str
    deterministic: Estimate  # mean reward of an episode, the most probable action taken
    drawn: Estimate  # actions drawn by their probability, as in training
    compliance: float  # of the deterministic games, by what Blue saw; NaN without a workflow
    compliance_true: float
    untrained: Estimate  # of the greedy agent under the same order, in the same games

    @property
    def is_unfit(self) -> bool:
        """Whether repairing by the order without having learnt anything would be better."""
        return self.deterministic.high < self.untrained.low

    def as_json(self) -> dict[str, Any]:
        """Returns the score as plain data."""
        return asdict(self) | {"is_unfit": self.is_unfit}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns the score that `as_json` gave.

        Raises:
            KeyError, TypeError, ValueError: it is not such data.
        """

        def number(value: Any) -> float:
            return float("nan") if value is None else float(value)

        def estimate(name: str) -> Estimate:
            return Estimate(number(data[name]["mean"]), number(data[name]["half_width"]))

        return cls(
            red_agent=str(data["red_agent"]),
            deterministic=estimate("deterministic"),
            drawn=estimate("drawn"),
            compliance=number(data["compliance"]),
            compliance_true=number(data["compliance_true"]),
            untrained=estimate("untrained"),
        )


@dataclass(frozen=True)
class Worth:
    """What a policy is worth in the game of its search: its scores, weighed by who attacks."""

    reward: Estimate  # of an episode, the most probable action taken
    compliance: float
    compliance_true: float
    games: int  # behind them

    @classmethod
    def of(cls, scores: Sequence[Score], weights: Sequence[float], games: int) -> Self:
        """Returns the mean over red agents, as often as each of them attacks.

        Args:
            scores: against each of `RED_AGENTS`.
            weights: how often each attacks.
            games: that were played against each.
        """
        attacks = [(w, s) for w, s in zip(weights, scores, strict=True) if w > 0]
        half_width = math.sqrt(sum((w * s.deterministic.half_width) ** 2 for w, s in attacks))
        return cls(
            Estimate(sum(w * s.deterministic.mean for w, s in attacks), half_width),
            sum(w * s.compliance for w, s in attacks),
            sum(w * s.compliance_true for w, s in attacks),
            games * len(attacks),
        )


def choose(policies: Sequence[Policy], game: GameConfig, threshold: float, games: int) -> int:
    """Returns which policy is best against the red agent of a game: it complies, then by reward.

    All play the same games, so many. Of equals the first is taken.
    """
    ranks = []
    for policy in policies:
        cell = _play(policy, game, game.red_agent, CHOOSING_SEED, games)
        compliance = cell.mean_compliance("observed")
        complies = compliance is None or compliance >= threshold
        ranks.append((complies, cell.mean if complies else compliance))
    return max(range(len(policies)), key=lambda i: ranks[i])


def score_policy(policy: Policy, game: GameConfig, games: int) -> Iterator[Score]:
    """Yields a policy's score against each red agent, in so many fresh games each."""
    greedy = GreedyAgent(policy.order or DEFAULT_ORDER)
    for red_agent in RED_AGENTS:
        cell = _play(policy, game, red_agent, SCORING_SEED, games)
        drawn = _play(policy, game, red_agent, SCORING_SEED, games, sampled=True)
        plain = play_batch(greedy, _game(policy, game, red_agent, SCORING_SEED), games, logged=0)
        seen, true = (cell.mean_compliance(view) for view in ("observed", "true"))
        yield Score(
            red_agent=red_agent,
            deterministic=cell.estimate,
            drawn=drawn.estimate,
            compliance=np.nan if seen is None else seen,
            compliance_true=np.nan if true is None else true,
            untrained=plain.estimate,
        )


def _game(policy: Policy, game: GameConfig, red_agent: str, seed: int) -> Game:
    return Game(game.episode_length, red_agent, game.rules, seed, policy.order)


def _play(
    policy: Policy,
    game: GameConfig,
    red_agent: str,
    seed: int,
    games: int,
    *,
    sampled: bool = False,
) -> Cell:
    agent = policy_agent(policy, "policy", sampled=sampled)
    return play_batch(agent, _game(policy, game, red_agent, seed), games, logged=0)
