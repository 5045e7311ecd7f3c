from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.refused import refused
from workflow_rl.agents.named import make_agent
from workflow_rl.config import ExperimentConfig, GameConfig
from workflow_rl.envs.reds import RedPolicy
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.runs.training import job_of
from workflow_rl.train.job import TrainJob
from workflow_rl.train.loop import Training
from workflow_rl.train.red_world import RedWorld

SMALL = {"n_envs": 40, "max_episodes": 12, "hidden": (16,), "against": "sleep"}


def job(seed: int = 0, **train: object) -> TrainJob:
    config = ExperimentConfig.preset(
        "best-response", train=SMALL | train, game={"episode_length": 30}, seed=seed
    )
    return job_of(config, None)


def trained(of: TrainJob, path: Path) -> Path:
    with closing(Training(of)) as training:
        for _ in training.updates():
            pass
        of.save_policy(path, training.best)
    return path


def test_red_learns_to_harm_and_its_file_plays_as_it_was_trained(tmp_path: Path) -> None:
    rewards = [float(record.env_reward) for record, _ in Training(job(max_episodes=40)).updates()]
    assert np.mean(rewards[-3:]) > 2 * np.mean(rewards[:3])
    path = trained(job(max_episodes=40), tmp_path / "red.safetensors")
    game = GameConfig(red_agent=str(path), episode_length=30)
    played = play_batch(make_agent("sleep"), game, seed=3, episodes=400)
    assert -played.returns.mean() == pytest.approx(np.mean(rewards[-3:]), rel=0.25)
    again = play_batch(make_agent("sleep"), game, seed=3, episodes=100)
    assert (again.returns == played.returns[:100]).all()  # an episode depends on itself alone


def test_the_score_is_what_blue_loses_and_harm_leaves_out_its_restores() -> None:
    rng, gained = np.random.default_rng(0), {}
    for reward in ("score", "harm"):
        world = RedWorld(GameConfig(), 30, make_agent("react-restore"), reward)
        world.reset(1)
        blue, total = world._batch, np.zeros(30)
        for _ in range(100):
            p = world.action_mask / world.action_mask.sum(axis=1, keepdims=True)
            world.step((p.cumsum(axis=1) > rng.random((30, 1)) * 0.999).argmax(axis=1))
            costs = blue.out.reward_tenths / 10
            expected = -costs.sum(axis=1) if reward == "score" else -costs[:, :2].sum(axis=1)
            np.testing.assert_allclose(world.reward, expected, atol=1e-9)
            total += world.reward
        gained[reward] = total.mean()
    assert gained["score"] > gained["harm"] + 0.5


def test_a_training_of_red_resumes_exactly(tmp_path: Path) -> None:
    whole, first = Training(job()), Training(job())
    records = [replace(r, **_FREE) for r, _ in whole.updates()]
    begun = [replace(r, **_FREE) for r, _ in islice(first.updates(), 5)]
    first.save(tmp_path / "checkpoint")
    second = Training.load(tmp_path / "checkpoint", job())
    assert begun + [replace(r, **_FREE) for r, _ in second.updates()] == records
    for name, array in whole.best.items():
        np.testing.assert_array_equal(second.best[name], array)


_FREE: Any = {"simulate_seconds": 0.0, "infer_seconds": 0.0, "update_seconds": 0.0}


def test_files_of_the_other_side_or_of_other_rules_are_refused(tmp_path: Path) -> None:
    path = trained(job(max_episodes=1), tmp_path / "red.safetensors")
    refused("Red, which attacks; a policy of Blue, which defends, is needed", make_agent, path)
    competition = GameConfig(red_agent=str(path), rules="competition")
    refused("by the rule set main.*competition", play_batch, make_agent("sleep"), competition, 0, 1)
    blue = Path(make_agent.__globals__["shipped_policy"]("best", "main"))
    refused("Blue, which defends; a policy of Red", RedPolicy.load, blue)
    refused("there is no file", RedPolicy.load, tmp_path / "none.safetensors")


@pytest.mark.parametrize(
    ("train", "sentence"),
    [
        ({"side": "red", "against": None}, "needs a defender: --against"),
        ({"side": "red", "conditioned": True}, "follows no order"),
        ({"side": "red", "update_steps": 1000}, "whole episodes"),
    ],
)
def test_what_red_cannot_be_trained_with_is_refused(
    train: dict[str, object], sentence: str
) -> None:
    refused(sentence, job, **train)
    refused("choose side red", ExperimentConfig.preset, "hybrid", train={"against": "best"})
    unmasked: Any = {"train": SMALL, "form": "tuned"}
    refused("needs masked actions", ExperimentConfig.preset, "best-response", **unmasked)
