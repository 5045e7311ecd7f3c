"""The belief as a user meets it."""

import doctest
from typing import Any

import numpy as np
import pytest

import workflow_rl
from tests.belief.games import Games, play
from tests.refused import refusal, refused
from workflow_rl.agents.named import make_agent
from workflow_rl.belief import belief as module
from workflow_rl.belief.belief import Belief
from workflow_rl.config import GameConfig
from workflow_rl.scenario.scenario2 import HOST_NAMES, USER0
from workflow_rl.sim.batch import Batch

NOTHING = np.zeros(52, np.int8)
SLEEP = 0


def seen(**hosts: str) -> Any:
    """An observation: the four bits of some hosts, such as Enterprise0="1101"."""
    bits = NOTHING.copy()
    for host, shown in hosts.items():
        start = 4 * HOST_NAMES.index(host)
        bits[start : start + 4] = [int(bit) for bit in shown]
    return bits


def follow(belief: Belief, games: Games) -> Belief:
    """Takes in the games from their start to their end."""
    for observation, action in zip(games.observations, games.actions, strict=True):
        belief.update(observation, action)
    return belief


def copies(belief: Belief) -> list[np.ndarray]:
    return [a.copy() for a in (belief.access, belief.ot_stopped, belief.red_agent)]


def assert_equal(one: list[np.ndarray], other: list[np.ndarray]) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_example_runs() -> None:
    assert workflow_rl.Belief is Belief
    result = doctest.testmod(module)
    assert result.attempted > 3
    assert result.failed == 0


def test_before_the_first_step_red_holds_user0_alone() -> None:
    belief = Belief(3)
    assert belief.access.shape == (3, 13, 3)
    expected = np.zeros((13, 3))
    expected[:, 0] = 1.0
    expected[USER0] = 0.0, 0.0, 1.0
    np.testing.assert_allclose(belief.access, np.broadcast_to(expected, (3, 13, 3)))
    assert belief.ot_stopped.tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(belief.red_agent, 1 / 3)


def test_the_second_step_tells_bline_from_meander_by_chance_and_sleep_for_sure() -> None:
    belief = Belief(2, red_agents={"bline": 1, "meander": 2, "sleep": 1})
    belief.update([NOTHING, NOTHING], [SLEEP, SLEEP])
    np.testing.assert_allclose(belief.red_agent, [[0.25, 0.5, 0.25]] * 2)
    # Meander scans one of five hosts, B_line one of four: User0 is Meander's alone.
    belief.update([seen(User0="1000"), seen(User3="1000")], [SLEEP, SLEEP])
    np.testing.assert_allclose(belief.red_agent[0], [0.0, 1.0, 0.0])
    bline, meander = 0.25 / 4, 0.5 / 5
    np.testing.assert_allclose(
        belief.red_agent[1], np.array([bline, meander, 0]) / (bline + meander)
    )


# --- the batch


@pytest.mark.compiled
def test_which_states_stay_depends_on_the_seed_and_not_on_other_environments() -> None:
    games = play("greedy", 12, 40, red_agent="meander", green_agent="active")
    few = games._replace(observations=games.observations[:, :5], actions=games.actions[:, :5])

    def believed(some: Games, seed: int) -> list[np.ndarray]:
        belief = Belief(some.actions.shape[1], particles=3, green_agent="active", seed=seed)
        follow(belief, some)
        assert not belief.is_exact.all()
        return copies(belief)

    first = believed(games, 1)
    assert_equal(first, believed(games, 1))
    assert_equal([rows[:5] for rows in first], believed(few, 1))
    assert (first[0] != believed(games, 2)[0]).any()


@pytest.mark.compiled
def test_a_history_that_is_explained_anew_is_that_of_its_own_episode() -> None:
    game: dict[str, Any] = {"red_agent": "meander", "green_agent": "active"}
    env = workflow_rl.Cage2VectorEnv(20, episode_length=40, seed=2, **game)
    observation, infos = env.reset()
    blue = make_agent("greedy")
    belief = Belief(20, particles=2, green_agent="active")
    explained_anew = 0
    for step in range(120):
        if step % 40 == 0:
            blue.begin(20, 0)
        actions = blue.act(observation, infos["action_mask"], step % 40)
        observation, _, _, truncated, infos = env.step(actions)
        belief.update(observation, actions, ended=truncated)
        explained_anew += int(step > 40 and (belief.num_states[~truncated] > 2).any())
    assert explained_anew > 0


def test_one_environment_takes_a_row_or_a_batch_of_one() -> None:
    one, batch = Belief(), Belief()
    one.update(NOTHING, SLEEP)
    batch.update(NOTHING[None].astype(bool), np.array([SLEEP], np.uint8))
    assert_equal(copies(one), copies(batch))


# --- what is refused


IMPOSSIBLE = [
    ([seen(User1="1000")], "step 1"),  # the first step is a sweep
    ([NOTHING, seen(Enterprise0="1000")], "step 2"),  # not known to Red yet
    ([NOTHING, seen(User1="1101")], "step 2"),  # not scanned yet
    ([NOTHING, seen(User1="1000", User2="1000")], "step 2"),  # one action, two hosts
    ([NOTHING, seen(User1="0010")], "step 2"),  # a mark out of nothing
]


