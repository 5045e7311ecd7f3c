from dataclasses import replace
from typing import Any

import pytest

from workflow_rl.config import (
    PPO_FORMS,
    UPDATE_STRATEGIES,
    ComparisonConfig,
    GameConfig,
    PresetName,
)
from workflow_rl.errors import InvalidInputError
from workflow_rl.studies.measured_training import job_of


@pytest.mark.parametrize("preset", UPDATE_STRATEGIES)
@pytest.mark.parametrize("transitions", [1_000_000, 60_000, 20_000])
def test_every_preset_plays_the_same_number_of_transitions_to_within_an_update(
    preset: PresetName, transitions: int
) -> None:
    train = job_of(ComparisonConfig(transitions=transitions), preset, 0).train
    each = train.n_envs * train.rollout_steps(100)
    played = train.max_updates(100) * each
    assert transitions - each < played <= transitions


def test_a_training_is_the_preset_from_scratch_with_nothing_to_end_it_early() -> None:
    spelt: Any = "RedMeanderAgent"  # the reference's name
    plan = ComparisonConfig(game=GameConfig(red_agent=spelt, rules="competition"), order=5)
    job = job_of(plan, "standard", 4)
    assert (job.game.red_agent, job.game.rules) == ("meander", "competition")
    assert (job.seed, job.order, job.base) == (4, 5, None)
    assert (job.train.n_envs, job.train.update_steps, job.ppo.minibatch_size) == (8, 2_048, 64)
    assert job.train.stop_at == "budget"
    assert job.ppo.gamma == PPO_FORMS["tuned"].gamma


def test_the_original_keeps_its_own_form_outputs_and_observation() -> None:
    job = job_of(ComparisonConfig(ppo="tuned"), "original", 0)
    assert job.ppo == replace(PPO_FORMS["documented"], epochs=6)
    assert (job.train.action_space, job.game.observation) == ("cardiff", "cardiff")
    assert not job.train.conditioned
    assert job.train.snapshot_every == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"presets": ()},
        {"presets": ("episode", "episode")},
        {"seeds": ()},
        {"seeds": (-1,)},
        {"transitions": 0},
        {"order": 120},
        {"game": None},
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        ComparisonConfig(**wrong)  # type: ignore[arg-type]
