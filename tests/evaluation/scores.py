"""Scores made up for tests."""

from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.result import Result
from workflow_rl.evaluation.selection import Score


def scored(
    red_agent: str,
    rewards: tuple[float, float, float],
    half_width: float,
    compliance: tuple[float, float],
    games: int = 2_000,
) -> Score:
    """The score of a policy that got so much deterministically, sampled, and greedily."""
    rates = [Estimate(rate, 0.01) for rate in compliance]
    deterministic, sampled, greedy = (
        Result(red_agent, games, Estimate(mean, half_width), *rates, fixes=12.3, fixes_true=9.8)
        for mean in rewards
    )
    return Score(deterministic, sampled, greedy)
