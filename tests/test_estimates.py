import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from workflow_rl.estimates import (
    Estimate,
    analyse_variance,
    between_and_within,
    f_interval,
    half_widths,
    permutation_p_value,
    rank_correlation,
)


def test_an_estimate_has_an_interval_and_prints_it() -> None:
    made = Estimate(-1.234, 0.5)
    assert (made.low, made.high) == (-1.734, -0.734)
    assert str(made) == "-1.23 ± 0.50"
    assert math.isnan(Estimate(3.0).half_width)
    by_error = Estimate.from_error(2.0, 0.25)
    assert by_error.half_width == pytest.approx(0.25 * stats.norm.ppf(0.975), rel=1e-14)
    assert by_error.error == pytest.approx(0.25, rel=1e-15)


def test_many_values_have_a_normal_interval_and_few_one_of_student() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0])
    error = math.sqrt(5 / 3) / 2
    many, few = Estimate.of_many(values), Estimate.of_few(values)
    assert many.mean == few.mean == 2.5
    assert many.half_width == pytest.approx(1.96 * error, rel=1e-4)
    assert few.half_width == pytest.approx(3.182 * error, rel=1e-3)  # t with 3 degrees of freedom
    for make in (Estimate.of_many, Estimate.of_few):  # one value has no interval
        alone = make(np.array([-7.0]))
        assert alone.mean == -7
        assert math.isnan(alone.half_width)


def test_half_widths_are_those_of_each_column() -> None:
    values = np.array([[1.0, 10.0], [2.0, 10.0], [6.0, 10.0]])
    assert half_widths(values) == pytest.approx([Estimate.of_many(values[:, 0]).half_width, 0.0])
    assert np.isnan(half_widths(values[:1])).tolist() == [True, True]


def test_groups_differ_between_and_within() -> None:
    between, within = between_and_within([[1.0, 3.0], [10.0], [4.0, 4.0, 7.0]])
    assert between == pytest.approx(np.std([2.0, 10.0, 5.0], ddof=1))
    assert within == pytest.approx(math.sqrt((2.0 + 6.0) / 3))  # squares over freedom
    assert math.isnan(between_and_within([[1.0, 3.0]])[0])
    assert math.isnan(between_and_within([[1.0], [3.0]])[1])


def test_a_decomposition_by_hand() -> None:
    values = np.array([[1.0, 2.0, 6.0], [3.0, 4.0, 8.0]])
    order, seed, noise = analyse_variance(values, rows="seed", columns="order")
    assert [part.name for part in (order, seed, noise)] == ["order", "seed", "noise"]
    assert (order.freedom, seed.freedom, noise.freedom) == (2, 1, 2)
    assert order.squares == pytest.approx(2 * (4 + 1 + 9))  # means 2, 3, 7 around 4
    assert seed.squares == pytest.approx(3 * (1 + 1))  # means 3, 5 around 4
    assert noise.squares == pytest.approx(0, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 5), st.integers(2, 9), st.integers(0, 99), st.floats(-1e3, 1e3))
def test_the_parts_add_up_at_any_level(seeds: int, orders: int, chance: int, level: float) -> None:
    values = np.random.default_rng(chance).normal(size=(seeds, orders))
    total = float(np.sum((values - values.mean()) ** 2))
    parts = analyse_variance(values + level, rows="seed", columns="order")
    assert sum(part.squares for part in parts) == pytest.approx(total, rel=1e-6)
    assert sum(part.freedom for part in parts) == seeds * orders - 1


def test_the_interval_of_a_ratio_holds_it_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    held = []
    for _ in range(300):
        values = rng.normal(size=(4, 12))
        columns, _, noise = analyse_variance(values, rows="row", columns="column")
        low, high = f_interval(columns, noise)
        held.append(low <= 1.0 <= high)
    assert np.mean(held) == pytest.approx(0.95, abs=0.03)


def test_shuffling_tells_columns_that_differ_from_columns_that_do_not() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(4, 20))
    one_group = np.zeros(20, np.int64)
    assert permutation_p_value(noise + 3 * np.arange(20), one_group, seed=0) == 0.001
    assert permutation_p_value(noise, one_group, seed=0) > 0.05
    assert permutation_p_value(noise, one_group, 3) == permutation_p_value(noise, one_group, 3)


def test_shuffling_stays_inside_groups() -> None:
    groups = np.repeat([1, 0], 10)  # what differs between groups is not what is asked for
    values = np.random.default_rng(2).normal(size=(4, 20)) + 50.0 * groups
    assert permutation_p_value(values, groups, seed=0) > 0.05
    assert permutation_p_value(values, np.arange(20), seed=0) == 1.0  # nothing can be shuffled


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=30))
def test_the_rank_correlation_is_spearman_s_with_ties(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs, np.float64).T
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        assert math.isnan(rank_correlation(a, b))
    else:
        assert rank_correlation(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)
