"""The trained policies that come with the package: the baselines `cardiff` and `ppo`.

For each rule set and red agent there is one policy file; `docs/results.md` gives the commands that
trained them. Which red agent plays is told by its fingerprint, as the challenge's winner does.
"""

from pathlib import Path
from typing import Final

from workflow_rl.agents.agent import BlueAgent
from workflow_rl.agents.fingerprint import FingerprintAgent
from workflow_rl.agents.policies import policy_agent
from workflow_rl.agents.policy import load_policy

SHIPPED: Final = ("cardiff", "ppo")
_FOLDER: Final = Path(__file__).with_name("shipped_policies")


def shipped_policy(name: str, rules: str, red_agent: str) -> Path:
    """Returns the file of a policy that comes with the package."""
    return _FOLDER / f"{name}_{rules}_{red_agent}.safetensors"


def shipped_agent(name: str, rules: str, *, sampled: bool = False) -> BlueAgent:
    """Returns one of SHIPPED, trained for a rule set.

    Args:
        name: cardiff (the winner's 36 outputs and fixed start) or ppo (the 145 actions).
        rules: the rule set that its policies were trained on.
        sampled: whether actions are drawn by their probability.
    """
    bline, meander = (
        policy_agent(load_policy(shipped_policy(name, rules, red)), name, sampled=sampled)
        for red in ("bline", "meander")
    )
    return FingerprintAgent(bline, meander, name)
