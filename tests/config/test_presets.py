import pytest

from workflow_rl.config import (
    DEFAULT_PPO,
    DEFAULT_PRESET,
    PPO_FORMS,
    PRESETS,
    ExperimentConfig,
    GameConfig,
    PresetName,
    TrainConfig,
)
from workflow_rl.errors import InvalidInputError


def test_the_default_preset_is_the_default_configuration() -> None:
    assert ExperimentConfig.preset(DEFAULT_PRESET) == ExperimentConfig()


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_sets_what_it_names_and_nothing_else(name: PresetName) -> None:
    config, preset = ExperimentConfig.preset(name), PRESETS[name]
    assert config.train == TrainConfig(**preset.train)
    assert config.game == GameConfig(**preset.game)
    form = PPO_FORMS[preset.form or DEFAULT_PPO]
    for field, value in vars(config.ppo).items():
        assert value == preset.ppo.get(field, getattr(form, field))
    assert (config.search, config.backend, config.seed) == (
        ExperimentConfig().search,
        ExperimentConfig().backend,
        0,
    )


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


def test_a_form_that_is_given_wins_over_the_presets_own() -> None:
    assert ExperimentConfig.preset("original").ppo.gamma == PPO_FORMS["documented"].gamma
    assert ExperimentConfig.preset("original", form="tuned").ppo.gamma == PPO_FORMS["tuned"].gamma


@pytest.mark.parametrize("longest", [1, 4, 40])
@pytest.mark.parametrize(("name", "least"), [("parallel200", 5), ("parallel25", 10)])
def test_a_shorter_training_needs_no_more_updates_than_it_has_episodes(
    name: PresetName, least: int, longest: int
) -> None:
    train = ExperimentConfig.preset(name, train={"max_episodes": longest}).train
    assert (train.max_episodes, train.min_updates) == (longest, min(longest, least))


@pytest.mark.parametrize("said", ["min_updates", "min_episodes"])
def test_the_least_number_of_updates_stays_if_it_is_given(said: str) -> None:
    train = ExperimentConfig.preset("hybrid", train={"max_episodes": 20, said: 4}).train
    assert train.min_updates == 4
    with pytest.raises(InvalidInputError, match="min_updates must be a whole number from 1 to 6"):
        ExperimentConfig.preset("hybrid", train={"max_episodes": 6, said: 7})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "fast"}, "unknown preset 'fast': choose one of episode, hybrid, minibatch"),
        ({"form": "best"}, "unknown form of PPO 'best': choose one of tuned, documented, modern"),
        ({"train": {"speed": 3}}, "TrainConfig has no setting 'speed'"),
        ({"game": {"rules": "house"}}, "unknown rule set 'house'"),
    ],
)
def test_what_there_is_not_is_refused_in_a_sentence(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        ExperimentConfig.preset(**({"name": "hybrid"} | wrong))  # type: ignore[arg-type]
