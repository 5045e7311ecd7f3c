from typing import Any

import pytest

from workflow_rl.config import (
    DEFAULT_PPO,
    PPO_FORMS,
    PRESETS,
    Asked,
    ExperimentConfig,
    GameConfig,
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


def test_the_presets_are_those_of_the_documents_and_two_of_ours() -> None:
    assert set(PRESETS) == {*(name for name, *_ in DOCUMENTED), "strongest", "universal"}
    assert PRESETS["parallel200"] == Preset()
    parallel25 = TrainConfig(**PRESETS["parallel25"].train)
    assert (parallel25.max_episodes, parallel25.min_updates) == (400, 10)
    original = TrainConfig(**PRESETS["original"].train)
    assert original.max_episodes * original.n_envs == 100_000
    assert (original.conditioned, original.action_space) == (False, "cardiff")
    assert PRESETS["original"].game == {"observation": "cardiff"}
    assert PRESETS["original"].form == "documented"


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_sets_what_it_names_and_nothing_else(name: PresetName) -> None:
    config, preset = ExperimentConfig.preset(name), PRESETS[name]
    assert config.train == TrainConfig(**preset.train)
    assert config.game == GameConfig(**preset.game)
    form = PPO_FORMS[preset.form or DEFAULT_PPO]
    for field, value in vars(config.ppo).items():
        assert value == preset.ppo.get(field, getattr(form, field))
    default = ExperimentConfig()
    assert (config.search, config.backend, config.seed) == (default.search, default.backend, 0)


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


def test_the_warm_start_universal_brings_that_policy_s_network_and_short_trainings() -> None:
    given: dict[str, Any] = {"search": {"warm_start": "universal"}}
    config = ExperimentConfig.preset("parallel200", **given)
    universal = ExperimentConfig.preset("universal")
    for name in ("hidden", "action_space", "shown_order", "follow"):
        assert getattr(config.train, name) == getattr(universal.train, name)
    assert config.game.observation == universal.game.observation
    assert config.ppo.mask_actions
    assert (config.game.red_agent, config.train.units) == ("bline", "types")
    assert config.train.n_envs < TrainConfig().n_envs
    more = ExperimentConfig.preset("parallel200", train={"n_envs": 300}, **given)
    assert more.train.n_envs == 300


@pytest.mark.parametrize(
    ("section", "changes"),
    [
        ("train", {"hidden": (64, 64)}),
        ("train", {"order_encoding": "onehot"}),
        ("train", {"follow": "learned"}),
        ("game", {"observation": "challenge"}),
        ("ppo", {"activation": "relu"}),
    ],
)
def test_the_warm_start_universal_has_its_network(section: str, changes: dict[str, Any]) -> None:
    given: dict[str, Any] = {section: changes, "search": {"warm_start": "universal"}}
    with pytest.raises(InvalidInputError, match=f"goes with {next(iter(changes))} "):
        ExperimentConfig.preset("parallel200", **given)


@pytest.mark.parametrize(
    ("asked", "start"),
    [
        (Asked(), "universal"),
        (Asked(form="modern", sections={"train": {"n_envs": 200, "units": "hosts"}}), "universal"),
        (Asked(sections={"game": {"rules": "competition", "red_agent": "mixed"}}), "universal"),
        (Asked(sections={"search": {"warm_start": "nearest"}}), "nearest"),
        (Asked(preset="hybrid"), "common"),
        (Asked(form="tuned"), "common"),
        (Asked(sections={"search": {"base_updates": 9}}), "common"),
        (Asked(sections={"search": {"polish": "documented"}}), "common"),
        (Asked(sections={"train": {"compliance_view": "true"}}), "common"),
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


def test_a_mistake_in_what_is_asked_of_a_search_is_named() -> None:
    with pytest.raises(InvalidInputError, match="n_envs must be a whole number from 1"):
        ExperimentConfig.for_search(Asked(sections={"train": {"n_envs": 0}}))


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
