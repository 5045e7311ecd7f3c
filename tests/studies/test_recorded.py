"""What was measured once stays true of the analysis: landscapes of three seeds, 50 updates each."""

import pytest

from tests.studies.lands import recorded
from workflow_rl.config import SearchConfig
from workflow_rl.studies.order_effects import equals_effect, order_effect, pair_effects_over_seeds
from workflow_rl.studies.regret import regrets
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES
from workflow_rl.workflow.units import TYPE_UNITS

POSITIONS = TYPES.positions(range(NUM_ORDERS))


def test_against_bline_nearly_everything_is_the_order_and_equals_are_equal() -> None:
    land = recorded("bline")
    effect = order_effect(land.reward)
    assert effect.matters
    assert 0.88 < effect.share_low < effect.share < effect.share_high < 0.94
    equals = equals_effect(land.reward, land.classes)
    assert equals is not None
    assert equals.p_value > 0.05
    assert equals.between > 4 * equals.within


def test_against_bline_enterprise_before_user_is_all_that_matters() -> None:
    first, *others = pair_effects_over_seeds(recorded("bline"))
    assert (first.first, first.second) == ("enterprise", "user")
    assert first.worth.low > 5
    assert max(other.worth.mean for other in others) < 0.5
    before = (
        POSITIONS[:, TYPE_UNITS.names.index("enterprise")]
        < POSITIONS[:, TYPE_UNITS.names.index("user")]
    )
    reward = recorded("bline").reward
    assert reward[:, before].min() > reward[:, ~before].max()


def test_against_meander_the_order_matters_less_and_most_by_defenders_false_alarms() -> None:
    land = recorded("meander")
    effect = order_effect(land.reward)
    assert effect.matters
    assert 0.35 < effect.share < 0.65
    first, second, *_ = pair_effects_over_seeds(land)
    assert (first.first, first.second) == ("enterprise", "defender")
    assert first.worth.low > 0.5
    assert second.worth.mean < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("red_agent", ["bline", "meander"])
def test_gp_ucb_spends_its_trials_on_better_orders_than_random(red_agent: str) -> None:
    gp, random = regrets(
        recorded(red_agent),
        SearchConfig(),
        replays=6,
        strategies=["gp-ucb", "random"],
        checkpoints=(16,),
    )
    gain = random.mean("mean_tried")[0] - gp.mean("mean_tried")[0]
    assert gain > random.half_width("mean_tried")[0] + gp.half_width("mean_tried")[0]
