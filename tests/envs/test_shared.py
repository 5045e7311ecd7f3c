import copy
import gc
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.envs.toys import PLAIN, Toy, Zero
from tests.forked import holds_in_a_fork
from tests.refused import refused
from workflow_rl.envs.shared import SharedMemoryVectorEnv
from workflow_rl.envs.spaces import env_seeds
from workflow_rl.errors import NotResetError
from workflow_rl.processes import is_running

ELEMENTS = {
    "box": PLAIN,
    "image": spaces.Box(0, 255, (4, 3, 2), np.uint8),
    "number": spaces.Box(-1, 1, (), np.float64),
    "discrete": spaces.Discrete(5, start=-2),
    "bits": spaces.MultiBinary((2, 3)),
    "choices": spaces.MultiDiscrete([3, 4, 5]),
}


def toys(n: int, **settings: Any) -> list[Callable[[], Toy]]:
    return [lambda: Toy(**settings)] * n


def quiet(n: int) -> Any:
    return np.zeros(n, np.int64)


def assert_same_infos(ours: dict[str, Any], theirs: dict[str, Any], n: int) -> None:
    """What is given in the infos is the same; where nothing is given anything may stand."""
    for name in ("clock", "noise", "final_obs"):
        given = theirs.get(f"_{name}", np.zeros(n, np.bool_))
        assert (ours.get(f"_{name}", np.zeros(n, np.bool_)) == given).all(), name
        for k in np.flatnonzero(given):
            np.testing.assert_array_equal(ours[name][k], theirs[name][k])


@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(1, 7),
    workers=st.integers(1, 4),
    observation=st.sampled_from(sorted(ELEMENTS)),
    action=st.sampled_from(sorted(ELEMENTS)),
    seed=st.integers(0, 2**32 - 1),
)
def test_trajectories_are_those_of_gymnasiums_own_vector_environment(
    n: int, workers: int, observation: str, action: str, seed: int
) -> None:
    env_fns = toys(n, observation=ELEMENTS[observation], action=ELEMENTS[action])
    reference = SyncVectorEnv(env_fns, autoreset_mode=AutoresetMode.SAME_STEP)
    reference.action_space.seed(seed)
    with SharedMemoryVectorEnv(env_fns, workers) as env:
        assert env.observation_space == reference.observation_space
        assert env.action_space == reference.action_space
        assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        theirs = reference.reset(seed=[*env_seeds(seed, n)])
        ours = env.reset(seed=seed)
        np.testing.assert_array_equal(ours[0], theirs[0])
        for _ in range(30):
            actions = reference.action_space.sample()
            *their_arrays, their_infos = reference.step(actions)
            *our_arrays, our_infos = env.step(actions)
            for mine, yours in zip(our_arrays, their_arrays, strict=True):
                assert mine.dtype == yours.dtype
                np.testing.assert_array_equal(mine, yours)
            assert_same_infos(our_infos, their_infos, n)
            assert not our_infos["restarted"].any()
            for k in np.flatnonzero(their_infos.get("_final_info", [])):
                np.testing.assert_array_equal(
                    our_infos["final_info"]["noise"][k], their_infos["final_info"]["noise"][k]
                )


def test_what_is_under_way_must_be_taken_first() -> None:
    with SharedMemoryVectorEnv([Zero] * 4, 2) as env:
        env.reset()
        refused("no environment is under way", env.recv)
        env.send(quiet(2), [3, 0])
        refused("1 of these environments are under way", env.send, quiet(2), [3, 1])
        refused("2 of these environments are under way", env.step, quiet(4))
        refused("2 environments are under way", env.call, "render")
        refused(r"min_envs must be .* from 1 to 2", env.recv, 3)
        observation, *_, infos = env.recv(2)
        assert (observation.tolist(), infos["env_ids"].tolist()) == ([1, 1], [0, 3])
        env.send(quiet(4))
        env.reset()  # takes them back
        assert env.step(quiet(4))[0].tolist() == [1, 1, 1, 1]


class Talkative(Toy):
    def info(self) -> dict[str, Any]:
        words = {"name": "toy", "names": np.array(["toy"]), "table": {"a": 1}, "nothing": None}
        return words | {"flag": True, "share": np.float32(0.5), "mask": np.ones((2, 3), np.bool_)}


