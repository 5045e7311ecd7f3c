import json
import math

import numpy as np
import pytest

from workflow_rl.config import GameConfig, red_agent_name
from workflow_rl.evaluation.result import ActionLog, Cell, Evaluation, Result
from workflow_rl.workflow.orders import ORDERS, Order

EMPTY = ActionLog(np.zeros((1, 0), np.int16), np.zeros((1, 0), np.int16), ())


def cell(steps: int, red: str, *returns: float, compliance: float | None = None) -> Cell:
    rates = {} if compliance is None else {"observed": np.full(len(returns), compliance)}
    game = GameConfig(red_agent=red_agent_name(red), episode_length=steps)
    fixes = {view: np.full(len(returns), 4, np.int32) for view in rates}
    return Cell(game, 1, np.array(returns), rates, fixes, EMPTY)


def evaluation(*cells: Cell, order: Order | None = None) -> Evaluation:
    return Evaluation("it", "challenge", order, "cage2", 0, False, cells, 1.0)


def nine() -> list[Cell]:
    return [
        cell(steps, red, -1.0, -2.0, -3.0, -4.0)
        for steps in (30, 50, 100)
        for red in ("bline", "meander", "sleep")
    ]


def test_the_score_is_the_sum_of_nine_means_with_the_interval_of_a_sum() -> None:
    made = evaluation(*nine())
    assert made.is_official
    assert made.total.mean == -22.5
    assert made.total.half_width == pytest.approx(3 * made.cells[0].result.reward.half_width)
    assert not evaluation(*nine()[:8]).is_official
    assert made.cell(50, "meander") is made.cells[4]
    with pytest.raises(KeyError):
        made.cell(20, "meander")


@pytest.mark.parametrize(
    "damage",
    [
        *({"red_agent": "<b>"}, {"red_agent": ["bline"]}),
        *({"games": math.inf}, {"games": -1}, {"games": "3"}),
        *({"reward": {"mean": [], "half_width": 0.0}}, {"compliance": None}, {"fixes": []}),
    ],
)
def test_a_result_is_read_as_it_was_written_or_not_at_all(damage: dict[str, object]) -> None:
    made = cell(30, "bline", -1.0, -2.5, compliance=0.75).result
    for red in ("bait", "patient:2:bline", "x.safetensors", "bline=1,bait=1"):
        assert Result.from_json(made.as_json() | {"red_agent": red}).red_agent == red
    assert made.fixes == 4 == Result.pooled([made, made], [0.5, 0.5], "mixed").fixes
    assert str(Result.from_json(made.as_json())) == str(made)
    with pytest.raises((TypeError, ValueError)):
        Result.from_json(made.as_json() | damage)


def test_plain_data_holds_every_episode() -> None:
    made = evaluation(cell(30, "bline", -1.0, -2.5, compliance=0.75), order=ORDERS[3])
    data = json.loads(json.dumps(made.as_json()))
    assert data["workflow"] == " > ".join(ORDERS[3])
    assert data["policy"] == "deterministic"
    assert data["total"]["is_official"] is False
    (only,) = data["cells"]
    assert only["returns"] == [-1.0, -2.5]
    assert only["episode_compliance_observed"] == [0.75, 0.75]
    assert (only["compliance_observed"], only["compliance_true"]) == (0.75, None)
    assert only["fixes_observed"] == 4
