"""The free-running game is statistically the reference's: equivalence tests (TOST).

A mean is called equivalent when its difference from the reference's lies within a margin with
95 % confidence on each side: |difference| + 1.645 standard errors < margin. The reference has 400
episodes a cell, we play 4,000. Margins: a quarter of the standard deviation of an episode for
returns, 0.3 of it for each of the many counts of Red's choices.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.parity.free_play import (
    REFERENCE,
    play,
    reference_action_counts,
    reference_exploit_counts,
)
from workflow_rl.sim.state import RedAction

EPISODES = 4_000
RETURN_MARGIN = 0.25
COUNT_MARGIN = 0.3
ONE_SIDED_95 = 1.645
ACTIVE = [c for c in REFERENCE if not c.startswith("sleep/")]


def assert_equivalent(
    what: str, ours: NDArray[Any], mean: float, n: int, deviation: float, margin: float
) -> None:
    """TOST of the mean of `ours` against a reference mean over n episodes."""
    difference = abs(float(np.mean(ours)) - mean)
    if deviation == 0:
        assert difference < 1e-9, f"{what}: always {mean} in the reference, {np.mean(ours)} here"
        return
    error = deviation * np.sqrt(1 / n + 1 / len(ours))
    assert difference + ONE_SIDED_95 * error < margin * deviation, (
        f"{what}: {np.mean(ours):.4f} here, {mean:.4f} in the reference, "
        f"standard deviation {deviation:.4f}"
    )


@pytest.mark.parametrize("cell", ACTIVE)
def test_returns_are_equivalent(cell: str) -> None:
    reference = REFERENCE[cell]
    returns = play(cell, EPISODES).rewards.cumsum(axis=1)
    for steps, mean in reference["mean_return_after_steps"].items():
        deviation = reference["std_return_after_steps"][steps]
        ours = returns[:, int(steps) - 1]
        assert_equivalent(
            f"return after {steps}", ours, mean, reference["n"], deviation, RETURN_MARGIN
        )


@pytest.mark.parametrize("cell", ACTIVE)
def test_quantiles_of_the_return_agree_within_8_percentage_points(cell: str) -> None:
    returns = np.round(play(cell, EPISODES).rewards.sum(axis=1), 6)
    quantiles = REFERENCE[cell]["quantiles_5_25_50_75_95"]
    for share, quantile in zip((0.05, 0.25, 0.5, 0.75, 0.95), quantiles, strict=True):
        below = float(np.mean(returns < quantile - 1e-6))
        up_to = float(np.mean(returns <= quantile + 1e-6))
        assert below - 0.08 < share < up_to + 0.08


@pytest.mark.parametrize("cell", ACTIVE)
def test_red_chooses_its_actions_targets_and_exploits_equally_often(cell: str) -> None:
    game, n, never = play(cell, EPISODES), REFERENCE[cell]["n"], np.zeros(EPISODES, np.int64)
    for ours, reference in (
        (game.action_counts(), reference_action_counts(cell)),
        (game.exploit_counts(), reference_exploit_counts(cell)),
    ):
        for name in sorted({*ours, *(k for k, total in reference.items() if total)}):
            counts, mean = ours.get(name, never), reference.get(name, 0) / n
            assert_equivalent(name, counts, mean, n, float(counts.std(ddof=1)), COUNT_MARGIN)


@pytest.mark.parametrize("cell", ["bline/sleep", "meander/sleep"])
def test_favourite_exploits_and_detections_are_equally_frequent(cell: str) -> None:
    game = play(cell, EPISODES)
    for ours, key, hit in (
        (game.top_choices(), "exploit_top_choice_draws", "top"),
        (game.detections(), "detection_draws", "detected"),
    ):
        draws, hits = REFERENCE[cell][key]["n"], REFERENCE[cell][key][hit]
        share = hits / draws
        deviation = float(np.sqrt(share * (1 - share)))
        assert_equivalent(key, ours, share, draws, deviation, RETURN_MARGIN)


def test_random_blue_against_sleeping_red_has_the_exact_distribution() -> None:
    reference = REFERENCE["sleep/random145"]
    returns = play("sleep/random145", EPISODES).rewards.sum(axis=1)
    error = reference["exact_std"] / np.sqrt(EPISODES)
    assert abs(returns.mean() - reference["exact_mean"]) < 4 * error
    assert abs(returns.std() / reference["exact_std"] - 1) < 0.05


@pytest.mark.parametrize("policy", ["sleep", "react_restore"])
def test_nothing_happens_against_a_sleeping_red(policy: str) -> None:
    game = play(f"sleep/{policy}", 50)
    assert not game.rewards.any()
    assert (game.red_action == RedAction.SLEEP).all()
    assert not game.ot_down.any()


def test_the_equivalence_test_can_fail() -> None:
    returns = play("bline/sleep", EPISODES).rewards.sum(axis=1)
    reference = REFERENCE["bline/sleep"]
    mean = reference["mean_return_after_steps"]["100"]
    deviation = reference["std_return_after_steps"]["100"]
    shifted = returns + 0.3 * deviation
    with pytest.raises(AssertionError, match="in the reference"):
        assert_equivalent("shifted", shifted, mean, reference["n"], deviation, RETURN_MARGIN)
