import pytest

from tests.ordersearch.quick import quick_search, tried
from tests.report.runs import pairwise
from workflow_rl.ordersearch.finding import recommend
from workflow_rl.report.findings import fit_orders
from workflow_rl.workflow.orders import TYPES

PAIRS = TYPES.pairs


def test_only_compliant_trials_count_while_there_are_two() -> None:
    good = [tried(0, -10.0, 0.97, True), tried(50, -12.0, 0.96, True)]
    bad = [tried(100, -90.0, 0.2, False)]
    beliefs = fit_orders(TYPES, good + bad)
    assert beliefs is not None
    assert beliefs.only_compliant
    assert beliefs.trials == 2
    assert beliefs.posterior.mean.min() > -20
    beliefs = fit_orders(TYPES, good[:1] + bad)
    assert beliefs is not None
    assert not beliefs.only_compliant
    assert beliefs.trials == 2
    assert fit_orders(TYPES, []) is None


def test_beliefs_are_those_of_the_search() -> None:
    seen = quick_search(pairwise([6.0] + [0.0] * (len(PAIRS) - 1)), 0.5, 5, 12)
    beliefs, chosen = fit_orders(TYPES, seen), recommend(TYPES, seen)
    assert beliefs is not None
    assert beliefs.of(chosen.order).mean == pytest.approx(chosen.mean)
    assert beliefs.of(chosen.order).error == pytest.approx(chosen.deviation)
