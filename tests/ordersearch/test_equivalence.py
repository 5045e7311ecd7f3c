"""Orders are called equal only where trials show it, and it is said how many trials are missing."""

import numpy as np
import pytest

from tests.ordersearch.quick import EVERY, HOSTS, PAIRS, quick_search, trials_of
from tests.pages.runs import pairwise
from workflow_rl.estimates import Z_95
from workflow_rl.ordersearch.equivalence import MARGIN, PairFit
from workflow_rl.ordersearch.finding import conclude
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

FEATURES = TYPES.precedence(EVERY) / 2.0
EVEN = np.cov(FEATURES.T, bias=True)


def test_few_trials_of_many_orders_do_not_make_them_equal() -> None:
    values = np.random.default_rng(0).uniform(-15.8, -12.4, 20)
    found = conclude(HOSTS, trials_of(HOSTS.draw(np.random.default_rng(1), 20), values), "bline")
    assert len(found.equals) == 1
    assert found.best_orders == 479_001_600
    assert found.more_trials > 100
    assert "20 trials cannot tell the 479,001,600 orders apart: about " in found.headline
    assert "equal" not in found.headline


def test_where_trials_scatter_little_orders_are_shown_equal() -> None:
    values = np.random.default_rng(0).normal(-12.0, 0.2, NUM_ORDERS)
    found = conclude(TYPES, trials_of(EVERY, values), "meander")
    assert (found.equals, found.more_trials) == (found.best, 0)
    assert found.headline.endswith("; the 120 orders are equal within 1 point")


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_orders_that_differ_by_more_than_the_margin_are_hardly_ever_called_equal(
    noise: float,
) -> None:
    wrong = []
    for seed in range(60):
        worth = np.random.default_rng(seed).normal(scale=0.4, size=len(PAIRS)).tolist()
        truth = pairwise(worth)
        found = conclude(TYPES, quick_search(truth, noise, seed, 40), "meander")
        wrong.append(bool(found.equals) and float(np.ptp(truth[list(found.equals)])) > 2 * MARGIN)
    assert np.mean(wrong) <= 0.05


@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_after_so_many_more_trials_every_difference_is_known_to_half_the_margin(
    noise: float,
) -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, NUM_ORDERS, 20)
    contrasts = FEATURES - FEATURES[0]
    more = PairFit(FEATURES[first], rng.normal(size=20)).more_trials(contrasts, EVEN, noise)

    def widest(number: int) -> float:
        orders = np.concatenate([first, np.resize(rng.permutation(EVERY), number)])
        centred = FEATURES[orders] - FEATURES[orders].mean(axis=0)
        variance = np.einsum(
            "ki,ij,kj->k", contrasts, np.linalg.inv(centred.T @ centred), contrasts
        )
        return Z_95 * noise * float(np.sqrt(variance.max()))

    assert widest(more) == pytest.approx(MARGIN / 2, rel=0.1)
    assert widest(more // 4) > MARGIN / 2


def test_what_no_trial_varies_is_not_known() -> None:
    same = [o for o in EVERY if FEATURES[o, 0] > 0]  # the first pair always one way round
    fit = PairFit(FEATURES[same], np.random.default_rng(0).normal(size=len(same)))
    found = fit.differences(np.eye(len(PAIRS)))
    assert np.isinf(found.half_width).tolist() == [True] + [False] * (len(PAIRS) - 1)
    assert fit.differences(np.zeros((1, len(PAIRS)))).are_equal.all()
