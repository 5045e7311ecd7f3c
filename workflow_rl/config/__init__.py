"""What a user can choose, as frozen dataclasses that check themselves; one per layer."""

from workflow_rl.config.backend import BACKENDS, VECTOR_MODES, VECTORS, BackendConfig
from workflow_rl.config.checks import fraction, not_negative, one_of, positive, whole_number
from workflow_rl.config.execution import EXECUTORS, Execution
from workflow_rl.config.experiment import ExperimentConfig
from workflow_rl.config.game import (
    GREEN_AGENTS,
    MAX_ENVS,
    MAX_EPISODE_LENGTH,
    MIXED,
    OBSERVATIONS,
    RED_AGENTS,
    RULE_SETS,
    GameConfig,
    red_agent_name,
)
from workflow_rl.config.ppo import DEFAULT_PPO, PPO_FORMS, PPOConfig
from workflow_rl.config.search import STRATEGIES, WARM_STARTS, SearchConfig
from workflow_rl.config.train import (
    ACTION_SPACES,
    ALIGNMENTS,
    PRESETS,
    STOPS,
    VIEWS,
    Preset,
    TrainConfig,
)

__all__ = [
    "ACTION_SPACES",
    "ALIGNMENTS",
    "BACKENDS",
    "DEFAULT_PPO",
    "EXECUTORS",
    "GREEN_AGENTS",
    "MAX_ENVS",
    "MAX_EPISODE_LENGTH",
    "MIXED",
    "OBSERVATIONS",
    "PPO_FORMS",
    "PRESETS",
    "RED_AGENTS",
    "RULE_SETS",
    "STOPS",
    "STRATEGIES",
    "VECTORS",
    "VECTOR_MODES",
    "VIEWS",
    "WARM_STARTS",
    "BackendConfig",
    "Execution",
    "ExperimentConfig",
    "GameConfig",
    "PPOConfig",
    "Preset",
    "SearchConfig",
    "TrainConfig",
    "fraction",
    "not_negative",
    "one_of",
    "positive",
    "red_agent_name",
    "whole_number",
]
