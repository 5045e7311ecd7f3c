import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sim.board import HOSTS, Board
from workflow_rl.sim.state import Mark

VALUES = {  # what a privileged red session costs per step
    **dict.fromkeys(HOSTS, 0.1),
    **dict.fromkeys(("Ent0", "Ent1", "Ent2", "OpS"), 1.0),
    "U0": 0.0,
}


@pytest.mark.parametrize(("host", "value"), VALUES.items())
def test_a_privileged_session_costs_the_hosts_value(host: str, value: float) -> None:
    board = Board().put("privileged", "U0", host).put("persistent", host)
    assert [board.turn().reward for _ in range(3)] == [-value] * 3


@pytest.mark.parametrize("kind", ["removable", "persistent"])
@pytest.mark.parametrize("host", HOSTS)
def test_a_user_level_session_costs_nothing(host: str, kind: str) -> None:
    assert Board().put(kind, host).turn().reward == 0.0


def test_an_escalation_is_charged_in_its_step_and_a_restored_host_no_longer() -> None:
    board = Board().put("persistent", "OpH1")
    assert [board.turn(red="PE OpH1").reward, board.turn("Restore OpH1").reward] == [-0.1, -1.0]


def test_the_reward_follows_the_truth_and_not_blues_marks() -> None:
    board = Board().marked("Ent0", Mark.PRIVILEGED).turn()
    assert (board.reward, board.bits("Ent0")) == (0.0, "0011")


def test_the_stopped_ot_service_costs_ten_every_step_whatever_red_does() -> None:
    board = Board().put("persistent", "OpS").arrange(ot_known=True).turn(red="IMP OpS")
    board.put("persistent")  # Red has lost its session
    assert [board.turn().reward for _ in range(3)] == [-10.0] * 3


@pytest.mark.parametrize(("blue", "reward"), [("Sleep", -14.7), ("Restore U0", -15.7)])
def test_the_worst_step(blue: str, reward: float) -> None:
    board = Board().put("privileged", *(set(HOSTS) - {"Def"})).put("ot_down", "OpS")
    assert board.turn(blue).reward == reward


@settings(deadline=None)
@given(
    privileged=st.sets(st.sampled_from(HOSTS)),
    ot_running=st.booleans(),
    blue=st.sampled_from(["Sleep", "Restore U0", "Remove Ent0", "DecoyVsftpd Ent0"]),
)
def test_the_reward_is_the_references_rounded_sum(
    privileged: set[str], ot_running: bool, blue: str
) -> None:
    board = Board().put("privileged", "U0", *privileged)
    board.put("ot_down", *([] if ot_running else ["OpS"]))
    board.turn(blue)
    confidentiality = sum(VALUES[host] for host in privileged)
    availability = 0.0 if ot_running else 10.0
    cost = -1.0 if blue.startswith("Restore") else 0.0
    assert board.reward == round(-availability - round(confidentiality, 1) + cost, 1)
    parts = ("confidentiality", "availability", "action_cost")
    assert [int(board.state[part]) for part in parts] == [
        -round(10 * confidentiality),
        -round(10 * availability),
        round(10 * cost),
    ]
