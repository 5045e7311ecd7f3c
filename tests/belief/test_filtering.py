"""The filter agrees with Bayes' rule worked out by brute force, and never loses the truth."""

from typing import Any

import numpy as np
import pytest

from tests.belief.brute_force import BruteForce
from tests.belief.games import play, probability_of
from tests.parity.fixtures import FILES, file_id
from workflow_rl.belief.belief import Belief
from workflow_rl.config import RED_AGENTS, RULE_SETS
from workflow_rl.parity.trace import load_trace


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("blue", "seed", "game"),
    [
        ("greedy", 1, {"red_agent": "meander"}),
        ("greedy", 2, {"red_agent": "bline", "rules": "competition"}),
        ("random", 3, {"red_agent": "meander", "rules": "competition"}),
        ("cardiff", 4, {"red_agent": "bline"}),
        ("greedy", 5, {"red_agent": "meander", "green_agent": "active"}),
    ],
)
def test_the_belief_is_what_trying_every_draw_gives(
    blue: str, seed: int, game: dict[str, Any]
) -> None:
    steps = 8 if "green_agent" in game else 16
    games = play(blue, 1, steps, seed, **game)
    setting = {key: value for key, value in game.items() if key != "red_agent"}
    setting["observation"] = games.observation_name
    belief, reference = Belief(**setting), BruteForce(**setting)
    uncertain = 0
    for step in range(steps):
        belief.update(games.observations[step, 0], games.actions[step, 0])
        reference.update(games.states[step, 0]["table"], int(games.actions[step, 0]))
        np.testing.assert_allclose(belief.access[0], reference.access, atol=1e-12)
        np.testing.assert_allclose(belief.ot_stopped[0], reference.ot_stopped, atol=1e-12)
        np.testing.assert_allclose(belief.red_agent[0], reference.red_agent, atol=1e-12)
        uncertain += int(belief.num_states[0] > 1)
    assert uncertain >= 3
    assert belief.num_states[0] <= len(reference.states)  # equal ones are one
    assert belief.is_exact.all()


@pytest.mark.compiled
@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize("red_agent", RED_AGENTS)
@pytest.mark.parametrize("blue", ["random", "greedy", "react-restore", "cardiff", "ppo"])
def test_the_true_state_always_has_a_probability(blue: str, red_agent: str, rules: str) -> None:
    num_envs, steps = 200, 50
    games = play(blue, num_envs, steps, seed=11, red_agent=red_agent, rules=rules)
    belief = Belief(num_envs, rules=rules, observation=games.observation_name)  # type: ignore[arg-type]
    for step in range(steps):
        belief.update(games.observations[step], games.actions[step])
        assert probability_of(games.states[step], belief).min() > 0
    assert belief.is_exact.all()
    assert (belief.red_agent.argmax(axis=1) == RED_AGENTS.index(red_agent)).all()


@pytest.mark.compiled
@pytest.mark.parametrize(("rules", "path"), FILES, ids=file_id)
def test_a_recording_of_cyborg_never_surprises_the_belief(rules: Any, path: Any) -> None:
    trace = load_trace(path)
    green = "active" if (trace.arrays["green_type"] == 1).any() else "sleep"
    belief = Belief(trace.episodes, rules=rules, green_agent=green)  # type: ignore[arg-type]
    for step in range(trace.steps):
        over = trace.lengths <= step
        seen = np.where(over[:, None], 0, trace.arrays["obs"][:, step])
        belief.update(seen, trace.arrays["blue_action"][:, step], ended=over)
        truth = trace.arrays["red_access"][:, step].astype(np.int64)
        given = np.take_along_axis(belief.access, truth[..., None], axis=2)[..., 0]
        is_down = trace.arrays["ot_down"][:, step].reshape(trace.episodes, -1).any(axis=1)
        stopped = np.where(is_down, belief.ot_stopped, 1 - belief.ot_stopped)
        assert given[~over].min(initial=1.0) > 0
        assert stopped[~over].min(initial=1.0) > 0
        assert belief.red_agent[~over, RED_AGENTS.index(trace.red_agent)].min(initial=1.0) > 0


@pytest.mark.compiled
def test_where_states_were_left_out_the_history_is_explained_from_its_start() -> None:
    games = play("greedy", 50, 60, red_agent="meander", green_agent="active")
    few = Belief(50, particles=2, green_agent="active", seed=3)
    all_of_them = Belief(50, particles=100_000, green_agent="active")
    more_than_allowed = False
    for step in range(60):
        few.update(games.observations[step], games.actions[step])
        all_of_them.update(games.observations[step], games.actions[step])
        more_than_allowed |= bool((few.num_states > 2).any())  # right after it was explained anew
        np.testing.assert_allclose(few.access.sum(axis=2), 1.0)
        # What is certain is certain to both, whatever was left out.
        certain = all_of_them.access > 1 - 1e-12
        np.testing.assert_allclose(few.access[certain], 1.0)
    assert not few.is_exact.any()
    assert all_of_them.is_exact.all()
    assert more_than_allowed
    error = np.abs(few.access - all_of_them.access).mean()
    assert error < np.abs(Belief(50).access - all_of_them.access).mean()
