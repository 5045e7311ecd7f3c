from typing import Any

import numpy as np
import pytest

from tests.agents.policies import ORDER, new_policy
from tests.agents.table import named, play
from workflow_rl import Cage2Env
from workflow_rl.agents.policy import Policy
from workflow_rl.agents.policy_agent import ProbabilityTable, policy_agent
from workflow_rl.errors import InvalidInputError
from workflow_rl.workflow.orders import ORDERS

SEEN = np.random.default_rng(0).integers(0, 2, (40, 52)).astype(np.int8)
ALLOWED = np.ones((40, 145), np.bool_)


def act(policy: Policy, order: Any = None, *, allowed: Any = ALLOWED, **how: Any) -> Any:
    agent = policy_agent(policy, "it", order, **how)
    agent.begin(len(SEEN), seed=3)
    return agent.act(SEEN, allowed, 5)


def test_the_most_probable_action_is_taken() -> None:
    policy = new_policy()
    assert (act(policy) == policy.act(SEEN)).all()


@pytest.mark.parametrize("order", [None, ORDERS[7]])
def test_a_conditioned_policy_follows_its_own_order_or_the_given_one(order: Any) -> None:
    policy = new_policy(order=ORDER, conditioned=True)
    agent = policy_agent(policy, "it", order)
    assert agent.order == (order or ORDERS[ORDER])
    assert (act(policy, order) == policy.act(SEEN, order)).all()


def test_an_unconditioned_policy_follows_none() -> None:
    assert policy_agent(new_policy(), "it", ORDERS[7]).order is None


def test_a_policy_of_all_orders_must_be_told_one() -> None:
    policy = new_policy(order=None, conditioned=True)
    with pytest.raises(InvalidInputError, match="say which one"):
        policy_agent(policy, "it")
    assert policy_agent(policy, "it", ORDERS[0]).order == ORDERS[0]


def test_sampling_repeats_with_its_seed_and_differs_from_the_most_probable() -> None:
    policy = new_policy()
    drawn = act(policy, sampled=True)
    assert (drawn == act(policy, sampled=True)).all()
    assert (drawn != policy.act(SEEN)).any()


def test_a_policy_trained_with_a_mask_plays_with_it() -> None:
    free, masked = new_policy(), new_policy(mask_actions=True)
    allowed = ALLOWED.copy()
    allowed[np.arange(40), free.act(SEEN)] = False
    assert (act(free, allowed=allowed) == free.act(SEEN)).all()
    assert allowed[np.arange(40), act(masked, allowed=allowed)].all()


def test_what_a_policy_sees_and_chooses_from_is_read_off_its_size() -> None:
    plain, wide = policy_agent(new_policy(), "it"), policy_agent(new_policy(62), "it")
    assert (plain.observation, wide.observation) == ("challenge", "cardiff")
    assert (plain.action_space, wide.action_space) == ("all", "all")
    assert policy_agent(new_policy(62, 36), "it").action_space == "cardiff"


@pytest.mark.parametrize(
    ("size", "outputs", "text"), [(53, 145, "53 inputs"), (52, 54, "54 outputs")]
)
def test_a_policy_of_another_game_is_refused(size: int, outputs: int, text: str) -> None:
    with pytest.raises(InvalidInputError, match=text):
        policy_agent(new_policy(size, outputs), "it")


def test_the_winners_kind_begins_with_its_three_decoys_every_episode() -> None:
    agent = policy_agent(new_policy(62, 36), "it")
    for _ in range(2):
        _, played = play(agent, n=5, steps=10, red_agent="meander")
        assert named(played, 4)[:3] == [
            "DecoyFemitter User2",
            "DecoyTomcat User2",
            "DecoyHarakaSMPT Enterprise0",
        ]


def test_the_winners_kind_never_repeats_a_decoy_that_still_stands() -> None:
    favourite = new_policy(62, 36)
    favourite.layers[-1][1][31] += 100  # the macro of User2, above all else
    favourite.layers[-1][1][12] += 50  # then Analyse User1
    _, played = play(policy_agent(favourite, "it"), n=2, steps=8, red_agent="sleep")
    assert named(played)[3:] == [
        "DecoyApache User2",
        "DecoySSHD User2",
        "Analyse User1",
        "Analyse User1",
        "Analyse User1",
    ]


