"""What is derived from a setting's description: checks, sentences, and the stored form."""

import pickle
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from workflow_rl.config import (
    MIXED,
    RED_AGENTS,
    SECTIONS,
    BackendConfig,
    ComparisonConfig,
    Execution,
    ExperimentConfig,
    GameConfig,
    PPOConfig,
    Setting,
    TrainConfig,
    setting_fields,
    settings,
    stored,
)
from workflow_rl.config.units import UNIT_KINDS
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.loading import SHIPPED, network_of
from workflow_rl.scenario.random_network import random_network

ALL = [*SECTIONS.values(), ExperimentConfig, Execution, ComparisonConfig]
FIELDS = {
    f"{cls.__name__}.{name}": field for cls in ALL for name, field in setting_fields(cls).items()
}
EVERY = list(FIELDS.values())


def part(field: Setting) -> st.SearchStrategy[Any]:
    """Any value, or part of a list, that a description allows."""
    if field.choices:
        return st.sampled_from(field.choices)
    low, high = field.within or (field.above, None)
    if field.part_type is int:
        assert low is not None
        assert high is not None
        return st.integers(int(low), int(high))
    if field.part_type is float:
        is_open = field.above is not None
        return st.floats(low, high, exclude_min=is_open, allow_infinity=False)
    if field.part_type is bool:
        return st.booleans()
    assert field.part_type is str
    return st.text()


def value(field: Setting) -> st.SearchStrategy[Any]:
    if field.name == "red_probabilities":
        return st.none()  # it depends on the red agent
    if field.name == "network":
        return st.sampled_from([*SHIPPED, *map(network_of, SHIPPED), random_network(9, 3, 1)])
    if field.name == "red_agent":
        return st.sampled_from(
            ["bline", "meander", "sleep", MIXED, "bait", "path", "patient:2:bline"]
        )
    if field.name == "units":
        names = st.lists(st.text(), max_size=3).map(tuple)
        return st.sampled_from(UNIT_KINDS) | st.dictionaries(st.text(), names, max_size=3)
    if not field.is_list:
        values = part(field)
    elif Ellipsis in field.type.__args__:
        values = st.lists(part(field), max_size=4).map(tuple)
    else:
        values = st.tuples(*[part(field)] * len(field.type.__args__))
    return st.none() | values if field.default is None else values


OF_RED = ("against", "against_workflow")


def configurations(cls: Any) -> st.SearchStrategy[Any]:
    """Any configuration of a class, but for combinations that it refuses."""
    settings_of = {name: value(field) for name, field in setting_fields(cls).items()}
    if cls is TrainConfig:  # so that updates are possible
        settings_of |= {"n_envs": st.integers(1, 500), "min_updates": st.integers(1, 5)}
        settings_of["update_steps"] = st.none() | st.integers(500, 2_000)
        settings_of |= {"max_episodes": st.integers(10, 99), "update_episodes": st.integers(1, 9)}
        settings_of["follow"] = st.just("learned")  # shielded goes with few others
        settings_of |= {"side": st.just("blue"), **dict.fromkeys(OF_RED, st.none())}  # so does red
    return st.fixed_dictionaries(settings_of).map(lambda given: attempt(cls, given))


def attempt(cls: Any, given: dict[str, Any]) -> Any:
    try:
        return cls(**given)
    except InvalidInputError:
        assume(False)


weights: st.SearchStrategy[Any] = st.dictionaries(
    st.sampled_from(RED_AGENTS), st.floats(0, 1e6), min_size=1
).filter(lambda found: sum(found.values()) > 0)
games = configurations(GameConfig) | weights.map(
    lambda found: GameConfig(red_agent=MIXED, red_probabilities=found)
)
experiments: st.SearchStrategy[ExperimentConfig] = st.builds(
    lambda **parts: attempt(ExperimentConfig, parts),
    **{name: configurations(cls) for name, cls in SECTIONS.items()} | {"game": games},
    seed=st.integers(0, 2**63 - 1),
)


@pytest.mark.parametrize("name", FIELDS)
def test_a_description_is_whole_and_allows_its_default(name: str) -> None:
    field = FIELDS[name]
    assert field.text
    assert field.text[-1] != "."
    assert field.check(field.default) == field.default
    assert set(field.meanings) <= set(field.choices)
    if field.default is None:
        assert field.unset
    if field.part_type is int:
        assert field.within
        assert None not in field.within


