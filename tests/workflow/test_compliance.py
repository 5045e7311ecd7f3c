from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.workflow.reference import Judged, judge_by_marks, judge_by_truth
from workflow_rl.config import GameConfig, RedAgentName
from workflow_rl.scenario.actions import ACTION_NAMES, NUM_ACTIONS, parse_action
from workflow_rl.scenario.tables import HOST_NAMES, host_set
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.state import Access, Mark
from workflow_rl.workflow.compliance import (
    COMPLIANT,
    NOT_A_FIX,
    REPEAT,
    VIOLATION,
    Judgement,
    judge_observed,
    judge_true,
    without_violations,
)
from workflow_rl.workflow.orders import NUM_ORDERS, ORDERS, TYPES, Order
from workflow_rl.workflow.units import FIXABLE, units_of

RANKS = TYPES.host_ranks(range(NUM_ORDERS))

MARKS = {"No": Mark.NO, "Unknown": Mark.UNKNOWN, "User": Mark.USER}
MARKS["Privileged"] = Mark.PRIVILEGED
ORDER = "op_server > enterprise > op_host > user > defender"
VERDICTS = {NOT_A_FIX: "no fix", REPEAT: "repeat", VIOLATION: "violation", COMPLIANT: "compliant"}


def table_of(marks: Mapping[str, str], activity: Mapping[str, int] | None = None) -> int:
    """Blue's packed table: per host two bits of activity, then two of its mark."""
    table = 0
    for h, host in enumerate(HOST_NAMES):
        table |= (activity or {}).get(host, 0) << 4 * h
        table |= int(MARKS[marks.get(host, "No")]) << (4 * h + 2)
    return table


def meaning(judgement: Judgement, k: int) -> Judged:
    """Our verdict in the reference's words."""
    verdict = judgement.verdict[k]
    assert judgement.counted[k] == (verdict in (VIOLATION, COMPLIANT))
    assert judgement.compliant[k] == (verdict == COMPLIANT)
    return Judged(
        bool(judgement.any_open[k]),
        verdict != NOT_A_FIX,
        bool(judgement.counted[k]),
        bool(judgement.compliant[k]),
    )


def seen(marks: Mapping[str, str], action: str, order: str = ORDER) -> str:
    """The verdict on one action when Blue's table holds these marks."""
    judgement = judge_observed(
        np.array([table_of(marks)]),
        np.array([parse_action(action)]),
        RANKS[[TYPES.index(order)]],
    )
    return VERDICTS[judgement.verdict[0]]


def truly(held: set[str], removable: set[str], action: str, order: str = ORDER) -> str:
    """The verdict on one action when Red holds these hosts."""
    judgement = judge_true(
        np.array([host_set(held)], np.int16),
        np.array([host_set(removable)], np.int16),
        np.array([parse_action(action)]),
        RANKS[[TYPES.index(order)]],
    )
    return VERDICTS[judgement.verdict[0]]


# Few open hosts, and targets among all of them: then every verdict is common.
mark_maps = st.dictionaries(
    st.sampled_from(HOST_NAMES), st.sampled_from(["Unknown", "User", "Privileged"]), max_size=4
)
host_sets = st.sets(st.sampled_from(HOST_NAMES), max_size=4)
fixes = st.builds(
    "{} {}".format, st.sampled_from(["Remove", "Restore"]), st.sampled_from(HOST_NAMES)
)
actions = fixes | st.sampled_from(ACTION_NAMES)
orders = st.sampled_from(ORDERS)
activities = st.dictionaries(st.sampled_from(HOST_NAMES), st.sampled_from([0b01, 0b11]))


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("abcdef"), min_size=12, max_size=12),
    st.lists(st.tuples(mark_maps, activities, actions), min_size=1, max_size=10),
    st.randoms(use_true_random=False),
)
def test_orders_of_any_units_are_judged_by_blues_table_as_the_reference_does(
    homes: list[str], steps: list[Any], random: Any
) -> None:
    groups = {name: [h for h, n in zip(FIXABLE, homes, strict=True) if n == name] for name in homes}
    assume(len(groups) > 1)
    units = units_of(groups)
    given_orders = [Order(random.sample(units.names, len(units)), units) for _ in steps]
    ranks = np.array([order.host_ranks for order in given_orders])
    home = {host: name for name, hosts in groups.items() for host in hosts}
    tables = np.array([table_of(marks, activity) for marks, activity, _ in steps], np.int64)
    played = np.array([parse_action(action) for *_, action in steps], np.int64)
    judgement = judge_observed(tables, played, ranks)
    masks = without_violations(np.ones((len(steps), NUM_ACTIONS), np.bool_), tables, ranks)
    for k, (marks, _, action) in enumerate(steps):
        every_host = {host: marks.get(host, "No") for host in HOST_NAMES}
        assert meaning(judgement, k) == judge_by_marks(every_host, action, given_orders[k], home)
        assert masks[k, played[k]] == (judgement.verdict[k] != VIOLATION)


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.tuples(host_sets, host_sets, host_sets, actions, orders), max_size=20))
def test_the_true_view_judges_as_the_reference_does(steps: list[Any]) -> None:
    held = [host_set(root | user | {"User0"}) for root, user, _, _, _ in steps]
    removable = [host_set(user & shells) for _, user, shells, _, _ in steps]
    judgement = judge_true(
        np.array(held, np.int16),
        np.array(removable, np.int16),
        np.array([parse_action(action) for *_, action, _ in steps], np.int64),
        RANKS[[TYPES.index(order) for *_, order in steps]].reshape(-1, 13),
    )
    for k, (root, user, shells, action, order) in enumerate(steps):
        access = dict.fromkeys(HOST_NAMES, 0)
        access |= dict.fromkeys(user, 1) | dict.fromkeys(root, 2) | {"User0": 2}
        assert meaning(judgement, k) == judge_by_truth(access, user & shells, action, order)


