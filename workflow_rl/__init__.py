"""Autonomous cyber defence on CAGE Challenge 2."""

import importlib
from typing import TYPE_CHECKING, Any

from workflow_rl.envs.registration import register
from workflow_rl.errors import explain_missing

if TYPE_CHECKING:
    from workflow_rl.agents.agent import BlueAgent as BlueAgent
    from workflow_rl.agents.export import export_policy as export_policy
    from workflow_rl.agents.policy import Policy as Policy
    from workflow_rl.agents.policy import load_policy as load_policy
    from workflow_rl.agents.red_env import Cage2RedEnv as Cage2RedEnv
    from workflow_rl.agents.red_env import Cage2RedVectorEnv as Cage2RedVectorEnv
    from workflow_rl.api import LandscapeResult as LandscapeResult
    from workflow_rl.api import SearchResult as SearchResult
    from workflow_rl.api import landscape as landscape
    from workflow_rl.api import replay as replay
    from workflow_rl.api import report as report
    from workflow_rl.api import search as search
    from workflow_rl.belief.belief import Belief as Belief
    from workflow_rl.config import Execution as Execution
    from workflow_rl.config import ExperimentConfig as ExperimentConfig
    from workflow_rl.envs.cyborg import CyborgEnv as CyborgEnv
    from workflow_rl.envs.parallel import parallel_env as parallel_env
    from workflow_rl.envs.parallel_vector import Cage2ParallelVectorEnv as Cage2ParallelVectorEnv
    from workflow_rl.envs.shared import SharedMemoryVectorEnv as SharedMemoryVectorEnv
    from workflow_rl.envs.single import Cage2Env as Cage2Env
    from workflow_rl.envs.vector import Cage2VectorEnv as Cage2VectorEnv
    from workflow_rl.evaluation.protocol import evaluate as evaluate
    from workflow_rl.playbook.reading import read_playbook as read_playbook
    from workflow_rl.playbook.writing import write_playbook as write_playbook
    from workflow_rl.runs.train import train_workflow as train_workflow
    from workflow_rl.scenario.loading import network_of as network_of
    from workflow_rl.scenario.network import Network as Network

__version__ = "0.1.0"
_HOMES = {
    "Belief": "workflow_rl.belief.belief",
    "BlueAgent": "workflow_rl.agents.agent",
    "Cage2Env": "workflow_rl.envs.single",
    "Cage2ParallelVectorEnv": "workflow_rl.envs.parallel_vector",
    "Cage2RedEnv": "workflow_rl.agents.red_env",
    "Cage2RedVectorEnv": "workflow_rl.agents.red_env",
    "Cage2VectorEnv": "workflow_rl.envs.vector",
    "CyborgEnv": "workflow_rl.envs.cyborg",
    "Execution": "workflow_rl.config",
    "ExperimentConfig": "workflow_rl.config",
    "LandscapeResult": "workflow_rl.api",
    "Network": "workflow_rl.scenario.network",
    "Policy": "workflow_rl.agents.policy",
    "SearchResult": "workflow_rl.api",
    "SharedMemoryVectorEnv": "workflow_rl.envs.shared",
    "evaluate": "workflow_rl.evaluation.protocol",
    "export_policy": "workflow_rl.agents.export",
    "landscape": "workflow_rl.api",
    "load_policy": "workflow_rl.agents.policy",
    "network_of": "workflow_rl.scenario.loading",
    "parallel_env": "workflow_rl.envs.parallel",
    "read_playbook": "workflow_rl.playbook.reading",
    "replay": "workflow_rl.api",
    "report": "workflow_rl.api",
    "search": "workflow_rl.api",
    "train_workflow": "workflow_rl.runs.train",
    "write_playbook": "workflow_rl.playbook.writing",
}
__all__ = ["__version__", *_HOMES]

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
