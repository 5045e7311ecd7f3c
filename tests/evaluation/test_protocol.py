import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agents.policies import ORDER, new_policy
from tests.refused import refusal
from workflow_rl import Cage2Env, evaluate
from workflow_rl.agents.greedy import GreedyAgent
from workflow_rl.agents.scripts import SleepAgent
from workflow_rl.config import OBSERVATIONS, ObservationName
from workflow_rl.envs.observations import observation_of
from workflow_rl.evaluation.leaderboard import LEADERBOARD
from workflow_rl.evaluation.result import DEVIATING_REDS, Cell
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.workflow.orders import ORDERS, TYPES

REFERENCE: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "parity" / "reference_returns.json").read_text(encoding="utf-8")
)
FEW: dict[str, Any] = {"episodes": 3, "steps": [20], "red_agents": ["bline"]}
OURS = {row.method: row for row in LEADERBOARD[-3:]}


def sigmas(cell: Cell, mean: float, sd: float, n: int) -> float:
    """How many standard errors of the difference a cell's mean is from another one."""
    error = math.sqrt(cell.sd**2 / len(cell.returns) + sd**2 / n)
    return abs(cell.mean - mean) / error if error else abs(cell.mean - mean) * 1e9


METHODS = {
    "sleep": "Sleeping Agent",
    "random": "Random Agent",
    "react-restore": "Blue React Restore",
}


@pytest.mark.parametrize(("agent", "method"), METHODS.items())
def test_the_published_baselines_are_reproduced(agent: str, method: str) -> None:
    published, found = OURS[method], evaluate(agent, rules="competition", episodes=4000)
    assert published.half_width is not None
    for cell in found.cells:  # published: 1,000 episodes, rounded to hundredths
        mean = published.cell(cell.steps, cell.red_agent)
        assert abs(cell.mean - mean) < 0.006 or sigmas(cell, mean, cell.sd, 1000) < 3.5
    spread = math.hypot(found.total.half_width, published.half_width)
    assert abs(found.total.mean - published.total) < 1.5 * spread


@pytest.mark.parametrize(("agent", "key"), [("sleep", "sleep"), ("random", "random145")])
@pytest.mark.parametrize("red", ["bline", "meander"])
def test_on_main_rules_baselines_score_as_on_the_original(agent: str, key: str, red: str) -> None:
    reference = REFERENCE[f"{red}/{key}"]
    found = evaluate(agent, episodes=3000, red_agents=[red])
    for cell in found.cells:
        mean = reference["mean_return_after_steps"][str(cell.steps)]
        sd = reference["std_return_after_steps"][str(cell.steps)]
        assert sigmas(cell, mean, sd, reference["n"]) < 3.5


def test_the_default_is_the_official_protocol() -> None:
    told: list[Any] = []
    found = evaluate("sleep", on_cell=told.append, on_episodes=told.append)
    assert found.is_official
    assert found.episodes == 1000
    assert [len(cell.returns) for cell in found.cells] == [1000] * 9
    assert told[::2] == [1000] * (9 + len(DEVIATING_REDS))
    assert tuple(told[1::2]) == (*found.cells, *found.deviating)
    how = found.rules, found.backend, found.is_sampled, found.order
    assert how == ("main", "cage2", False, None)


def test_attackers_that_deviate_stand_apart_and_no_total_counts_them() -> None:
    found = evaluate("greedy", episodes=20)
    alone = evaluate("greedy", episodes=20, steps=[100], red_agents=DEVIATING_REDS)
    assert [(c.steps, c.red_agent) for c in found.deviating] == [(100, r) for r in DEVIATING_REDS]
    for mine, its in zip(found.deviating, alone.cells, strict=True):
        np.testing.assert_array_equal(mine.returns, its.returns)
    assert alone.deviating == ()  # they are no official cells
    assert evaluate("greedy", episodes=20, deviating=()).total == found.total
    assert found.cell(100, "bait") is found.deviating[2]
    data = found.as_json()
    assert (len(data["cells"]), data["total"]["is_official"]) == (9, True)
    assert [cell["red_agent"] for cell in data["deviating"]] == list(DEVIATING_REDS)
    assert "apart from these, attackers that deviate from the scripts:" in repr(found)


def test_an_agent_with_a_belief_meets_only_reds_it_has_a_model_of() -> None:
    policy = new_policy("belief")
    assert evaluate(policy, episodes=2).deviating == ()
    for wrong in ({"red_agents": ["bline", "bait"]}, {"deviating": ["random"]}):
        assert "and none of '" in refusal(evaluate, policy, episodes=2, **wrong)


