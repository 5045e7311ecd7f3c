from typing import Any

import pytest

from workflow_rl.config import GameConfig
from workflow_rl.errors import InvalidInputError


@pytest.mark.parametrize(
    ("wrong", "allowed"),
    [
        ({"red_probabilities": {"bline": 1}}, "mixed"),
        ({"red_agent": "mixed", "red_probabilities": 3}, "a mapping of red agents to numbers"),
        ({"red_agent": "mixed", "red_probabilities": {"brain": 1}}, "bline, meander, sleep"),
        ({"red_agent": "mixed", "red_probabilities": {"mixed": 1}}, "bline, meander, sleep"),
        ({"red_agent": "mixed", "red_probabilities": {"bline": 0}}, "above 0"),
        *(
            ({"red_agent": "mixed", "red_probabilities": {"sleep": weight}}, "from 0 to 1e+300")
            for weight in (-1, True, float("nan"), float("inf"), 1e308, 10**400)
        ),
    ],
)
def test_a_wrong_choice_is_told_what_is_allowed(wrong: dict[str, Any], allowed: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        GameConfig(**wrong)
    assert allowed in str(caught.value)
    assert "\n" not in str(caught.value)


def test_mixed_weights_are_scaled_to_probabilities() -> None:
    config = GameConfig(red_agent="mixed", red_probabilities={"bline": 3, "RedMeanderAgent": 1})
    assert config.red_weights == (0.75, 0.25, 0.0)
    assert GameConfig(red_agent="mixed").red_weights == (1 / 3, 1 / 3, 1 / 3)
    for weight in (5e-324, 1e300):
        even = {"bline": weight, "meander": weight / 2, "RedMeanderAgent": weight / 2}
        assert sum(GameConfig(red_agent="mixed", red_probabilities=even).red_weights) == 1
    assert GameConfig(red_agent="sleep").red_weights == (0.0, 0.0, 1.0)
