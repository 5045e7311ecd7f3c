import numpy as np
import pytest

from tests.agents.policies import new_policy
from workflow_rl.agents.probabilities import ProbabilityTable

POLICY = new_policy()
SEEN = np.random.default_rng(0).integers(0, 2, (50, 52)).astype(np.int8)


def table() -> ProbabilityTable:
    return ProbabilityTable(POLICY.probabilities, 52, 145)


def test_a_row_holds_what_the_policy_says() -> None:
    made = table()
    ids = made.number(np.concatenate([SEEN, SEEN[::-1]]))
    assert len(made.rows) == 50
    np.testing.assert_array_equal(made.rows[ids[:50]], POLICY.probabilities(SEEN))
    assert (ids[50:] == ids[:50][::-1]).all()
    assert (made.best(ids[:50]) == POLICY.act(SEEN)).all()


def test_the_policy_is_asked_once_for_each_observation() -> None:
    asked = []
    made = ProbabilityTable(
        lambda rows: asked.append(len(rows)) or POLICY.probabilities(rows), 52, 145
    )
    for _ in range(3):
        made.number(SEEN[:20])
    made.number(SEEN)
    assert asked == [20, 30]


def test_it_grows() -> None:
    made = table()
    many = np.random.default_rng(1).integers(0, 2, (3000, 52)).astype(np.int8)
    first = made.number(many[:1000])
    best = made.best(first).copy()
    made.number(many)
    assert (made.best(first) == best).all()
    np.testing.assert_array_equal(made.rows[:3000], POLICY.probabilities(many))


def test_only_what_is_allowed_is_chosen() -> None:
    made = table()
    ids = made.number(SEEN)
    allowed = np.ones((50, 145), np.bool_)
    allowed[np.arange(50), made.best(ids)] = False
    second = made.best(ids, allowed)
    expected = np.where(allowed, POLICY.probabilities(SEEN), 0).argmax(axis=1)
    assert (second == expected).all()
    drawn = made.sample(ids, np.random.default_rng(0).random(50), allowed)
    assert allowed[np.arange(50), drawn].all()


@pytest.mark.parametrize("masked", [False, True])
def test_draws_follow_the_probabilities(masked: bool) -> None:
    made = ProbabilityTable(lambda rows: np.tile([0.5, 0.1, 0.4, 0.0], (len(rows), 1)), 52, 4)
    ids = made.number(np.repeat(SEEN[:1], 20_000, axis=0))
    allowed = np.tile([True, True, False, True], (20_000, 1)) if masked else None
    drawn = made.sample(ids, np.random.default_rng(0).random(20_000), allowed)
    shares = np.bincount(drawn, minlength=4) / 20_000
    expected = [5 / 6, 1 / 6, 0, 0] if masked else [0.5, 0.1, 0.4, 0]
    np.testing.assert_allclose(shares, expected, atol=4 * np.sqrt(0.25 / 20_000))
    assert shares[3] == 0