def test_the_same_seed_finds_the_same() -> None:
    def returns(**changes: Any) -> list[list[float]]:
        found = evaluate("random", episodes=20, steps=[30], **changes)
        return [cell.returns.tolist() for cell in found.cells]

    assert returns(seed=3) == returns(seed=3)
    assert returns(seed=3) != returns(seed=4)
    # A cell does not depend on which others are played.
    assert returns(seed=3, red_agents=["RedMeanderAgent"]) == returns(seed=3)[1:2]


def test_agents_are_judged_by_their_own_order_or_the_given_one() -> None:
    few: dict[str, Any] = {"episodes": 200, "steps": [50], "red_agents": ["bline"]}
    policy = new_policy(order=ORDER, conditioned=True)
    for what, own in ((policy, ORDER), (GreedyAgent(ORDERS[0]), 0)):
        found = evaluate(what, **few)
        assert found.order == ORDERS[own]
        assert set(found.cells[0].compliance) == {"observed", "true"}
    assert (found.cells[0].compliance["observed"] == 1).all()  # greedy
    for workflow in (ORDERS[7], TYPES.format(7)):
        assert evaluate(policy, workflow=workflow, **few).order == ORDERS[7]
    cell = evaluate("react-restore", workflow=ORDERS[0], **FEW).cells[0]
    assert 0 < cell.compliance["observed"].mean() < 1


class Stubborn(SleepAgent):
    """Always chooses the same, in the form it is given."""

    def __init__(self, chosen: Any) -> None:
        self.chosen = chosen

    def act(self, observation: Any, action_mask: Any, step: int) -> Any:
        return self.chosen


@pytest.mark.parametrize(
    "chosen",
    [
        *([0, 0], np.zeros(3), [[0], [0, 0]], ["Sleep"] * 3, None),
        *([0, number, 0] for number in (145, -1, 10**12, -(10**9), 10**30)),
    ],
)
def test_an_agent_that_answers_something_else_is_told_what_it_must_be(chosen: Any) -> None:
    said = refusal(evaluate, Stubborn(chosen), workflow=ORDERS[0], **FEW)
    assert "the actions of sleep must be whole numbers from 0 to 144 of shape (3,), not" in said
    said = refusal(evaluate, Stubborn(chosen), workflow=ORDERS[0], make_env=Cage2Env, **FEW)
    assert "the actions of sleep must be whole numbers from 0 to 144 of shape (1,), not" in said


@pytest.mark.parametrize("needed", OBSERVATIONS)
def test_an_environment_that_shows_something_else_is_refused(needed: ObservationName) -> None:
    shown: ObservationName = "cardiff" if needed == "challenge" else "challenge"

    def deaf(observation: str, **game: Any) -> Cage2Env:
        return Cage2Env(observation=shown, **game)

    policy, sizes = (
        new_policy(needed),
        {name: observation_of(name, SCENARIO2).size for name in OBSERVATIONS},
    )
    told = f"of {sizes[needed]} values, and the environment shows it ({sizes[shown]},)"
    said = refusal(evaluate, policy, make_env=deaf, **FEW)
    assert f"needs the observation {needed} {told}" in said


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"green_agent": "busy"}, "unknown green agent 'busy': choose one of sleep, active"),
        ({"rules": "house"}, "unknown rule set 'house': choose one of main, competition"),
        ({"backend": "real"}, "unknown backend 'real': choose one of cage2, cyborg"),
        ({"episodes": 1}, "episodes must be a whole number from 2"),
        ({"steps": []}, "steps must be one or more"),
        ({"steps": [30, 30]}, "each named once"),
        ({"steps": [0]}, "steps must be a whole number from 1"),
        ({"red_agents": ["bline", "B_lineAgent"]}, "each named once"),
        ({"red_agents": ["nobody"]}, "unknown red agent 'nobody': choose from bline, meander"),
        ({"workflow": "user"}, "user is not a workflow"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"logged_episodes": -1}, "logged_episodes must be"),
        (
            {"episodes": 1_000_000, "steps": [1_000_000]},
            "300,000,000 actions of both sides would be kept for the text file, about 16 GB; "
            "20,000,000 are allowed: lower --listed-episodes",
        ),
    ],
)
def test_what_is_not_allowed_is_refused(wrong: dict[str, Any], text: str) -> None:
    assert text in refusal(evaluate, "sleep", **wrong)
