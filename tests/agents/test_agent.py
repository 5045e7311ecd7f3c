import subprocess
import sys

import numpy as np

from workflow_rl.agents.agent import uniforms


def test_a_draw_depends_on_seed_step_and_number_alone() -> None:
    many = uniforms(5, 3, 1000)
    assert (uniforms(5, 3, 10) == many[:10]).all()
    assert (uniforms(5, 4, 1000) != many).all()
    assert (uniforms(6, 3, 1000) != many).all()
    assert many.min() >= 0
    assert many.max() < 1
    assert abs(many.mean() - 0.5) < 4 * np.sqrt(1 / 12 / 1000)
    assert len(uniforms(2**64 + 1, 0, 3)) == 3


def test_agents_without_networks_play_without_the_libraries_of_networks() -> None:
    code = """
import pkgutil, sys
for name in ("torch", "safetensors", "stable_baselines3", "pyarrow", "botorch"):
    sys.modules[name] = None
import workflow_rl.agents
for module in pkgutil.iter_modules(workflow_rl.agents.__path__):
    __import__(f"workflow_rl.agents.{module.name}")
from workflow_rl import evaluate
from workflow_rl.agents import BlueAgent
for name in ("sleep", "random", "react-restore", "greedy"):
    print(evaluate(name, episodes=2, steps=[3], red_agents=["bline"]).agent)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["sleep", "random", "react-restore", "greedy"]
