"""What is configured otherwise on a network that the policies of the package do not know."""

import json
from pathlib import Path

import pytest

from workflow_rl.config import (
    Asked,
    ComparisonConfig,
    ConfigFile,
    ExperimentConfig,
    GameConfig,
    responses_of,
)
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.loading import SCENARIO2, network_of
from workflow_rl.scenario.random_network import random_network


def searched(network: object, **search: object) -> ExperimentConfig:
    """The configuration of a search for which only a network, and these, are asked."""
    return ExperimentConfig.for_search(
        Asked(sections={"game": {"network": network}, "search": search})
    )


def test_a_search_elsewhere_hands_over_its_own_base_policy() -> None:
    config = searched("office")
    assert config == ExperimentConfig.preset("own-network", game={"network": "office"})
    assert (config.search.warm_start, config.polish, config.polish_updates) == (
        "common",
        "common",
        200,
    )
    assert config.follows_any
    assert not searched("office", polish_updates=0).follows_any
    assert searched("office", warm_start="none").polish == "documented"


def test_a_search_on_scenario2_by_its_name_is_the_usual_one() -> None:
    assert searched("scenario2") == ExperimentConfig.for_search(Asked())
    assert searched("scenario2").polish == "universal"


@pytest.mark.parametrize(
    ("search", "train", "sentence"),
    [
        ({"warm_start": "universal"}, {}, "the policy universal plays scenario2, and not office"),
        ({"polish": "universal"}, {}, "the policy universal plays scenario2, and not office"),
        ({"polish": "common", "warm_start": "none"}, {}, "goes with the warm start common"),
        ({"polish": "common"}, {"compliance_view": "true"}, "choose polish documented"),
    ],
)
def test_policies_that_there_are_not_are_refused(
    search: dict[str, str], train: dict[str, str], sentence: str
) -> None:
    game = {"network": "office"}
    with pytest.raises(InvalidInputError, match=sentence):
        ExperimentConfig.preset("own-network", game=game, search=search, train=train)


@pytest.mark.parametrize(
    ("network", "red"), [("scenario2", "bline"), ("office", "bline"), ("plant", "meander")]
)
def test_the_default_attacker_is_one_that_can_play(network: str, red: str) -> None:
    assert searched(network).game.red_agent == red
    assert GameConfig.on(network_of(network)).red_agent == red
    assert GameConfig.on(network_of(network), red_agent="sleep").red_agent == "sleep"


def test_a_configuration_keeps_a_network_that_does_not_ship(tmp_path: Path) -> None:
    network = random_network(9, 3, 4)
    config = searched(network)
    data = json.loads(json.dumps(config.as_json()))
    assert ExperimentConfig.from_json(data).game.network == network
    assert ConfigFile.of(config).asked.sections["game"]["network"] == network
    shipped = ExperimentConfig.from_json(searched("plant").as_json())
    assert (shipped.as_json()["game"]["network"], shipped.game.network) == (
        "plant",
        network_of("plant"),
    )


def test_best_responses_attack_on_the_same_network() -> None:
    assert responses_of(searched("cage1"), "greedy").game.network == network_of("cage1")
    assert responses_of(searched("scenario2"), "greedy").game.network == SCENARIO2


def test_presets_are_compared_on_scenario2_only() -> None:
    with pytest.raises(InvalidInputError, match=r"compared on scenario2, .* not on office"):
        ComparisonConfig(game=GameConfig(network=network_of("office")))
