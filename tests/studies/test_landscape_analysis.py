import numpy as np
import pytest

from tests.studies.lands import failing, made_up, truth
from workflow_rl.config import SearchConfig
from workflow_rl.studies.landscape_analysis import Analysis, analyse_landscape


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    land = made_up(truth(2.0), noise=0.5, red_agent="bline")
    return analyse_landscape(land, SearchConfig(), replays=2, checkpoints=(2, 4))


def test_the_advantage_is_the_difference_of_the_means(analysis: Analysis) -> None:
    by_name = {regret.strategy: regret for regret in analysis.regrets}
    gains = analysis.advantage("mean_tried")
    assert gains is not None
    expected = by_name["random"].mean("mean_tried") - by_name["gp-ucb"].mean("mean_tried")
    assert [gain.mean for gain in gains] == pytest.approx(expected.tolist())


def test_the_effect_is_judged_on_orders_that_comply_for_every_seed() -> None:
    land = failing(made_up(truth(2.0), noise=0.5), (0, slice(10)), reward=500.0)  # another game
    found = analyse_landscape(land, SearchConfig(), replays=0)
    assert found.effect is not None
    assert found.effect.order.freedom == 109
    assert found.effect.deviations["noise"] == pytest.approx(0.5, rel=0.2)


def test_where_hardly_any_order_complies_the_effect_is_left_open() -> None:
    land = failing(made_up(truth(2.0), noise=0.5), (slice(None), np.arange(120) != 3))
    found = analyse_landscape(land, SearchConfig(), replays=0)
    assert found.effect is None
    assert found.equals is None
    assert found.standings[0].order == 3
    assert found.regrets == []
    assert found.advantage("mean_tried") is None
    assert found.as_json()["regret"]["replays"] == 0
