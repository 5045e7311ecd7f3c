"""The recorder on the real CybORG, compared with recordings made elsewhere."""

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.envs.installed import cyborg_env, installed_rules
from tests.parity.fixtures import FILES, file_id
from workflow_rl.parity.live import BUILT_IN_BLUES
from workflow_rl.parity.recorder import Act, record
from workflow_rl.parity.replay import compare, recorded_draws
from workflow_rl.parity.trace import INPUTS, OUTPUTS, Trace, load_trace
from workflow_rl.scenario.scenario2 import NUM_ACTIONS
from workflow_rl.sim.batch import Batch

pytestmark = pytest.mark.cyborg


def record_again(trace: Trace, episode: int) -> Trace:
    """Records an episode anew: from its seed, by its actions."""
    env = cyborg_env(
        red_agent=trace.red_agent,
        green_agent="active" if trace.arrays["meta_green"] else "sleep",
        episode_length=int(trace.lengths[episode]),
    )
    actions = iter(trace.arrays["blue_action"][episode].tolist())
    seed = int(trace.arrays["seed"][episode])
    return record("again", env, [seed], lambda seed: lambda observation, mask, step: next(actions))


@pytest.mark.parametrize(
    "episodes", [slice(0, 4), pytest.param(slice(4, None), marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize(("rules", "path"), FILES, ids=file_id)
def test_a_recordings_seed_and_actions_give_the_same_recording(
    rules: str, path: Path, episodes: slice
) -> None:
    if rules != installed_rules():
        pytest.skip(f"the installed CybORG plays other rules than {rules}")
    trace = load_trace(path)
    for episode in range(trace.episodes)[episodes]:
        again = record_again(trace, episode)
        length = trace.lengths[episode]
        assert again.lengths.tolist() == [length]
        for name in (*INPUTS, *OUTPUTS):
            expected = trace.arrays[name][episode, :length]
            np.testing.assert_array_equal(again.arrays[name][0], expected, name)


@pytest.mark.parametrize("red_agent", ["bline", "meander"])
def test_the_whole_cardiff_observation_is_the_simulators(red_agent: str) -> None:
    env = cyborg_env(red_agent=red_agent, observation="cardiff", green_agent="active")
    seen: list[np.ndarray] = []

    def begin(seed: int) -> Act:
        rng = np.random.default_rng(seed)

        def act(observation: Any, action_mask: Any, step: int) -> int:
            seen.append(observation)
            return int(rng.integers(NUM_ACTIONS))

        return act

    trace = record("cardiff", env, [3], begin)
    batch = Batch(1, env.config, autoreset=False)
    batch.reset(seed=0)
    draws = recorded_draws(trace)
    for step, expected in enumerate(seen):
        assert (batch.observation[0] == expected).all()
        batch.step(trace.arrays["blue_action"][:, step].astype(np.int64), draws[:, step].copy())
    assert set(np.unique(np.array(seen)[:, 52:])) == {0, 1, 2}


def test_an_episode_is_cut_before_a_process_id_is_used_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = 25  # instead of 32,768 process ids
    monkeypatch.setattr(
        sys.modules["CybORG.Simulator.Host"],
        "randrange",
        lambda *limits: random.randrange(few) if limits == (32768,) else random.randrange(*limits),
    )
    busy = BUILT_IN_BLUES[1]
    trace = record("few", cyborg_env(red_agent="meander"), range(10), busy.begin)
    assert (trace.lengths < trace.steps).sum() > 2
    assert trace.lengths.min() > 0
    assert compare(trace, installed_rules()).mismatches == 0
