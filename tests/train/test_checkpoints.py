"""A training that goes on from a checkpoint."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.refused import refusal
from tests.train.toys import JOBS, assert_same, final, job, trained
from workflow_rl.config import PPOConfig
from workflow_rl.train.job import TrainJob
from workflow_rl.train.loop import Training


@pytest.mark.parametrize("name", JOBS)
def test_a_training_resumed_at_any_update_ends_as_if_never_interrupted(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint"
    whole = trained(JOBS[name]())
    assert whole.updates_made >= 2
    going = Training(JOBS[name]())
    for update in range(whole.updates_made):
        going.save(path)
        resumed = Training.load(path, JOBS[name]())
        assert resumed.updates_made == update
        for _ in resumed.updates():
            pass
        assert_same(resumed, whole)
        going.update()
    going.save(path)  # what is finished is not trained again
    assert list(Training.load(path, JOBS[name]()).updates()) == []


OTHER_JOBS: dict[str, Callable[[dict[str, Any]], TrainJob]] = {
    "seed": lambda base: job(seed=1, base=base),
    "order": lambda base: job(order=41, base=base),
    "game": lambda base: job(base=base, game={"episode_length": 11}),
    "ppo": lambda base: job(PPOConfig(clip=0.3), base=base),
    "train": lambda base: job(base=base, alignment_lambda=29.0),
    "no base": lambda base: job(),
    "mirrored base": lambda base: job(base={name: -array for name, array in base.items()}),
}


@pytest.mark.parametrize("what", OTHER_JOBS)
def test_a_checkpoint_of_another_configuration_is_refused(what: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    base = final(Training(job()))
    training = Training(job(base=base))
    training.update()
    training.save(path)
    said = refusal(Training.load, path, OTHER_JOBS[what](base))
    assert said == f"{path} belongs to a training with another configuration"
    assert Training.load(path, job(base=base)).updates_made == 1  # and nothing was destroyed
