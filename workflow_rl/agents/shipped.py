"""The trained policies that come with the package, for each rule set.

`best` is one for all scripts and follows no order; `robust` was trained against attackers that
answer it, follows no order and is stochastic; `cardiff` and `ppo` are one for each red
agent; `universal` follows any order of any units against all attackers. `docs/notes/` gives the
commands that trained them.
"""

from pathlib import Path
from typing import Final

from workflow_rl.config import RULE_SETS, one_of

BEST: Final = "best"  # with a memory
ROBUST: Final = "robust"  # as `best`, against a population of attackers
UNIVERSAL: Final = "universal"  # with a memory, and an order to follow
PER_RED_AGENT: Final = ("cardiff", "ppo")  # the winner's 36 outputs and start; the 145 actions
FOR_ALL: Final = (BEST, ROBUST, UNIVERSAL)  # one policy against every red agent
WITHOUT_ORDER: Final = (BEST, ROBUST, *PER_RED_AGENT)
SHIPPED: Final = (*WITHOUT_ORDER, UNIVERSAL)
_FOLDER: Final = Path(__file__).with_name("shipped_policies")


def shipped_policy(name: str, rules: str, red_agent: str | None = None) -> Path:
    """Returns the file of a policy that comes with the package: one for all, or a red agent's.

    Raises:
        InvalidInputError: there is no such rule set.
    """
    one_of("rule set", rules, RULE_SETS)
    parts = (name, rules) if red_agent is None else (name, rules, red_agent)
    return _FOLDER / f"{'_'.join(parts)}.safetensors"
