from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.workflow.reference import Judged, judge_by_marks, judge_by_truth
from workflow_rl.config import GameConfig, RedAgentName
from workflow_rl.scenario.actions import ACTION_NAMES, NUM_ACTIONS, parse_action
from workflow_rl.scenario.tables import DEFENDER, HOST_NAMES, host_set
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


# --- against the reference

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


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.tuples(mark_maps, activities, actions, orders), max_size=20))
def test_the_observed_view_judges_as_the_reference_does(steps: list[Any]) -> None:
    judgement = judge_observed(
        np.array([table_of(marks, activity) for marks, activity, _, _ in steps], np.int64),
        np.array([parse_action(action) for _, _, action, _ in steps], np.int64),
        RANKS[[TYPES.index(order) for *_, order in steps]].reshape(-1, 13),
    )
    assert len(judgement.any_open) == len(judgement.verdict) == len(steps)
    for k, (marks, _, action, order) in enumerate(steps):
        every_host = {host: marks.get(host, "No") for host in HOST_NAMES}
        assert meaning(judgement, k) == judge_by_marks(every_host, action, order)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("abcdef"), min_size=12, max_size=12),
    st.lists(st.tuples(mark_maps, actions), min_size=1, max_size=10),
    st.randoms(use_true_random=False),
)
def test_orders_of_any_units_are_judged_as_the_reference_does(
    homes: list[str], steps: list[Any], random: Any
) -> None:
    groups = {name: [h for h, n in zip(FIXABLE, homes, strict=True) if n == name] for name in homes}
    assume(len(groups) > 1)
    units = units_of(groups)
    order = Order(random.sample(units.names, len(units)), units)
    home = {host: name for name, hosts in groups.items() for host in hosts}
    judgement = judge_observed(
        np.array([table_of(marks) for marks, _ in steps], np.int64),
        np.array([parse_action(action) for _, action in steps], np.int64),
        np.tile(order.host_ranks, (len(steps), 1)),
    )
    masks = without_violations(
        np.ones((len(steps), NUM_ACTIONS), np.bool_),
        np.array([table_of(marks) for marks, _ in steps], np.int64),
        np.tile(order.host_ranks, (len(steps), 1)),
    )
    for k, (marks, action) in enumerate(steps):
        every_host = {host: marks.get(host, "No") for host in HOST_NAMES}
        assert meaning(judgement, k) == judge_by_marks(every_host, action, order, home)
        assert masks[k, parse_action(action)] == (judgement.verdict[k] != VIOLATION)


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


# --- observed view, by hand


def test_only_a_remove_or_a_restore_is_a_fix() -> None:
    marks = dict.fromkeys(HOST_NAMES, "User")
    for action in ACTION_NAMES:
        is_fix = action.split()[0] in ("Remove", "Restore")
        assert (seen(marks, action) == "no fix") == (not is_fix)


@pytest.mark.parametrize("mark", ["Unknown", "User", "Privileged"])
def test_user0_is_never_open(mark: str) -> None:
    assert seen({"User0": mark}, "Restore User0") == "repeat"
    assert seen({"User0": mark}, "Restore User1") == "repeat"
    assert seen({"User0": mark, "User1": "User"}, "Restore User0") == "violation"
    assert seen({"User0": mark, "User1": "User"}, "Restore User1") == "compliant"


def test_user0_does_not_make_its_type_the_first_open_one() -> None:
    order = "user > enterprise > op_server > op_host > defender"
    assert (
        seen({"User0": "User", "Enterprise0": "User"}, "Restore Enterprise0", order) == "compliant"
    )


@pytest.mark.parametrize("mark", ["Unknown", "User", "Privileged"])
def test_every_mark_makes_a_host_open(mark: str) -> None:
    assert seen({"Op_Host1": mark}, "Restore Op_Host1") == "compliant"


def test_a_remove_of_a_host_already_unknown_is_a_repeat() -> None:
    assert seen({"User1": "Unknown"}, "Remove User1") == "repeat"
    assert seen({"User1": "Unknown", "Enterprise0": "User"}, "Remove User1") == "repeat"
    assert seen({"User1": "User"}, "Remove User1") == "compliant"
    assert seen({"User1": "Privileged"}, "Remove User1") == "compliant"


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


