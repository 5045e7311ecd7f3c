"""From what a user names to an agent: by its name, a run directory, a policy, one per red agent.

`sleep`, `random`, `react-restore` and `greedy` need no network; those of `agents.shipped` are
trained policies.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from workflow_rl.agents.action_space import CARDIFF
from workflow_rl.agents.agent import BlueAgent
from workflow_rl.agents.greedy import GreedyAgent
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.policy_agent import FingerprintAgent, PolicyAgent
from workflow_rl.agents.sb3 import SB3_SUFFIX, sb3_policy
from workflow_rl.agents.scripts import RandomAgent, ReactRestoreAgent, SleepAgent
from workflow_rl.agents.shipped import FOR_ALL, PER_RED_AGENT, SHIPPED, shipped_policy
from workflow_rl.config.checks import file_path, not_allowed
from workflow_rl.config.units import Groups
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network, check_network
from workflow_rl.workflow.orders import Order, read_order
from workflow_rl.workflow.units import Units, units_of

REFERENCE_AGENTS: Final[dict[str, Callable[[Network, Order | None], BlueAgent]]] = {
    SleepAgent.name: lambda network, order: SleepAgent(network),
    RandomAgent.name: lambda network, order: RandomAgent(network),
    ReactRestoreAgent.name: lambda network, order: ReactRestoreAgent(network),
    GreedyAgent.name: lambda network, order: GreedyAgent(order, network=network),
}
_TRAINED_AGAINST: Final = ("bline", "meander")
_PAIR: Final = "bline=PATH,meander=PATH"


def make_agent(
    what: str | Path | Policy,
    order: Sequence[str] | str | None = None,
    *,
    units: Units | Groups | str | None = None,
    sampled: bool | None = None,
    rules: str = "main",
    observation: str = "challenge",
    network: Network | None = None,
) -> BlueAgent:
    """Returns the agent of a name, a path or a policy.

    Args:
        what: an agent's name; a run directory, whose recommended policy plays; a policy file; a
            model of SB3's PPO (`.zip`); `bline=PATH,meander=PATH`, a policy for each red agent,
            which is the cardiff agent if the policies have its 36 outputs; or a policy.
        order: the workflow to follow, for those that follow any.
        units: whose names the workflow gives; by default the policy's own, or the five types.
        sampled: whether policies are stochastic; by default as their training says.
        rules: for which rule set the policies that come with the package were trained.
        observation: what a model of SB3's PPO was trained on; its file does not say so.
        network: what is played on; by default the policy's own, or Scenario2.

    Raises:
        InvalidInputError: there is no such agent, a file is no policy, or one of another network.
    """
    if not isinstance(what, str | Path | Policy):
        raise not_allowed("an agent", what, "a name, a path or a policy")

    def agent(policy: Policy, name: str) -> PolicyAgent:
        if network is not None:
            check_network(name, policy.network, network)
        named = None if units is None else units_of(units, policy.network)
        return PolicyAgent(policy, name, order, units=named, sampled=sampled)

    if isinstance(what, Policy):
        return agent(what, "policy")
    text = str(what)
    if text in REFERENCE_AGENTS:
        played = SCENARIO2 if network is None else network
        named = None if units is None else units_of(units, played)
        return REFERENCE_AGENTS[text](
            played, None if order is None else read_order(order, named, played)
        )
    if text in FOR_ALL:
        return agent(load_policy(text, rules=rules), text)
    if text in PER_RED_AGENT:
        files = [shipped_policy(text, rules, red) for red in _TRAINED_AGAINST]
        bline, meander = (agent(load_policy(file), file.stem) for file in files)
        return FingerprintAgent(bline, meander, text)
    if "=" in text and not os.path.exists(text):  # False of what is too long
        bline, meander = (agent(*_read(file, observation)) for file in _per_red_agent(text))
        is_cardiff = bline.policy.action_space is meander.policy.action_space is CARDIFF
        return FingerprintAgent(bline, meander, "cardiff" if is_cardiff else "fingerprint")
    return agent(*_read(file_path("an agent", what), observation))


def network_of_agent(agent: BlueAgent) -> Network | None:
    """Returns what an agent plays on, as far as it says so."""
    known: Network | None = getattr(agent, "network", None)
    return known


def _read(path: Path, observation: str) -> tuple[Policy, str]:
    """Returns the policy of a file or a run directory, and what it is called."""
    if not path.exists():
        raise InvalidInputError(
            f"{path} is no run directory, no policy file and no baseline: baselines are "
            f"{', '.join((*REFERENCE_AGENTS, *SHIPPED))}"
        )
    if path.suffix == SB3_SUFFIX:
        return sb3_policy(path, observation), path.stem
    return load_policy(path), path.resolve().name if path.is_dir() else path.stem


def _per_red_agent(text: str) -> list[Path]:
    """Returns the files that `bline=PATH,meander=PATH` names, in this order."""
    pairs = [part.partition("=") for part in text.split(",")]
    parts = {red: path for red, _, path in pairs}
    named = sorted(red for red, _, _ in pairs)
    if named != sorted(_TRAINED_AGAINST) or not all(parts.values()):
        raise InvalidInputError(
            f"{shown(text)} does not name a policy per red agent: write {_PAIR}"
        )
    return [file_path("a policy", parts[red]) for red in _TRAINED_AGAINST]
