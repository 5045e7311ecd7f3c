"""A policy by itself: what it makes of an observation, as CybORG's kind of agent, and its file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.agents.policies import ORDER, config_of, new_policy, sizes_of, weights
from tests.ppo.rollouts import new_network
from tests.refused import refusal, refused
from workflow_rl import Cage2Env
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import ActionSpaceName, ObservationName, stored
from workflow_rl.files import save_arrays
from workflow_rl.nets.policy_file import POLICY_KIND
from workflow_rl.scenario.scenario2 import ACTION_NAMES, NUM_ACTIONS
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.orders import ORDERS, TYPES

TEXT = TYPES.format(ORDER)
SEEN = np.random.default_rng(0).integers(0, 2, (40, 52)).astype(np.int8)
FOLLOWING = new_policy(order=ORDER, conditioned=True)


# --- acting


@pytest.mark.parametrize("conditioned", [True, False])
def test_probabilities_are_those_of_the_network(conditioned: bool) -> None:
    config = config_of(conditioned=conditioned, activation="gelu")
    network = new_network(*sizes_of(config), activation="gelu", scale=4)
    policy = Policy(network.weights(), config)
    for order in (ORDER, 0, 119):
        bits = OrderEncoding("onehot", TYPES.units).order_bits(TYPES.host_ranks([order]))
        shown = np.hstack([SEEN, np.tile(bits, (40, 1))]) if conditioned else SEEN
        with torch.no_grad():
            logits, _ = network(torch.from_numpy(shown).float())
        found = policy.probabilities(SEEN, ORDERS[order] if conditioned else None)
        np.testing.assert_allclose(found, logits.softmax(1).numpy(), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("kind", [np.int8, np.bool_, np.int64, np.float32, np.float64, list])
def test_one_observation_gives_one_action_and_many_give_many_of_any_number_type(kind: Any) -> None:
    actions = FOLLOWING.act(SEEN)
    assert (actions == FOLLOWING.probabilities(SEEN).argmax(axis=1)).all()
    assert len(set(actions.tolist())) > 3
    given = SEEN.tolist() if kind is list else SEEN.astype(kind)
    assert (FOLLOWING.act(given) == actions).all()
    one = FOLLOWING.act(given[0])
    assert isinstance(one, int)
    assert one == actions[0]
    assert FOLLOWING.probabilities(given[0]).shape == (NUM_ACTIONS,)
    assert FOLLOWING.act(SEEN[:0]).shape == (0,)


def test_an_order_is_given_in_words_as_a_tuple_or_not_at_all_or_refused() -> None:
    own = FOLLOWING.probabilities(SEEN)
    names = ORDERS[ORDER]
    for order in (TEXT, TEXT.replace(" > ", ","), TEXT.replace(">", "→"), names, list(names)):
        assert (FOLLOWING.probabilities(SEEN, order) == own).all()
    assert (FOLLOWING.act(SEEN, ORDERS[0]) != FOLLOWING.act(SEEN)).any()
    general = new_policy(conditioned=True)
    assert general.order is None
    assert "say which one" in refusal(general.act, SEEN)
    assert (general.act(SEEN, TEXT) == FOLLOWING.act(SEEN)).all()
    for wrong in ("", "user", f"{TEXT} > user", ()):
        said = refusal(FOLLOWING.act, np.zeros(52), wrong)
        assert "is not a workflow: name each of defender, enterprise" in said


def test_sampled_actions_come_as_often_as_their_probabilities_say() -> None:
    number, p = 40_000, FOLLOWING.probabilities(SEEN[0])
    drawn = FOLLOWING.act(np.repeat(SEEN[:1], number, axis=0), deterministic=False)
    found = np.bincount(drawn, minlength=NUM_ACTIONS) / number
    assert (np.abs(found - p) < 5 * np.sqrt(p * (1 - p) / number) + 1e-4).all()
    assert isinstance(FOLLOWING.act(SEEN[0], deterministic=False), int)


def test_rows_of_another_size_or_with_values_beyond_any_observation_are_refused() -> None:
    for answer in (FOLLOWING.act, FOLLOWING.probabilities):
        for shape in ((), (51,), (53,), (3, 51), (2, 3, 52), (0,), (52, 1)):
            assert f"has 52 values, not {shape}" in refusal(answer, np.zeros(shape))
        for odd in (np.nan, np.inf, -np.inf, 1e38, -129):
            rows = np.where(np.arange(52) == 7, odd, np.zeros((3, 52)))
            said = refusal(answer, rows)
            assert "observations must be numbers from -128 to 128 of shape (any, 52), not" in said
    winner = new_policy("cardiff", "cardiff")  # what an output means depends on the episode
    assert "outputs of the action space cardiff depend on" in refusal(winner.act, np.zeros(62))


# --- masks


@pytest.mark.parametrize("certainty", [1, 1_000])  # so that all else has a probability of 0
def test_a_policy_chooses_what_a_mask_allows(certainty: float) -> None:
    made = new_policy()
    policy = Policy({k: certainty * array for k, array in made.weights.items()}, made.config)
    mask = np.random.default_rng(1).random((40, NUM_ACTIONS)) < 0.1
    for deterministic in (True, False):
        chosen = policy.act(SEEN, action_mask=mask, deterministic=deterministic)
        assert mask[np.arange(40), chosen].all()
    assert policy.act(SEEN[0], action_mask=mask[0]) == policy.act(SEEN, action_mask=mask)[0]


@pytest.mark.parametrize(
    ("mask", "why"),
    [
        (np.ones(145, np.bool_), "truth values of shape (3, 145), not bool of shape (145,)"),
        (np.ones((3, 144), np.bool_), "truth values of shape (3, 145), not bool of shape (3, 144)"),
        (np.ones((3, 145)), "not float64 of shape (3, 145)"),
        (np.zeros((3, 145), np.bool_), "the action mask allows no action of this policy"),
    ],
)
def test_what_is_no_mask_is_refused(mask: Any, why: str) -> None:
    assert why in refusal(new_policy(mask_actions=True).act, SEEN[:3], action_mask=mask)


# --- as an agent of CybORG's kind


@pytest.mark.parametrize("space", ["all", "useful", "cardiff"])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("known", ["challenge", "cardiff", "memory", "belief", "truth"])
def test_it_plays_as_the_agent_does_and_remembers_what_the_table_does_not_show(
    known: ObservationName, masked: bool, space: ActionSpaceName
) -> None:
    policy = new_policy(known, space, mask_actions=masked, seed=5)
    agent = PolicyAgent(policy, "mine")
    whole = Cage2Env(red_agent="meander", observation=known, episode_length=40)
    matters = 0
    for episode in range(2):
        seen, info = whole.reset(seed=4 if episode == 0 else None)
        agent.begin(1, 0)
        policy.end_episode()
        for step in range(40):
            mask = info["action_mask"]
            expected = int(agent.act(seen[None], mask[None], step)[0])
            given = seen[:52] if known in ("memory", "belief") else seen
            assert policy.get_action(given, 145) == expected
            if masked and space != "cardiff":
                assert mask[expected]
                assert policy.act(seen, action_mask=mask) == expected
                assert known in ("challenge", "cardiff") or policy.act(seen) == expected
                matters += policy.act(seen, action_mask=np.ones_like(mask)) != expected
            seen, _, _, _, info = whole.step(expected)
    assert bool(matters) == (masked and space != "cardiff")


NO_OBSERVATIONS = [
    (np.zeros(51), "values, not (51,)"),
    (np.zeros((1, 52)), "values, not (1, 52)"),
    (np.zeros(62), "values, not (62,)"),
    ([], "values, not (0,)"),
    (None, "numbers, not object of shape ()"),
    ([[0], [0, 1]], "numbers, not list of another form"),
    (["a"] * 52, "numbers, not <U1 of shape (52,)"),
    (np.full(52, 2), "must be bits, 0 or 1"),
    (np.full(52, np.nan), "must be bits, 0 or 1"),
]


@pytest.mark.parametrize("known", ["challenge", "memory", "belief"])
def test_what_is_no_observation_is_refused_and_the_episode_goes_on(known: ObservationName) -> None:
    policy, undisturbed = (new_policy(known, mask_actions=True) for _ in range(2))
    env = Cage2Env(red_agent="meander", seed=4)
    seen, _ = env.reset()
    for _ in range(10):
        for wrong, why in NO_OBSERVATIONS:
            assert why in refusal(policy.get_action, wrong)
        action = policy.get_action(seen)
        assert action == undisturbed.get_action(seen)
        seen, *_ = env.step(action)


def test_a_history_that_the_rules_make_impossible_is_refused_and_the_episode_goes_on() -> None:
    policy, undisturbed = (new_policy("belief", mask_actions=True) for _ in range(2))
    quiet, shown = np.zeros(52, np.int8), np.zeros(52, np.int8)
    shown[4 * 7 : 4 * 7 + 2] = 1  # an exploit of Op_Server0
    assert "a belief must start at its first step" in refusal(policy.get_action, shown)
    assert policy.get_action(quiet) == undisturbed.get_action(quiet)
    assert "impossible by the rules 'main'" in refusal(policy.get_action, shown)
    assert policy.get_action(quiet) == undisturbed.get_action(quiet)


def test_a_belief_that_is_observed_is_not_computed_again() -> None:
    policy = new_policy("belief", mask_actions=True)
    # By the rules it was trained on, and with a Green that sleeps, this could not be.
    env = Cage2Env(observation="belief", rules="competition", green_agent="active", seed=0)
    seen, info = env.reset()
    for _ in range(60):
        action = policy.get_action(seen)
        assert info["action_mask"][action]
        seen, *_, info = env.step(action)


# --- files


def test_a_policy_is_read_as_saved_and_its_text_says_how_it_was_trained(tmp_path: Path) -> None:
    policy = new_policy("memory", "useful", order=ORDER, conditioned=True, facts={"update": 3})
    path = tmp_path / "deep" / "one.safetensors"
    policy.save(path)
    again = load_policy(path)
    assert (again.config, again.facts) == (policy.config, {"update": 3})
    names = again.observation.name, again.action_space.name
    assert (again.order, *names) == (ORDERS[ORDER], "memory", "useful")
    seen = np.random.default_rng(0).integers(0, 2, (20, 304))
    assert (again.probabilities(seen) == policy.probabilities(seen)).all()
    again.save(tmp_path / "two.safetensors")
    assert (tmp_path / "two.safetensors").read_bytes() == path.read_bytes()
    trained = json.loads(path.with_suffix(".json").read_text())["trained"]
    assert trained["game"]["observation"] == "memory"
    assert (trained["train"]["action_space"], trained["order"]) == ("useful", TEXT)


TRAINED: dict[str, Any] = stored(FOLLOWING.config)


@pytest.mark.parametrize(
    ("description", "why"),
    [
        ({"order": TEXT}, "is not a policy of this version: it does not say how it was trained"),
        ({"trained": None}, "does not hold a policy: not a policy of this version (it is not a"),
        ({"trained": {}}, "does not hold a policy: not a policy of this version (it lacks game"),
        ({"trained": TRAINED | {"more": 1}}, "does not hold a policy: not a policy of this ver"),
        ({"trained": TRAINED | {"order": "somewhere"}}, "somewhere is not a workflow"),
        ({"trained": TRAINED | {"order": 3}}, "order must be text, not 3"),
    ],
)
def test_a_file_of_something_else_is_refused(description: Any, why: str, tmp_path: Path) -> None:
    path = tmp_path / "one.safetensors"
    save_arrays(path, POLICY_KIND, dict(FOLLOWING.weights), description)
    said = refusal(load_policy, path)
    assert said.startswith(f"{path} ")
    assert why in said


@pytest.mark.parametrize(
    "named",
    [
        config_of("memory", order=ORDER, conditioned=True),
        config_of("challenge", "useful", order=ORDER, conditioned=True),
        config_of("cardiff", "cardiff", order=ORDER, conditioned=True),
        config_of("challenge"),
        config_of(conditioned=True, order_encoding="ranks"),
        config_of(conditioned=True, units="subnets"),
    ],
)
def test_a_network_that_does_not_fit_its_description_is_refused(named: Any, tmp_path: Path) -> None:
    path = tmp_path / "one.safetensors"
    save_arrays(path, POLICY_KIND, dict(FOLLOWING.weights), {"trained": stored(named)})
    inputs, outputs = sizes_of(named)
    for said in (refusal(load_policy, path), refusal(Policy, FOLLOWING.weights, named)):
        assert "a policy of 77 inputs and 145 outputs does not fit the observation" in said
        assert f"{named.game.observation} of " in said
        assert f"the action space {named.train.action_space} of {outputs}" in said
    fitting = Policy(weights(inputs, outputs), named)
    order = TYPES[5] if fitting.is_conditioned else None
    assert fitting.probabilities(np.zeros(fitting.observation.size), order).shape == (outputs,)


def test_a_policy_is_loaded_with_a_workflow_or_told_one_step_by_step() -> None:
    first, second = "user > defender > enterprise > op_host > op_server", ORDERS[0]
    loaded, told = load_policy("universal", workflow=first), load_policy("universal")
    units = {"jewels": ["Op_Server0"]}
    assert load_policy("universal", workflow="jewels > rest", units=units).order is not None
    table = np.zeros(52)
    table[2:4] = table[50:52] = 1  # Defender and User4 are privileged: whose turn is it?
    for order, due in ((first, "Restore User4"), (second, "Restore Defender")):
        allowed = told.shield(np.ones((1, 145), np.bool_), table, order)[0]
        fixes = [ACTION_NAMES[a] for a in allowed.nonzero()[0] if "Restore" in ACTION_NAMES[a]]
        assert fixes == [due]
    for _ in range(5):
        assert told.get_action(table, workflow=first) == loaded.get_action(table)
    refused("this policy follows any order: say which one", told.get_action, table)
    refused("is not a workflow", told.get_action, table, workflow="user > x")
    refused("follows no order: leave out", load_policy("best").get_action, table, workflow=first)
    refused("follows no order: leave out", load_policy, "best", workflow=first)
    refused("name the workflow, too", load_policy, "universal", units="hosts")
