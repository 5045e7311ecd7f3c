"""The score of the policy that is handed over."""

import math

import numpy as np
import pytest

from tests.agents.policies import config_of
from workflow_rl.agents.greedy import GreedyAgent
from workflow_rl.agents.policy import Policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import GameConfig
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.scoring import SCORING_SEED, Score, choose, score_policy
from workflow_rl.scenario.actions import parse_action
from workflow_rl.workflow.orders import ORDERS

GAME = GameConfig(red_agent="meander", episode_length=30)
ORDER = 31
FOLLOWED = ORDERS[ORDER]


def always(action: str, *, order: int | None = None) -> Policy:
    """A policy that always does the same."""
    bias = np.zeros(145, np.float32)
    bias[parse_action(action)] = 50
    weights = {"actor.0.weight": np.zeros((145, 52), np.float32), "actor.0.bias": bias}
    return Policy(weights, config_of(order=order))


def test_a_score_is_that_of_fresh_games_against_each_red_agent() -> None:
    scores = list(score_policy(always("Sleep", order=ORDER), GAME, 40))
    assert [score.red_agent for score in scores] == ["bline", "meander", "sleep"]
    for score in scores:
        game = GAME.changed(red_agent=score.red_agent)
        greedy = play_batch(GreedyAgent(FOLLOWED), game, SCORING_SEED, 40, FOLLOWED)
        assert score.greedy == greedy.result
        assert score.deterministic == score.sampled  # it always sleeps
    assert scores[2].deterministic.reward.mean == 0.0


def test_a_policy_worse_than_repairing_without_training_is_called_unfit() -> None:
    bline, meander, sleep = score_policy(always("Sleep"), GAME, 200)
    assert bline.is_unfit
    assert meander.is_unfit
    assert not sleep.is_unfit


def test_the_better_policy_is_chosen_whatever_its_place() -> None:
    sleeping, restoring = always("Sleep"), always("Restore User0")  # which costs 1 a step
    assert choose([restoring, sleeping], GAME, 0.9, 20) == 1
    assert choose([sleeping, restoring], GAME, 0.9, 20) == 0
    assert choose([sleeping, sleeping], GAME, 0.9, 20) == 0


def test_a_policy_that_does_not_comply_is_chosen_last() -> None:
    """Sleeping costs less than restoring all the time, but fixes nothing."""
    order = next(i for i, units in enumerate(ORDERS) if units[0] == "user")
    fixing, idle = always("Restore User1", order=order), always("Sleep", order=order)
    game = GameConfig(red_agent="bline", episode_length=12)
    found = [
        play_batch(PolicyAgent(policy, "p"), game, 5, 60, policy.order).result
        for policy in (fixing, idle)
    ]
    complied = [result.compliance.mean for result in found]
    assert complied[0] > complied[1]
    assert found[0].reward.mean < found[1].reward.mean
    assert choose([idle, fixing], game, 0.6 * complied[0], 60) == 1
    assert choose([idle, fixing], game, 0.0, 60) == 0


def test_a_score_comes_back_from_its_plain_data() -> None:
    for score in score_policy(always("Sleep"), GAME, 5):
        again = Score.from_json(score.as_json())
        assert again.deterministic.reward == score.deterministic.reward
        assert again.greedy.reward == score.greedy.reward
        assert math.isnan(again.sampled.compliance.mean)
    with pytest.raises(KeyError):
        Score.from_json({"red_agent": "bline"})
