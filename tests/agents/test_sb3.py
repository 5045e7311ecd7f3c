import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workflow_rl import Cage2VectorEnv
from workflow_rl.agents.sb3 import sb3_agent
from workflow_rl.config import ObservationName
from workflow_rl.errors import InvalidInputError, MissingDependencyError

SEEN = np.random.default_rng(0).integers(0, 2, (30, 52)).astype(np.int8)
ALLOWED = np.ones((30, 145), np.bool_)


def model(observation: ObservationName = "challenge") -> Any:
    pytest.importorskip("stable_baselines3")
    from stable_baselines3 import PPO

    from workflow_rl.envs.sb3 import Sb3VecEnv

    env = Sb3VecEnv(Cage2VectorEnv(2, observation=observation))
    return PPO("MlpPolicy", env, n_steps=8, batch_size=16, seed=0, device="cpu")


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


def test_it_sees_what_it_was_trained_on(tmp_path: Path) -> None:
    model("cardiff").save(tmp_path / "model.zip")
    assert sb3_agent(tmp_path / "model.zip", "model").observation == "cardiff"


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


def test_without_the_library_the_error_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(MissingDependencyError, match=r"pip install '\.\[sb3\]'"):
        sb3_agent(tmp_path / "model.zip", "model")