USER_FIRST = "op_host > user > enterprise > op_server > defender"
THREE = "Enterprise1=Privileged User3=User User4=Unknown"
SEEN = {  # Blue's marks and its order: the verdict on each action
    ("", ORDER): {
        **dict.fromkeys(("Remove User1", "Restore User1", "Restore User0"), "repeat"),
        "Remove Defender": "repeat",
    },
    ("User1=User", ORDER): {
        "Remove User1": "compliant",
        **dict.fromkeys(("Remove User2", "Remove Enterprise0", "Restore User2"), "violation"),
        **dict.fromkeys(("Sleep", "Monitor", "Analyse User1", "DecoyApache User1"), "no fix"),
    },
    ("User1=Privileged", ORDER): {"Remove User1": "compliant"},
    ("User1=Unknown", ORDER): {"Remove User1": "repeat", "Restore User1": "compliant"},
    ("User1=Unknown Enterprise0=User", ORDER): {"Remove User1": "repeat"},
    ("User0=User Enterprise0=User", USER_FIRST): {"Restore Enterprise0": "compliant"},
    ("User0=Unknown User1=User", ORDER): {"Remove User0": "repeat"},
    ("User0=User User1=User", ORDER): {"Remove User0": "violation"},
    (THREE, ORDER): {"Restore Enterprise1": "compliant", "Restore User3": "violation"},
    (THREE, USER_FIRST): {
        **dict.fromkeys(("Restore User3", "Restore User4", "Remove User3"), "compliant"),
        "Restore Enterprise1": "violation",
    },
    **{
        (f"{host}={mark}{more}", ORDER): verdicts
        for mark in ("Unknown", "User", "Privileged")
        for host, more, verdicts in (
            ("Op_Host1", "", {"Restore Op_Host1": "compliant"}),
            ("User0", "", {"Restore User0": "repeat", "Restore User1": "repeat"}),
            ("User0", " User1=User", {"Restore User0": "violation", "Restore User1": "compliant"}),
        )
    },
}


@pytest.mark.parametrize(("marks", "order"), SEEN)
def test_only_marked_hosts_of_the_first_unit_that_has_any_are_due_by_blues_table(
    marks: str, order: str
) -> None:
    verdicts = SEEN[marks, order]
    named = dict(mark.split("=") for mark in marks.split())
    assert {action: seen(named, action, order) for action in verdicts} == verdicts


HELD = {  # hosts that Red holds, those where Remove ends a session: the verdict on each action
    ("User0", ""): {"Restore User0": "repeat"},
    ("User0 User1", ""): {
        "Remove User1": "repeat",
        "Restore User1": "compliant",
        "Restore User0": "violation",
    },
    ("User0 User1", "User1"): {"Remove User1": "compliant", "Remove User2": "repeat"},
    ("User0 User1 Enterprise0", "User1"): {
        "Restore Enterprise0": "compliant",
        **dict.fromkeys(("Restore User1", "Remove User1", "Restore Enterprise1"), "violation"),
    },
}


@pytest.mark.parametrize(("held", "removable"), HELD)
def test_only_held_hosts_of_the_first_unit_that_has_any_are_due_in_truth(
    held: str, removable: str
) -> None:
    verdicts, sets = HELD[held, removable], (set(held.split()), set(removable.split()))
    assert {action: truly(*sets, action) for action in verdicts} == verdicts


