from typing import Any

import pytest

from tests.refused import refused
from workflow_rl.config import (
    PPO_FORMS,
    PRESETS,
    Asked,
    ExperimentConfig,
    PPOConfig,
    Preset,
    PresetName,
    TrainConfig,
)
from workflow_rl.errors import InvalidInputError

# What the documents say of each: environments, transitions, epochs and minibatch of an update.
DOCUMENTED: list[tuple[PresetName, int, int, int, int | None]] = [
    ("episode", 1, 100, 4, None),
    ("hybrid", 1, 500, 4, None),
    ("minibatch", 1, 1_000, 4, None),
    ("standard", 8, 2_048, 4, 64),
    ("parallel25", 25, 2_500, 4, None),
    ("parallel200", 200, 20_000, 4, None),
    ("original", 200, 20_000, 6, None),
]


@pytest.mark.parametrize(("name", "envs", "transitions", "epochs", "minibatch"), DOCUMENTED)
def test_every_rollout_strategy_of_the_documents_is_a_preset(
    name: PresetName, envs: int, transitions: int, epochs: int, minibatch: int | None
) -> None:
    preset = PRESETS[name]
    config, ppo = TrainConfig(**preset.train), PPOConfig(**preset.ppo)
    assert config.n_envs == envs
    assert config.rollout_steps(100) * envs == transitions
    assert (ppo.epochs, ppo.minibatch_size) == (epochs, minibatch)
    assert config.max_updates(100) >= config.min_updates


def test_the_presets_are_those_of_the_documents_and_six_of_ours() -> None:
    assert set(PRESETS) == {
        *(name for name, *_ in DOCUMENTED),
        "strongest",
        "universal",
        "best-response",
        "robust",
        "robust-universal",
        "own-network",
    }
    assert PRESETS["parallel200"] == Preset()
    original = TrainConfig(**PRESETS["original"].train)
    assert original.max_episodes * original.n_envs == 100_000
    assert (original.conditioned, original.action_space) == (False, "cardiff")
    assert PRESETS["original"].game == {"observation": "cardiff"}
    assert PRESETS["original"].form == "documented"


def test_changes_win_over_the_preset_and_the_preset_over_the_form() -> None:
    config = ExperimentConfig.preset(
        "standard",
        form="modern",
        game={"red_agent": "RedMeanderAgent"},
        ppo={"epochs": 9},
        train={"n_envs": 4},
        search={"strategy": "random"},
        backend={"max_restarts": 0},
        seed=5,
    )
    assert (config.game.red_agent, config.seed) == ("meander", 5)
    assert (config.ppo.epochs, config.ppo.minibatch_size, config.ppo.anneal) == (9, 64, True)
    assert (config.train.n_envs, config.train.update_steps) == (4, 2_048)
    assert (config.search.strategy, config.backend.max_restarts) == ("random", 0)
    assert ExperimentConfig.preset("original", form="tuned").ppo.gamma == PPO_FORMS["tuned"].gamma


@pytest.mark.parametrize("longest", [1, 4, 40])
@pytest.mark.parametrize(("name", "least"), [("parallel200", 5), ("parallel25", 10)])
def test_a_shorter_training_needs_no_more_updates_than_it_has_episodes(
    name: PresetName, least: int, longest: int
) -> None:
    train = ExperimentConfig.preset(name, train={"max_episodes": longest}).train
    assert (train.max_episodes, train.min_updates) == (longest, min(longest, least))


def test_the_warm_start_universal_brings_that_policy_s_network_and_short_trainings() -> None:
    given: dict[str, Any] = {"search": {"warm_start": "universal"}}
    config = ExperimentConfig.preset("parallel200", **given)
    universal = ExperimentConfig.preset("robust-universal")
    for name in ("hidden", "action_space", "shown_order", "follow"):
        assert getattr(config.train, name) == getattr(universal.train, name)
    assert config.game.observation == universal.game.observation
    assert config.ppo.mask_actions
    assert (config.game.red_agent, config.train.units) == ("bline", "types")
    assert config.train.n_envs < TrainConfig().n_envs


def test_the_warm_start_universal_has_its_network() -> None:
    changes = (("train", "hidden", (64, 64)), ("train", "follow", "learned"))
    for section, name, value in (*changes, ("ppo", "activation", "relu")):
        given: Any = {section: {name: value}, "search": {"warm_start": "universal"}}
        refused(f"goes with {name} ", ExperimentConfig.preset, "parallel200", **given)


@pytest.mark.parametrize(
    ("asked", "start"),
    [
        (Asked(), "universal"),
        (Asked(form="modern", sections={"train": {"n_envs": 200, "units": "hosts"}}), "universal"),
        (Asked(sections={"game": {"rules": "competition", "red_agent": "mixed"}}), "universal"),
        (Asked(sections={"search": {"warm_start": "nearest"}}), "nearest"),
        (Asked(preset="hybrid"), "common"),
        (Asked(form="tuned"), "common"),
        (Asked(sections={"search": {"polish": "documented"}}), "common"),
        (Asked(sections={"train": {"hidden": (64, 64)}}), "common"),
    ],
)
def test_a_search_starts_from_universal_where_that_fits_what_is_asked_for(
    asked: Asked, start: str
) -> None:
    config = ExperimentConfig.for_search(asked)
    assert config.search.warm_start == start
    if start != "universal":
        assert config == ExperimentConfig.of(asked)


def test_universal_is_polished_unless_the_truth_is_the_measure() -> None:
    default = ExperimentConfig()
    assert (default.polish, default.polish_updates) == ("universal", 20)
    documented = ExperimentConfig.preset("parallel200", search={"polish": "documented"})
    assert (documented.polish, documented.polish_updates) == ("documented", 200)
    true = ExperimentConfig.preset("parallel200", train={"compliance_view": "true"})
    assert true.polish == "documented"
    with pytest.raises(InvalidInputError, match="with the compliance view true"):
        ExperimentConfig.preset(
            "parallel200", train={"compliance_view": "true"}, search={"polish": "universal"}
        )
