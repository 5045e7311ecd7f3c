"""A shielded policy complies by construction, however it is asked to act."""

import numpy as np
import pytest

from tests.agents.policies import weights
from workflow_rl.agents.policy import Policy, describe_policy
from workflow_rl.agents.policy_agent import policy_agent
from workflow_rl.config import GameConfig, OrderEncodingName
from workflow_rl.errors import InvalidInputError
from workflow_rl.sim.batch import Batch
from workflow_rl.workflow.compliance import VIOLATION, judge_observed
from workflow_rl.workflow.encoding import OrderEncoding
from workflow_rl.workflow.orders import TYPES, Order, Orders
from workflow_rl.workflow.units import units_of

HOSTS = Orders(units_of("hosts"))
ENVS = 24


def new_policy(
    encoding: OrderEncodingName, order: Order, *, shielded: bool = True, seed: int = 0
) -> Policy:
    """A policy of strong opinions that knows nothing, and prefers to fix."""
    size = 52 + OrderEncoding(encoding, order.units).size
    made = {name: 4 * array for name, array in weights(size, 145, seed).items()}
    made["actor.2.bias"][-13:] += 1_000  # the Restores
    description = describe_policy(
        order=order,
        conditioned=True,
        units=order.units.setting,
        order_encoding=encoding,
        follow="shielded" if shielded else "learned",
        mask_actions=True,
        observation="challenge",
    )
    return Policy(made, description)


def violations(policy: Policy, order: Order, how: str) -> int:
    """How many of its actions in random games violate the order, by what Blue saw."""
    batch = Batch(ENVS, GameConfig(red_agent="meander", episode_length=40), autoreset=False)
    batch.reset(seed=3)
    agent = policy_agent(policy, "it", sampled=how == "drawn")
    agent.begin(ENVS, 0)
    ranks, found = np.tile(order.host_ranks, (ENVS, 1)), 0
    for step in range(40):
        if how == "act":
            actions = policy.act(batch.observation)
        else:
            actions = agent.act(batch.observation, batch.out.action_mask, step)
        judged = judge_observed(batch.state["table"].copy(), actions, ranks)
        found += int((judged.verdict == VIOLATION).sum())
        batch.step(actions)
    return found


@pytest.mark.parametrize("how", ["best", "drawn", "act"])
@pytest.mark.parametrize(
    ("encoding", "orders"), [("onehot", TYPES), ("ranks+due", HOSTS), ("precedence", TYPES)]
)
def test_a_shielded_policy_never_violates_its_order(
    encoding: OrderEncodingName, orders: Orders, how: str
) -> None:
    order = orders[orders.total // 3]
    assert violations(new_policy(encoding, order), order, how) == 0
    assert violations(new_policy(encoding, order, shielded=False), order, how) > 0


def test_an_agent_of_cyborg_s_kind_is_shielded_too() -> None:
    order = TYPES[77]
    policy = new_policy("ranks", order)
    batch = Batch(1, GameConfig(red_agent="bline", episode_length=60), autoreset=False)
    batch.reset(seed=1)
    marked = 0
    for _ in range(60):
        action = policy.get_action(batch.observation[0], None)
        judged = judge_observed(
            batch.state["table"].copy(), np.array([action]), order.host_ranks[None]
        )
        marked += int(judged.any_open[0])
        assert judged.verdict[0] != VIOLATION
        batch.step(np.array([action]))
    assert marked > 10


def test_a_general_policy_follows_orders_of_other_units_and_a_documented_one_does_not() -> None:
    general, documented = new_policy("ranks", TYPES[5]), new_policy("onehot", TYPES[5])
    order = HOSTS[1234]
    seen = np.zeros(52, np.int8)
    assert general.probabilities(seen, order).shape == (145,)
    assert policy_agent(general, "it", order.units.names, units=order.units).order == (
        order.units.names
    )
    with pytest.raises(InvalidInputError, match="told orders of the units types, not of hosts"):
        documented.probabilities(seen, order)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"order_encoding": "ranks"}, "sees more than the order"),
        ({"order_encoding": "rank"}, "unknown order encoding 'rank'"),
        ({"units": "subnets", "order": None}, "does not fit the observation challenge of 52"),
        ({"units": {"a": ["User9"]}}, "unknown host 'User9'"),
        ({"units": 5}, "units of a policy cannot be 5"),
        ({"follow": "blindly"}, "unknown follow 'blindly'"),
        ({"observation": "memory"}, "does not fit the observation memory"),
        ({"units": "any", "order": None}, "onehot of a policy needs its units"),
    ],
)
def test_a_layout_that_does_not_fit_the_network_is_refused(
    changes: dict[str, object], sentence: str
) -> None:
    policy = new_policy("onehot", TYPES[5])
    with pytest.raises(InvalidInputError, match=sentence):
        Policy(policy.weights, policy.description | changes)


def test_a_policy_from_before_says_nothing_of_units_and_is_of_the_types() -> None:
    policy = new_policy("onehot", TYPES[5], shielded=False)
    named = {"order", "conditioned", "mask_actions"}
    before = Policy(policy.weights, {k: v for k, v in policy.description.items() if k in named})
    seen = np.ones(52, np.int8)
    np.testing.assert_array_equal(before.probabilities(seen), policy.probabilities(seen))
    assert before.order == TYPES[5]
