import asyncio
import io
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from tests.cli.run import COMMAND, complaint, run, terminal
from workflow_rl.cli import main
from workflow_rl.cli.play import build_screen
from workflow_rl.config import GameConfig
from workflow_rl.envs.episode import Episode
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import ACTION_NAMES, SLEEP, parse_action
from workflow_rl.scenario.tables import HOST_NAMES

RIGHT, LEFT, HOME, END, ENTER, TAB, CTRL_C, BACKSPACE = (
    "\x1b[C",
    "\x1b[D",
    "\x1b[H",
    "\x1b[F",
    "\r",
    "\t",
    "\x03",
    "\x7f",
)


def new_episode(seed: int = 0, **config: object) -> Episode:
    return Episode(GameConfig(**{"red_agent": "meander"} | config), seed)  # type: ignore[arg-type]


def texts(episode: Episode, actions: list[int]) -> list[str]:
    """Plays the actions and returns what each moment looks like."""
    seen = [episode.text()]
    for action in actions:
        episode.act(action)
        seen.append(episode.text())
    return seen


def states_of(episode: Episode) -> list[list[object]]:
    """Returns every field of every moment played."""
    states = []
    for position in range(episode.length + 1):
        episode.go_to(position)
        state = episode.moment.state
        states.append([state[name].tolist() for name in state.dtype.names])
    return states


# --- an episode with a past


def test_going_back_and_repeating_leads_to_the_same_future() -> None:
    episode = new_episode()
    actions = [51, 0, 139, 12, 25, 0, 142, 30, 0, 17]
    first = texts(episode, actions)
    states = states_of(episode)
    episode.go_to(0)
    assert texts(episode, actions) == first
    assert states_of(episode) == states
    assert texts(new_episode(), actions) == first
    assert texts(new_episode(seed=1), actions) != first


def test_moving_in_time_changes_nothing_that_was_played() -> None:
    episode = new_episode()
    seen = texts(episode, [0, 51, 0, 134, 0])
    for position in (3, 0, 5, 1):
        episode.go_to(position)
        assert episode.text() == seen[position]
    for position in (2, 3, 4, 5):
        episode.forward()
        assert (episode.position, episode.text()) == (position, seen[position])
    assert episode.length == 5


def test_another_action_begins_another_branch() -> None:
    episode = new_episode()
    seen = texts(episode, [SLEEP] * 8)
    episode.go_to(3)
    episode.act(parse_action("Restore User1"))
    assert episode.length == 4  # the old future is gone
    assert "Restore User1" in episode.text()
    assert episode.text() != seen[4]
    episode.back()
    episode.act(SLEEP)
    assert episode.text() == seen[4]


def test_chance_at_a_step_does_not_depend_on_how_it_was_reached() -> None:
    direct, wandering = new_episode(), new_episode()
    for _ in range(6):
        direct.act(SLEEP)
    for _ in range(3):
        wandering.act(SLEEP)
    wandering.go_to(0)
    for _ in range(6):
        wandering.act(SLEEP)
    assert wandering.text() == direct.text()


def test_an_episode_begins_and_ends() -> None:
    episode = new_episode(episode_length=3)
    episode.back()
    assert (episode.position, episode.has_ended) == (0, False)
    episode.forward()
    assert (episode.position, episode.length) == (0, 0)  # looking plays nothing
    for _ in range(3):
        episode.act(SLEEP)
    episode.forward()
    assert (episode.position, episode.length, episode.has_ended) == (3, 3, True)
    with pytest.raises(InvalidInputError, match="ended after 3 steps"):
        episode.act(SLEEP)
    assert "step 3 of 3" in episode.text()
    episode.go_to(99)
    assert episode.position == 3
    episode.go_to(-1)
    assert episode.position == 0
    episode.go_to(2)
    episode.act(parse_action("Restore User0"))  # going back opens it again
    assert episode.has_ended


