from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workflow.reference import Judged, episode_compliance
from workflow_rl.workflow.compliance import (
    COMPLIANT,
    NOT_A_FIX,
    REPEAT,
    VIOLATION,
    Tally,
    compliance_shares,
)

# What can happen in a step: whether a host is open, and what the action was.
STEPS = {
    "quiet": (False, NOT_A_FIX),
    "idle_fix": (False, REPEAT),
    "waits": (True, NOT_A_FIX),
    "repeat": (True, REPEAT),
    "wrong": (True, VIOLATION),
    "right": (True, COMPLIANT),
}


def judged(step: str) -> Judged:
    """A step in the reference's words."""
    is_open, verdict = STEPS[step]
    return Judged(is_open, verdict != NOT_A_FIX, verdict >= VIOLATION, verdict == COMPLIANT)


def column(steps: list[str]) -> tuple[Any, Any, Any]:
    """Verdicts, openness and ends of one environment's single episode."""
    any_open, verdict = zip(*(STEPS[step] for step in steps), strict=True)
    ends = np.arange(len(steps)) == len(steps) - 1
    return np.array(verdict, np.int8)[:, None], np.array(any_open)[:, None], ends[:, None]


@pytest.mark.parametrize(
    ("steps", "shares"),
    [
        # A share is the change of the running rate; only counted fixes have one.
        (
            "right wrong right right wrong",
            [1, 1 / 2 - 1, 2 / 3 - 1 / 2, 3 / 4 - 2 / 3, 3 / 5 - 3 / 4],
        ),
        ("waits right repeat quiet idle_fix wrong waits", [0, 1, 0, 0, 0, -0.5, 0]),
        ("waits right", [0, 1]),
        # Where nothing was ever open, the episode complies wholly at its end.
        ("quiet idle_fix quiet", [0, 0, 1]),
        ("quiet", [1]),
        # With an open host and no counted fix it does not.
        ("quiet waits repeat quiet", [0, 0, 0, 0]),
        ("waits", [0]),
    ],
)
def test_the_shares_of_an_episode_and_its_compliance(steps: str, shares: list[float]) -> None:
    got, rates, _, _ = compliance_shares(*column(steps.split()), Tally.zeros(1))
    assert got[:, 0].tolist() == pytest.approx(shares)
    assert np.isnan(rates[:-1]).all()
    assert rates[-1, 0] == pytest.approx(sum(shares))


@st.composite
def plays(draw: st.DrawFn) -> tuple[list[list[list[str]]], int, list[int]]:
    """Episodes of a few environments, as many steps each; and where batches are cut."""
    envs, steps = draw(st.integers(1, 3)), draw(st.integers(1, 40))
    columns = []
    for _ in range(envs):
        names = st.sampled_from(list(STEPS) if draw(st.booleans()) else ["quiet", "idle_fix"])
        played = draw(st.lists(names, min_size=steps, max_size=steps))
        cuts = draw(st.sets(st.integers(1, steps), max_size=4)) | {steps}
        columns.append(
            [played[a:b] for a, b in zip([0, *sorted(cuts)], sorted(cuts), strict=False)]
        )
    return columns, steps, sorted(draw(st.sets(st.integers(0, steps), max_size=4)))


@settings(deadline=None)
@given(plays())
def test_shares_sum_to_the_compliance_however_episodes_are_cut_into_batches(play: Any) -> None:
    columns, steps, cuts = play
    parts = [[np.concatenate(p) for p in zip(*map(column, e), strict=True)] for e in columns]
    verdict, any_open, ends = (np.hstack(p) for p in zip(*parts, strict=True))
    tally = Tally.zeros(len(columns))
    batches = [
        compliance_shares(verdict[a:b], any_open[a:b], ends[a:b], tally)
        for a, b in zip([0, *cuts], [*cuts, steps], strict=True)
    ]
    shares, rates, _, _ = (np.concatenate(arrays) for arrays in zip(*batches, strict=True))
    np.testing.assert_array_equal(np.isnan(rates), ~ends)
    for b, episodes in enumerate(columns):
        start = 0
        for episode in episodes:
            stop = start + len(episode)
            expected = float(episode_compliance(map(judged, episode)))
            assert rates[stop - 1, b] == expected
            assert shares[start:stop, b].sum(dtype=np.float64) == pytest.approx(expected, abs=2e-6)
            start = stop
    # Every environment's last episode ended: nothing is carried on.
    for array in (tally.compliant, tally.counted, tally.ever_open):
        assert not array.any()


def test_a_tally_carries_an_unfinished_episode() -> None:
    tally = Tally.zeros(1)
    verdict, any_open, _ = column(["right", "wrong", "waits"])
    compliance_shares(verdict, any_open, np.zeros((3, 1), np.bool_), tally)
    assert (tally.compliant[0], tally.counted[0], tally.ever_open[0]) == (1, 2, True)
    shares, rates, counted, rate = compliance_shares(*column(["right"]), tally)
    assert (counted[0, 0], rate[0, 0]) == (2, 0.5)
    assert shares[0, 0] == pytest.approx(2 / 3 - 1 / 2)
    assert rates[0, 0] == pytest.approx(2 / 3)
