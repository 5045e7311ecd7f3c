import pytest

from workflow_rl.bench.scale_model import PICKS, SCHEDULING, TRAINING, UPDATES, Constants, forecast

CONSTANTS = Constants(
    training=2.0, updates=50, scheduling=0.01, row=0.0002, picks={10: 0.05, 100: 0.05, 1_000: 0.5}
)


def test_a_driver_that_is_not_asked_too_much_keeps_every_worker_busy() -> None:
    small = forecast(CONSTANTS, nodes=10, cores=2, strategy="gp-ucb")
    assert small.slots == 20
    assert small.driver == pytest.approx(0.01 + 0.01 + 0.05)
    assert small.most_slots == pytest.approx(2.0 / 0.07)
    assert (small.busy, small.first) == (1.0, TRAINING)
    assert small.workflows_per_hour == pytest.approx(20 / 2.0 * 3_600)


def test_beyond_that_the_driver_sets_the_pace_and_its_largest_part_is_named() -> None:
    large = forecast(CONSTANTS, nodes=500, cores=2, strategy="gp-ucb")
    assert large.driver == pytest.approx(0.52)
    assert large.first == PICKS
    assert large.workflows_per_hour == pytest.approx(3_600 / 0.52)
    assert large.busy == pytest.approx(2.0 / 0.52 / 1_000)
    without = forecast(CONSTANTS, nodes=500, cores=2, strategy="exhaustive")
    assert without.driver == pytest.approx(0.02)
    assert without.workflows_per_hour == pytest.approx(3_600 / 0.02)
    noisy = Constants(training=2.0, updates=500, scheduling=0.01, row=0.0002, picks={2: 0.0001})
    assert forecast(noisy, 500, 2, "exhaustive").first == UPDATES
    quiet = Constants(training=2.0, updates=5, scheduling=0.01, row=0.0002, picks={2: 0.0001})
    assert forecast(quiet, 500, 2, "gp-ucb").first == SCHEDULING


@pytest.mark.parametrize(
    ("observations", "seconds"),
    [(2, 0.05), (10, 0.05), (30, 0.05), (100, 0.05), (316.22776, 0.158), (1_000, 0.5), (2_000, 1)],
)
def test_a_pick_is_read_off_between_and_beyond_what_was_measured(
    observations: float, seconds: float
) -> None:
    assert CONSTANTS.pick(observations) == pytest.approx(seconds, rel=0.01)
