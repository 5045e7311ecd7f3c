from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl.config import TrainConfig
from workflow_rl.ppo.returns import discounted_returns, generalised_advantages
from workflow_rl.train.alignment import (
    HIGHEST_WEIGHT,
    HIGHEST_WEIGHT_OF_ALL,
    LOWEST_WEIGHT,
    MOST_FIXES,
    AlignmentWeight,
    Expectation,
    without_expected,
)
from workflow_rl.workflow.compliance import (
    COMPLIANT,
    NOT_A_FIX,
    VIOLATION,
    Shares,
    Tally,
    compliance_shares,
)
from workflow_rl.workflow.episode_orders import episode_orders_of
from workflow_rl.workflow.orders import NUM_ORDERS

ONE = np.array([7])


def told(weight: AlignmentWeight, compliance: float, order: int = 7) -> None:
    """Takes in an update of 20 episodes that comply so far."""
    weight.adapt(np.full(20, order, np.int64), np.full(20, compliance))


@pytest.mark.parametrize("order", [7, None])
@pytest.mark.parametrize(("alignment", "start"), [("fixed", 30.0), ("adaptive", 0.0)])
def test_a_fixed_weight_stays_and_so_does_a_weight_of_zero(
    alignment: Any, start: float, order: int | None
) -> None:
    weight = AlignmentWeight(TrainConfig(alignment=alignment, alignment_lambda=start), order)
    for compliance in (0.0, 0.5, 1.0):
        told(weight, compliance)
    assert (weight.values == start).all()
    assert weight.mean == pytest.approx(start)


@pytest.mark.parametrize(("order", "highest"), [(7, HIGHEST_WEIGHT), (None, HIGHEST_WEIGHT_OF_ALL)])
def test_an_adaptive_weight_reacts_more_to_a_larger_lack_and_stays_within_bounds(
    order: int | None, highest: float
) -> None:
    changes = []
    for compliance in (0.96, 0.95, 0.94, 0.0):
        weight = AlignmentWeight(TrainConfig(), order)
        told(weight, compliance)
        changes.append(weight.of(ONE)[0])
    assert changes == sorted(changes)
    assert changes[-1] < 30 * (1.25 if order else 2)  # in small steps
    for compliance, bound in ((0.0, highest), (1.0, LOWEST_WEIGHT)):
        weight = AlignmentWeight(TrainConfig(compliance_threshold=0.5), order)
        for _ in range(1_000):
            told(weight, compliance)
            assert LOWEST_WEIGHT <= weight.of(ONE)[0] <= highest
        assert weight.of(ONE)[0] == bound


def test_a_weight_that_starts_above_the_bound_is_not_cut_down_at_once() -> None:
    weight = AlignmentWeight(TrainConfig(alignment_lambda=500.0), 7)
    told(weight, 0.95)
    assert weight.mean == 500.0
    told(weight, 1.0)
    assert 400 < weight.mean < 500


def test_each_order_has_its_own_weight_when_all_are_trained() -> None:
    weight = AlignmentWeight(TrainConfig(), None)
    orders = np.array([3, 3, 5, 9], np.int64)
    weight.adapt(orders, np.array([0.5, 0.9, 1.0, 0.965]))
    assert weight.values[3] > 30 > weight.values[5]
    assert weight.values[9] == pytest.approx(30)
    untouched = np.delete(weight.values, orders)
    assert (untouched == 30).all()
    assert len(weight.values) == NUM_ORDERS
    assert len(AlignmentWeight(TrainConfig(), 4).values) == 1


@pytest.mark.parametrize("units", ["hosts", "any"])
def test_orders_too_many_to_meet_again_share_one_weight(units: str) -> None:
    config = TrainConfig(units=units)
    weight = AlignmentWeight(config, None, episode_orders_of(config))
    orders = np.array([[3, 400_000_000]])
    weight.adapt(orders.ravel(), np.array([0.5, 0.9]))
    assert weight.of(orders).shape == (1, 2)
    assert (weight.of(orders) == weight.mean).all()
    assert 30 < weight.mean < 50


# --- the control variate