def test_the_shield_forbids_violations_and_nothing_else() -> None:
    marks = {"User1": "Unknown", "Enterprise0": "User", "Op_Server0": "Privileged"}
    (mask,) = without_violations(
        np.ones((1, NUM_ACTIONS), np.bool_),
        np.array([table_of(marks)]),
        RANKS[[TYPES.index(ORDER)]],
    )
    verdicts = [seen(marks, name) for name in ACTION_NAMES]
    assert {"repeat", "compliant", "violation"} < set(verdicts)
    assert mask.tolist() == [verdict != "violation" for verdict in verdicts]


class Played:
    """One step of a batch: what was so before the actions."""

    def __init__(self, batch: Batch, actions: Any) -> None:
        state = batch.state
        self.table = state["table"].copy()
        self.held = state["privileged"] | state["removable"] | state["persistent"]
        self.removable = state["removable"].copy()
        self.observation = batch.observation.copy()
        self.red_access = batch.out.red_access.copy()
        self.actions = actions

    def seen(self, order: int) -> Judgement:
        return judge_observed(self.table, self.actions, self._sequences(order))

    def true(self, order: int) -> Judgement:
        return judge_true(self.held, self.removable, self.actions, self._sequences(order))

    def _sequences(self, order: int) -> Any:
        return np.repeat(RANKS[[order]], len(self.actions), axis=0)


def play(red_agent: RedAgentName, envs: int, steps: int, *, fixes: float = 0.0) -> list[Played]:
    """Random play; a share of the actions are random fixes."""
    rng = np.random.default_rng(0)
    fix = [k for k, name in enumerate(ACTION_NAMES) if name.startswith(("Remove", "Restore"))]
    batch = Batch(envs, GameConfig(red_agent=red_agent, episode_length=60))
    batch.reset(seed=1)
    played = []
    for _ in range(steps):
        chosen = rng.integers(0, NUM_ACTIONS, envs)
        chosen = np.where(rng.random(envs) < fixes, rng.choice(fix, envs), chosen)
        played.append(Played(batch, chosen))
        batch.step(chosen)
    return played


@pytest.mark.parametrize("red_agent", ["bline", "meander"])
def test_real_games_are_judged_as_the_reference_judges_what_blue_saw_and_what_was(
    red_agent: RedAgentName,
) -> None:
    rng = np.random.default_rng(1)
    met = set()
    for step in play(red_agent, envs=6, steps=70, fixes=0.5):
        order = int(rng.integers(NUM_ORDERS))
        seen, true = step.seen(order), step.true(order)
        for k, action in enumerate(step.actions):
            name, beliefs = ACTION_NAMES[action], step.observation[k].reshape(13, 4)[:, 2:]
            marks = {
                host: next(m for m, b in MARKS.items() if int(b) == low + 2 * high)
                for host, (low, high) in zip(HOST_NAMES, beliefs.tolist(), strict=True)
            }
            access = dict(zip(HOST_NAMES, step.red_access[k].tolist(), strict=True))
            killable = {h for i, h in enumerate(HOST_NAMES) if step.removable[k] >> i & 1}
            assert meaning(seen, k) == judge_by_marks(marks, name, ORDERS[order])
            assert meaning(true, k) == judge_by_truth(access, killable, name, ORDERS[order])
            met |= {("seen", seen.verdict[k]), ("true", true.verdict[k])}
    assert len(met) == 8  # every verdict, in both views


@pytest.mark.compiled
def test_against_bline_only_the_places_of_enterprise_op_server_and_user_matter() -> None:
    steps = play("bline", envs=16, steps=120, fixes=0.4)  # its chain passes no Op_Host either
    by_rest: dict[tuple[str, ...], set[bytes]] = {}
    for index, order in enumerate(ORDERS):
        rest = tuple(unit for unit in order if unit not in ("defender", "op_host"))
        verdicts = [judge(index).verdict for step in steps for judge in (step.seen, step.true)]
        by_rest.setdefault(rest, set()).add(np.concatenate(verdicts).tobytes())
    assert len(by_rest) == 6
    assert all(len(verdicts) == 1 for verdicts in by_rest.values())
    assert len(set.union(*by_rest.values())) == 6


@pytest.mark.compiled
def test_meander_raises_false_alarms_on_the_defender_that_only_the_observed_view_sees() -> None:
    first = TYPES.index("defender > enterprise > op_server > op_host > user")
    alarms = 0
    for step in play("meander", envs=16, steps=300):
        defender = HOST_NAMES.index("Defender")
        assert (step.red_access[:, defender] == Access.NONE).all()
        alarmed = (step.table >> (4 * defender + 2) & 0b11) != 0
        if alarmed.any():
            step.actions[:] = parse_action("Restore Defender")
            assert (step.seen(first).verdict[alarmed] == COMPLIANT).all()
            assert (step.true(first).verdict[alarmed] != COMPLIANT).all()
            alarms += 1
    assert alarms > 0
