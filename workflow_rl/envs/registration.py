"""The environments' names in Gymnasium's registry, one for each rule set.

A name's version is raised when a change can move a score, so that a name always stands for the
same game. Gymnasium looks for no plugins: a program that has not imported this package puts the
module before the name, `gymnasium.make("workflow_rl:workflow_rl/Cage2-v0")`.
"""

from typing import Any, Final

import gymnasium

# Our simulator and the real CybORG, by the rules that they play.
ENV_IDS: Final[dict[str, str]] = {
    "main": "workflow_rl/Cage2-v0",
    "competition": "workflow_rl/Cage2Competition-v0",
}
CYBORG_ENV_IDS: Final[dict[str, str]] = {
    "main": "workflow_rl/CyborgCage2-v0",
    "competition": "workflow_rl/CyborgCage2Competition-v0",
}
# Red's side, against a Blue agent that the argument `blue` names.
RED_ENV_IDS: Final[dict[str, str]] = {
    "main": "workflow_rl/Cage2Red-v0",
    "competition": "workflow_rl/Cage2RedCompetition-v0",
}
NETWORK_ENV_ID: Final = "workflow_rl/Network-v0"  # of the network that the argument names
_RED: Final = "workflow_rl.agents.red_env"


def register() -> None:
    """Registers the environments for `gymnasium.make` and `gymnasium.make_vec`."""
    vector = f"{__name__}:make_vector_env"
    if NETWORK_ENV_ID not in gymnasium.registry:
        gymnasium.register(
            NETWORK_ENV_ID,
            "workflow_rl.envs.single:Cage2Env",
            vector_entry_point=vector,
            kwargs={"network": "office"},
        )
    for ids, entry_point, vector_entry_point in (
        (ENV_IDS, "workflow_rl.envs.single:Cage2Env", vector),
        (CYBORG_ENV_IDS, "workflow_rl.envs.cyborg:CyborgEnv", None),
        (RED_ENV_IDS, f"{_RED}:Cage2RedEnv", f"{_RED}:make_vector_env"),
    ):
        for rules, name in ids.items():
            if name not in gymnasium.registry:
                gymnasium.register(
                    name,
                    entry_point,
                    vector_entry_point=vector_entry_point,
                    kwargs={"rules": rules},
                )


def make_vector_env(
    num_envs: int, *, max_episode_steps: int | None = None, **settings: Any
) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Returns the vector environment of a name.

    Args:
        num_envs: how many environments.
        max_episode_steps: what Gymnasium calls the length of an episode.
        settings: of `Cage2VectorEnv`; its `episode_length` wins.
    """
    from workflow_rl.envs.vector import Cage2VectorEnv

    if max_episode_steps is not None:
        settings.setdefault("episode_length", max_episode_steps)
    return Cage2VectorEnv(num_envs, **settings)
