import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl.ppo.returns import discounted_returns
from workflow_rl.train.control_variate import MOST_FIXES, expected_returns, without_expected
from workflow_rl.workflow.compliance import (
    COMPLIANT,
    NOT_A_FIX,
    VIOLATION,
    Tally,
    compliance_shares,
)


def played(seed: int, steps: int, envs: int, length: int, skill: float = 0.8):  # type: ignore[no-untyped-def]
    """Shares of random fixes, a share `skill` of which comply."""
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


def test_the_expectation_is_the_best_line_for_each_count_of_fixes() -> None:
    rng = np.random.default_rng(0)
    counted = rng.integers(0, 5, (200, 30)).astype(np.int32)
    rate = rng.random((200, 30)).astype(np.float32)
    noise = rng.normal(size=(200, 30)).astype(np.float32)
    returns = (counted - 2 * counted * rate + 0.1 * noise).astype(np.float32)
    expected = expected_returns(returns, counted, rate)
    for k in range(5):
        here = counted == k
        slope, intercept = np.polyfit(rate[here], returns[here], 1)
        np.testing.assert_allclose(expected[here], intercept + slope * rate[here], atol=1e-3)


def test_many_fixes_are_taken_together_and_a_constant_rate_has_no_slope() -> None:
    counted = np.array([[MOST_FIXES], [MOST_FIXES + 1], [10_000], [0]], np.int32)
    returns = np.array([[1.0], [2.0], [6.0], [5.0]], np.float32)
    expected = expected_returns(returns, counted, np.full((4, 1), 0.5, np.float32))
    assert expected[:, 0].tolist() == pytest.approx([3, 3, 3, 5])


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from([0.9, 0.95, 1.0]))
def test_returns_lose_exactly_what_was_to_be_expected(seed: int, length: int, gamma: float) -> None:
    _, scored, ends = played(seed, 60, 4, length)
    before = discounted_returns(scored.shares, ends, gamma)
    expected = expected_returns(before, scored.counted_before, scored.rate_before)
    shaped = without_expected(scored.shares, scored.counted_before, scored.rate_before, ends, gamma)
    after = discounted_returns(shaped, ends, gamma)
    np.testing.assert_allclose(after, before - expected, atol=2e-4)


def test_what_is_expected_depends_on_nothing_a_step_does() -> None:
    # Were the last verdict of an episode another one, counts and rates before it would be the same.
    verdict, scored, ends = played(3, 20, 1, 20)
    changed = verdict.copy()
    changed[-1] = COMPLIANT if verdict[-1, 0] == VIOLATION else VIOLATION
    other = compliance_shares(changed, np.ones_like(ends), ends, Tally.zeros(1))
    np.testing.assert_array_equal(scored.counted_before, other.counted_before)
    np.testing.assert_array_equal(scored.rate_before, other.rate_before)


def test_a_violation_stands_out_more_clearly_without_what_was_to_be_expected() -> None:
    verdict, scored, ends = played(1, 100, 400, 100, skill=0.9)
    shaped = without_expected(scored.shares, scored.counted_before, scored.rate_before, ends, 0.95)

    def clarity(shares: np.ndarray) -> float:
        returns = discounted_returns(shares, ends, 0.95)
        gap = returns[verdict == COMPLIANT].mean() - returns[verdict == VIOLATION].mean()
        return float(gap / returns.std())

    assert clarity(shaped) > 1.5 * clarity(scored.shares)
