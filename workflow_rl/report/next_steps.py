"""What to do with a search's answer: commands and a piece of Python to copy."""

import shlex
from dataclasses import dataclass

from workflow_rl.config import RED_AGENTS
from workflow_rl.report.rundata import RunData


@dataclass(frozen=True)
class NextStep:
    """One thing to do."""

    what: str
    text: str  # to copy


def next_steps(run: RunData) -> list[NextStep]:
    """Returns what to do with the policy of a finished search; nothing before its end."""
    if run.config is None or not run.summary or not run.is_search:
        return []
    path, game = shlex.quote(run.path.as_posix()), run.config.game
    other = next(red for red in RED_AGENTS if red != game.red_agent)
    python = (
        "from workflow_rl import Cage2Env, load_policy\n\n"
        f"policy = load_policy({run.path.as_posix()!r})\n"
        f"env = Cage2Env(red_agent={other!r}, observation={game.observation!r})\n"
        "observation, info = env.reset(seed=0)\n"
        "action = policy.get_action(observation)\n"
        "observation, reward, terminated, truncated, info = env.step(action)"
    )
    return [
        NextStep(
            "Score the policy by the challenge's own protocol, beside the leaderboard",
            f"workflow-rl evaluate {path}",
        ),
        NextStep(
            "Watch it defend the network, against another attacker and in another game",
            f"workflow-rl replay {path} --red-agent {other} --seed 7 --output replay_{other}.html",
        ),
        NextStep(
            "Search for a policy against another attacker, or against all of them",
            f"workflow-rl search --red-agent {other}\nworkflow-rl search --red-agent mixed",
        ),
        NextStep(
            "Train every order for several seeds, which tells apart what a search cannot",
            f"workflow-rl landscape --red-agent {game.red_agent}",
        ),
        NextStep(
            "Hand the order over: a runbook for people and a security playbook (CACAO)",
            f"workflow-rl playbook {path}",
        ),
        NextStep("Use the policy in Python", python),
    ]
