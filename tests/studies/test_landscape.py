import json
from dataclasses import fields, replace

import numpy as np
import pytest

from tests.ordersearch.quick import complied
from tests.studies.lands import CLASSES, failing, made_up, truth
from workflow_rl.config import ExperimentConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.studies.landscape import Landscape
from workflow_rl.workflow.orders import NUM_ORDERS

TRIED = [complied(order, -float(order)) for order in range(NUM_ORDERS)]


def test_trials_find_their_order_wherever_they_stand() -> None:
    land = Landscape.of_tried(ExperimentConfig(), {4: TRIED, 9: TRIED[::-1]})
    assert (land.seeds, land.red_agent, land.rules) == ((4, 9), "bline", "main")
    assert land.reward.tolist() == [[-float(order) for order in range(NUM_ORDERS)]] * 2
    assert land.is_compliant.all()
    assert land.is_compliant.dtype == np.bool_
    assert (land.compliance == 0.97).all()


def test_a_run_that_left_orders_out_is_refused_by_its_seed() -> None:
    with pytest.raises(InvalidInputError, match="seed 9 has 119 of the 120 orders"):
        Landscape.of_tried(ExperimentConfig(), {4: TRIED, 9: TRIED[1:]})


def test_it_survives_json() -> None:
    land = made_up(truth(2.0), noise=1.0)
    again = Landscape.from_json(json.loads(json.dumps(land.as_json())))
    for field in fields(land):
        one, other = getattr(land, field.name), getattr(again, field.name)
        assert np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other
        assert getattr(one, "dtype", None) == getattr(other, "dtype", None)


@pytest.mark.parametrize("damage", ["orders", "seeds", "red_agent"])
def test_other_data_is_one_sentence(damage: str) -> None:
    data = made_up(truth(2.0)).as_json()
    del data[damage]
    with pytest.raises(InvalidInputError, match="not a landscape"):
        Landscape.from_json(data)


def test_arrays_of_another_shape_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="120 orders for each of its seeds"):
        replace(made_up(truth(2.0)), seeds=(0, 1))


def test_most_seeds_make_an_order_eligible_and_all_make_it_reliable() -> None:
    land = failing(failing(made_up(truth(2.0)), (0, 0)), (slice(2), 1))
    assert np.flatnonzero(~land.is_reliable).tolist() == [0, 1]
    assert np.flatnonzero(~land.is_eligible).tolist() == [1]
    assert not failing(made_up(truth(2.0), seeds=2), (0, 0)).is_eligible[0]  # half is not most


def test_equals_comply_together() -> None:
    land = made_up(truth(2.0), red_agent="bline")
    assert failing(land, (slice(None), 0)).is_eligible.all()
    assert (~failing(land, (slice(None), CLASSES[0] == CLASSES)).is_eligible).sum() == 20


def test_levelling_takes_out_what_a_seed_gives_all_orders() -> None:
    plain = made_up(truth(2.0), noise=0.5)
    shifted = replace(plain, reward=plain.reward + np.array([[5.0], [-3.0], [-2.0]]))
    assert np.allclose(shifted.levelled, plain.levelled)
    assert np.allclose(shifted.levelled.mean(axis=0), shifted.reward.mean(axis=0))
