import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.ppo.rollouts import new_network, probabilities_of
from workflow_rl import Cage2Env, Cage2VectorEnv
from workflow_rl.agents.policy import Policy, describe_policy, load_policy, save_policy
from workflow_rl.agents.policy_agent import policy_agent
from workflow_rl.belief.observation import observation_size
from workflow_rl.config import ObservationName
from workflow_rl.envs.agents import play_episodes
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import save_arrays
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.sim.memory import TRUTH_SIZE
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS, TYPES

ENCODINGS = OrderEncoding("onehot", TYPES.units).order_bits(TYPES.host_ranks(range(NUM_ORDERS)))

ORDER = 69
TEXT = TYPES.format(ORDER)
SIZE = 52


def weights(network: ActorCritic) -> dict[str, Any]:
    return {name: t.detach().numpy().copy() for name, t in network.state_dict().items()}


def network(*, conditioned: bool = True, seed: int = 0) -> ActorCritic:
    """A network whose opinions are strong enough to tell its actions apart."""
    made = new_network(SIZE + (25 if conditioned else 0), seed=seed)
    with torch.no_grad():
        for parameter in made.actor.parameters():
            parameter.mul_(4)
    return made


def new_policy(order: int | None = ORDER, *, conditioned: bool = True) -> Policy:
    named = None if order is None else TYPES[order]
    description = describe_policy(order=named, conditioned=conditioned, rules="main")
    return Policy(weights(network(conditioned=conditioned)), description)


def observations(number: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 2, (number, SIZE)).astype(np.int8)