def test_declared_infos_are_handed_on_and_others_are_not() -> None:
    declared: Any = {"clock": ((), np.int8), "noise": (2, np.float32), "more": ((1, 2), bool)}
    with SharedMemoryVectorEnv(toys(3), 2, info_arrays=declared) as env:
        _, infos = env.reset(seed=0)
        names = {*declared, "restarted"}
        assert set(infos) == names | {f"_{name}" for name in names}
        found = [(infos[name].dtype, infos[name].shape) for name in declared]
        assert found == [(np.int8, (3,)), (np.float32, (3, 2)), (np.bool_, (3, 1, 2))]
        given = [infos[f"_{name}"].tolist() for name in declared]
        assert given == [[True] * 3, [True] * 3, [False] * 3]
    with SharedMemoryVectorEnv([Talkative] * 2) as env:  # not declared: found in the first reset
        _, infos = env.reset(options={"level": 3})
        first = {name: infos[name][0].tolist() for name in infos if name[0] != "_"}
        numbers = {"flag": True, "share": 0.5, "mask": [[True] * 3] * 2}
        assert first == {"clock": 0, "restarted": False} | numbers


def test_options_reach_every_environment_of_that_reset_alone() -> None:
    class Levelled(Zero):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return np.int64((options or {}).get("level", 0)), {}

    with SharedMemoryVectorEnv([Levelled] * 4, 2, start_method="spawn") as env:
        assert env.reset(options={"level": 3})[0].tolist() == [3, 3, 3, 3]
        assert env.reset()[0].tolist() == [0, 0, 0, 0]
        refused("reset_mask", env.reset, options={"reset_mask": np.ones(4, np.bool_)})


def test_seeds_may_be_given_one_by_one() -> None:
    with SharedMemoryVectorEnv(toys(3), 2) as env:
        first, _ = env.reset(seed=[5, None, 5])
        assert (first[0] == first[2]).all()
        assert (first[0] != first[1]).any()
        again, _ = env.reset()
        assert (again != first).any()
        refused("3 seeds are needed, not 2", env.reset, seed=[1, 2])
        refused("seed must be", env.reset, seed=-1)
        refused("at most 18446744073709551615", env.reset, seed=[2**64, 0, 0])
        with SharedMemoryVectorEnv(toys(2), 1) as fewer:  # the others do not matter
            np.testing.assert_array_equal(env.reset(seed=3)[0][:2], fewer.reset(seed=3)[0])


@pytest.mark.parametrize("copy", [True, False])
def test_what_is_returned_is_the_callers_unless_it_asked_for_the_shared_arrays(copy: bool) -> None:
    with SharedMemoryVectorEnv([Zero] * 2, copy=copy) as env:
        first, _ = env.reset()
        env.step(quiet(2))
        assert first.tolist() == ([0, 0] if copy else [1, 1])
    assert first.tolist() == ([0, 0] if copy else [1, 1])  # closed, and still readable


def test_attributes_and_methods_of_the_environments_can_be_used() -> None:
    with SharedMemoryVectorEnv([Zero] * 5, 2) as env:
        env.reset()
        env.set_attr("length", [2, 3, 4, 5, 6])
        assert env.get_attr("length") == (2, 3, 4, 5, 6)
        env.set_attr("clock", 1)
        assert env.step(quiet(5))[3].tolist() == [True, False, False, False, False]
        assert env.call("info")[4]["noise"].shape == (2,)
        refused("length needs 5 values, not 1", env.set_attr, "length", [1])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"num_workers": 0}, "num_workers must be a whole number from 1"),
        ({"timeout": 0}, "timeout must be a number above 0"),
        ({"start_timeout": -1}, "start_timeout must be a number above 0"),
        ({"max_restarts": -1}, "max_restarts must be a whole number from 0"),
        ({"start_method": "thread"}, "unknown start method 'thread': choose one of fork, spawn"),
        ({"info_arrays": {"a": ("x", int)}}, "info array 'a' needs a shape and a dtype"),
        ({"info_arrays": {"a": (1, object)}}, "info array 'a' must hold numbers"),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_starts(
    settings: dict[str, Any], sentence: str
) -> None:
    refused(sentence, SharedMemoryVectorEnv, [Zero] * 2, **settings)


def test_no_environments_unlike_ones_and_spaces_without_a_fixed_size_are_refused() -> None:
    refused("the number of environments must be", SharedMemoryVectorEnv, [])
    unlike: list[Any] = [Zero, Zero, Zero, Toy]
    refused(r"environment 3 has Box.* and Discrete\(3\)", SharedMemoryVectorEnv, unlike, 2)
    for space in (spaces.Dict({"a": PLAIN}), spaces.Tuple([PLAIN]), spaces.Text(3)):
        for side in ("observation", "action"):
            env_fns = toys(2, **{side: space})
            refused(r"need spaces of Box, Discrete, .*, not ", SharedMemoryVectorEnv, env_fns)


