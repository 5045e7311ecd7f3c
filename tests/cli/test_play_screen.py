"""Playing at a terminal: the full-screen application, by keys and typed words."""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from tests.cli.run import terminal
from tests.envs.test_episode import new_episode
from workflow_rl.cli.play import build_screen
from workflow_rl.envs.episode import Episode
from workflow_rl.scenario.scenario2 import HOST_NAMES, SLEEP

RIGHT, LEFT, HOME, END = "\x1b[C", "\x1b[D", "\x1b[H", "\x1b[F"
ENTER, TAB, CTRL_C, BACKSPACE = "\r", "\t", "\x03", "\x7f"


class Output(DummyOutput):
    """A terminal of 100 x 30 that shows nothing to anybody."""

    def get_size(self) -> Size:
        return Size(rows=30, columns=100)


class Screen:
    """The application's screen, and its keyboard."""

    def __init__(self, episode: Episode, keyboard: PipeInput) -> None:
        self.app = build_screen(episode, input=keyboard, output=Output())
        self._keyboard = keyboard

    @property
    def lines(self) -> list[str]:
        screen = self.app.renderer.last_rendered_screen
        if screen is None:
            return []
        rows = (screen.data_buffer[row] for row in range(screen.height))
        return ["".join(row[column].char for column in range(100)).rstrip() for row in rows]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def typed(self) -> str:
        return str(self.app.current_buffer.text)

    async def shows(self, text: str) -> None:
        """Waits until the text is on the screen."""
        for _ in range(1000):
            if text in self.text:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"{text!r} is not on the screen:\n{self.text}")

    async def press(self, *keys: str, shows: str) -> None:
        self._keyboard.send_text("".join(keys))
        await self.shows(shows)


@asynccontextmanager
async def open_screen(episode: Episode, left_by: str = CTRL_C) -> AsyncIterator[Screen]:
    with create_pipe_input() as keyboard:
        screen = Screen(episode, keyboard)
        running = asyncio.create_task(screen.app.run_async())
        await screen.shows(f"step {episode.position} of")
        yield screen
        keyboard.send_text(left_by)
        await asyncio.wait_for(running, 10)


def played(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Makes a test of a coroutine."""
    return functools.wraps(test)(lambda *args, **given: asyncio.run(test(*args, **given)))


@played
async def test_arrows_walk_through_time() -> None:
    episode = new_episode()
    for _ in range(5):
        episode.act(SLEEP)
    episode.go_to(0)
    async with open_screen(episode) as screen:
        start = screen.lines
        keys = ("Left/Right", "Home/End", "Enter", "Tab", "? help", "q quits")
        assert [word for word in (*keys, *HOST_NAMES) if word not in screen.text] == []
        await screen.press(RIGHT, shows="step 1 of 100")
        await screen.press(RIGHT, RIGHT, RIGHT, shows="step 4 of 100")
        fourth = screen.lines
        await screen.press(LEFT, shows="step 3 of 100")
        await screen.press(HOME, shows="step 0 of 100")
        assert screen.lines == start
        await screen.press(RIGHT * 4, shows="step 4 of 100")
        assert screen.lines == fourth
        await screen.press(ENTER, shows="step 5 of 100")  # nothing typed: on in time
        await screen.press(HOME, LEFT, shows="step 0 of 100")
    assert (episode.position, episode.length) == (0, 5)


@played
async def test_nothing_is_played_that_was_not_typed() -> None:
    episode = new_episode()
    async with open_screen(episode) as screen:
        await screen.press(RIGHT, shows="nothing was played after this: type an action")
        await screen.press(ENTER, END, RIGHT, ENTER, shows="such as Sleep")
        assert (episode.position, episode.length) == (0, 0)
        await screen.press("Sleep", ENTER, shows="step 1 of 100")
        assert "nothing was played" not in screen.text


@played
async def test_an_action_in_the_past_says_what_it_drops() -> None:
    episode = new_episode()
    for _ in range(3):
        episode.act(SLEEP)
    async with open_screen(episode) as screen:
        assert "in the past" not in screen.text
        await screen.press(LEFT, LEFT, shows="an action here drops the 2 steps after it")
        await screen.press("Monitor", ENTER, shows="another future begins here: 2 steps")
        assert "Blue: Monitor" in screen.text
        assert screen.typed == ""
        assert episode.length == 2
        await screen.press(LEFT, shows="drops the 1 step after it")


@played
async def test_help_explains_the_columns_and_goes_away() -> None:
    async with open_screen(new_episode()) as screen:
        await screen.press("?", ENTER, shows="what Blue believes of the host")
        await screen.press(ENTER, shows="step 0 of 100")
        await screen.press("help", ENTER, shows="what Blue believes")
        await screen.press("Sleep", ENTER, shows="step 1 of 100")


@played
async def test_a_word_leaves() -> None:
    for word in ("q", "quit", "exit"):
        async with open_screen(new_episode(), left_by=word + ENTER):
            pass


@played
async def test_a_wrong_action_shows_the_problem_and_keeps_the_text() -> None:
    episode = new_episode()
    async with open_screen(episode) as screen:
        await screen.press("restore user7", ENTER, shows="unknown action 'restore user7'")
        await screen.shows("Op_Server0, User0, User1, User2, User3, User4)")  # all of it
        assert screen.typed == "restore user7"
        assert screen.lines[-1] == "action> restore user7"
        assert "q quits" in screen.lines[-2]
        assert episode.length == 0
        await screen.press(BACKSPACE, "1", ENTER, shows="Blue: Restore User1")
        assert screen.typed == ""
        assert "unknown action" not in screen.text


@played
async def test_while_something_is_typed_arrows_move_in_the_text() -> None:
    episode = new_episode()
    async with open_screen(episode) as screen:
        await screen.press("Analyse ser1", LEFT, LEFT, LEFT, LEFT, "U", shows="Analyse User1")
        assert episode.position == 0
        await screen.press(ENTER, shows="Blue: Analyse User1")


@played
async def test_tab_completes_an_action_of_two_words() -> None:
    async with open_screen(new_episode()) as screen:
        await screen.press("restore us", shows="Restore User4")  # the menu
        assert not any("Analyse" in line for line in screen.lines)
        await screen.press(TAB, shows="action> Restore User0")
        await screen.press(TAB, shows="action> Restore User1")
        await screen.press(ENTER, shows="Blue: Restore User1")
        await screen.press("femu2", shows=" DecoyFemitter User2 ")  # the menu
        await screen.press(TAB, ENTER, shows="Blue: DecoyFemitter User2")
        await screen.press("decoysmss user2", ENTER, shows="DecoySmss User2 (refused)")
        assert screen.lines[-1] == "action>"


def test_it_works_at_a_real_terminal() -> None:
    with terminal("play", "--red-agent", "meander") as screen:
        screen.wait_for("action>")
        assert "-1.0" not in screen.shown
        screen.type("restore user1" + ENTER)
        screen.wait_for("-1.0")  # what a Restore costs
        screen.type(CTRL_C)
        assert screen.code() == 0
        assert "Traceback" not in screen.shown
