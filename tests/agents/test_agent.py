from typing import Any

import numpy as np
import pytest

from tests.refused import refusal
from workflow_rl import evaluate
from workflow_rl.agents.agent import as_agent, uniforms
from workflow_rl.agents.greedy import GreedyAgent
from workflow_rl.agents.scripts import SleepAgent
from workflow_rl.scenario.scenario2 import FIRST_RESTORE, SLEEP
from workflow_rl.workflow.orders import ORDERS

FEW: dict[str, Any] = {"episodes": 6, "steps": [12, 30], "red_agents": ["bline", "meander"]}


def test_a_draw_depends_on_seed_step_and_number_alone() -> None:
    many = uniforms(5, 3, 1000)
    assert (uniforms(5, 3, 10) == many[:10]).all()
    assert (uniforms(5, 4, 1000) != many).all()
    assert (uniforms(6, 3, 1000) != many).all()
    assert many.min() >= 0
    assert many.max() < 1
    assert abs(many.mean() - 0.5) < 4 * np.sqrt(1 / 12 / 1000)
    assert len(uniforms(2**64 + 1, 0, 3)) == 3
    large = uniforms(2**64 - 9, 3, 1000)  # numpy takes such a number and a small one for inexact
    assert (uniforms(2**64 - 8, 3, 1000) != large).all()


# --- agents written for CybORG


class Forgetful:
    """Written for CybORG: restores the first marked host, a whole number of any kind."""

    def get_action(self, observation: Any, action_space: Any) -> Any:
        assert (observation.shape, action_space) == ((52,), 145)
        for host in range(13):
            if observation[4 * host + 2] or observation[4 * host + 3]:
                return np.int32(FIRST_RESTORE + host)
        return SLEEP


class Counting(Forgetful):
    """Restores only in the first ten steps of an episode."""

    def __init__(self) -> None:
        self.steps = 0

    def get_action(self, observation: Any, action_space: Any) -> Any:
        self.steps += 1
        return super().get_action(observation, action_space) if self.steps <= 10 else SLEEP

    def end_episode(self) -> None:
        self.steps = 0


class SameForMany(SleepAgent):
    """The same, as an agent of ours, which plays all episodes in a batch."""

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def act(self, observation: Any, action_mask: Any, step: int) -> Any:
        marked = observation.reshape(-1, 13, 4)[:, :, 2:].any(axis=2)
        first = np.where(marked.any(axis=1), FIRST_RESTORE + marked.argmax(axis=1), SLEEP)
        return first if step < self._steps else np.full(len(first), SLEEP)


@pytest.mark.parametrize(("theirs", "ours"), [(Forgetful(), 1000), (Counting(), 10)])
def test_it_plays_the_games_that_every_other_agent_meets(theirs: Any, ours: int) -> None:
    found = evaluate(theirs, workflow=ORDERS[7], logged_episodes=4, **FEW)
    expected = evaluate(SameForMany(ours), workflow=ORDERS[7], logged_episodes=4, **FEW)
    assert found.agent == type(theirs).__name__
    for cell, same in zip(found.cells, expected.cells, strict=True):
        assert cell.returns.tolist() == same.returns.tolist()
        assert cell.returns.std() > 0
        for view in ("observed", "true"):
            np.testing.assert_array_equal(cell.compliance[view], same.compliance[view])
        assert (cell.log.blue == same.log.blue).all()
        assert (cell.log.red == same.log.red).all()


def test_every_evaluation_starts_with_nothing_remembered_and_tells_of_every_episode() -> None:
    agent, played = Counting(), list[int]()
    first, again = (evaluate(agent, on_episodes=played.append, **FEW) for _ in range(2))
    assert [c.returns.tolist() for c in again.cells] == [c.returns.tolist() for c in first.cells]
    assert played == [1] * 48


class Half:
    name = "half"
    begin = SleepAgent.begin


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (3, "this int lacks get_action and, of a BlueAgent, name, observation, order,"),
        (Half(), "this Half lacks get_action and, of a BlueAgent, observation, order, act"),
        (None, "this NoneType lacks get_action"),
        (Forgetful, "Forgetful is a class: give an agent, such as Forgetful()"),
    ],
)
def test_an_object_that_is_no_agent_is_told_what_it_lacks(wrong: Any, text: str) -> None:
    assert text in refusal(evaluate, wrong, **FEW)
    agent = GreedyAgent()
    assert as_agent(agent) is agent


@pytest.mark.parametrize("wrong", [145, -1, "Sleep", None, 1.0])
def test_an_action_that_is_none_is_told(wrong: Any) -> None:
    class Wrong:
        def get_action(self, observation: Any, action_space: Any) -> Any:
            return wrong

    assert "Wrong.get_action: action must be a whole" in refusal(evaluate, Wrong(), **FEW)
