"""Orders compared by one policy's games."""

from dataclasses import replace

import numpy as np
import pytest

from tests.studies.landscape.test_recorded import recorded
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.config import GameConfig, SearchConfig
from workflow_rl.studies.landscape.played import (
    OrderPlayer,
    landscape_of,
    rank_agreement,
    search_by_playing,
)
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
    assert first.reward.low > second.reward.high
    assert min(first.compliance, second.compliance) > 0.9


def test_games_are_of_their_order_and_seed(universal: Policy) -> None:
    playing = player(universal, steps=30)
    assert playing.play(3, 0, 20) == playing.play(3, 0, 20)
    assert playing.play(3, 0, 20).reward != playing.play(3, 1, 20).reward
    assert playing.judge(3, 0).reward != playing.play(3, 0, 1_000).reward


def test_orders_that_were_all_played_make_a_landscape(universal: Policy) -> None:
    playing = player(universal, steps=10)
    played = [playing.play(order, seed, 2) for seed in (4, 5) for order in range(TYPES.count)]
    land = landscape_of(playing, played)
    assert (land.seeds, land.policy, land.reward.shape) == ((4, 5), "universal", (2, TYPES.count))
    assert land.reward[1, 7] == played[TYPES.count + 7].reward.mean


def test_a_search_by_playing_is_asked_on_its_way(universal: Policy) -> None:
    playing = player(universal, Orders(units_of("hosts")), steps=10)
    found = list(search_by_playing(playing, "random", SearchConfig(), 3, asked=(2, 4)))
    assert len(found) == 2
    again = list(search_by_playing(playing, "random", SearchConfig(), 3, asked=(2, 4)))
    assert found == again


def test_landscapes_agree_with_themselves_and_not_with_their_opposite() -> None:
    land = recorded("bline")
    assert rank_agreement(land, land) == pytest.approx(1)
    opposite = replace(land, reward=-land.reward)
    assert rank_agreement(land, opposite) == pytest.approx(-1)
    assert np.isfinite(rank_agreement(land, recorded("meander")))
