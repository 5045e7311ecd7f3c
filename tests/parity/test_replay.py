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
from workflow_rl.parity.trace import OUTPUTS, Trace, load_trace
from workflow_rl.sim.state import Access, RedAction

COMPARED = sorted(OUTPUTS.keys() | {"red_type", "red_target"})
EPISODE, STEP = 1, 40  # by then no further draw decides where B_line goes
BLINE = episodes_of(MAIN_BLINE, range(3))
MEANDER = episodes_of(MAIN_MEANDER, range(3))
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
    assert sorted(result.fields) == COMPARED


@pytest.mark.parametrize("name", ["bline.npz", "meander.npz"])
@pytest.mark.parametrize(("recorded", "other"), [("competition", "main"), ("main", "competition")])
def test_the_other_rule_set_does_not_fit(recorded: str, other: RuleSetName, name: str) -> None:
    result = compare(load_trace(TRACES / recorded / name), other)
    assert result.mismatches > 0
    assert result.first is not None
    assert result.first.file == name


def host_to_corrupt(trace: Trace, field: str) -> tuple[int, ...]:
    """Returns where, behind (episode, step), a value of the field counts."""
    access = trace.arrays["red_access"][EPISODE, STEP]
    if field == "red_session_kinds":  # where both of our kinds count
        return int(np.flatnonzero(access == Access.USER)[0]), 0
    if field == "red_access":  # where there is no session, whose kind would be looked at too
        return (int(np.flatnonzero(access == Access.NONE)[0]),)
    return (2,) if OUTPUTS.get(field) else ()


@pytest.mark.parametrize("field", COMPARED)
def test_one_wrong_value_of_any_field_is_found(field: str) -> None:
    trace = MEANDER if field.startswith("meander") else BLINE
    if field == "red_session_kinds":
        trace = with_user_session_at_step(trace)
    index = EPISODE, STEP, *host_to_corrupt(trace, field)
    wrong = corrupted(trace, field, index)
    result = compare(wrong, "main")
    assert result.mismatches == 1
    first = result.first
    assert first is not None
    assert (first.file, first.episode, first.step) == (trace.name, EPISODE, STEP)
    assert first.field == field
    if field == "red_session_kinds":  # the recording's four kinds are two of ours
        difference = np.array(first.expected) != np.array(first.got)
        assert np.argwhere(difference).tolist() == [[index[2], 0]]
    else:
        assert first.expected == pytest.approx(wrong.arrays[field][EPISODE, STEP].tolist())
        assert first.got == pytest.approx(trace.arrays[field][EPISODE, STEP].tolist())


def with_user_session_at_step(trace: Trace) -> Trace:
    """Returns as many episodes, of which the one we look at has a user session at the step."""
    whole = load_trace(TRACES / "main" / trace.name)
    there = (whole.arrays["red_access"][:, STEP] == Access.USER).any(axis=1)
    episode = int(np.flatnonzero(there & (whole.lengths > STEP))[0])
    return episodes_of(TRACES / "main" / trace.name, [0, episode, 1])


def test_a_wrong_value_behind_the_end_of_an_episode_is_not_looked_at() -> None:
    lengths = BLINE.lengths.copy()
    lengths[EPISODE] = STEP
    for field in COMPARED:
        index = EPISODE, STEP, *([0] * len(OUTPUTS.get(field, ())))
        result = compare(replace(corrupted(BLINE, field, index), lengths=lengths), "main")
        assert result.mismatches == 0
        assert result.steps == lengths.sum()


def test_a_shorter_episode_ends_before_the_first_mismatch() -> None:
    wrong = corrupted(BLINE, "reward", (0, 30))
    cut = replace(wrong, lengths=np.array([30, 31, 100]))
    assert compare(cut, "main").mismatches == 0
    assert compare(replace(wrong, lengths=np.array([31, 31, 100])), "main").mismatches == 1


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


@pytest.mark.parametrize("field", ["exploit_detected", "exploit_took_top", "green_type"])
def test_a_draw_that_came_out_otherwise_shows(field: str) -> None:
    trace = load_trace(TRACES / "main" / "green_meander.npz")
    arrays = trace.arrays
    if field == "exploit_took_top":  # with two options at least the other one differs
        index = where(trace, (arrays[field] == 1) & (arrays["red_type"] == RedAction.EXPLOIT))
    else:
        index = where(trace, arrays[field] == 1)
    result = compare(changed(trace, field, index, 0), "main")
    assert result.first is not None
    assert (result.first.episode, result.first.step) == index


def test_another_blue_action_shows() -> None:
    index = where(BLINE, BLINE.arrays["blue_action"] == 0)
    result = compare(changed(BLINE, "blue_action", index, 139), "main")
    assert result.first is not None
    assert (result.first.episode, result.first.step) == index


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_single_wrong_value_is_found(data: st.DataObject) -> None:
    trace = MIXED_LENGTHS
    field = data.draw(st.sampled_from([f for f in COMPARED if f != "red_session_kinds"]))
    episode = data.draw(st.integers(0, trace.episodes - 1))
    step = data.draw(st.integers(0, int(trace.lengths[episode]) - 1))
    inner = (data.draw(st.integers(0, size - 1)) for size in OUTPUTS.get(field, ()))
    result = compare(corrupted(trace, field, (episode, step, *inner)), "main")
    assert result.first is not None
    assert (result.first.episode, result.first.step) == (episode, step)
    if field in OUTPUTS and field != "red_access":  # what Red did feeds the replay as well
        assert (result.first.field, result.mismatches) == (field, 1)