def test_the_return_belongs_to_the_moment() -> None:
    episode = new_episode()
    episode.act(parse_action("Restore User1"))
    episode.act(parse_action("Restore User1"))
    assert "return so far -2.0" in episode.text()
    episode.back()
    assert "return so far -1.0" in episode.text()


def test_a_moment_fits_a_narrow_terminal() -> None:
    episode = new_episode()
    for name in ("Apache", "HarakaSMPT", "Tomcat", "Vsftpd"):
        episode.act(parse_action(f"Decoy{name} Op_Server0"))
    wide, narrow = episode.text(), episode.text(width=80)
    assert "Apache HarakaSMPT Tomcat Vsftpd" in wide
    assert max(map(len, narrow.splitlines())) <= 80
    assert sorted(narrow.split()) == sorted(wide.split())


# --- without a terminal: one action a line


def test_piped_actions_are_played_and_shown() -> None:
    result = run("play", "--seed", "3", actions="DecoyFemitter User2\n\n  restore user1 \n139\n")
    assert result.returncode == 0
    assert "Traceback" not in result.stderr
    start, first, second, third = result.stdout.split("\n\n")
    assert start.startswith("step 0 of 100 | red bline | rules main | OT service running\n")
    assert "Blue: nothing yet" in start
    assert first.startswith("step 1 of 100")
    assert "Blue: DecoyFemitter User2" in first
    assert "Blue: Restore User1" in second
    assert "reward -1.0 (confidentiality 0.0, availability 0.0, action -1.0)" in second
    assert "Blue: Restore Op_Server0" in third
    assert "return so far -2.0" in third
    for moment in (start, first, second, third):
        assert [line.split()[0] for line in moment.splitlines()[-13:]] == list(HOST_NAMES)
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize(
    "action", ["fly", "Restore", "Restore User9", "145", "-1", "9" * 30, "\x1b[C", "ü"]
)
def test_an_unknown_action_is_answered_with_the_known_ones(
    action: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"Sleep\n{action}\nSleep\n"))
    assert main(["play"]) == 2
    out, err = capsys.readouterr()
    assert out.count("step ") == 2  # the start and the one good action
    assert err.startswith(f"workflow-rl: error: unknown action {action!r}: ")
    assert err.count("\n") == 1
    for word in ("0 to 144", "Sleep", "Monitor", "DecoyVsftpd", "Restore", *HOST_NAMES):
        assert word in err


def test_a_wrong_action_fails_the_process() -> None:
    result = run("play", actions="fly\n")
    assert "unknown action 'fly'" in complaint(result)


def test_bytes_that_are_no_text_are_refused() -> None:
    result = subprocess.run(
        [*COMMAND, "play"],
        input=b"Sleep\n\xff\xfe\n",
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "utf-8:strict"},
        check=False,
    )
    assert result.returncode == 2
    assert b"not text" in result.stderr
    assert b"Traceback" not in result.stderr


def test_actions_behind_the_end_are_not_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Sleep\n" * 5))
    assert main(["play", "--episode-length", "2"]) == 0
    out = capsys.readouterr().out
    assert out.count("Blue: ") == 3
    assert "step 2 of 2" in out


