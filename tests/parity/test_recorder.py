"""The recorder on the real CybORG, compared with recordings made elsewhere."""

import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.envs.installed import cyborg_env, installed_rules
from tests.parity.fixtures import FILES, file_id
from workflow_rl.parity.live import BUILT_IN_BLUES
from workflow_rl.parity.recorder import Act, record
from workflow_rl.parity.replay import compare, recorded_draws
from workflow_rl.parity.trace import (
    Trace,
    find_networks,
    inputs_of,
    load_trace,
    optional_outputs_of,
    outputs_of,
)
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Blue
from workflow_rl.scenario.scenario2 import NUM_ACTIONS
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.state import RedAction

pytestmark = pytest.mark.cyborg


NETWORKS = find_networks(Path(__file__).parent / "networks")
ON_NETWORKS = [path for folder in NETWORKS for path in sorted(folder.glob("*.npz"))]


def record_again(trace: Trace, episode: int, scenario_file: Path | None = None) -> Trace:
    """Records an episode anew: from its seed, by its actions."""
    raised = int(trace.raised[episode] > 0)
    env = cyborg_env(
        network=trace.network,
        red_agent=trace.red_agent,
        green_agent="active" if trace.arrays["meta_green"] else "sleep",
        episode_length=int(trace.lengths[episode]) + raised,
        scenario_file=scenario_file,
    )
    actions = iter(trace.arrays["blue_action"][episode].tolist())
    seed = int(trace.arrays["seed"][episode])
    return record("again", env, [seed], lambda seed: lambda observation, mask, step: next(actions))


def assert_same(again: Trace, trace: Trace, episode: int) -> None:
    """Asserts that all that is compared is the same at every step of an episode."""
    network, length = trace.network, trace.lengths[episode]
    assert again.lengths.tolist() == [length]
    assert again.raised.tolist() == [trace.raised[episode]]
    kind, target = (again.arrays[name][0, :length] for name in ("red_type", "red_target"))
    names = inputs_of(network).keys() | outputs_of(network).keys()
    names |= optional_outputs_of(network).keys() & trace.arrays.keys()
    watched = np.array([host.blue is Blue.WATCHED for host in network.hosts])
    for name in names:
        expected, got = trace.arrays[name][episode, :length], again.arrays[name][0, :length]
        if name == "exploit_detected":  # it shows, and matters, on a host that Blue watches
            seen = watched[np.where(kind > RedAction.DISCOVER_REMOTE_SYSTEMS, target, 0)]
            expected, got = expected[seen], got[seen]
        np.testing.assert_array_equal(got, expected, name)


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
        assert_same(record_again(trace, episode), trace, episode)


@pytest.mark.parametrize("path", ON_NETWORKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_they_do_on_other_networks(path: Path) -> None:
    trace = load_trace(path, NETWORKS[path.parent])
    if trace.rules != installed_rules():
        pytest.skip(f"the installed CybORG plays other rules than {trace.rules}")
    scenario = path.parent / "scenario.yaml"
    for episode in (0, trace.episodes - 1):
        assert_same(record_again(trace, episode, scenario), trace, episode)


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
    trace = record(
        "few", cyborg_env(red_agent="meander"), range(10), partial(busy.begin, SCENARIO2)
    )
    assert (trace.lengths < trace.steps).sum() > 2
    assert trace.lengths.min() > 0
    assert compare(trace, installed_rules()).mismatches == 0
