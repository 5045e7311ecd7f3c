"""Orders compared by one policy's games."""

import pytest

from tests.agents.policies import new_policy
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.config import GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.studies.landscape.landscape import Landscape
from workflow_rl.studies.landscape.played import OrderPlayer
from workflow_rl.workflow.orders import TYPES, Orders
from workflow_rl.workflow.units import units_of


@pytest.fixture(scope="module")
def universal() -> Policy:
    return load_policy("universal")


def player(policy: Policy, orders: Orders = TYPES, steps: int = 100) -> OrderPlayer:
    return OrderPlayer(policy, "universal", orders, GameConfig(episode_length=steps), 0.95)


def test_it_finds_what_trained_orders_tell(universal: Policy) -> None:
    """Against B_line enterprise before user is worth points; nothing is trained for that."""
    playing = player(universal)
    before, after = (
        TYPES.index(text)
        for text in (
            "enterprise > user > op_server > op_host > defender",
            "user > enterprise > op_server > op_host > defender",
        )
    )
    first, second = (playing.play(order, 0, 200) for order in (before, after))
    assert first.result.reward.low > second.result.reward.high
    assert min(first.compliance, second.compliance) > 0.9


def test_games_are_of_their_order_and_seed(universal: Policy) -> None:
    playing = player(universal, steps=30)
    assert playing.play(3, 0, 20) == playing.play(3, 0, 20)
    assert playing.play(3, 0, 20).value != playing.play(3, 1, 20).value
    assert playing.judge(3, 0).value != playing.play(3, 0, 1_000).value


def test_orders_that_were_all_played_make_a_landscape(universal: Policy) -> None:
    playing = player(universal, steps=10)
    played = {s: [playing.play(order, s, 2) for order in range(TYPES.count)] for s in (4, 5)}
    land = Landscape.of_tried(playing.game, 0.95, played, policy="universal")
    assert (land.seeds, land.policy, land.reward.shape) == ((4, 5), "universal", (2, TYPES.count))
    assert land.reward[1, 7] == played[5][7].value


def test_a_policy_that_is_told_no_order_or_not_these_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="does not follow any order it is told"):
        player(load_policy("best"))
    types = new_policy(conditioned=True)
    with pytest.raises(InvalidInputError, match="can be told orders of the units types"):
        player(types, Orders(units_of("hosts")))
