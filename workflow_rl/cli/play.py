"""`workflow-rl play`: step through an episode in the terminal."""

import argparse
import sys
import textwrap
from collections.abc import Callable
from typing import Any

from workflow_rl.cli.arguments import GAME, SEED, Commands, add_command, add_setting
from workflow_rl.config import GameConfig, whole_number
from workflow_rl.envs.episode import Episode
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import ACTION_NAMES, parse_action

_GAME = ("red_agent", "rules", "observation", "green_agent", "episode_length")
_KEYS = "Left/Right, Home/End: time | action + Enter: play it, Tab completes | ? help | q quits"
_NARROW_KEYS = "Left/Right: time | action + Enter, Tab completes | ? help | q quits"
_MENU_HEIGHT = 5  # leaves the table of a 24-line terminal in sight
_HELP_WORDS = ("?", "help")
_QUIT_WORDS = ("q", "quit", "exit")
_AT_THE_END = "nothing was played after this: type an action, such as Sleep, to go on"
_HELP = """You are Blue and defend the network; one action is one step.

An action is typed by its name or number: Sleep, Monitor, Analyse, Remove or Restore and
a host, or a decoy and a host ("Restore User1", "DecoyApache Op_Server0"); in the full
screen Tab completes it. Nothing is played that was not typed: an empty line only looks.

Blue sees      what the monitor reported in this step: a scan or an exploit of the host
mark           what Blue believes of the host, from what it saw and did: unknown, user or
               privileged access of Red; it is all that a policy is shown, and may be wrong
true access    what Red really has there; no defender sees that
malware        a file of Red's is on the host; decoys: fake services that Blue has put there

Left and Right, Home and End walk through what was played. An action in the past begins
another future there: the steps that came after it are dropped.

? or help shows this; q, quit, exit, Ctrl-C and Ctrl-D leave."""


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "play",
        "play an episode in the terminal: type actions, step through time with the arrow keys",
        "workflow-rl play --red-agent meander\n"
        "workflow-rl play --red-agent bline --seed 7 --rules competition\n"
        "printf 'DecoyFemitter User2\\nRestore User1\\n' | workflow-rl play",
    )
    for name in _GAME:
        add_setting(parser, GAME[name])
    add_setting(parser, SEED, text="random seed of the game")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plays in the terminal, or reads one action a line where there is none."""
    config = GameConfig(**{name: getattr(args, name) for name in _GAME})
    episode = Episode(config, whole_number("--seed", args.seed, 0, 2**63 - 1))
    if sys.stdin.isatty() and sys.stdout.isatty():
        build_screen(episode).run()
    else:
        play_lines(episode)
    return 0


def play_lines(episode: Episode) -> None:
    """Plays the actions given on standard input, one a line, and prints each moment."""
    print(episode.text(), flush=True)
    try:
        for line in sys.stdin:
            word = line.strip().casefold()
            if word in _QUIT_WORDS:
                return
            if word in _HELP_WORDS:
                print(f"\n{_HELP}", flush=True)
            if not word or word in _HELP_WORDS:
                continue
            episode.act(parse_action(line.strip()))
            print(f"\n{episode.text()}", flush=True)
            if episode.has_ended:
                print("\nthe episode has ended")
                return
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"the actions on standard input are not text: {error}") from error


def build_screen(episode: Episode, **application: Any) -> Any:
    """Returns the full-screen application, ready to run."""
    from prompt_toolkit.application import Application
    from prompt_toolkit.layout import CompletionsMenu, Float, FloatContainer, Layout

    line = _Line(episode)
    menu = CompletionsMenu(max_height=_MENU_HEIGHT)
    root = FloatContainer(_body(episode, line), [Float(menu, xcursor=True, ycursor=True)])
    keys = _keys(episode, line)
    return Application(Layout(root), key_bindings=keys, full_screen=True, **application)


class _Line:
    """The line in which an action is typed, and what there is to say about it."""

    def __init__(self, episode: Episode) -> None:
        from prompt_toolkit.buffer import Buffer
        from prompt_toolkit.completion import ConditionalCompleter, FuzzyCompleter, WordCompleter
        from prompt_toolkit.filters import Condition

        self.problem = ""
        self.shows_help = False
        self._episode = episode
        self.is_empty = Condition(lambda: not self.buffer.text)
        # An action's name is two words: the pattern takes the whole line as the word to complete.
        names = FuzzyCompleter(WordCompleter(list(ACTION_NAMES), sentence=True), pattern="^.+")
        self.buffer = Buffer(
            completer=ConditionalCompleter(names, ~self.is_empty),
            complete_while_typing=True,
            accept_handler=self._play,
            on_text_changed=self._forget_problem,
            multiline=False,
        )

    def _play(self, buffer: Any) -> bool:
        """Does what was typed, or goes a step forward; says whether to keep the text."""
        word = buffer.text.strip().casefold()
        if word in _QUIT_WORDS:
            from prompt_toolkit.application.current import get_app

            get_app().exit()
        elif word in _HELP_WORDS:
            self.shows_help = True
        elif not word:
            self.move(self._episode.forward)
        else:
            return not self._act(buffer)
        return False

    def _act(self, buffer: Any) -> bool:
        """Plays the action typed and returns whether there was one."""
        later = self._episode.length - self._episode.position
        try:
            self._episode.act(parse_action(buffer.text))
        except InvalidInputError as error:
            buffer.complete_state = None  # closes the menu, which would cover the problem
            self.problem = str(error)
            return False  # to be corrected
        self.shows_help = False
        if later:
            dropped = f"{_steps(later)} that came after are dropped"
            self.problem = f"another future begins here: {dropped}"
            buffer.text = ""  # emptying it would take the sentence back
        return True

    def move(self, move: Callable[[], None]) -> None:
        """Walks through time, and says so where there is nothing further on."""
        self.shows_help, self.problem = False, ""
        before = self._episode.position
        move()
        is_last = before == self._episode.position == self._episode.length
        if is_last and move == self._episode.forward and not self._episode.has_ended:
            self.problem = _AT_THE_END

    @property
    def notice(self) -> str:
        """What is to be said: a problem, or what an action would do here."""
        later = self._episode.length - self._episode.position
        if self.problem or not later:
            return self.problem
        return f"in the past: an action here drops the {_steps(later)} after it"

    def _forget_problem(self, buffer: Any) -> None:
        if buffer.text:
            self.problem = ""


def _steps(number: int) -> str:
    return f"{number} step" if number == 1 else f"{number} steps"


def _keys(episode: Episode, line: _Line) -> Any:
    """Returns what the keys do: those for time only while nothing is typed."""
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    def bind(key: str, move: Callable[[], None]) -> None:
        keys.add(key, filter=line.is_empty)(lambda event: line.move(move))

    bind("right", episode.forward)
    bind("left", episode.back)
    bind("home", lambda: episode.go_to(0))
    bind("end", lambda: episode.go_to(episode.length))
    for key in ("c-c", "c-d"):
        keys.add(key)(lambda event: event.app.exit())
    return keys


def _body(episode: Episode, line: _Line) -> Any:
    """Returns the moment shown, the problem if there is one, the keys and the line, stacked."""
    from prompt_toolkit.application.current import get_app
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.formatted_text import ANSI
    from prompt_toolkit.layout import ConditionalContainer, HSplit, VSplit, Window
    from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl

    def columns() -> int:
        return int(get_app().output.get_size().columns)

    def shown(text: Callable[[], Any], **window: Any) -> Window:
        return Window(FormattedTextControl(text), **window)

    def moment_text() -> Any:
        if line.shows_help:
            return _HELP
        return ANSI(episode.text(colour=True, width=columns()))

    def keys_text() -> str:
        return _KEYS if columns() >= len(_KEYS) else _NARROW_KEYS

    moment = shown(moment_text, wrap_lines=True)
    problem = ConditionalContainer(
        shown(lambda: textwrap.fill(line.notice, columns()), dont_extend_height=True, style="bold"),
        Condition(lambda: bool(line.notice)),
    )
    keys = shown(keys_text, height=1, style="reverse")
    prompt = Window(FormattedTextControl("action> "), width=8)
    typed = VSplit([prompt, Window(BufferControl(line.buffer))], height=1)
    return HSplit([moment, problem, keys, typed])
