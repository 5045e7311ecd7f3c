import json
from pathlib import Path

import numpy as np
import pytest

from tests.studies.lands import failing, made_up, truth
from workflow_rl.config import SearchConfig
from workflow_rl.files import write_json
from workflow_rl.pages.rundata import read_landscape
from workflow_rl.studies.landscape import Landscape
from workflow_rl.studies.landscape_analysis import Analysis, analyse_landscape
from workflow_rl.studies.order_effects import shrink_means
from workflow_rl.studies.regret import REPLAYED_STRATEGIES
from workflow_rl.workflow.orders import TYPES


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    land = made_up(truth(2.0), noise=0.5, red_agent="bline")
    return analyse_landscape(land, SearchConfig(), replays=2, checkpoints=(2, 4))


def test_everything_is_told_and_can_be_written(analysis: Analysis, tmp_path: Path) -> None:
    write_json(tmp_path / "landscape.json", analysis.as_json())
    data = json.loads((tmp_path / "landscape.json").read_text())
    assert len(data["orders"]) == len(data["ranking"]) == 120
    assert data["order_effect"]["share"] > 0.5
    assert data["order_effect"]["deviations"]["noise"] == pytest.approx(0.5, rel=0.2)
    assert data["equals_effect"]["classes"] == 6
    assert len(data["pair_effects"]) == 10
    assert data["pair_effects"][0]["worth"] == analysis.pairs[0].worth.mean
    assert data["regret"]["checkpoints"] == [2, 4]
    assert set(data["regret"]["strategies"]) == set(REPLAYED_STRATEGIES)
    assert len(data["regret"]["strategies"]["random"]["mean_tried"]["mean"]) == 2
    assert data["ranking"][0] == TYPES.format(analysis.standings[0].order)
    best = max(data["orders"], key=lambda row: row["mean"])
    assert best["workflow"] == data["ranking"][0]
    assert best["compliant_seeds"] == 3
    belief = read_landscape(tmp_path / "landscape.json")  # as the report of a run does
    assert belief.tolist() == shrink_means(analysis.landscape)[0].tolist()
    assert (Landscape.from_json(data).reward == analysis.landscape.reward).all()


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
