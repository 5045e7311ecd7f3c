import numpy as np
import pytest

from tests.agents.table import named, play
from workflow_rl.agents.scripts import RandomAgent, ReactRestoreAgent, SleepAgent
from workflow_rl.scenario.scenario2 import HOST_NAMES, OP_SERVER0

# What CybORG's BlueReactRestoreAgent did on the original, shown the observation of reset() at every
# step: recorded from commit 26ce1c1, its first 13 steps, which it repeats.
RESTORED = [host for host in HOST_NAMES if host != "User0"]
RECORDED = ["Monitor", *(f"Restore {host}" for host in RESTORED)]


def test_sleep_sleeps() -> None:
    batch, played = play(SleepAgent(), n=3, steps=30)
    assert set(named(played)) == {"Sleep"}
    assert (batch.state["ot_down"] >> OP_SERVER0 & 1).all()


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
