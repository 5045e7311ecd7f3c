import base64
import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

from tests.refused import refusal
from workflow_rl import Cage2VectorEnv
from workflow_rl.agents.export import export_policy
from workflow_rl.agents.named import make_agent
from workflow_rl.agents.sb3 import sb3_policy
from workflow_rl.config import OBSERVATIONS, ObservationName
from workflow_rl.envs.observations import observation_of
from workflow_rl.scenario.loading import SCENARIO2

pytest.importorskip("stable_baselines3")

ALLOWED = np.ones((30, 145), np.bool_)
ACTIVATIONS = ["Tanh", "ReLU", "ELU", "GELU", "SiLU", "Sigmoid", "LeakyReLU"]


def rows_of(observation: ObservationName = "challenge") -> Any:
    size = observation_of(observation, SCENARIO2).size
    return np.random.default_rng(0).integers(0, 2, (30, size)).astype(np.int8)


def model(observation: ObservationName = "challenge", *, maskable: bool = False, **net: Any) -> Any:
    """An untrained model whose opinions are strong enough to leave no near ties."""
    from stable_baselines3 import PPO

    from workflow_rl.envs.sb3 import Sb3VecEnv

    kind: Any = PPO
    if maskable:
        kind = pytest.importorskip("sb3_contrib").MaskablePPO
    env = Sb3VecEnv(Cage2VectorEnv(2, observation=observation))
    made = kind("MlpPolicy", env, n_steps=8, batch_size=16, seed=0, device="cpu", policy_kwargs=net)
    made.policy.action_net.weight.data *= 100
    return made


def saved(path: Path, *arguments: Any, **named: Any) -> tuple[Any, Path]:
    made = model(*arguments, **named)
    made.save(path / "model.zip")
    return made, path / "model.zip"


def acts(agent: Any, rows: Any, allowed: Any = ALLOWED) -> Any:
    agent.begin(30, seed=1)
    return agent.act(rows, allowed, 0)


# --- it plays as the model does


@pytest.mark.parametrize(
    ("activation", "hidden"), [*((a, [16, 12]) for a in ACTIVATIONS), ("Tanh", [])]
)
def test_a_model_of_every_activation_takes_its_own_actions(
    activation: str, hidden: list[int], tmp_path: Path
) -> None:
    made, path = saved(tmp_path, activation_fn=getattr(torch.nn, activation), net_arch=hidden)
    agent = make_agent(path)
    expected, _ = made.predict(rows_of(), deterministic=True)
    assert len(set(expected.tolist())) > 1
    assert (acts(agent, rows_of()) == expected).all()
    with torch.no_grad():
        told = made.policy.get_distribution(torch.from_numpy(rows_of())).distribution.probs
    np.testing.assert_allclose(sb3_policy(path).probabilities(rows_of()), told.numpy(), atol=1e-4)
    assert (agent.name, agent.observation, agent.order) == ("model", "challenge", None)


def test_a_maskable_model_takes_only_what_is_allowed(tmp_path: Path) -> None:
    made, path = saved(tmp_path, maskable=True)
    allowed = np.random.default_rng(1).random((30, 145)) < 0.1
    expected, _ = made.predict(rows_of(), deterministic=True, action_masks=allowed)
    assert (acts(make_agent(path), rows_of(), allowed) == expected).all()
    free, _ = made.predict(rows_of(), deterministic=True)
    assert (free != expected).any()


# --- what it was trained on


@pytest.mark.parametrize("name", OBSERVATIONS)
def test_a_model_is_told_its_observation(name: ObservationName, tmp_path: Path) -> None:
    made, path = saved(tmp_path, name)
    agent = make_agent(path, observation=name)
    assert agent.observation == name
    assert ("sees the truth" in agent.name) == (name == "truth")
    expected, _ = made.predict(rows_of(name), deterministic=True)
    assert (acts(agent, rows_of(name)) == expected).all()
    pair = make_agent(f"bline={path},meander={path}", observation=name)
    assert pair.observation == name
    exported = onnxruntime.InferenceSession(export_policy(path, observation=name))
    (actions,) = exported.run(["action"], {"observation": rows_of(name).astype(np.float32)})
    assert (actions == expected).all()
    for other in OBSERVATIONS:
        if other != name:
            said = refusal(make_agent, path, observation=other)
            size = observation_of(name, SCENARIO2).size
            assert f"sees {size} values, the observation {other} has" in said
            assert "say which observation it was trained on" in said
    if name != "challenge":
        assert "the observation challenge has 52" in refusal(make_agent, path)


# --- what is refused, and that nothing is run


def test_what_is_no_model_of_this_game_is_refused(tmp_path: Path) -> None:
    from stable_baselines3 import PPO

    said = refusal(sb3_policy, tmp_path / "model.zip", "everything")
    assert "unknown observation 'everything': choose one of challenge, cardiff" in said
    assert "there is no file" in refusal(sb3_policy, tmp_path / "none.zip")
    (tmp_path / "text.zip").write_text("no zip")
    assert "damaged or not a PPO model" in refusal(sb3_policy, tmp_path / "text.zip")
    cart = PPO("MlpPolicy", "CartPole-v1", n_steps=8, batch_size=8, device="cpu")
    cart.save(tmp_path / "cart.zip")
    assert "plays another game" in refusal(sb3_policy, tmp_path / "cart.zip")
    _, path = saved(tmp_path, activation_fn=torch.nn.Softplus)
    assert "has the activation Softplus; those that are read are" in refusal(sb3_policy, path)


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self._mark,)


def rewritten(path: Path, **parts: bytes) -> Path:
    """A copy of a model file, some of whose parts are others."""
    copy = path.with_name("copy.zip")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            new.writestr(name, parts.get(name.replace(".", "_"), old.read(name)))
    return copy


def with_tensors(path: Path, tensors: dict[str, Any]) -> Path:
    written = io.BytesIO()
    torch.save(tensors, written)
    return rewritten(path, policy_pth=written.getvalue())


def test_nothing_in_a_model_file_is_run(tmp_path: Path) -> None:
    (_, path), mark = saved(tmp_path), tmp_path / "mark"
    with zipfile.ZipFile(path) as archive:
        data = json.loads(archive.read("data"))
    trap = base64.b64encode(pickle.dumps(Trap(mark))).decode()
    for entry in data.values():
        if isinstance(entry, dict) and ":serialized:" in entry:
            entry[":serialized:"] = trap
    acts(make_agent(rewritten(path, data=json.dumps(data).encode())), rows_of())
    assert not mark.exists()
    trapped = with_tensors(path, {"action_net.weight": Trap(mark)})
    assert "without running it" in refusal(sb3_policy, trapped)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"action_net.bias": torch.zeros(3)}, "is not a layer"),
        (
            {"action_net.weight": torch.zeros(3, 64), "action_net.bias": torch.zeros(3)},
            "a policy of 52 inputs and 3 outputs does not fit",
        ),
        ({"action_net.bias": torch.zeros(145, dtype=torch.bfloat16)}, "is not a layer"),
        ({"features_extractor.cnn.0.weight": torch.zeros(3)}, "network of another kind"),
    ],
)
def test_other_networks_are_refused(change: dict[str, Any], why: str, tmp_path: Path) -> None:
    made, path = saved(tmp_path)
    changed = with_tensors(path, made.policy.state_dict() | change)
    assert why in refusal(sb3_policy, changed)