def test_wrong_actions_and_ids_are_refused_and_nothing_is_played() -> None:
    with SharedMemoryVectorEnv([Zero] * 4, 2) as env:
        env.reset()
        wrong: Any
        for wrong in (quiet(3), np.zeros(4), np.zeros((4, 1), np.int64)):
            refused("actions must be int64", env.send, wrong)
        for ids in ([0, 4], [-1, 0], [1, 1], [0.0, 1.0], []):
            refused("env_ids must be diff", env.send, quiet(len(ids)), ids)
        refused("actions must be int64", env.send, quiet(1), [0, 1])
        assert env.step(quiet(4))[0].tolist() == [1, 1, 1, 1]


def test_nothing_can_be_played_before_a_reset_or_after_closing() -> None:
    env = SharedMemoryVectorEnv([Zero] * 2)
    with pytest.raises(NotResetError, match="call reset"):
        env.step(quiet(2))
    env.close()
    env.close()
    for use in (env.reset, env.recv, env.render, lambda: env.step(quiet(2))):
        with pytest.raises(NotResetError, match="closed"):
            use()


class Farewell(Zero):
    """Writes a file when it is closed."""

    folder = Path()

    def close(self) -> None:
        (self.folder / f"{os.getpid()}-{id(self)}").touch()


def test_closing_closes_the_environments_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Farewell, "folder", tmp_path)
    with SharedMemoryVectorEnv([Zero] * 2):
        pass  # whatever Python opens once and keeps is open now
    gc.collect()
    before = sorted(os.listdir("/proc/self/fd")), sorted(os.listdir("/dev/shm"))
    env = SharedMemoryVectorEnv([Farewell] * 5, 2, start_method="fork")
    env.reset()
    pids = env.worker_pids
    assert sorted(os.listdir("/dev/shm")) == before[1]
    env.close()
    del env
    gc.collect()
    assert (sorted(os.listdir("/proc/self/fd")), sorted(os.listdir("/dev/shm"))) == before
    assert not any(map(is_running, pids))
    here = [path for path in tmp_path.iterdir() if path.name.startswith(f"{os.getpid()}-")]
    assert len(here) == 1  # the example
    assert len(list(tmp_path.iterdir())) == 6


def test_an_environment_that_is_forgotten_ends_its_workers() -> None:
    env = SharedMemoryVectorEnv([Zero] * 2)
    pids = env.worker_pids
    del env
    gc.collect()
    assert not any(map(is_running, pids))


def test_workers_outlive_the_thread_that_started_them_and_forks_of_their_parent() -> None:
    made: list[SharedMemoryVectorEnv] = []
    thread = threading.Thread(target=lambda: made.append(SharedMemoryVectorEnv([Zero] * 2)))
    thread.start()
    thread.join()
    with made[0] as env:
        env.reset()
        pids = {*env.worker_pids}

        def leave() -> None:
            # What multiprocessing would end when the process exits.
            assert not pids & {process.pid for process in multiprocessing.active_children()}
            env.close()

        assert holds_in_a_fork(leave)
        assert env.step(quiet(2))[0].tolist() == [1, 1]
        assert env.restarts == 0


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_it_is_not_copied_and_goes_on(way: Callable[[Any], Any]) -> None:
    with SharedMemoryVectorEnv([Zero] * 2, 2) as env:
        env.reset()
        refused("a SharedMemoryVectorEnv cannot be copied or pickled: .* make another", way, env)
        assert env.step(quiet(2))[0].tolist() == [1, 1]


def test_a_fork_of_its_process_cannot_play_it_and_changes_nothing() -> None:
    with SharedMemoryVectorEnv([Zero] * 2, 2) as env:
        env.reset()
        env.send(quiet(1), [1])

        def play() -> None:
            uses = (env.reset, env.recv, env.render, lambda: env.step(quiet(2)))
            for use in (*uses, lambda: env.send(quiet(1), [0]), lambda: env.set_attr("a", 1)):
                refused("played by the process that made it, and this one was forked", use)
            with SharedMemoryVectorEnv([Zero] * 2, 2) as other:
                other.reset()
                assert other.step(quiet(2))[0].tolist() == [1, 1]

        assert holds_in_a_fork(play)
        assert env.recv()[0].tolist() == [1]
        assert env.step(quiet(2))[0].tolist() == [1, 2]
        assert env.restarts == 0
