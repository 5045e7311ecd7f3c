"""From what a user names to an agent: a baseline, a run directory, a policy, one per red agent."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from workflow_rl.agents.agent import BlueAgent
from workflow_rl.agents.fingerprint import FingerprintAgent
from workflow_rl.agents.greedy import DEFAULT_ORDER, GreedyAgent
from workflow_rl.agents.policies import CardiffPolicyAgent, policy_agent
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.react_restore import ReactRestoreAgent
from workflow_rl.agents.sb3 import sb3_agent
from workflow_rl.agents.shipped import SHIPPED, shipped_agent
from workflow_rl.agents.simple import RandomAgent, SleepAgent
from workflow_rl.errors import InvalidInputError
from workflow_rl.workflow.orders import Order

BASELINES: Final[dict[str, Callable[[Order | None], BlueAgent]]] = {
    SleepAgent.name: lambda order: SleepAgent(),
    RandomAgent.name: lambda order: RandomAgent(),
    ReactRestoreAgent.name: lambda order: ReactRestoreAgent(),
    GreedyAgent.name: lambda order: GreedyAgent(order or DEFAULT_ORDER),
}
_PAIR: Final = "bline=PATH,meander=PATH"


def make_agent(
    what: str | Path | Policy,
    order: Order | None = None,
    *,
    sampled: bool = False,
    rules: str = "main",
) -> BlueAgent:
    """Returns the agent that a name, a path or a policy stands for.

    Args:
        what: a baseline's name; a run directory, whose recommended policy plays; a policy file; a
            model of SB3's PPO (`.zip`); `bline=PATH,meander=PATH`, a policy for each red agent,
            which is the cardiff agent if the policies have its 36 outputs; or a policy.
        order: the workflow to follow, for those that follow any.
        sampled: whether policies draw their actions.
        rules: for which rule set cardiff and ppo were trained.

    Raises:
        InvalidInputError: it stands for nothing, or a file is no policy.
    """
    if isinstance(what, Policy):
        return policy_agent(what, "policy", order, sampled=sampled)
    text = str(what)
    if text in BASELINES:
        return BASELINES[text](order)
    if text in SHIPPED:
        return shipped_agent(text, rules, sampled=sampled)
    if "=" in text and not Path(text).exists():
        return _per_red_agent(text, order, sampled)
    return _from_path(Path(text), order, sampled)


def _from_path(path: Path, order: Order | None, sampled: bool) -> BlueAgent:
    if not path.exists():
        raise InvalidInputError(
            f"{path} is no run directory, no policy file and no baseline: baselines are "
            f"{', '.join((*BASELINES, *SHIPPED))}"
        )
    if path.suffix == ".zip":
        return sb3_agent(path, path.stem, sampled=sampled)
    name = path.resolve().name if path.is_dir() else path.stem
    return policy_agent(load_policy(path), name, order, sampled=sampled)


def _per_red_agent(text: str, order: Order | None, sampled: bool) -> BlueAgent:
    parts = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    if set(parts) != {"bline", "meander"} or not all(parts.values()):
        raise InvalidInputError(f"{text!r} does not name a policy per red agent: write {_PAIR}")
    bline, meander = (_from_path(Path(parts[red]), order, sampled) for red in ("bline", "meander"))
    both_cardiff = isinstance(bline, CardiffPolicyAgent) and isinstance(meander, CardiffPolicyAgent)
    return FingerprintAgent(bline, meander, "cardiff" if both_cardiff else "fingerprint")
