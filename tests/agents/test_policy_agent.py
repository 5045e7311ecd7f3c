import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tests.agents.policies import ORDER, new_policy
from tests.agents.table import play, seen
from tests.refused import refusal
from workflow_rl.agents.policy import Policy
from workflow_rl.agents.policy_agent import FingerprintAgent, PolicyAgent, ScanCount
from workflow_rl.agents.scripts import RandomAgent
from workflow_rl.config import GameConfig, ObservationName
from workflow_rl.workflow.orders import ORDERS

SEEN = np.random.default_rng(0).integers(0, 2, (40, 52)).astype(np.int8)
ALLOWED = np.ones((40, 145), np.bool_)
BLINES, MEANDERS = 2, 3  # Analyse Defender and Analyse Enterprise0: they change nothing


def act(policy: Policy, order: Any = None, *, allowed: Any = ALLOWED, **how: Any) -> Any:
    agent = PolicyAgent(policy, "it", order, **how)
    agent.begin(len(SEEN), seed=3)
    return agent.act(SEEN, allowed, 5)


def test_the_most_probable_action_under_its_own_order_or_the_given_one_is_taken() -> None:
    policy = new_policy(order=ORDER, conditioned=True, red_agent="meander")
    for order in (None, ORDERS[7]):
        assert PolicyAgent(policy, "it", order).order == (order or ORDERS[ORDER])
        assert (act(policy, order) == policy.act(SEEN, order)).all()
    assert PolicyAgent(new_policy(), "it", ORDERS[7]).order is None
    assert PolicyAgent(policy, "it").game == GameConfig(red_agent="meander")
    anything = new_policy(conditioned=True)
    said = refusal(PolicyAgent, anything, "it")
    assert "the policy it follows any workflow: say which one" in said
    assert PolicyAgent(anything, "it", ORDERS[0]).order == ORDERS[0]
    agent = PolicyAgent(new_policy("truth", "useful"), "mine")
    assert (agent.name, agent.observation) == ("mine (sees the truth)", "truth")


@pytest.mark.parametrize("sampled", [False, True])
def test_a_policy_trained_with_a_mask_plays_with_it(sampled: bool) -> None:
    free, masked = new_policy(), new_policy(mask_actions=True)
    allowed = ALLOWED.copy()
    allowed[np.arange(40), act(free, sampled=sampled)] = False
    assert (act(free, allowed=allowed, sampled=sampled) == act(free, sampled=sampled)).all()
    chosen = act(masked, allowed=allowed, sampled=sampled)
    assert allowed[np.arange(40), chosen].all()
    if not sampled:
        expected = np.where(allowed, masked.probabilities(SEEN), 0).argmax(axis=1)
        assert (chosen == expected).all()


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize(
    ("observation", "space"), [("challenge", "all"), ("memory", "useful"), ("cardiff", "cardiff")]
)
def test_an_episode_depends_on_no_other(observation: Any, space: Any, sampled: bool) -> None:
    policy = new_policy(observation, space, mask_actions=True)
    agent = PolicyAgent(policy, "it", sampled=sampled)
    _, many = play(agent, n=20, steps=30)
    _, few = play(agent, n=3, steps=30)
    assert (np.stack(few) == np.stack(many)[:, :3]).all()
    _, other = play(PolicyAgent(policy, "it", sampled=not sampled), n=20, steps=30)
    assert (np.stack(other) != np.stack(many)).any()


def test_it_tells_how_probable_it_found_each_action() -> None:
    useful = new_policy("memory", "useful", mask_actions=True)
    agent = PolicyAgent(useful, "it", sampled=True)
    agent.keeps_chances = True
    batch, played = play(agent, n=50, steps=9)
    told: Any = agent.chances
    np.testing.assert_allclose(told.sum(axis=1), 1)
    assert (told[np.arange(50), played[-1]] > 0).all()
    agent.act(batch.observation, batch.out.action_mask, 9)
    told = agent.chances
    expected = np.zeros((50, 145))
    columns = useful.action_space.begin(1).meanings()[0]
    expected[:, columns] = useful.probabilities(batch.observation)
    expected *= batch.out.action_mask
    np.testing.assert_allclose(told, expected / expected.sum(axis=1, keepdims=True))


# --- one agent for each attacker


class Constant(RandomAgent):
    """Takes one action for ever, or any action in the first three steps."""

    def __init__(self, action: int, observation: ObservationName, *, wild: bool = False) -> None:
        super().__init__()
        self.action, self.observation, self._wild = action, observation, wild  # type: ignore[misc]

    def act(self, observation: Any, action_mask: Any, step: int) -> Any:
        if self._wild and step < 3:
            return super().act(observation, action_mask, step)
        return np.full(len(observation), self.action)