@pytest.mark.parametrize(("history", "step"), IMPOSSIBLE)
def test_an_impossible_history_is_refused_and_changes_nothing(history: Any, step: str) -> None:
    belief = Belief(2)
    *before, last = history
    for observation in before:
        belief.update([observation] * 2, [SLEEP] * 2)
    held = copies(belief)
    said = refusal(belief.update, [NOTHING, last], [SLEEP] * 2)
    assert f"environment 1 showed in {step} is impossible" in said
    assert_equal(copies(belief), held)
    belief.update([NOTHING] * 2, [SLEEP] * 2)


def test_what_is_impossible_depends_on_who_may_play_and_on_the_rules() -> None:
    belief = Belief(red_agents={"sleep": 1.0})
    belief.update(NOTHING, SLEEP)
    refused("rules 'main', the red agents sleep and", belief.update, seen(User1="1000"), SLEEP)
    games = play("greedy", 60, 60, red_agent="bline", rules="competition")
    follow(Belief(60, rules="competition"), games)
    refused("impossible by the rules 'main'", follow, Belief(60, rules="main"), games)


@pytest.mark.compiled
def test_a_history_is_impossible_even_where_states_were_left_out() -> None:
    games = play("greedy", 1, 40, red_agent="meander", green_agent="active")
    belief = follow(Belief(particles=1, green_agent="active"), games)
    assert not belief.is_exact[0]
    said = refusal(belief.update, np.ones(52, np.int8), SLEEP)
    assert "environment 0 showed in step 41 is impossible" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"num_envs": 0}, "num_envs must be a whole number from 1 to 10000000, not 0"),
        ({"particles": 1.5}, "particles must be a whole number from 1 to 1000000, not 1.5"),
        ({"seed": -1}, "seed must be a whole number from 0 to"),
        ({"rules": "other"}, "unknown rule set 'other': choose one of main, competition"),
        ({"observation": "raw"}, "unknown observation 'raw': choose one of challenge, cardiff"),
        ({"red_agents": {"wolf": 1}}, "unknown red agent 'wolf'"),
        ({"red_agents": "bline"}, "red_agents must be a mapping of red agents to numbers"),
        ({"red_agents": {"bline": -1}}, "probability of red agent 'bline' must be a number from 0"),
        ({"red_agents": {"bline": 0}}, "at least one red agent a probability above 0"),
    ],
)
def test_what_it_cannot_be_made_of_is_said(arguments: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(Belief, **arguments)


@pytest.mark.parametrize(
    ("observation", "action", "sentence"),
    [
        (np.zeros(62), 0, "observation must be numbers of shape (1, 52), not float64"),
        (np.zeros((2, 52)), 0, "of shape (1, 52), not float64 of shape (2, 52)"),
        ([[0] * 52, [0]], 0, "observation must be numbers, not list of another form"),
        *((rows, 0, "must be bits, 0 or 1") for rows in (np.full(52, 2), np.full(52, 0.5))),
        (["a"] * 52, 0, "observation must be numbers, not <U1"),
        *((NOTHING, wrong, "must be whole numbers from 0 to 144") for wrong in (145, -1, 0.0)),
        (NOTHING, [0, 0], "of shape (1,), not int64 of shape (2,)"),
    ],
)
def test_what_it_cannot_take_in_is_said(observation: Any, action: Any, sentence: str) -> None:
    assert sentence in refusal(Belief().update, observation, action)
    cardiff = Belief(observation="cardiff")
    assert "of shape (1, 62), not int8 of shape (1, 52)" in refusal(cardiff.update, NOTHING, SLEEP)


@pytest.mark.parametrize(
    "ended", [[True], [[True, True]], True, ["yes", "no"], [0.5, 1.0], [None, None]], ids=repr
)
def test_which_episodes_ended_is_true_or_false(ended: Any) -> None:
    belief = Belief(2)
    belief.update([NOTHING] * 2, [SLEEP] * 2)
    held = copies(belief)
    sentence = r"^ended must be (truth values of shape \(2,\)|numbers), not "
    refused(sentence, belief.restart, ended)
    refused(sentence, belief.update, [NOTHING] * 2, [SLEEP] * 2, ended=ended)
    assert_equal(copies(belief), held)


def test_episodes_that_end_begin_anew_and_others_go_on_from_what_was_saved() -> None:
    lengths = (17, 25)
    batches = [Batch(20, GameConfig(red_agent="mixed", episode_length=n)) for n in lengths]
    for batch in batches:
        batch.reset(3)
    belief, other = Belief(40), Belief(40)
    rng = np.random.default_rng(0)
    for step in range(60):
        actions = rng.integers(0, 145, 40)
        for i, batch in enumerate(batches):
            batch.step(actions[20 * i : 20 * i + 20])
        shown = np.concatenate([batch.observation for batch in batches])
        ended = np.concatenate([batch.out.truncated for batch in batches])
        belief.update(shown, actions, ended=ended)
        for rows, fresh in zip(copies(belief), copies(Belief()), strict=True):
            assert (rows[ended] == fresh).all()
        if step == 29:  # 13 and 5 steps since the last beginning
            other.load(belief.saved())
            assert_equal(copies(belief), copies(other))
        if step > 29:
            other.update(shown, actions, ended=ended)
            assert_equal(copies(belief), copies(other))
