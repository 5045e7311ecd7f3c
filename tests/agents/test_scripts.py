from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agents.table import everything, named, play, seen
from workflow_rl.agents.scripts import (
    DECOY_PREFERENCE,
    REMOVE_CAN_HELP,
    GreedyAgent,
    RandomAgent,
    ReactRestoreAgent,
    SleepAgent,
)
from workflow_rl.scenario.actions import ACTION_NAMES
from workflow_rl.scenario.tables import DECOY_NAMES, HOST_NAMES
from workflow_rl.workflow.compliance import COMPLIANT, judge_observed
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS, TYPES

RANKS = TYPES.host_ranks(range(NUM_ORDERS))
USERS_LAST = TYPES.read("op_server > enterprise > op_host > defender > user")
USERS_FIRST = TYPES.read("user > defender > op_host > enterprise > op_server")

# What CybORG's BlueReactRestoreAgent did on the original, shown the observation of reset() at every
# step: recorded from commit 26ce1c1, its first 13 steps, which it repeats.
RESTORED = [host for host in HOST_NAMES if host != "User0"]
RECORDED = ["Monitor", *(f"Restore {host}" for host in RESTORED)]


def test_sleep_sleeps() -> None:
    batch, played = play(SleepAgent(), n=3, steps=30)
    assert set(named(played)) == {"Sleep"}
    assert batch.state["ot_running"].sum() == 0


@pytest.mark.compiled
def test_random_takes_every_action_equally_often_and_repeats_with_its_seed() -> None:
    _, played = play(RandomAgent(), n=500, steps=100)
    counts = np.bincount(np.concatenate(played), minlength=145)
    assert len(counts) == 145
    expected = 50_000 / 145
    assert ((counts - expected) ** 2 / expected).sum() < 144 + 5 * np.sqrt(2 * 144)
    for n in (2, 500):  # an episode does not depend on how many there are
        _, again = play(RandomAgent(), n=n, steps=3)
        assert (np.stack(again) == np.stack(played[:3])[:, :n]).all()


def test_react_restore_plays_the_recorded_cycle() -> None:
    assert (RESTORED[0], RESTORED[-1], len(RECORDED)) == ("Defender", "User4", 13)
    agent = ReactRestoreAgent()
    for red in ("bline", "meander", "sleep"):  # new episodes start the cycle over
        _, played = play(agent, n=2, red_agent=red)
        for env in (0, 1):
            assert named(played, env) == (RECORDED * 8)[:100]


@pytest.mark.parametrize(("steps", "restores"), [(30, 27), (50, 46), (100, 92)])
def test_react_restore_restores_as_often_as_published(steps: int, restores: int) -> None:
    _, played = play(ReactRestoreAgent(), steps=steps, red_agent="sleep")
    assert sum(name.startswith("Restore") for name in named(played)) == restores


# --- greedy


def choice(order: tuple[str, ...], mask: Any = None, **hosts: Any) -> str:
    agent = GreedyAgent(order)
    agent.begin(1, 0)
    actions = agent.act(seen(**hosts), everything() if mask is None else mask, 0)
    return ACTION_NAMES[int(actions[0])]


@pytest.mark.parametrize(
    ("hosts", "users_last", "users_first"),
    [
        (
            {"User1": "privileged", "Enterprise1": "unknown"},
            "Restore Enterprise1",
            "Restore User1",
        ),
        (
            {"User3": "user", "Op_Server0": "user", "Enterprise2": "privileged"},
            "Restore Op_Server0",  # only SSH gets in there, which Remove misses
            "Remove User3",
        ),
        ({"Enterprise2": "user"}, "Remove Enterprise2", "Remove Enterprise2"),
        ({"Enterprise0": "user"}, "Restore Enterprise0", "Restore Enterprise0"),
        ({"User4": "exploit", "User2": "user"}, "Remove User2", "Remove User2"),
        ({"Defender": "user"}, "Restore Defender", "Restore Defender"),
        ({"Op_Host1": "unknown", "Defender": "unknown"}, "Restore Op_Host1", "Restore Defender"),
    ],
)
def test_the_first_marked_host_by_the_order_is_fixed(
    hosts: dict[str, str], users_last: str, users_first: str
) -> None:
    assert choice(USERS_LAST, **hosts) == users_last
    assert choice(USERS_FIRST, **hosts) == users_first


def test_reds_own_machine_and_mere_scans_are_left_alone() -> None:
    mask = np.zeros((1, 145), np.bool_)
    mask[0, :28] = mask[0, 132:] = True  # no decoy would be accepted
    assert choice(USERS_FIRST, mask, User0="privileged", User1="scan") == "Sleep"


def test_with_nothing_marked_decoys_go_up_by_the_order() -> None:
    _, played = play(GreedyAgent(USERS_LAST), red_agent="sleep", steps=60)
    actions = named(played)
    assert actions[:8] == [
        *(f"Decoy{what} Op_Server0" for what in ("HarakaSMPT", "Tomcat", "Apache")),
        *("DecoyFemitter Enterprise1", "DecoyFemitter Enterprise2"),
        *(f"Decoy{what} Enterprise0" for what in ("HarakaSMPT", "Tomcat", "Apache")),
    ]
    placed = [name for name in actions if name != "Sleep"]
    assert len(set(placed)) == len(placed)
    assert actions[-1] == "Sleep"


def test_what_it_knows_of_the_scenario() -> None:
    helped = [HOST_NAMES[host] for host in np.flatnonzero(REMOVE_CAN_HELP)]
    assert helped == ["Enterprise1", "Enterprise2", "User2", "User3", "User4"]
    preferred = " ".join(DECOY_NAMES[decoy].removeprefix("Decoy") for decoy in DECOY_PREFERENCE)
    assert preferred == "Femitter HarakaSMPT Tomcat Apache Smss Svchost SSHD"


@settings(max_examples=60, deadline=None)
@given(order=st.integers(0, NUM_ORDERS - 1), bits=st.integers(0, 2**52 - 1))
def test_every_fix_complies(order: int, bits: int) -> None:
    row = np.array([[bits >> i & 1 for i in range(52)]], np.int8)
    agent = GreedyAgent(ORDERS[order])
    action = agent.act(row, everything(), 0)
    judged = judge_observed(np.array([bits]), action, RANKS[[order]])
    is_fix = ACTION_NAMES[int(action[0])].startswith(("Remove", "Restore"))
    assert is_fix == judged.any_open[0]
    assert (judged.verdict[0] == COMPLIANT) == is_fix
