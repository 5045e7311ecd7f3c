from typing import Any

import pytest

from workflow_rl.config import (
    PPO_FORMS,
    PRESETS,
    BackendConfig,
    ExperimentConfig,
    GameConfig,
    PPOConfig,
    PPOFormName,
    PresetName,
    SearchConfig,
    TrainConfig,
)
from workflow_rl.errors import InvalidInputError

AS_JSON = ExperimentConfig().as_json()


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("form", ["tuned", "documented"])
def test_a_configuration_comes_back_from_its_json(preset: PresetName, form: PPOFormName) -> None:
    config = ExperimentConfig(
        game=GameConfig(**PRESETS[preset].game),
        ppo=PPO_FORMS["modern" if preset == "universal" else form],
        train=TrainConfig(**PRESETS[preset].train),
        backend=BackendConfig("cyborg", vector="pipes"),
        seed=2**63 - 1,
    )
    assert ExperimentConfig.from_json(config.as_json()) == config


@pytest.mark.parametrize(
    ("part", "wrong", "allowed"),
    [
        (PPOConfig, {"epochs": 0}, "from 1 to"),
        (PPOConfig, {"gamma": 1.5}, "from 0 to 1"),
        (PPOConfig, {"clip": 0.0}, "above 0"),
        (PPOConfig, {"entropy_weight": float("nan")}, "0 or more"),
        (TrainConfig, {"alignment": "none"}, "adaptive, fixed"),
        (TrainConfig, {"min_updates": 60}, "min_updates must be a whole number from 1 to 50"),
        (TrainConfig, {"min_episodes": 60}, "min_updates must be a whole number from 1 to 50"),
        (TrainConfig, {"update_steps": 100}, "from 200 to"),
        (SearchConfig, {"strategy": "guess"}, "gp-ucb, random, round-robin, exhaustive"),
        (SearchConfig, {"n_workflows": 0}, "from 1 to"),
        (BackendConfig, {"vector": "pipes", "vector_mode": "async"}, "shared only"),
        (ExperimentConfig, {"seed": -1}, "from 0 to"),
    ],
)
def test_a_wrong_setting_is_one_sentence_that_names_what_is_allowed(
    part: type, wrong: dict[str, Any], allowed: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        part(**wrong)
    assert allowed in str(caught.value)
    assert "\n" not in str(caught.value)


def test_parts_that_do_not_go_together_are_refused() -> None:
    cardiff = TrainConfig(action_space="cardiff")
    with pytest.raises(InvalidInputError, match="sync only"):
        ExperimentConfig(train=cardiff, backend=BackendConfig("cyborg", vector_mode="async"))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({}, "it lacks game, ppo, train, search, backend, seed"),
        ([], "it is not a table of settings"),
        (
            {"game": {"planet": 1}, "ppo": {"betas": (0, 0)}},
            "it lacks train, search, backend, seed",
        ),
        (AS_JSON | {"game": {"planet": 1}}, "GameConfig has no setting 'planet': there are "),
        (AS_JSON | {"colour": 3}, "ExperimentConfig has no setting 'colour': there are game, "),
    ],
)
def test_data_that_is_no_configuration_is_refused(data: Any, why: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        ExperimentConfig.from_json(data)
    assert str(caught.value).startswith(f"not a configuration of this version ({why}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"game": {"rules": "house"}}, "unknown rule set 'house'"),
        ({"train": {"n_envs": "5"}}, "n_envs must be a whole number"),
        ({"train": {"max_episodes": 1, "update_episodes": 2}}, "this would never update"),
        ({"game": None}, "game must be a GameConfig, not None"),
    ],
)
def test_a_stored_value_that_is_not_allowed_is_named(part: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        ExperimentConfig.from_json(AS_JSON | part)