def sentence(call: Any, *args: Any, **named: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        call(*args, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- acting


def test_probabilities_are_those_of_the_network() -> None:
    seen = observations(40)
    for order in (ORDER, 0, 119):
        encoding = np.tile(ENCODINGS[order], (40, 1))
        inputs = torch.from_numpy(np.hstack([seen, encoding]).astype(np.float32))
        expected = torch.softmax(network()(inputs)[0], 1).detach().numpy()
        found = new_policy().probabilities(seen, ORDERS[order])
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("told", [{}, {"activation": "relu"}, {"activation": "tanh"}])
def test_the_hidden_units_are_those_the_description_names(told: dict[str, Any]) -> None:
    torch.manual_seed(0)
    activation = told.get("activation", "relu")  # older files do not say
    trained = ActorCritic(SIZE, NUM_ACTIONS, (16, 16), activation=activation)
    policy = Policy(weights(trained), describe_policy(order=None, conditioned=False, **told))
    seen = observations(10)
    expected = probabilities_of(trained, seen)
    np.testing.assert_allclose(policy.probabilities(seen), expected, rtol=1e-4, atol=1e-7)


def test_hidden_units_that_are_not_known_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    description = describe_policy(order=None, conditioned=False, activation="gelu")
    save_policy(path, weights(network(conditioned=False)), description)
    assert "unknown activation 'gelu': choose one of relu, tanh" in sentence(load_policy, path)


def test_without_conditioning_the_network_sees_only_the_observation() -> None:
    seen = observations(10)
    inputs = torch.from_numpy(seen.astype(np.float32))
    expected = torch.softmax(network(conditioned=False)(inputs)[0], 1).detach().numpy()
    policy = new_policy(None, conditioned=False)
    assert policy.observation_size == SIZE
    np.testing.assert_allclose(policy.probabilities(seen), expected, rtol=1e-4, atol=1e-7)


def test_one_observation_gives_one_action_and_many_give_many() -> None:
    policy = new_policy()
    seen = observations(30)
    actions = policy.act(seen)
    assert actions.shape == (30,)
    assert len(set(actions.tolist())) > 3
    for observation, action in zip(seen, actions, strict=True):
        one = policy.act(observation)
        assert isinstance(one, int)
        assert one == action
    assert policy.probabilities(seen[0]).shape == (NUM_ACTIONS,)
    assert policy.act(seen[:1]).shape == (1,)
    assert policy.act(seen[:0]).shape == (0,)


@pytest.mark.parametrize("kind", [np.int8, np.bool_, np.int64, np.float32, np.float64, list])
def test_observations_of_any_number_type_mean_the_same(kind: Any) -> None:
    policy = new_policy()
    seen = observations(5)
    given = seen.tolist() if kind is list else seen.astype(kind)
    assert (policy.act(given) == policy.act(seen)).all()


def test_an_order_may_be_given_in_words_as_a_tuple_or_not_at_all() -> None:
    policy = new_policy()
    seen = observations(20)
    own = policy.probabilities(seen)
    for order in (TEXT, TEXT.replace(" > ", ","), TEXT.replace(">", "→"), ORDERS[ORDER]):
        assert (policy.probabilities(seen, order) == own).all()
    assert (policy.probabilities(seen, list(ORDERS[ORDER])) == own).all()
    assert (policy.probabilities(seen, ORDERS[0]) != own).any()
    assert (policy.act(seen, ORDERS[0]) != policy.act(seen)).any()


def test_a_policy_for_any_order_must_be_told_which() -> None:
    policy = new_policy(order=None)
    assert policy.order is None
    assert "say which one" in sentence(policy.act, observations(1))
    assert (policy.act(observations(9), TEXT) == new_policy().act(observations(9))).all()


def test_deterministic_is_the_most_probable_action() -> None:
    policy = new_policy()
    seen = observations(30)
    assert (policy.act(seen) == policy.probabilities(seen).argmax(axis=1)).all()
    assert (policy.act(seen) == policy.act(seen)).all()


def test_sampled_actions_come_as_often_as_their_probabilities_say() -> None:
    policy = new_policy()
    one = observations(1)
    number = 40_000
    drawn = policy.act(np.repeat(one, number, axis=0), deterministic=False)
    found = np.bincount(drawn, minlength=NUM_ACTIONS) / number
    p = policy.probabilities(one[0])
    spread = np.sqrt(p * (1 - p) / number)
    assert (np.abs(found - p) < 5 * spread + 1e-4).all()
    single = [policy.act(one[0], deterministic=False) for _ in range(200)]
    assert len(set(single)) > 1
    assert all(isinstance(action, int) for action in single)


@pytest.mark.parametrize("shape", [(), (51,), (53,), (3, 51), (2, 3, 52), (0,), (52, 1)])
def test_an_observation_of_another_size_is_refused(shape: tuple[int, ...]) -> None:
    said = sentence(new_policy().act, np.zeros(shape))
    assert "has 52 values" in said
    assert str(shape) in said


@pytest.mark.parametrize(
    "order",
    ["", "user", "user > user > op_host > op_server > defender", TEXT + " > user", "a > b", ()],
)
def test_what_is_no_order_is_refused(order: Any) -> None:
    said = sentence(new_policy().act, np.zeros(SIZE), order)
    assert "is not a workflow: name each of defender, enterprise" in said


def test_a_policy_plays_as_a_cyborg_style_agent() -> None:
    policy = new_policy()
    env = Cage2Env(red_agent="bline", episode_length=30)
    returns = play_episodes(policy, env, 5, seed=3)
    assert returns.shape == (5,)
    assert (returns < 0).any()
    assert (play_episodes(policy, env, 5, seed=3) == returns).all()
    seen = observations(1)[0]
    assert policy.get_action(seen, NUM_ACTIONS) == policy.get_action(seen) == policy.act(seen)


# --- files


def knowing_policy(known: ObservationName, outputs: int, *, masked: bool) -> Policy:
    made = new_network(observation_size(known), outputs, seed=3)
    with torch.no_grad():
        for parameter in made.actor.parameters():
            parameter.mul_(4)
    description = describe_policy(
        order=None, conditioned=False, observation=known, rules="main", mask_actions=masked
    )
    return Policy(weights(made), description)


@pytest.mark.parametrize("outputs", [NUM_ACTIONS, 62, 36])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("known", ["memory", "belief"])
def test_a_policy_remembers_and_believes_by_itself_where_only_the_table_is_shown(
    known: ObservationName, outputs: int, masked: bool
) -> None:
    policy = knowing_policy(known, outputs, masked=masked)
    agent = policy_agent(policy, "mine")
    with_memory = Cage2Env(red_agent="meander", observation=known, seed=4)
    table_only = Cage2Env(red_agent="meander", seed=4)
    refused = 0
    for _ in range(2):
        seen, info = with_memory.reset()
        table, _ = table_only.reset()
        agent.begin(1, 0)
        policy.end_episode()
        for step in range(60):
            expected = int(agent.act(seen[None], info["action_mask"][None], step)[0])
            assert policy.get_action(table) == expected
            refused += not info["action_mask"][expected]
            seen, _, _, _, info = with_memory.step(expected)
            table, *_ = table_only.step(expected)
    assert not (masked and outputs != 36 and refused)


@pytest.mark.parametrize("known", ["memory", "belief", "truth"])
@pytest.mark.parametrize("outputs", [NUM_ACTIONS, 62])
def test_a_policy_with_a_memory_sees_which_decoys_would_be_refused(
    known: ObservationName, outputs: int
) -> None:
    policy = knowing_policy(known, outputs, masked=True)
    agent = policy_agent(policy, "mine")
    env = Cage2VectorEnv(20, red_agent="meander", observation=known)
    seen, infos = env.reset(seed=4)
    agent.begin(20, 0)
    matters = 0
    for step in range(60):
        mask = infos["action_mask"]
        actions = policy.act(seen)
        assert (actions == policy.act(seen, action_mask=mask)).all()
        assert (actions == agent.act(seen, mask, step)).all()
        assert mask[np.arange(20), actions].all()
        anything = np.ones((20, NUM_ACTIONS), np.bool_)
        matters += int((policy.act(seen, action_mask=anything) != actions).sum())
        seen, *_, infos = env.step(actions)
    assert matters


def test_a_policy_chooses_what_a_mask_allows() -> None:
    policy = knowing_policy("challenge", NUM_ACTIONS, masked=False)
    seen = observations(30)
    mask = np.random.default_rng(1).random((30, NUM_ACTIONS)) < 0.1
    assert mask.any(axis=1).all()
    for deterministic in (True, False):
        chosen = policy.act(seen, action_mask=mask, deterministic=deterministic)
        assert mask[np.arange(30), chosen].all()
    assert policy.act(seen[0], action_mask=mask[0]) == policy.act(seen, action_mask=mask)[0]


@pytest.mark.parametrize(
    ("mask", "why"),
    [
        (np.ones(145, np.bool_), "145 truth values for each of 3 observations, not bool of shape"),
        (np.ones((3, 144), np.bool_), "145 truth values for each of 3 observations"),
        (np.ones((3, 145)), "not float64 of shape (3, 145)"),
        (np.zeros((3, 145), np.bool_), "the action mask allows no action of this policy"),
    ],
)
def test_what_is_no_mask_is_refused(mask: Any, why: str) -> None:
    policy = knowing_policy("challenge", NUM_ACTIONS, masked=True)
    assert why in sentence(policy.act, observations(3), action_mask=mask)


@pytest.mark.parametrize("told", [{"observation": "truth"}, {}])
def test_a_policy_that_sees_the_truth_is_called_so(told: dict[str, Any]) -> None:
    made = new_network(TRUTH_SIZE, 62)
    policy = Policy(weights(made), describe_policy(order=None, conditioned=False, **told))
    agent = policy_agent(policy, "mine")
    assert agent.name == "mine (sees the truth)"
    assert agent.observation == "truth"
    assert policy.sees_the_truth


NO_OBSERVATIONS = [
    (np.zeros(51), "values, not (51,)"),
    (np.zeros((1, 52)), "values, not (1, 52)"),
    (np.zeros(62), "values, not (62,)"),
    ([], "values, not (0,)"),
    (None, "values, not ()"),
    ([[0], [0, 1]], "numbers, not [[0], [0, 1]]"),
    (["a"] * 52, "numbers, not ['a', 'a'"),
    (np.full(52, 2), "must be bits, 0 or 1"),
    (np.full(52, np.nan), "must be bits, 0 or 1"),
]


@pytest.mark.parametrize("known", ["challenge", "memory", "belief"])
def test_what_is_no_observation_is_refused_and_the_episode_goes_on(known: ObservationName) -> None:
    policy, undisturbed = (knowing_policy(known, NUM_ACTIONS, masked=True) for _ in range(2))
    env = Cage2Env(red_agent="meander", seed=4)
    seen, _ = env.reset()
    for _ in range(10):
        for wrong, why in NO_OBSERVATIONS:
            assert why in sentence(policy.get_action, wrong)
        action = policy.get_action(seen)
        assert action == undisturbed.get_action(seen)
        seen, *_ = env.step(action)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_no_finite_number_has_no_answer(odd: float) -> None:
    policy = knowing_policy("challenge", NUM_ACTIONS, masked=False)
    seen = np.zeros((3, 52), np.float32)
    seen[1, 7] = odd
    for answer in (policy.act, policy.probabilities):
        assert "values must be finite numbers" in sentence(answer, seen)


def test_a_history_that_the_rules_make_impossible_is_refused_and_the_episode_goes_on() -> None:
    policy, undisturbed = (knowing_policy("belief", NUM_ACTIONS, masked=True) for _ in range(2))
    quiet, shown = np.zeros(52, np.int8), np.zeros(52, np.int8)
    shown[4 * 7 : 4 * 7 + 2] = 1  # an exploit of Op_Server0
    assert "cannot begin in its midst" in sentence(policy.get_action, shown)
    assert policy.get_action(quiet) == undisturbed.get_action(quiet)
    assert "impossible by the rules 'main'" in sentence(policy.get_action, shown)
    assert policy.get_action(quiet) == undisturbed.get_action(quiet)


def test_who_is_told_what_to_believe_does_not_work_it_out() -> None:
    policy = knowing_policy("belief", NUM_ACTIONS, masked=True)
    # By the rules it was trained on, and with a Green that sleeps, this could not be.
    env = Cage2Env(observation="belief", rules="competition", green_agent="active", seed=0)
    seen, info = env.reset()
    for _ in range(60):
        action = policy.get_action(seen)
        assert info["action_mask"][action]
        seen, *_, info = env.step(action)


def test_a_policy_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    policy = new_policy()
    path = tmp_path / "deep" / "one.safetensors"
    policy.save(path)
    again = load_policy(path)
    assert again.order == policy.order == ORDERS[ORDER]
    assert again.description == policy.description
    seen = observations(20)
    assert (again.probabilities(seen) == policy.probabilities(seen)).all()
    again.save(tmp_path / "two.safetensors")
    assert (tmp_path / "two.safetensors").read_bytes() == path.read_bytes()


def test_the_description_lies_beside_the_policy_in_plain_words(tmp_path: Path) -> None:
    new_policy().save(tmp_path / "one.safetensors")
    beside = json.loads((tmp_path / "one.json").read_text())
    assert beside == {"order": TEXT, "conditioned": True, "rules": "main"}


def test_a_run_directory_stands_for_its_recommended_policy(tmp_path: Path) -> None:
    new_policy().save(tmp_path / "policies" / "recommended.safetensors")
    assert load_policy(str(tmp_path)).order == ORDERS[ORDER]
    assert "recommended.safetensors" in sentence(load_policy, tmp_path / "policies")


def test_a_missing_policy_is_said_to_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "none.safetensors"
    assert sentence(load_policy, path) == f"there is no file {path}"


@pytest.mark.parametrize("keep", [0, 4, 100, 5_000, -1])
def test_a_policy_file_cut_off_is_damaged(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "one.safetensors"
    new_policy().save(path)
    os.truncate(path, keep if keep >= 0 else path.stat().st_size - 1)
    assert sentence(load_policy, path) == f"{path} is damaged or not a policy file"


def test_a_file_of_another_program_is_foreign(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    path = tmp_path / "theirs.safetensors"
    save_file(weights(network()), path)
    assert sentence(load_policy, path) == f"{path} was not written by workflow-rl"


def test_another_kind_of_file_of_ours_is_no_policy(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save_arrays(path, "training checkpoint", {"x": np.zeros(2)}, {})
    assert "holds a training checkpoint, not a policy" in sentence(load_policy, path)


@pytest.mark.parametrize(
    ("lost", "description"),
    [
        (None, {}),
        (None, {"order": "somewhere", "conditioned": True}),
        ("actor.0.bias", {"order": TEXT, "conditioned": True}),
        ("actor", {"order": TEXT, "conditioned": True}),
    ],
)
def test_a_policy_file_that_lacks_something_is_refused(
    tmp_path: Path, lost: str | None, description: dict[str, Any]
) -> None:
    path = tmp_path / "one.safetensors"
    kept = {k: v for k, v in weights(network()).items() if lost is None or not k.startswith(lost)}
    save_policy(path, kept, description)
    assert str(path) in sentence(load_policy, path)


def changed(**change: Any) -> dict[str, Any]:
    return weights(network()) | {f"actor.{name}": value for name, value in change.items()}


ZEROS = np.zeros((8, 77), np.float32)
KNOWN = {"order": TEXT, "conditioned": True}


@pytest.mark.parametrize(
    ("kept", "description", "reason"),
    [
        (changed(**{"0.weight": np.zeros((2, 2, 2), np.float32)}), KNOWN, "is no layer"),
        (changed(**{"0.weight": np.float32(3)}), KNOWN, "is no layer"),
        (changed(**{"0.weight": ZEROS.astype(np.int8)}), KNOWN, "is no layer"),
        (changed(**{"0.weight": ZEROS, "0.bias": ZEROS[:, 0]}), KNOWN, "the layer before it"),
        (changed(**{"0.weight": ZEROS[:0], "0.bias": ZEROS[:0, 0]}), KNOWN, "does not fit"),
        (changed(**{"0.bias": np.full(16, np.nan, np.float32)}), KNOWN, "diverged"),
        (changed(**{"0.bias": np.full(16, np.inf, np.float32)}), KNOWN, "diverged"),
        (changed(**{"7.weight": ZEROS}), KNOWN, "is no layer"),
        ({"actor.0.weight": ZEROS[:, :25], "actor.0.bias": ZEROS[:, 0]}, KNOWN, "more than"),
        (changed(), KNOWN | {"order": 3}, "order of a policy cannot be 3"),
        (changed(), KNOWN | {"conditioned": "yes"}, "conditioned of a policy cannot be 'yes'"),
        (changed(), KNOWN | {"conditioned": None}, "must be true or false"),
        (changed(), KNOWN | {"episode_length": []}, "episode_length of a policy cannot be"),
        (changed(), None, "needs a description"),
        (None, KNOWN, "needs its weights"),
    ],
)
def test_what_makes_no_policy_is_refused_before_anything_is_computed(
    kept: Any, description: Any, reason: str
) -> None:
    assert reason in sentence(Policy, kept, description)


def test_what_is_shown_of_a_policy_says_what_it_is() -> None:
    assert repr(new_policy()) == (
        f"Policy(order: '{TEXT}', 52 values -> 16 x 16 units -> 145 actions, rules='main')"
    )
    assert "order: any order it is told" in repr(new_policy(order=None))
    assert "order: no order" in repr(new_policy(order=None, conditioned=False))
