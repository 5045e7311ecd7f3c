from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.parity.fixtures import (
    FILES,
    MAIN_BLINE,
    MAIN_MEANDER,
    TRACES,
    changed,
    corrupted,
    episodes_of,
    file_id,
)
from workflow_rl.config import RuleSetName
from workflow_rl.parity.replay import compare
from workflow_rl.parity.trace import Trace, load_trace, optional_outputs_of, outputs_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.sim.state import Access, RedAction

STORED = load_trace(MAIN_BLINE).arrays.keys()
OPTIONAL = {key: size for key, size in optional_outputs_of(SCENARIO2).items() if key in STORED}
OUTPUTS = outputs_of(SCENARIO2) | OPTIONAL
COMPARED = sorted(OUTPUTS.keys() | {"red_type", "red_target"})
EPISODE, STEP = 1, 40
BLINE = episodes_of(MAIN_BLINE, range(3))
# Three episodes of different lengths: the shortest of the file is among them.
BY_LENGTH = np.argsort(load_trace(MAIN_MEANDER).lengths)
MIXED_LENGTHS = episodes_of(MAIN_MEANDER, BY_LENGTH[[0, 1, -1]].tolist())


@pytest.mark.parametrize(("rules", "path"), FILES, ids=file_id)
def test_the_recordings_replay_without_a_mismatch(rules: RuleSetName, path: Path) -> None:
    trace = load_trace(path)
    result = compare(trace, rules)
    assert result.first is None
    assert result.mismatches == 0
    assert (result.file, result.episodes) == (path.name, trace.episodes)
    assert result.steps == trace.lengths.sum() > 0
    assert sorted(result.fields) == sorted([*COMPARED, "red_raised"])


@pytest.mark.parametrize("name", ["bline.npz", "meander.npz"])
@pytest.mark.parametrize(("recorded", "other"), [("competition", "main"), ("main", "competition")])
def test_the_other_rule_set_does_not_fit(recorded: str, other: RuleSetName, name: str) -> None:
    result = compare(load_trace(TRACES / recorded / name), other)
    assert result.mismatches > 0
    assert result.first is not None
    assert result.first.file == name


@pytest.mark.parametrize("field", sorted({*COMPARED} - {"red_session_kinds"}))
@settings(max_examples=4, deadline=None)
@given(st.data())
def test_any_single_wrong_value_is_found(field: str, data: st.DataObject) -> None:
    trace = BLINE if field.startswith("bline") else MIXED_LENGTHS
    episode = data.draw(st.integers(0, trace.episodes - 1))
    step = data.draw(st.integers(0, int(trace.lengths[episode]) - 1))
    inner = (data.draw(st.integers(0, size - 1)) for size in OUTPUTS.get(field, ()))
    wrong = corrupted(trace, field, (episode, step, *inner))
    result = compare(wrong, "main")
    first = result.first
    assert first is not None
    assert (first.file, first.episode, first.step) == (trace.name, episode, step)
    if field in OUTPUTS and field != "red_access":  # what Red did feeds the replay as well
        assert (first.field, result.mismatches) == (field, 1)
        assert first.expected == pytest.approx(wrong.arrays[field][episode, step].tolist())
        assert first.got == pytest.approx(trace.arrays[field][episode, step].tolist())


@pytest.mark.parametrize("field", ["red_access", "red_session_kinds"])
def test_a_wrong_session_is_found_where_it_counts(field: str) -> None:
    """The recording's four kinds are two of ours, and are looked at where there is a session."""
    trace = load_trace(MAIN_BLINE)
    access = trace.arrays["red_access"]
    level = Access.NONE if field == "red_access" else Access.USER
    there = (access == level).any(axis=-1) & (np.arange(trace.steps) < trace.lengths[:, None])
    episode, step = (int(index) for index in np.argwhere(there)[0])
    host = int(np.flatnonzero(access[episode, step] == level)[0])
    kind = () if field == "red_access" else (0,)
    result = compare(corrupted(trace, field, (episode, step, host, *kind)), "main")
    assert result.mismatches == 1
    assert result.first is not None
    assert (result.first.episode, result.first.step, result.first.field) == (episode, step, field)
    difference = np.array(result.first.expected) != np.array(result.first.got)
    assert np.argwhere(difference).tolist() == [[host, *kind]]


def test_a_wrong_value_behind_the_end_of_an_episode_is_not_looked_at() -> None:
    lengths = BLINE.lengths.copy()
    lengths[EPISODE] = STEP
    for field in COMPARED:
        index = EPISODE, STEP, *([0] * len(OUTPUTS.get(field, ())))
        result = compare(replace(corrupted(BLINE, field, index), lengths=lengths), "main")
        assert result.mismatches == 0
        assert result.steps == lengths.sum()


def test_the_earliest_of_several_divergences_is_reported() -> None:
    wrong = corrupted(corrupted(BLINE, "obs", (1, 3, 7)), "reward", (1, 2))
    wrong = corrupted(corrupted(wrong, "ot_known", (2, 0)), "reward", (2, 0))
    result = compare(wrong, "main")
    assert result.mismatches == 4
    assert result.first is not None
    assert (result.first.episode, result.first.step, result.first.field) == (1, 2, "reward")


def where(trace: Trace, condition: np.ndarray) -> tuple[int, int]:
    episode, step = np.argwhere(condition & (np.arange(trace.steps) < trace.lengths[:, None]))[0]
    return int(episode), int(step)


@pytest.mark.parametrize(
    ("field", "was", "becomes"),
    [
        *((name, 1, 0) for name in ("exploit_detected", "exploit_took_top", "green_type")),
        ("blue_action", 0, 139),
    ],
)
def test_a_draw_or_an_action_that_came_out_otherwise_shows(
    field: str, was: int, becomes: int
) -> None:
    trace = load_trace(TRACES / "main" / "green_meander.npz")
    applies = trace.arrays[field] == was
    if field == "exploit_took_top":  # with two options at least the other one differs
        applies &= trace.arrays["red_type"] == RedAction.EXPLOIT
    index = where(trace, applies)
    result = compare(changed(trace, field, index, becomes), "main")
    assert result.first is not None
    assert (result.first.episode, result.first.step) == index
