"""An episode of whatever `evaluate` takes."""

from pathlib import Path
from typing import Any

from workflow_rl.agents.named import make_agent
from workflow_rl.agents.policy import Policy
from workflow_rl.config import GameConfig
from workflow_rl.pages.replay import Replay, play_agent
from workflow_rl.workflow.orders import read_order


def replayed(
    what: str | Path | Policy,
    who: str = "run",
    *,
    seed: int = 7,
    workflow: str | None = None,
    sampled: bool = False,
    **changes: Any,
) -> Replay:
    """An agent's episode in the game it was trained on, with changes to it."""
    rules = changes.get("rules", "main")
    agent = make_agent(what, workflow, sampled=sampled, rules=rules)
    trained: GameConfig = getattr(agent, "game", None) or GameConfig()
    order = None if workflow is None else read_order(workflow)
    game = trained.changed(**changes)
    return play_agent(agent, game, seed, who=who, order=order, sampled=sampled)
