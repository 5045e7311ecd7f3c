"""A shielded policy complies by construction, however it is asked to act."""

from typing import Any

import numpy as np
import pytest

from tests.agents.policies import config_of, sizes_of, weights
from tests.refused import refusal
from workflow_rl.agents.policy import Policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import GameConfig, OrderEncodingName
from workflow_rl.sim.batch import Batch
from workflow_rl.workflow.compliance import VIOLATION, judge_observed
from workflow_rl.workflow.orders import TYPES, Order, Orders
from workflow_rl.workflow.units import units_of

HOSTS = Orders(units_of("hosts"))
ENVS, STEPS = 24, 40


def fixing_policy(encoding: OrderEncodingName, order: Order, *, shielded: bool = True) -> Policy:
    """A policy of strong opinions that knows nothing, and prefers to fix."""
    config = config_of(
        order=order,
        conditioned=True,
        units=order.units.setting,
        order_encoding=encoding,
        follow="shielded" if shielded else "learned",
        mask_actions=True,
    )
    made = {name: 4 * array for name, array in weights(*sizes_of(config)).items()}
    made["actor.2.bias"][-13:] += 1_000  # the Restores
    return Policy(made, config)


def verdicts(policy: Policy, order: Order, how: str) -> Any:
    """How its actions in random games are judged, by what Blue saw."""
    envs = 1 if how == "get_action" else ENVS
    game = GameConfig(red_agent="meander", episode_length=STEPS)
    batch = Batch(envs, game, autoreset=False)
    batch.reset(seed=3)
    agent = PolicyAgent(policy, "it", sampled=how == "drawn")
    agent.begin(envs, 0)
    ranks, found = np.tile(order.host_ranks, (envs, 1)), []
    for step in range(STEPS):
        seen, mask = batch.observation, batch.out.action_mask
        if how == "act":
            actions = policy.act(seen)
        elif how == "get_action":
            actions = np.array([policy.get_action(seen[0])])
        else:
            actions = agent.act(seen, mask, step)
        found.append(judge_observed(batch.state["table"].copy(), actions, ranks).verdict)
        batch.step(actions)
    return np.concatenate(found)


@pytest.mark.parametrize("how", ["best", "drawn", "act", "get_action"])
@pytest.mark.parametrize(
    ("encoding", "orders"), [("onehot", TYPES), ("ranks+due", HOSTS), ("precedence", TYPES)]
)
def test_a_shielded_policy_never_violates_its_order(encoding: Any, orders: Any, how: str) -> None:
    order = orders[orders.total // 3]
    shielded, free = (fixing_policy(encoding, order, shielded=s) for s in (True, False))
    assert not (verdicts(shielded, order, how) == VIOLATION).any()
    assert (verdicts(free, order, how) == VIOLATION).any()


def test_a_general_policy_follows_orders_of_other_units_and_a_documented_one_does_not() -> None:
    general, documented = (fixing_policy(e, TYPES[5]) for e in ("ranks", "onehot"))
    order, seen = HOSTS[1234], np.zeros(52, np.int8)
    assert general.probabilities(seen, order).shape == (145,)
    names = order.units.names
    assert PolicyAgent(general, "it", names, units=order.units).order == names
    said = refusal(documented.probabilities, seen, order)
    assert said == "this policy follows orders of the units types, not of hosts"
