import math

import numpy as np
import pytest

from workflow_rl.agents.policy import load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import GameConfig, TrainConfig
from workflow_rl.evaluation.pair_worth import PairWorth, pair_worth
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.selection import SCORING_SEED
from workflow_rl.workflow.orders import TYPES, orders_of

GAME = GameConfig(episode_length=30)
UNIVERSAL = load_policy("universal")


def test_it_is_the_difference_between_the_same_games_with_the_two_swapped() -> None:
    both = orders_of(
        TrainConfig(require=("defender > op_server > op_host > user", "op_host > enterprise"))
    )
    assert both.count == 2  # nothing is left to choose
    found = pair_worth(UNIVERSAL, both, "enterprise", "user", GAME, 50)
    first, second = (
        play_batch(PolicyAgent(UNIVERSAL, "it", order), GAME, SCORING_SEED, 50).returns
        for order in (
            f"defender > op_server > op_host > {pair}"
            for pair in ("enterprise > user", "user > enterprise")
        )
    )
    gain = first - second
    assert found.mean == pytest.approx(gain.mean())
    assert found.half_width == pytest.approx(1.96 * gain.std(ddof=1) / math.sqrt(50), rel=1e-3)
    other = pair_worth(UNIVERSAL, both, "user", "enterprise", GAME, 50)
    assert other.mean == pytest.approx(-found.mean)


def test_enterprise_before_user_is_worth_points_and_idle_units_nothing() -> None:
    game = GameConfig(episode_length=50)
    assert pair_worth(UNIVERSAL, TYPES, "enterprise", "user", game, 60).low > 0
    idle = pair_worth(UNIVERSAL, TYPES, "defender", "op_host", game, 60)
    assert abs(idle.mean) < 0.5


def test_it_is_read_as_it_was_written() -> None:
    given = PairWorth("enterprise", "user", 3.0, 0.5, "somebody")
    assert PairWorth.from_json(given.as_json()) == given
    assert np.isclose(given.worth.low, 2.5)
    with pytest.raises((KeyError, TypeError, ValueError)):
        PairWorth.from_json({"first": "enterprise"})