@pytest.mark.parametrize("observation", ["challenge", "cardiff"])
@pytest.mark.parametrize(
    ("red", "played"), [("bline", BLINES), ("meander", MEANDERS), ("sleep", 0)]
)
@pytest.mark.parametrize("rules", ["main", "competition"])
@pytest.mark.parametrize("wild", [False, True])
def test_three_steps_always_tell_who_attacks(
    observation: ObservationName, red: str, played: int, rules: str, wild: bool
) -> None:
    agent = FingerprintAgent(
        Constant(BLINES, observation, wild=wild), Constant(MEANDERS, observation)
    )
    assert agent.observation == observation
    _, actions = play(agent, n=2000, steps=6, red_agent=red, rules=rules)
    if not wild:
        assert (np.stack(actions[:3]) == BLINES).all()
    assert (np.stack(actions[3:]) == played).all()


def test_every_episode_is_told_apart_by_itself() -> None:
    agent = FingerprintAgent(Constant(BLINES, "challenge"), Constant(MEANDERS, "challenge"))
    batch, actions = play(agent, n=300, steps=5, red_agent="mixed")
    expected = np.array([BLINES, MEANDERS, 0])[batch.state["red_agent"]]
    assert len(set(expected)) == 3
    assert (actions[4] == expected).all()
    said = refusal(FingerprintAgent, Constant(0, "challenge"), Constant(0, "cardiff"))
    assert "needs the observation challenge" in said


def test_only_the_first_scan_of_a_step_counts_and_op_hosts_do_not() -> None:
    scans = ScanCount(1)
    assert scans.add(seen(Op_Host0="scan")).tolist() == [0]
    assert scans.add(seen(User1="scan", Enterprise2="scan")).tolist() == [1]
    assert scans.add(seen(Enterprise2="scan")).tolist() == [1]
    assert scans.add(seen(User1="exploit")).tolist() == [1]
    assert scans.add(seen(User1="scan")).tolist() == [2]


# --- threads

ONE_THREAD = """
import time
import numpy as np
from tests.agents.policies import new_policy
from workflow_rl.agents.policy_agent import PolicyAgent

def used():
    return np.array([time.thread_time(), time.process_time() - time.thread_time()])

rows = np.random.default_rng(0).integers(0, 2, (4000, 304)).astype(np.int8)
policy = new_policy("memory", mask_actions=True)
agent, mask = PolicyAgent(policy, "it", sampled=True), np.ones((4000, 145), np.bool_)
agent.begin(4000, 0)

def play():
    agent.act(rows, mask, 5)
    policy.act(rows, action_mask=mask)

play()
before = used()
while (used() - before)[0] < 0.5:
    play()
print(*(used() - before))
before, square = used(), np.ones((1500, 1500), np.float32)
for _ in range(10):
    square @ square
print(*(used() - before))
"""


def test_acting_stays_on_one_thread() -> None:
    """On busy cores threads that wait for each other cost more than they compute."""
    threads = {f"{name}_NUM_THREADS": "2" for name in ("OMP", "OPENBLAS", "MKL")}
    result = subprocess.run(
        [sys.executable, "-c", ONE_THREAD],
        env=os.environ | threads,
        capture_output=True,
        text=True,
        check=True,
    )
    (main, others), (_, of_a_product) = (
        map(float, line.split()) for line in result.stdout.splitlines()
    )
    if of_a_product < 0.1:
        pytest.skip("numpy's products take one thread here anyway")
    assert main >= 0.5
    assert others <= 0.02


def test_a_policy_that_acts_stochastically_does_so_by_default_wherever_it_plays() -> None:
    weights = new_policy().weights
    policy = Policy(weights, new_policy(acts="sampled").config)
    assert PolicyAgent(policy, "it").is_sampled
    assert not PolicyAgent(new_policy(), "it").is_sampled
    assert (act(policy) == act(policy, sampled=True)).all()
    assert (act(policy, sampled=False) == act(new_policy())).all()
    assert (act(policy) != act(new_policy())).any()
    one = np.repeat(SEEN[:1], 200, axis=0)
    assert len(set(policy.act(one))) > 1
    assert len(set(new_policy().act(one))) == 1
    chosen = set()
    for _ in range(200):
        policy.end_episode()
        chosen.add(policy.get_action(SEEN[0]))
    assert len(chosen) > 1
    assert all(policy.probabilities(SEEN[0])[action] > 1e-4 for action in chosen)
    pair = FingerprintAgent(PolicyAgent(policy, "a"), PolicyAgent(new_policy(), "b"))
    assert pair.is_sampled
