"""The environments' names in Gymnasium's registry."""

from typing import Final

import gymnasium

ENV_ID: Final = "workflow_rl/Cage2-v0"  # raise the version when a change can move a score
CYBORG_ENV_ID: Final = "workflow_rl/CyborgCage2-v0"


def register() -> None:
    """Registers the environments for `gymnasium.make` and `gymnasium.make_vec`."""
    if ENV_ID not in gymnasium.registry:
        gymnasium.register(
            id=ENV_ID,
            entry_point="workflow_rl.envs.single:Cage2Env",
            vector_entry_point="workflow_rl.envs.vector:Cage2VectorEnv",
        )
    if CYBORG_ENV_ID not in gymnasium.registry:
        gymnasium.register(id=CYBORG_ENV_ID, entry_point="workflow_rl.envs.cyborg:CyborgEnv")