def test_a_remove_of_user0_marked_unknown_is_a_repeat_too() -> None:
    assert seen({"User0": "Unknown", "User1": "User"}, "Remove User0") == "repeat"
    assert seen({"User0": "User", "User1": "User"}, "Remove User0") == "violation"


def test_a_restore_of_a_host_already_unknown_counts() -> None:
    assert seen({"User1": "Unknown"}, "Restore User1") == "compliant"


def test_a_free_remove_of_a_clean_host_is_a_violation_even_of_the_right_type() -> None:
    assert seen({"User1": "User"}, "Remove User2") == "violation"
    assert seen({"User1": "User"}, "Remove Enterprise0") == "violation"
    assert seen({"User1": "User"}, "Restore User2") == "violation"


def test_a_fix_while_nothing_is_open_does_not_count() -> None:
    for action in ("Remove User1", "Restore User1", "Restore User0", "Remove Defender"):
        assert seen({}, action) == "repeat"


def test_only_the_first_type_with_an_open_host_is_to_be_fixed() -> None:
    marks = {"Enterprise1": "Privileged", "User3": "User", "User4": "Unknown"}
    enterprise_first = "op_server > enterprise > op_host > user > defender"
    user_first = "op_host > user > enterprise > op_server > defender"
    assert seen(marks, "Restore Enterprise1", enterprise_first) == "compliant"
    assert seen(marks, "Restore User3", enterprise_first) == "violation"
    assert seen(marks, "Restore Enterprise1", user_first) == "violation"
    assert seen(marks, "Restore User3", user_first) == "compliant"
    assert seen(marks, "Restore User4", user_first) == "compliant"
    assert seen(marks, "Remove User3", user_first) == "compliant"


def test_activity_alone_opens_nothing() -> None:
    judgement = judge_observed(
        np.array([table_of({}, dict.fromkeys(HOST_NAMES, 0b11))]),
        np.array([parse_action("Restore User1")]),
        RANKS[:1],
    )
    assert (judgement.any_open.tolist(), judgement.verdict.tolist()) == ([False], [REPEAT])


# --- true view, by hand


def test_a_remove_that_kills_nothing_is_a_repeat() -> None:
    assert truly({"User0", "User1"}, {"User1"}, "Remove User1") == "compliant"
    assert truly({"User0", "User1"}, set(), "Remove User1") == "repeat"
    assert truly({"User0", "User1"}, {"User1"}, "Remove User2") == "repeat"
    assert truly({"User0", "User1"}, set(), "Restore User1") == "compliant"


def test_a_restore_out_of_order_is_a_violation_and_killing_out_of_order_too() -> None:
    held = {"User0", "User1", "Enterprise0"}
    assert truly(held, {"User1"}, "Restore User1") == "violation"
    assert truly(held, {"User1"}, "Remove User1") == "violation"
    assert truly(held, {"User1"}, "Restore Enterprise0") == "compliant"
    assert truly(held, {"User1"}, "Restore Enterprise1") == "violation"


def test_reds_own_foothold_is_not_open_in_truth_either() -> None:
    assert truly({"User0"}, set(), "Restore User0") == "repeat"
    assert truly({"User0", "User1"}, set(), "Restore User0") == "violation"


# --- played out


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
def test_against_bline_the_120_orders_fall_into_24_classes_of_equal_verdicts() -> None:
    classes = TYPES.classes_without("defender")
    representatives = np.array([np.flatnonzero(classes == number)[0] for number in range(24)])
    for step in play("bline", envs=16, steps=120, fixes=0.4):
        assert not (step.table >> (4 * DEFENDER + 2) & 0b11).any()
        assert (step.red_access[:, DEFENDER] == Access.NONE).all()
        for judge in (step.seen, step.true):
            verdicts = np.array([judge(order).verdict for order in range(NUM_ORDERS)])
            np.testing.assert_array_equal(verdicts, verdicts[representatives[classes]])


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
        assert (step.red_access[:, DEFENDER] == Access.NONE).all()
        alarmed = (step.table >> (4 * DEFENDER + 2) & 0b11) != 0
        if alarmed.any():
            step.actions[:] = parse_action("Restore Defender")
            assert (step.seen(first).verdict[alarmed] == COMPLIANT).all()
            assert (step.true(first).verdict[alarmed] != COMPLIANT).all()
            alarms += 1
    assert alarms > 0
