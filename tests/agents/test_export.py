"""Exported policies act as ours do, in a runtime that knows nothing of us."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import workflow_rl
from tests.agents.policies import ORDER, new_policy, policy_file
from tests.refused import refusal
from workflow_rl.agents.export import describe_interface, export_policy
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.agents.shipped import shipped_policy
from workflow_rl.config import OBSERVATIONS, ObservationName
from workflow_rl.envs.vector import Cage2VectorEnv
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import ACTION_NAMES
from workflow_rl.sim.table import packed_tables
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS, TYPES

ROWS = 1_000
KINDS = {
    "the challenge's bits": new_policy(),
    "the winner's inputs": new_policy("cardiff"),
    "told the order": new_policy(conditioned=True),
    "told the order it was trained for": new_policy(conditioned=True, order=ORDER, seed=1),
    "told ranks and what is due": new_policy(conditioned=True, order_encoding="ranks+due"),
    "a memory": new_policy("memory", activation="tanh"),
    "a memory, told the order, masked": new_policy("memory", conditioned=True, mask_actions=True),
    "a belief": new_policy("belief"),
    "useful actions": new_policy("challenge", "useful"),
    "useful actions, masked": new_policy("memory", "useful", mask_actions=True, activation="tanh"),
    "the winner's outputs": new_policy("cardiff", "cardiff"),
    "the winner's outputs, masked": new_policy("cardiff", "cardiff", mask_actions=True),
    "shipped": load_policy(shipped_policy("ppo", "main", "bline")),
    "the winner's, shipped": load_policy(shipped_policy("cardiff", "main", "meander")),
}


def session(content: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def metadata(model: onnxruntime.InferenceSession) -> dict[str, Any]:
    props = model.get_modelmeta().custom_metadata_map
    return {name: json.loads(value) for name, value in props.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_action_is_the_policy_s_own(kind: str) -> None:
    policy, rng = KINDS[kind], np.random.default_rng(7)
    space = policy.action_space
    observation = rng.integers(0, 2, (ROWS, policy.observation.size)).astype(np.int8)
    allowed = rng.random((ROWS, space.size)) < 0.5
    allowed[:, 0] = True
    if not policy.is_masked:
        allowed[:] = True
    orders = rng.integers(0, NUM_ORDERS, ROWS) if policy.order is None else np.full(ROWS, ORDER)
    fed: dict[str, Any] = {"observation": observation.astype(np.float32)}
    if policy.encoding is not None:
        ranks = TYPES.host_ranks(orders)
        now = policy.encoding.step_bits(packed_tables(SCENARIO2, observation), ranks)
        fed["order"] = np.hstack([policy.encoding.order_bits(ranks), now]).astype(np.float32)
    if policy.is_masked:
        fed["mask"] = allowed
    model = session(export_policy(policy))
    names = [output.name for output in model.get_outputs()]
    found = dict(zip(names, model.run(names, fed), strict=True))

    followed = [ORDERS[order] if policy.is_conditioned else None for order in orders]
    shares: Any = allowed * np.stack(list(map(policy.probabilities, observation, followed)))
    best = np.where(allowed, shares, -1.0).argmax(axis=1)
    np.testing.assert_array_equal(found["output"], best)
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found["probabilities"], shares, atol=5e-5)
    assert ("action" in found) == space.is_direct
    if space.is_direct:
        np.testing.assert_array_equal(found["action"], space.begin(ROWS).actions(best))


def test_it_plays_the_same_game_by_what_its_metadata_say() -> None:
    policy = new_policy("memory", "useful", conditioned=True, order=ORDER, mask_actions=True)
    agent = PolicyAgent(policy, "ours")
    model = session(export_policy(policy))
    told = metadata(model)
    encoding = np.tile(np.array(told["order"]["encoding"], np.float32), (8, 1))
    listed = [ACTION_NAMES.index(name) for name in told["outputs"]]
    env = Cage2VectorEnv(8, observation=told["observation"]["name"], red_agent="meander", seed=3)
    observation, infos = env.reset()
    agent.begin(8, 0)
    for step in range(30):
        fed = {
            "observation": observation.astype(np.float32),
            "order": encoding,
            "mask": infos["action_mask"][:, listed],
        }
        (action,) = model.run(["action"], fed)
        np.testing.assert_array_equal(action, agent.act(observation, infos["action_mask"], step))
        observation, *_, infos = env.step(np.asarray(action))


@pytest.mark.parametrize("name", OBSERVATIONS)
def test_the_layout_covers_the_observation_without_a_gap(name: ObservationName) -> None:
    policy = new_policy(name)
    told = describe_interface(policy)["observation"]
    assert (told["name"], told["size"]) == (name, policy.observation.size)
    ends = np.cumsum([entry["size"] for entry in told["layout"]]).tolist()
    assert [*(entry["first"] for entry in told["layout"]), told["size"]] == [0, *ends]
    assert all(entry["meaning"] for entry in told["layout"])


def test_outputs_and_orders_are_named() -> None:
    winner = describe_interface(new_policy("cardiff", "cardiff"))
    assert winner["outputs"][0] == "Restore Enterprise0"
    assert winner["outputs"][28] == "next of DecoyFemitter Enterprise1"
    assert "order" not in winner
    told = describe_interface(new_policy(conditioned=True))
    assert told["order"]["trained_for"] is None
    assert told["order"]["units"] == ["defender", "enterprise", "op_server", "op_host", "user"]


def test_a_policy_s_file_is_always_the_same_and_written_where_it_is_said(tmp_path: Path) -> None:
    policy = new_policy(conditioned=True, order=ORDER, facts={"update": 7})
    file = policy_file(tmp_path / "p.safetensors", policy)
    content = workflow_rl.export_policy(file, tmp_path / "new" / "p.onnx")
    assert (tmp_path / "new" / "p.onnx").read_bytes() == content == export_policy(policy)
    told = metadata(session(content))["policy"]
    assert told == json.loads((tmp_path / "p.json").read_text())


def test_what_cannot_be_exported_is_said_and_nothing_is_written(tmp_path: Path) -> None:
    policy, target = new_policy(), tmp_path / "p"
    said = refusal(export_policy, policy, target, format="tflite")
    assert said == "unknown format 'tflite': choose one of onnx"
    said = refusal(export_policy, new_policy(activation="gelu"), target)
    assert "with the activation gelu cannot be exported: those that can have relu or tanh" in said
    assert "is a directory" in refusal(export_policy, policy, tmp_path)
    assert not list(tmp_path.iterdir())


# --- with its memory inside

ANY_ORDER: Any = {"conditioned": True, "mask_actions": True}


def most_probable(policy: Policy) -> Policy:
    """The same policy, deterministic: it takes the action that a model calls `action`."""
    config = replace(policy.config, train=replace(policy.config.train, acts="deterministic"))
    same = Policy(policy.weights, config, policy.facts)
    same.order = policy.order
    return same


REMEMBERING: Any = {
    "best": load_policy("best"),
    "recall": most_probable(load_policy("robust")),
    "any order": most_probable(load_policy("universal")),
    "one order, shielded": most_probable(load_policy("universal", workflow=ORDERS[77])),
    "no masks, tanh": new_policy("memory", activation="tanh"),
    "one-hot": new_policy("memory", "useful", order=ORDER, **ANY_ORDER),
    "precedence": new_policy("memory", order_encoding="precedence+due", **ANY_ORDER),
}


@pytest.mark.parametrize("red", ["bline", "meander"])
@pytest.mark.parametrize("kind", REMEMBERING)
def test_with_its_memory_inside_it_plays_whole_games_as_the_policy_does(
    kind: str, red: str
) -> None:
    policy, n = REMEMBERING[kind], 8
    model = session(export_policy(policy, with_memory=True))
    follows: Any = policy.order or (ORDERS[33] if policy.is_conditioned else None)
    env = Cage2VectorEnv(n, red_agent=red, seed=5)  # the challenge's 52 bits
    agents = [copy.deepcopy(policy) for _ in range(n)]
    wants = [given.name for given in model.get_inputs()]
    assert wants == ["observation", "state", *(["order"] if follows and not policy.order else [])]
    rng = np.random.default_rng(0)
    observation, _ = env.reset()
    state = np.zeros((n, metadata(model)["state"]["size"]), np.float32)
    played = set()
    for step in range(100):
        fed = {"observation": observation.astype(np.float32), "state": state}
        if "order" in wants:
            fed["order"] = np.tile(follows.host_ranks.astype(np.float32), (n, 1))
        action, state = model.run(["action", "next_state"], fed)
        told = {"workflow": follows} if "order" in wants else {}
        ours = [
            agent.get_action(row, **told) for agent, row in zip(agents, observation, strict=True)
        ]
        assert action.tolist() == ours, step
        # Actions of another player let every rule of the memory be met: both must be told.
        if kind != "best":
            others = rng.random(n) < 0.5
            action = np.where(others, rng.integers(0, 145, n), action)
            state[:, -1] = action + 1
            for agent, done in zip(agents, action.tolist(), strict=True):
                agent._last = done
        played |= {int(a) for a in action}
        observation, *_ = env.step(action)
    assert len(played) > 8


def test_an_export_with_memory_needs_a_memory() -> None:
    for policy in (new_policy(), new_policy("cardiff", "cardiff")):
        said = refusal(export_policy, policy, with_memory=True)
        assert "an export with memory needs a policy with the observation memory or recall" in said