def test_flags_reach_the_game(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Sleep\n" * 2))
    args = ["--red-agent", "RedMeanderAgent", "--rules", "competition", "--episode-length", "30"]
    assert main(["play", *args, "--green-agent", "active", "--observation", "cardiff"]) == 0
    assert "step 2 of 30 | red meander | rules competition" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--episode-length", "0"),
        ("--episode-length", "1000001"),
        ("--seed", "-1"),
        ("--green-agent", "blue"),
    ],
)
def test_wrong_flags_are_one_sentence(
    flag: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["play", flag, value]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert value in err


def test_ctrl_c_while_it_waits_for_an_action() -> None:
    with subprocess.Popen(
        [*COMMAND, "play"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline().startswith(b"step 0 of 100")
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read().decode()
    assert process.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors


# --- the full-screen application


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
    def typed(self) -> str:
        return str(self.app.current_buffer.text)

    async def shows(self, text: str) -> None:
        """Waits until the text is on the screen."""
        for _ in range(1000):
            if text in "\n".join(self.lines):
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"{text!r} is not on the screen:\n" + "\n".join(self.lines))

    async def press(self, *keys: str, shows: str) -> None:
        self._keyboard.send_text("".join(keys))
        await self.shows(shows)


@asynccontextmanager
async def open_screen_at(episode: Episode, shown: str) -> AsyncIterator[Screen]:
    with create_pipe_input() as keyboard:
        screen = Screen(episode, keyboard)
        running = asyncio.create_task(screen.app.run_async())
        await screen.shows(shown)
        yield screen
        keyboard.send_text(CTRL_C)
        await asyncio.wait_for(running, 10)


@asynccontextmanager
async def open_screen(episode: Episode) -> AsyncIterator[Screen]:
    async with open_screen_at(episode, "step 0 of") as screen:
        yield screen


def test_arrows_walk_through_time() -> None:
    async def session() -> None:
        episode = new_episode()
        for _ in range(5):
            episode.act(SLEEP)
        episode.go_to(0)
        async with open_screen(episode) as screen:
            start = screen.lines
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

    asyncio.run(session())


def test_nothing_is_played_that_was_not_typed() -> None:
    async def session() -> None:
        episode = new_episode()
        async with open_screen(episode) as screen:
            await screen.press(RIGHT, shows="nothing was played after this: type an action")
            await screen.press(ENTER, END, RIGHT, ENTER, shows="such as Sleep")
            assert (episode.position, episode.length) == (0, 0)
            await screen.press("Sleep", ENTER, shows="step 1 of 100")
            assert "nothing was played" not in "\n".join(screen.lines)

    asyncio.run(session())


def test_an_action_in_the_past_says_what_it_drops() -> None:
    async def session() -> None:
        episode = new_episode()
        for _ in range(3):
            episode.act(SLEEP)
        async with open_screen_at(episode, "step 3 of") as screen:
            assert "in the past" not in "\n".join(screen.lines)
            await screen.press(LEFT, LEFT, shows="an action here drops the 2 steps after it")
            await screen.press("Monitor", ENTER, shows="another future begins here: 2 steps")
            assert "Blue: Monitor" in "\n".join(screen.lines)
            assert screen.typed == ""
            assert episode.length == 2
            await screen.press(LEFT, shows="drops the 1 step after it")

    asyncio.run(session())


@pytest.mark.parametrize("word", ["?", "help"])
def test_help_explains_the_columns_and_goes_away(word: str) -> None:
    async def session() -> None:
        episode = new_episode()
        async with open_screen(episode) as screen:
            await screen.press(word, ENTER, shows="what Blue believes of the host")
            shown = "\n".join(screen.lines)
            for part in ("Blue sees", "true access", "dropped", "leave"):
                assert part in shown
            await screen.press(ENTER, shows="step 0 of 100")
            await screen.press(word, ENTER, shows="what Blue believes")
            await screen.press("Sleep", ENTER, shows="step 1 of 100")
        assert episode.length == 1

    asyncio.run(session())


@pytest.mark.parametrize("word", ["q", "quit", "exit"])
def test_a_word_leaves(word: str) -> None:
    async def session() -> None:
        with create_pipe_input() as keyboard:
            screen = Screen(new_episode(), keyboard)
            running = asyncio.create_task(screen.app.run_async())
            await screen.shows("step 0 of")
            keyboard.send_text(word + ENTER)
            await asyncio.wait_for(running, 10)

    asyncio.run(session())


def test_piped_help_and_quitting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Sleep\n?\nMonitor\nq\nRestore User1\n"))
    assert main(["play"]) == 0
    out = capsys.readouterr().out
    assert "what Blue believes of the host" in out
    assert "Blue: Monitor" in out
    assert "Restore User1\n" not in out.split("Blue: Monitor")[1]


def test_a_typed_action_is_played() -> None:
    async def session() -> None:
        async with open_screen(new_episode()) as screen:
            await screen.press("restore op_server0", ENTER, shows="Blue: Restore Op_Server0")
            assert screen.typed == ""
            await screen.press("51", ENTER, shows="Blue: DecoyFemitter User2")
            await screen.press("decoysmss user2", ENTER, shows="DecoySmss User2 (refused)")
            await screen.press(LEFT, LEFT, LEFT, shows="step 0 of 100")
            await screen.press("Monitor", ENTER, shows="Blue: Monitor")
            await screen.press(END, shows="step 1 of 100")  # another branch

    asyncio.run(session())


def test_a_wrong_action_shows_the_problem_and_keeps_the_text() -> None:
    async def session() -> None:
        episode = new_episode()
        async with open_screen(episode) as screen:
            await screen.press("restore user7", ENTER, shows="unknown action 'restore user7'")
            await screen.shows("Op_Server0, User0, User1, User2, User3, User4)")  # all of it
            assert screen.typed == "restore user7"
            assert screen.lines[-1] == "action> restore user7"
            assert "q quits" in screen.lines[-2]
            assert episode.length == 0
            await screen.press(BACKSPACE, "1", ENTER, shows="Blue: Restore User1")
            assert "unknown action" not in "\n".join(screen.lines)

    asyncio.run(session())


def test_while_something_is_typed_arrows_move_in_the_text() -> None:
    async def session() -> None:
        episode = new_episode()
        async with open_screen(episode) as screen:
            await screen.press("Analyse ser1", LEFT, LEFT, LEFT, LEFT, "U", shows="Analyse User1")
            assert episode.position == 0
            await screen.press(ENTER, shows="Blue: Analyse User1")

    asyncio.run(session())


def test_tab_completes_an_action_of_two_words() -> None:
    async def session() -> None:
        async with open_screen(new_episode()) as screen:
            await screen.press("restore us", shows="Restore User4")  # the menu
            assert not any("Analyse" in line for line in screen.lines)
            await screen.press(TAB, shows="action> Restore User0")
            await screen.press(TAB, shows="action> Restore User1")
            await screen.press(ENTER, shows="Blue: Restore User1")
            await screen.press("femu2", shows=" DecoyFemitter User2 ")
            await screen.press(TAB, shows="action> DecoyFemitter User2")
            await screen.press(ENTER, shows="Blue: DecoyFemitter User2")
            assert screen.lines[-1] == "action>"

    asyncio.run(session())


def test_the_end_of_the_episode_is_a_problem_to_act_but_not_to_look() -> None:
    async def session() -> None:
        async with open_screen(new_episode(episode_length=2)) as screen:
            await screen.press("Sleep", ENTER, shows="step 1 of 2")
            await screen.press("Sleep", ENTER, shows="step 2 of 2")
            await screen.press(RIGHT, shows="step 2 of 2")
            await screen.press("Sleep", ENTER, shows="the episode ended after 2 steps")
            await screen.press(BACKSPACE * 5, LEFT, shows="step 1 of 2")
            assert "ended" not in "\n".join(screen.lines)

    asyncio.run(session())


def test_the_keys_and_the_table_are_on_the_screen() -> None:
    async def session() -> None:
        async with open_screen(new_episode()) as screen:
            shown = "\n".join(screen.lines)
            for word in (
                "Left/Right",
                "Home/End",
                "Enter",
                "Tab",
                "? help",
                "q quits",
                *HOST_NAMES,
            ):
                assert word in shown

    asyncio.run(session())


def test_it_works_at_a_real_terminal() -> None:
    with terminal("play", "--red-agent", "meander") as screen:
        screen.wait_for("action>")
        assert "-1.0" not in screen.shown
        screen.type("restore user1" + ENTER)
        screen.wait_for("-1.0")  # what a Restore costs
        screen.type(CTRL_C)
        assert screen.code() == 0
        assert "Traceback" not in screen.shown


def test_every_action_can_be_typed_by_name() -> None:
    assert [parse_action(name) for name in ACTION_NAMES] == list(range(len(ACTION_NAMES)))
