from typing import Any

import numpy as np
import pytest

from tests.refused import refused
from workflow_rl import Cage2Env, Cage2RedVectorEnv, Cage2VectorEnv

pytest.importorskip("stable_baselines3")

from stable_baselines3.common.vec_env import VecMonitor

from workflow_rl.envs.sb3 import Sb3VecEnv


def make(**game: Any) -> Sb3VecEnv:
    return Sb3VecEnv(Cage2VectorEnv(8, **game))


def test_ended_episodes_restart_and_say_what_was_seen_last() -> None:
    env = make(red_agent="bline", episode_length=10)
    env.seed(3)
    assert not env.reset().any()
    for step in range(1, 21):
        observation, reward, done, infos = env.step(np.zeros(8, np.int64))
        assert reward.dtype == np.float32
        assert done.all() == (step % 10 == 0)
        assert len(infos) == 8
        if done.all():
            assert not observation.any()
            assert all(info["TimeLimit.truncated"] for info in infos)
            assert infos[0]["terminal_observation"].any()
        else:
            assert "terminal_observation" not in infos[0]
        assert infos[0]["red_access"].shape == (13,)


@pytest.mark.parametrize("wrong", [None, 3, Cage2VectorEnv, Cage2Env(observation="memory")])
def test_only_our_vector_environments_are_wrapped(wrong: Any) -> None:
    refused("must be a Cage2VectorEnv, not ", Sb3VecEnv, wrong)


@pytest.mark.parametrize("side", ["blue", "red"])
def test_maskable_ppo_finds_the_masks_and_takes_no_refused_action(side: str) -> None:
    pytest.importorskip("sb3_contrib")
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.utils import is_masking_supported

    red = Cage2RedVectorEnv(8, "sleep", illegal="error")
    env = VecMonitor(Sb3VecEnv(red) if side == "red" else make(red_agent="bline"))
    assert is_masking_supported(env)
    model = MaskablePPO("MlpPolicy", env, n_steps=64, n_epochs=1, seed=0, device="cpu")
    model.learn(512)
    masks = model.rollout_buffer.action_masks.astype(bool)
    assert masks.shape == (512, 56 if side == "red" else 145)
    assert not masks.all()
    taken = model.rollout_buffer.actions.reshape(-1).astype(int)
    assert masks[np.arange(512), taken].all()
