import numpy as np

from tests.agents.table import named, play
from workflow_rl.agents.simple import RandomAgent, SleepAgent


def test_sleep_sleeps() -> None:
    batch, played = play(SleepAgent(), n=3, steps=30)
    assert set(named(played)) == {"Sleep"}
    assert batch.state["ot_running"].sum() == 0


def test_random_takes_every_action_equally_often_and_repeats_with_its_seed() -> None:
    _, played = play(RandomAgent(), n=500, steps=100)
    counts = np.bincount(np.concatenate(played), minlength=145)
    assert len(counts) == 145
    expected = 50_000 / 145
    assert ((counts - expected) ** 2 / expected).sum() < 144 + 5 * np.sqrt(2 * 144)
    _, again = play(RandomAgent(), n=500, steps=3)
    assert (np.stack(again) == np.stack(played[:3])).all()


def test_random_episodes_do_not_depend_on_their_number() -> None:
    _, many = play(RandomAgent(), n=50, steps=10)
    _, few = play(RandomAgent(), n=2, steps=10)
    assert (np.stack(few) == np.stack(many)[:, :2]).all()
