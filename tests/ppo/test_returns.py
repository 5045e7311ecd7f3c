from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow_rl.ppo.returns import discounted_returns, generalised_advantages, standardised


@st.composite
def games(draw: st.DrawFn) -> tuple[Any, Any, Any, Any]:
    """Rewards, values, values after the last step, and ends, of a small batch."""
    steps, envs = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rewards, values = rng.normal(size=(2, steps, envs)).astype(np.float32)
    last = rng.normal(size=envs).astype(np.float32)
    return rewards, values, last, rng.random((steps, envs)) < draw(st.sampled_from([0, 0.3, 1]))


def naive_advantages(
    rewards: Any, values: Any, last: Any, ends: Any, gamma: float, lam: float
) -> Any:
    """GAE as its sum of discounted temporal-difference errors, one sum per step."""
    steps, envs = rewards.shape
    out = np.zeros((steps, envs))
    for b in range(envs):
        for t in range(steps):
            weight = 1.0
            for later in range(t, steps):
                after = values[later + 1, b] if later + 1 < steps else last[b]
                after = 0.0 if ends[later, b] else after
                out[t, b] += weight * (rewards[later, b] + gamma * after - values[later, b])
                weight *= gamma * lam
                if ends[later, b]:
                    break
    return out


@settings(deadline=None)
@given(games(), st.floats(0, 1), st.floats(0, 1))
def test_advantages_equal_the_sum_of_discounted_errors(
    game: tuple[Any, Any, Any, Any], gamma: float, lam: float
) -> None:
    got = generalised_advantages(*game, gamma, lam)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, naive_advantages(*game, gamma, lam), atol=2e-5, rtol=1e-5)


@settings(deadline=None)
@given(games(), st.floats(0, 1))
def test_with_lambda_1_and_no_bootstrap_advantages_are_returns_minus_values(
    game: tuple[Any, Any, Any, Any], gamma: float
) -> None:
    rewards, values, last, ends = game
    got = generalised_advantages(rewards, values, np.zeros_like(last), ends, gamma, 1.0)
    returns = discounted_returns(rewards, ends, gamma)
    np.testing.assert_allclose(got, returns - values, atol=2e-5, rtol=1e-5)


def test_standardised_values_have_mean_0_and_population_deviation_1() -> None:
    values = np.random.default_rng(0).normal(-30, 12, 5_000).astype(np.float32)
    result = standardised(values)
    assert result.dtype == np.float32
    assert abs(result.mean()) < 1e-4
    assert abs(result.std() - 1) < 1e-4
    np.testing.assert_array_equal(np.argsort(result), np.argsort(values))
    np.testing.assert_array_equal(standardised(np.full(7, -3, np.float32)), np.zeros(7))
