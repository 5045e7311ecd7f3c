"""From what a user names to an agent: by its name, a run directory, a policy, one per red agent.

`sleep`, `random`, `react-restore` and `greedy` need no network; those of `agents.shipped` are
trained policies.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from workflow_rl.agents.action_space import CARDIFF
from workflow_rl.agents.agent import BlueAgent
from workflow_rl.agents.fingerprint import FingerprintAgent
from workflow_rl.agents.greedy import DEFAULT_ORDER, GreedyAgent
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.policy_agent import PolicyAgent, policy_agent
from workflow_rl.agents.react_restore import ReactRestoreAgent
from workflow_rl.agents.sb3 import SB3_SUFFIX, sb3_agent
from workflow_rl.agents.shipped import FOR_ALL, PER_RED_AGENT, SHIPPED, shipped_policy
from workflow_rl.agents.simple import RandomAgent, SleepAgent
from workflow_rl.config.checks import not_allowed
from workflow_rl.errors import InvalidInputError
from workflow_rl.workflow.orders import Order, read_order
from workflow_rl.workflow.units import Units

REFERENCE_AGENTS: Final[dict[str, Callable[[Order | None], BlueAgent]]] = {
    SleepAgent.name: lambda order: SleepAgent(),
    RandomAgent.name: lambda order: RandomAgent(),
    ReactRestoreAgent.name: lambda order: ReactRestoreAgent(),
    GreedyAgent.name: lambda order: GreedyAgent(order or DEFAULT_ORDER),
}
_TRAINED_AGAINST: Final = ("bline", "meander")
_PAIR: Final = "bline=PATH,meander=PATH"


def make_agent(
    what: str | Path | Policy,
    order: Sequence[str] | str | None = None,
    *,
    units: Units | None = None,
    sampled: bool = False,
    rules: str = "main",
) -> BlueAgent:
    """Returns the agent that a name, a path or a policy stands for.

    Args:
        what: an agent's name; a run directory, whose recommended policy plays; a policy file; a
            model of SB3's PPO (`.zip`); `bline=PATH,meander=PATH`, a policy for each red agent,
            which is the cardiff agent if the policies have its 36 outputs; or a policy.
        order: the workflow to follow, for those that follow any.
        units: whose names the workflow gives; by default the policy's own, or the five types.
        sampled: whether policies draw their actions.
        rules: for which rule set the policies that come with the package were trained.

    Raises:
        InvalidInputError: it stands for nothing, or a file is no policy.
    """
    if not isinstance(what, str | Path | Policy):
        raise not_allowed("an agent", what, "a name, a path or a policy")
    if isinstance(what, Policy):
        return policy_agent(what, "policy", order, units=units, sampled=sampled)
    text = str(what)
    if text in REFERENCE_AGENTS:
        return REFERENCE_AGENTS[text](None if order is None else read_order(order, units))
    if text in FOR_ALL:
        found = load_policy(text, rules=rules)
        return policy_agent(found, text, order, units=units, sampled=sampled)
    if text in PER_RED_AGENT:
        paths = (shipped_policy(text, rules, red) for red in _TRAINED_AGAINST)
        bline, meander = (_from_path(path, None, None, sampled) for path in paths)
        return FingerprintAgent(bline, meander, text)
    if "=" in text and not Path(text).exists():
        return _per_red_agent(text, order, units, sampled)
    return _from_path(Path(text), order, units, sampled)


def _from_path(
    path: Path, order: Sequence[str] | str | None, units: Units | None, sampled: bool
) -> PolicyAgent:
    if not path.exists():
        raise InvalidInputError(
            f"{path} is no run directory, no policy file and no baseline: baselines are "
            f"{', '.join((*REFERENCE_AGENTS, *SHIPPED))}"
        )
    if path.suffix == SB3_SUFFIX:
        return sb3_agent(path, path.stem, sampled=sampled)
    name = path.resolve().name if path.is_dir() else path.stem
    return policy_agent(load_policy(path), name, order, units=units, sampled=sampled)


def _per_red_agent(
    text: str, order: Sequence[str] | str | None, units: Units | None, sampled: bool
) -> FingerprintAgent:
    pairs = [part.partition("=") for part in text.split(",")]
    parts = {red: path for red, _, path in pairs}
    named = sorted(red for red, _, _ in pairs)
    if named != sorted(_TRAINED_AGAINST) or not all(parts.values()):
        raise InvalidInputError(f"{text!r} does not name a policy per red agent: write {_PAIR}")
    bline, meander = (
        _from_path(Path(parts[red]), order, units, sampled) for red in _TRAINED_AGAINST
    )
    is_cardiff = bline.action_space == meander.action_space == CARDIFF
    return FingerprintAgent(bline, meander, "cardiff" if is_cardiff else "fingerprint")
