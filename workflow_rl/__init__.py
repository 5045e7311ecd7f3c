"""Autonomous cyber defence on CAGE Challenge 2."""

import importlib
from typing import TYPE_CHECKING, Any

from workflow_rl.envs.registration import register
from workflow_rl.errors import explain_missing

if TYPE_CHECKING:
    from workflow_rl.agents.agent import BlueAgent
    from workflow_rl.agents.export import export_policy
    from workflow_rl.agents.policy import Policy, load_policy
    from workflow_rl.api import search
    from workflow_rl.belief.belief import Belief
    from workflow_rl.config import Execution, ExperimentConfig
    from workflow_rl.envs.cyborg import CyborgEnv
    from workflow_rl.envs.shared import SharedMemoryVectorEnv
    from workflow_rl.envs.single import Cage2Env
    from workflow_rl.envs.vector import Cage2VectorEnv
    from workflow_rl.evaluation.protocol import evaluate
    from workflow_rl.playbook.reading import read_playbook
    from workflow_rl.playbook.writing import write_playbook
    from workflow_rl.runs.train import train_workflow

__version__ = "0.1.0"
__all__ = [
    "Belief",
    "BlueAgent",
    "Cage2Env",
    "Cage2VectorEnv",
    "CyborgEnv",
    "Execution",
    "ExperimentConfig",
    "Policy",
    "SharedMemoryVectorEnv",
    "__version__",
    "evaluate",
    "export_policy",
    "load_policy",
    "read_playbook",
    "search",
    "train_workflow",
    "write_playbook",
]

_HOMES = {
    "Belief": "workflow_rl.belief.belief",
    "BlueAgent": "workflow_rl.agents.agent",
    "Cage2Env": "workflow_rl.envs.single",
    "Cage2VectorEnv": "workflow_rl.envs.vector",
    "CyborgEnv": "workflow_rl.envs.cyborg",
    "Execution": "workflow_rl.config",
    "ExperimentConfig": "workflow_rl.config",
    "Policy": "workflow_rl.agents.policy",
    "SharedMemoryVectorEnv": "workflow_rl.envs.shared",
    "evaluate": "workflow_rl.evaluation.protocol",
    "export_policy": "workflow_rl.agents.export",
    "load_policy": "workflow_rl.agents.policy",
    "read_playbook": "workflow_rl.playbook.reading",
    "search": "workflow_rl.api",
    "train_workflow": "workflow_rl.runs.train",
    "write_playbook": "workflow_rl.playbook.writing",
}

register()


def __getattr__(name: str) -> Any:
    """Imports a public name, and the compiler or the networks with it, when it is asked for."""
    if name in _HOMES:
        with explain_missing(f"{__name__}.{name}"):
            return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Lists the public names, imported yet or not."""
    return list(__all__)