def test_a_field_without_a_description_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError, match="depth has no description"):

        @settings
        class Bare:
            depth: int = 3


def test_a_configuration_is_a_value() -> None:
    config = ExperimentConfig()
    changed = replace(config, train=replace(config.train, n_envs=50))
    assert hash(ExperimentConfig()) == hash(config)
    assert pickle.loads(pickle.dumps(changed)) == changed != config
    assert GameConfig("meander", 30) == GameConfig(red_agent="meander", episode_length=30)
    with pytest.raises(FrozenInstanceError):
        config.seed = 3  # type: ignore[misc]


# --- checks


def test_numbers_lists_and_paths_of_any_kind_become_plain() -> None:
    for number in (np.uint8(7), np.array(7)):
        assert type(TrainConfig(n_envs=number).n_envs) is int  # type: ignore[arg-type]
    for units in (np.array([8, 4]), (n for n in (8, 4))):
        assert TrainConfig(hidden=units).hidden == (8, 4)  # type: ignore[arg-type]
    assert BackendConfig(cyborg_path=Path("a")).cyborg_path == "a"  # type: ignore[arg-type]


ENVS = "n_envs must be a whole number from 1 to 10000000, not"


@pytest.mark.parametrize(
    ("cls", "wrong", "sentence"),
    [
        (GameConfig, {"rules": "x"}, "unknown rule set 'x': choose one of main, competition"),
        *((TrainConfig, {"n_envs": n}, f"{ENVS} {n!r}") for n in (0, "5", True, 2.0)),
        *(
            (PPOConfig, {"gamma": number}, f"gamma must be a number from 0 to 1, not {number!r}")
            for number in (True, "0.5")
        ),
        (PPOConfig, {"clip": float("inf")}, "clip must be a number above 0, not inf"),
        (PPOConfig, {"value_weight": -1}, "value_weight must be a number of 0 or more, not -1"),
        (PPOConfig, {"anneal": 1}, "anneal must be True or False, not 1"),
        (
            PPOConfig,
            {"betas": (0.5,)},
            "betas must be a list of 2, each part a number from 0 to 1, not (0.5,)",
        ),
        (
            TrainConfig,
            {"hidden": "64"},
            "hidden must be a list, each part a whole number from 1 to 65536, not '64'",
        ),
        (BackendConfig, {"cyborg_path": 3}, "cyborg_path must be text, not 3"),
        (ExperimentConfig, {"game": 3}, "game must be a GameConfig, not 3"),
    ],
)
def test_what_is_wrong_is_one_sentence(cls: Any, wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        cls(**wrong)
    assert str(caught.value) == sentence
    if (first := fields(cls)[0].name) in wrong:
        with pytest.raises(InvalidInputError) as caught:
            cls(wrong[first])
        assert str(caught.value) == sentence


@given(field=st.sampled_from([f for f in EVERY if f.part_type in (int, float)]), data=st.data())
def test_a_setting_refuses_what_is_out_of_range(field: Setting, data: st.DataObject) -> None:
    low, high = field.within or (field.above, None)
    outside: st.SearchStrategy[Any]
    if field.part_type is int:
        outside = st.integers(max_value=int(low or 0) - 1)
        outside |= st.integers(min_value=int(high or 0) + 1)
    else:
        outside = st.floats(max_value=low, exclude_max=field.above is None)
        outside |= st.just(float("nan")) | st.just(float("inf"))
        outside |= st.nothing() if high is None else st.floats(min_value=high, exclude_min=True)
    wrong = data.draw(outside)
    with pytest.raises(InvalidInputError) as caught:
        field.check([wrong, wrong] if field.is_list else wrong)
    assert field.allowed in str(caught.value)
    assert "\n" not in str(caught.value)


def test_min_episodes_is_still_taken_for_what_counts_updates() -> None:
    config = TrainConfig(min_episodes=3)  # type: ignore[call-arg]
    assert config == TrainConfig(min_updates=3)
    assert replace(config, min_episodes=2) == TrainConfig(min_updates=2)  # type: ignore[call-arg]
    assert "min_episodes" not in stored(config)