def played(seed: int, steps: int, envs: int, length: int, skill: float = 0.8):  # type: ignore[no-untyped-def]
    """Verdicts of random fixes, a share `skill` of which comply, with their shares and ends."""
    rng = np.random.default_rng(seed)
    verdict = rng.choice(
        np.array([NOT_A_FIX, COMPLIANT, VIOLATION], np.int8),
        (steps, envs),
        p=[0.6, 0.4 * skill, 0.4 * (1 - skill)],
    )
    ends = np.zeros((steps, envs), np.bool_)
    ends[length - 1 :: length] = True
    scored = compliance_shares(verdict, np.ones_like(ends), ends, Tally.zeros(envs))
    return verdict, scored, ends


def expectation_of(scored: Shares, ends: np.ndarray, gamma: float) -> Expectation:
    returns = discounted_returns(scored.shares, ends, gamma)
    return Expectation(returns, scored.counted_before, scored.rate_before)


def test_the_expectation_is_the_best_line_for_each_count_of_fixes() -> None:
    rng = np.random.default_rng(0)
    counted = rng.integers(0, 5, (200, 30)).astype(np.int32)
    rate = rng.random((200, 30)).astype(np.float32)
    noise = rng.normal(size=(200, 30)).astype(np.float32)
    returns = (counted - 2 * counted * rate + 0.1 * noise).astype(np.float32)
    expected = Expectation(returns, counted, rate).at(counted, rate)
    for k in range(5):
        here = counted == k
        slope, intercept = np.polyfit(rate[here], returns[here], 1)
        np.testing.assert_allclose(expected[here], intercept + slope * rate[here], atol=1e-3)


def test_many_fixes_are_taken_together_and_a_constant_rate_has_no_slope() -> None:
    counted = np.array([[MOST_FIXES], [MOST_FIXES + 1], [10_000], [0]], np.int32)
    returns = np.array([[1.0], [2.0], [6.0], [5.0]], np.float32)
    rate = np.full((4, 1), 0.5, np.float32)
    expectation = Expectation(returns, counted, rate)
    assert expectation.at(counted, rate)[:, 0].tolist() == pytest.approx([3, 3, 3, 5])


def test_after_as_many_fixes_as_nobody_had_the_line_of_fewer_holds() -> None:
    counted = np.array([[2], [2]], np.int32)
    rate = np.array([[0.0], [1.0]], np.float32)
    expectation = Expectation(np.array([[4.0], [6.0]], np.float32), counted, rate)
    tally = Tally(np.array([1, 2], np.int32), np.array([2, 3], np.int32), np.ones(2, np.bool_))
    assert expectation.after(tally).tolist() == pytest.approx([5.0, 4 + 2 * 2 / 3])


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from([0.9, 0.95, 1.0]))
def test_returns_lose_exactly_what_was_to_be_expected(seed: int, length: int, gamma: float) -> None:
    _, scored, ends = played(seed, 60, 4, length)
    before = discounted_returns(scored.shares, ends, gamma)
    expected = expectation_of(scored, ends, gamma).at(scored.counted_before, scored.rate_before)
    shaped = without_expected(scored, ends, gamma)
    after = discounted_returns(shaped, ends, gamma)
    np.testing.assert_allclose(after, before - expected, atol=2e-4)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 10_000),
    st.integers(1, 80),
    st.sampled_from([0.9, 1.0]),
    st.sampled_from([0.0, 0.7, 1.0]),
)
def test_generalised_advantages_are_those_of_the_plain_reward(
    seed: int, length: int, gamma: float, lam: float
) -> None:
    # A critic of the shaped reward estimates V - e where one of the plain reward estimates V.
    steps, envs, tally = 60, 4, Tally.zeros(4)
    verdict, _, ends = played(seed, steps, envs, length)
    scored = compliance_shares(verdict, np.ones_like(ends), ends, tally)
    values = np.random.default_rng(seed).normal(size=(steps + 1, envs)).astype(np.float32)
    expectation = expectation_of(scored, ends, gamma)
    expected = expectation.at(scored.counted_before, scored.rate_before)
    plain = generalised_advantages(scored.shares, values[:-1], values[-1], ends, gamma, lam)
    shaped = generalised_advantages(
        without_expected(scored, ends, gamma, tally),
        values[:-1] - expected,
        values[-1] - expectation.after(tally),
        ends,
        gamma,
        lam,
    )
    np.testing.assert_allclose(shaped, plain, atol=2e-5)
