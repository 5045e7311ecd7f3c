import base64
import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workflow_rl import Cage2VectorEnv
from workflow_rl.agents.export import export_policy
from workflow_rl.agents.sb3 import sb3_agent
from workflow_rl.config import ObservationName
from workflow_rl.errors import InvalidInputError

SEEN = np.random.default_rng(0).integers(0, 2, (30, 52)).astype(np.int8)
ALLOWED = np.ones((30, 145), np.bool_)


def model(observation: ObservationName = "challenge", **more: Any) -> Any:
    pytest.importorskip("stable_baselines3")
    from stable_baselines3 import PPO

    from workflow_rl.envs.sb3 import Sb3VecEnv

    env = Sb3VecEnv(Cage2VectorEnv(2, observation=observation))
    return PPO("MlpPolicy", env, n_steps=8, batch_size=16, seed=0, device="cpu", **more)


def test_it_takes_the_models_actions(tmp_path: Path) -> None:
    made = model()
    made.learn(64)
    made.save(tmp_path / "model.zip")
    agent = sb3_agent(tmp_path / "model.zip", "model")
    agent.begin(30, seed=0)
    expected, _ = made.predict(SEEN, deterministic=True)
    assert (agent.act(SEEN, ALLOWED, 0) == expected).all()
    assert (agent.name, agent.observation, agent.order) == ("model", "challenge", None)
    drawing = sb3_agent(tmp_path / "model.zip", "model", sampled=True)
    drawing.begin(30, seed=1)
    drawn = drawing.act(SEEN, ALLOWED, 0)
    assert (drawing.act(SEEN, ALLOWED, 0) == drawn).all()
    assert (drawn != expected).any()


def test_a_maskable_model_takes_only_what_is_allowed(tmp_path: Path) -> None:
    pytest.importorskip("sb3_contrib")
    from sb3_contrib import MaskablePPO

    from workflow_rl.envs.sb3 import Sb3VecEnv

    env = Sb3VecEnv(Cage2VectorEnv(2))
    made = MaskablePPO("MlpPolicy", env, n_steps=8, batch_size=16, seed=0, device="cpu")
    made.policy.action_net.weight.data *= 100  # no near ties
    made.save(tmp_path / "model.zip")
    agent = sb3_agent(tmp_path / "model.zip", "model")
    agent.begin(30, seed=0)
    allowed = np.random.default_rng(1).random((30, 145)) < 0.1
    expected, _ = made.predict(SEEN, deterministic=True, action_masks=allowed)
    assert (agent.act(SEEN, allowed, 0) == expected).all()
    assert allowed[np.arange(30), expected].all()
    free, _ = made.predict(SEEN, deterministic=True)
    assert (free != expected).any()


def test_it_sees_what_it_was_trained_on(tmp_path: Path) -> None:
    model("cardiff").save(tmp_path / "model.zip")
    assert sb3_agent(tmp_path / "model.zip", "model").observation == "cardiff"
    model("truth").save(tmp_path / "model.zip")
    assert sb3_agent(tmp_path / "model.zip", "model").name == "model (sees the truth)"


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    with pytest.raises(InvalidInputError, match="there is no file"):
        sb3_agent(tmp_path / "none.zip", "none")
    (tmp_path / "text.zip").write_text("no zip")
    with pytest.raises(InvalidInputError, match="damaged or not a PPO model"):
        sb3_agent(tmp_path / "text.zip", "text")


def test_a_model_of_another_game_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    from stable_baselines3 import PPO

    PPO("MlpPolicy", "CartPole-v1", n_steps=8, batch_size=8, device="cpu").save(
        tmp_path / "cart.zip"
    )
    with pytest.raises(InvalidInputError, match="plays another game"):
        sb3_agent(tmp_path / "cart.zip", "cart")


@pytest.mark.parametrize("settings", [{"activation_fn": "ReLU", "net_arch": [8]}, {"net_arch": []}])
def test_it_reads_what_the_network_is_made_of(tmp_path: Path, settings: dict[str, Any]) -> None:
    import torch

    settings = dict(settings)
    if "activation_fn" in settings:
        settings["activation_fn"] = getattr(torch.nn, settings["activation_fn"])
    made = model(policy_kwargs=settings)
    made.policy.action_net.weight.data *= 100  # no near ties
    made.save(tmp_path / "model.zip")
    agent = sb3_agent(tmp_path / "model.zip", "model")
    agent.begin(30, seed=0)
    expected, _ = made.predict(SEEN, deterministic=True)
    assert (agent.act(SEEN, ALLOWED, 0) == expected).all()


def test_it_can_be_exported_and_takes_the_models_actions_elsewhere(tmp_path: Path) -> None:
    import onnxruntime

    made = model()
    made.policy.action_net.weight.data *= 100  # no near ties
    made.save(tmp_path / "model.zip")
    content = export_policy(tmp_path / "model.zip")
    exported = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    (actions,) = exported.run(["action"], {"observation": SEEN.astype(np.float32)})
    assert (actions == made.predict(SEEN, deterministic=True)[0]).all()


def test_a_network_that_no_policy_has_plays_but_is_not_exported(tmp_path: Path) -> None:
    import torch

    model(policy_kwargs={"activation_fn": torch.nn.ELU}).save(tmp_path / "model.zip")
    sb3_agent(tmp_path / "model.zip", "model")
    with pytest.raises(InvalidInputError, match="the activation ELU; policies have ReLU or Tanh"):
        export_policy(tmp_path / "model.zip")


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


def test_nothing_in_a_model_file_is_run(tmp_path: Path) -> None:
    import torch

    made, mark = model(), tmp_path / "mark"
    made.save(tmp_path / "model.zip")
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        data = json.loads(archive.read("data"))
    trap = base64.b64encode(pickle.dumps(Trap(mark))).decode()
    for entry in data.values():
        if isinstance(entry, dict) and ":serialized:" in entry:
            entry[":serialized:"] = trap
    path = rewritten(tmp_path / "model.zip", data=json.dumps(data).encode())
    agent = sb3_agent(path, "model")
    agent.begin(30, seed=0)
    agent.act(SEEN, ALLOWED, 0)
    assert not mark.exists()
    tensors = io.BytesIO()
    torch.save({"action_net.weight": Trap(mark)}, tensors)
    path = rewritten(tmp_path / "model.zip", policy_pth=tensors.getvalue())
    with pytest.raises(InvalidInputError, match="without running it"):
        sb3_agent(path, "model")
    assert not mark.exists()


def test_networks_that_do_not_fit_or_are_not_finite_are_refused(tmp_path: Path) -> None:
    import torch

    made = model()
    made.save(tmp_path / "model.zip")
    for change, reason in (
        ({"action_net.bias": torch.zeros(3)}, "do not fit each other"),
        ({"action_net.weight": torch.zeros(3, 64), "action_net.bias": torch.zeros(3)}, "spaces"),
        ({"action_net.bias": torch.full((145,), torch.nan)}, "not finite"),
        ({"action_net.bias": torch.zeros(145, dtype=torch.bfloat16)}, "do not fit each other"),
        ({"action_net.weight": torch.zeros(())}, "do not fit each other"),
        ({"features_extractor.cnn.0.weight": torch.zeros(3)}, "network of another kind"),
    ):
        tensors = io.BytesIO()
        torch.save(made.policy.state_dict() | change, tensors)
        path = rewritten(tmp_path / "model.zip", policy_pth=tensors.getvalue())
        with pytest.raises(InvalidInputError, match=reason):
            sb3_agent(path, "model")