def test_the_winners_kind_can_draw_its_actions() -> None:
    agent = policy_agent(new_policy(62, 36), "it", sampled=True)
    _, first = play(agent, n=20, steps=30)
    _, again = play(agent, n=20, steps=30)
    assert (np.stack(first) == np.stack(again)).all()
    _, few = play(agent, n=3, steps=30)
    assert (np.stack(few) == np.stack(first)[:, :3]).all()


def test_a_policy_of_36_outputs_plays_the_same_as_an_agent_of_cyborgs_kind() -> None:
    policy = new_policy(62, 36)
    agent = policy_agent(policy, "winner")
    env = Cage2Env(red_agent="meander", observation="cardiff", episode_length=60)
    for episode in range(3):
        observation, info = env.reset(seed=5 if episode == 0 else None)
        agent.begin(1, 0)
        for step in range(60):
            action = policy.get_action(observation)
            (other,) = agent.act(observation[None], info["action_mask"][None], step)
            assert action == other
            observation, _, _, _, info = env.step(action)
        policy.end_episode()


def test_its_outputs_are_not_taken_for_actions() -> None:
    with pytest.raises(InvalidInputError, match="36 outputs"):
        new_policy(62, 36).act(np.zeros(62))


# --- what a policy would do, computed once for each distinct observation

POLICY = new_policy()
ROWS = np.random.default_rng(0).integers(0, 2, (50, 52)).astype(np.int8)


def table() -> ProbabilityTable:
    return ProbabilityTable(POLICY.probabilities, 52, 145)


def test_a_row_holds_what_the_policy_says() -> None:
    made = table()
    ids = made.number(np.concatenate([ROWS, ROWS[::-1]]))
    assert len(made.rows) == 50
    np.testing.assert_array_equal(made.rows[ids[:50]], POLICY.probabilities(ROWS))
    assert (ids[50:] == ids[:50][::-1]).all()
    assert (made.best(ids[:50]) == POLICY.act(ROWS)).all()


def test_the_policy_is_asked_once_for_each_observation() -> None:
    asked = []

    def probabilities(rows: Any) -> Any:
        asked.append(len(rows))
        return POLICY.probabilities(rows)

    made = ProbabilityTable(probabilities, 52, 145)
    for _ in range(3):
        made.number(ROWS[:20])
    made.number(ROWS)
    assert asked == [20, 30]


def test_it_grows() -> None:
    made = table()
    many = np.random.default_rng(1).integers(0, 2, (3000, 52)).astype(np.int8)
    first = made.number(many[:1000])
    best = made.best(first).copy()
    made.number(many)
    assert (made.best(first) == best).all()
    np.testing.assert_array_equal(made.rows[:3000], POLICY.probabilities(many))


def test_only_what_is_allowed_is_chosen() -> None:
    made = table()
    ids = made.number(ROWS)
    allowed = np.ones((50, 145), np.bool_)
    allowed[np.arange(50), made.best(ids)] = False
    second = made.best(ids, allowed)
    expected = np.where(allowed, POLICY.probabilities(ROWS), 0).argmax(axis=1)
    assert (second == expected).all()
    drawn = made.sample(ids, np.random.default_rng(0).random(50), allowed)
    assert allowed[np.arange(50), drawn].all()


@pytest.mark.parametrize("masked", [False, True])
def test_draws_follow_the_probabilities(masked: bool) -> None:
    made = ProbabilityTable(lambda rows: np.tile([0.5, 0.1, 0.4, 0.0], (len(rows), 1)), 52, 4)
    ids = made.number(np.repeat(ROWS[:1], 20_000, axis=0))
    allowed = np.tile([True, True, False, True], (20_000, 1)) if masked else None
    drawn = made.sample(ids, np.random.default_rng(0).random(20_000), allowed)
    shares = np.bincount(drawn, minlength=4) / 20_000
    expected = [5 / 6, 1 / 6, 0, 0] if masked else [0.5, 0.1, 0.4, 0]
    np.testing.assert_allclose(shares, expected, atol=4 * np.sqrt(0.25 / 20_000))
    assert shares[3] == 0
