"""What a policy does, counted: by phase, kind and host."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from workflow_rl.config import GameConfig, ObservationName
from workflow_rl.evaluation.behaviour import KINDS, Behaviour
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.scenario.scenario2 import parse_action


class Scripted:
    """Plays a list of actions, the last one again and again."""

    name = "scripted"
    observation: ObservationName = "challenge"
    order = None

    def __init__(self, *names: str) -> None:
        self.actions = [parse_action(name) for name in names]

    def begin(self, episodes: int, seed: int) -> None:
        pass

    def act(self, observations: Any, action_mask: Any, step: int) -> Any:
        return np.full(len(observations), self.actions[min(step, len(self.actions) - 1)])


def behaviour_of(names: Sequence[str], steps: int) -> Behaviour:
    game = GameConfig(red_agent="sleep", episode_length=steps)
    found = play_batch(Scripted(*names), game, 1, 3).behaviour
    assert found is not None
    return found


def test_actions_are_counted_by_phase_kind_and_host() -> None:
    names = [
        *("DecoyApache Enterprise0", "DecoyTomcat Enterprise0", "Remove User1", "Monitor"),
        *["Analyse User1"] * 16,
        "Restore Enterprise0",
    ]
    found = behaviour_of(names, 40)
    assert found.phases == ["1-10", "11-30", "31-40"]
    expected = {  # decoy, remove, analyse, restore, wait
        "1-10": [0.2, 0.1, 0.6, 0.0, 0.1],
        "11-30": [0.0, 0.0, 0.5, 0.5, 0.0],
        "31-40": [0.0, 0.0, 0.0, 1.0, 0.0],
    }
    np.testing.assert_allclose(found.phase_shares, list(expected.values()))
    assert list(found.host_times) == ["Enterprise0", "User1"]
    assert found.host_times["User1"].tolist() == [0, 1, 16, 0, 0]
    assert found.shares == pytest.approx(
        dict(zip(KINDS, (0.05, 0.025, 0.4, 0.5, 0.025), strict=True))
    )
    assert str(found) == "restore 50 %, analyse 40 %, decoy 5 %, remove 2 %, wait 2 %"


def test_a_decoy_that_is_already_there_counts_as_waiting_until_it_is_taken_away() -> None:
    decoy = "DecoyApache Enterprise0"
    found = behaviour_of([decoy, decoy, "Restore Enterprise0", decoy, decoy], 5)
    assert found.phases == ["1-5"]
    assert found.phase_shares.tolist() == [[0.4, 0.0, 0.0, 0.2, 0.4]]


def test_it_is_stored_by_name_and_read_back() -> None:
    found = behaviour_of(["Analyse User1", "Sleep"], 12)
    stored = json.loads(json.dumps(found.as_json()))
    assert stored == [{"Analyse User1": 1.0, "Sleep": 9.0}, {"Sleep": 2.0}]
    assert Behaviour.from_json(stored) == found
    mixed = Behaviour.mean([found, behaviour_of(["Sleep"], 12)], (0.25, 0.75))
    assert mixed.times[0] == {"Sleep": 9.75, "Analyse User1": 0.25}


@pytest.mark.parametrize("data", [[{}], [{"Nap": 1}], [{"Sleep": -1}], [{"Sleep": "x"}], 3, [3]])
def test_other_data_is_refused(data: Any) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Behaviour.from_json(data)
