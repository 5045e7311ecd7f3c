import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

from workflow_rl import Cage2Env
from workflow_rl.envs.dot_letters import dots_of
from workflow_rl.envs.picture import HEIGHT, WIDTH
from workflow_rl.scenario.actions import ACTION_NAMES, parse_action


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


def test_an_image_is_of_the_kind_that_videos_are_made_of() -> None:
    shown = image(played("Sleep"))
    assert (shown.shape, shown.dtype) == ((HEIGHT, WIDTH, 3), np.uint8)
    assert HEIGHT % 2 == WIDTH % 2 == 0  # encoders ask for it


def test_the_same_moment_gives_the_same_image_and_another_one_another() -> None:
    first = image(played("Sleep", "Sleep"))
    assert (first == image(played("Sleep", "Sleep"))).all()
    assert (first != image(played("Sleep"))).any()


def changed(one: Any, other: Any) -> tuple[int, int, int, int]:
    """Where two images differ below their text: top, bottom, left, right."""
    rows, columns = np.nonzero((one != other).any(axis=2)[116:])
    return rows.min() + 116, rows.max() + 116, columns.min(), columns.max()


def test_a_decoy_is_written_into_its_hosts_box_and_framed() -> None:
    before = image(played("Sleep"))
    after = image(played("DecoyFemitter Enterprise1"))
    top, bottom, left, right = changed(before, after)
    # Enterprise1 is the third box of the middle column.
    assert WIDTH // 3 < left < right < 2 * WIDTH // 3
    assert 320 < top < bottom < 440


def test_a_host_that_red_takes_turns_red() -> None:
    env = played()
    reddish = (255, 205, 201)

    def red_pixels() -> int:
        return int((image(env) == reddish).all(axis=2).sum())

    start = red_pixels()  # User0 alone
    while not (env.batch.out.red_access[0] == 2).sum() > 1:
        env.step(0)
    assert red_pixels() > 1.8 * start


def test_every_word_of_the_game_can_be_written() -> None:
    unknown = dots_of("\N{SNOWMAN}")
    assert (unknown == dots_of("?")).all()
    for letter in {*"".join(ACTION_NAMES), *"|:,.()-'/"} - {"?", " "}:
        dots = dots_of(letter)
        assert dots.any(), letter
        assert (dots != unknown).any(), letter
    assert dots_of("ab", 3).shape == (27, 36)


def test_gymnasiums_recorder_hands_every_moment_to_its_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The encoder itself, moviepy, is not installed: what it would be given is what counts."""
    clips: list[Any] = []

    class Clip(SimpleNamespace):
        def write_videofile(self, path: str, **_: Any) -> None:
            self.path = path

    def encode(frames: list[Any], fps: int) -> Clip:
        clips.append(Clip(frames=frames, fps=fps))
        return clips[-1]  # type: ignore[no-any-return]

    for name in ("moviepy", "moviepy.video", "moviepy.video.io"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    encoder = ModuleType("moviepy.video.io.ImageSequenceClip")
    encoder.ImageSequenceClip = encode  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, encoder.__name__, encoder)
    env = gymnasium.make("workflow_rl/Cage2-v0", render_mode="rgb_array", episode_length=5)
    recorder = gymnasium.wrappers.RecordVideo(
        env, str(tmp_path / "new"), episode_trigger=lambda _: True
    )
    recorder.reset(seed=0)
    for _ in range(5):
        recorder.step(0)
    recorder.close()  # type: ignore[no-untyped-call]
    [clip] = clips
    assert len(clip.frames) == 6  # the start and five steps
    assert {frame.shape for frame in clip.frames} == {(HEIGHT, WIDTH, 3)}
    assert clip.fps == 4
    assert Path(clip.path).parent == tmp_path / "new"
