"""Every observation: its description against the rows that the simulator and trackers write."""

from typing import Any

import numpy as np
import pytest

from workflow_rl.config import OBSERVATIONS, GameConfig, ObservationName
from workflow_rl.envs.observations import TRACKED, make_batch, make_tracker, observation_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import CHALLENGE_SIZE
from workflow_rl.sim.memory import BEGIN

ENVS, STEPS = 12, 45
SHOWS_DECOYS = ("memory", "recall", "belief", "truth")


def played(name: ObservationName) -> Any:
    """Yields the batch before each step of random games, and what was done before that."""
    batch = make_batch(ENVS, GameConfig(red_agent="mixed", observation=name), autoreset=False)
    batch.reset(3)
    rng = np.random.default_rng(0)
    actions = np.full(ENVS, BEGIN)
    for _ in range(STEPS):
        yield batch, actions
        actions = rng.integers(0, 145, ENVS)
        batch.step(actions)


@pytest.mark.parametrize("name", OBSERVATIONS)
def test_its_entries_cover_it_exactly_once_and_the_table_comes_first(name: ObservationName) -> None:
    observation = observation_of(name, SCENARIO2)
    covered = np.zeros(observation.size, np.int64)
    for entry in observation.entries:
        columns = observation.columns(entry.name)
        assert columns.stop - columns.start == entry.size
        covered[columns] += 1
        assert (observation.highest[columns] == entry.highest).all()
        assert entry.meaning
    assert (covered == 1).all()
    assert observation.columns(observation.entries[0].name) == slice(0, CHALLENGE_SIZE)
    with pytest.raises(KeyError):
        observation.columns("nothing")


@pytest.mark.parametrize("name", OBSERVATIONS)
def test_rows_have_its_size_and_range_and_tell_which_decoys_are_refused(
    name: ObservationName,
) -> None:
    observation, refused, most = observation_of(name, SCENARIO2), 0, 0
    for batch, _ in played(name):
        rows = batch.observation
        assert rows.shape == (ENVS, observation.size)
        assert rows.min() >= 0
        assert (rows <= observation.highest).all()
        most = max(most, int(rows.max()))
        told = observation.action_mask(rows)
        if name in SHOWS_DECOYS:
            np.testing.assert_array_equal(told, batch.out.action_mask)
        else:
            assert told.shape == batch.out.action_mask.shape
            assert told.all()
        refused += int((~batch.out.action_mask).sum())
    assert refused > 0
    assert most == observation.highest.max()
    assert observation.repeats == (name not in SHOWS_DECOYS)
    assert observation.is_privileged == (name == "truth")


@pytest.mark.parametrize("name", TRACKED)
def test_a_tracker_writes_what_the_simulator_does(name: ObservationName) -> None:
    tracker = make_tracker(ENVS, GameConfig(observation=name))
    for batch, actions in played(name):
        rows = tracker.update(batch.observation[:, :CHALLENGE_SIZE].copy(), actions)
        np.testing.assert_array_equal(rows, batch.observation)
        np.testing.assert_array_equal(tracker.action_mask, batch.out.action_mask)
