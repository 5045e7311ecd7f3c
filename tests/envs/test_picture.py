from typing import Any

import numpy as np

from workflow_rl import Cage2Env
from workflow_rl.envs.picture import HEIGHT, WIDTH
from workflow_rl.scenario.scenario2 import parse_action


def played(*actions: str, seed: int = 1) -> Cage2Env:
    env = Cage2Env(red_agent="bline", render_mode="rgb_array")
    env.reset(seed=seed)
    for action in actions:
        env.step(parse_action(action))
    return env


def image(env: Cage2Env) -> Any:
    shown = env.render()
    assert isinstance(shown, np.ndarray)
    return shown


def test_the_same_moment_gives_the_same_image_and_another_one_another() -> None:
    first = image(played("Sleep", "Sleep"))
    assert (first.shape, first.dtype) == ((HEIGHT, WIDTH, 3), np.uint8)
    assert HEIGHT % 2 == WIDTH % 2 == 0  # encoders of videos ask for it
    assert (first == image(played("Sleep", "Sleep"))).all()
    assert (first != image(played("Sleep"))).any()


def test_a_decoy_is_written_into_its_hosts_box_and_framed() -> None:
    before, after = image(played("Sleep")), image(played("DecoyFemitter Enterprise1"))
    rows, columns = np.nonzero((before != after).any(axis=2)[116:])  # below the text
    # Enterprise1 is the third box of the middle column.
    assert WIDTH // 3 < columns.min() < columns.max() < 2 * WIDTH // 3
    assert 320 < rows.min() + 116 < rows.max() + 116 < 440


def test_a_host_that_red_takes_turns_red() -> None:
    env = played()
    reddish = (255, 205, 201)

    def red_pixels() -> int:
        return int((image(env) == reddish).all(axis=2).sum())

    start = red_pixels()  # User0 alone
    while not (env.batch.out.red_access[0] == 2).sum() > 1:
        env.step(0)
    assert red_pixels() > 1.8 * start
