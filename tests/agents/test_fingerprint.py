import numpy as np
import pytest
from numpy.typing import NDArray

from tests.agents.table import play, seen
from tests.refused import refusal
from workflow_rl.agents.fingerprint import FingerprintAgent, ScanCount
from workflow_rl.agents.simple import RandomAgent
from workflow_rl.config import ObservationName
from workflow_rl.workflow.orders import Order

BLINES, MEANDERS = 2, 3  # Analyse Defender and Analyse Enterprise0: they change nothing


class Constant:
    """Takes one action for ever, or any action in the first three steps."""

    name = "constant"
    order: Order | None = None

    def __init__(self, action: int, observation: ObservationName, *, wild: bool = False) -> None:
        self.action = action
        self.observation = observation
        self._wild = RandomAgent() if wild else None

    def begin(self, num_envs: int, seed: int) -> None:
        if self._wild:
            self._wild.begin(num_envs, seed)

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        if self._wild and step < 3:
            return self._wild.act(observation, action_mask, step)
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


def test_only_the_first_scan_of_a_step_counts_and_op_hosts_do_not() -> None:
    scans = ScanCount(1)
    assert scans.add(seen(Op_Host0="scan")).tolist() == [0]
    assert scans.add(seen(User1="scan", Enterprise2="scan")).tolist() == [1]
    assert scans.add(seen(Enterprise2="scan")).tolist() == [1]
    assert scans.add(seen(User1="exploit")).tolist() == [1]
    assert scans.add(seen(User1="scan")).tolist() == [2]


def test_policies_that_see_different_things_are_refused() -> None:
    said = refusal(FingerprintAgent, Constant(0, "challenge"), Constant(0, "cardiff"))
    assert "needs the observation challenge" in said
