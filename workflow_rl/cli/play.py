"""`workflow-rl play`: step through an episode in the terminal."""

import argparse
import sys
import textwrap
from typing import Any

from workflow_rl.cli.arguments import GAME, SEED, Commands, add_command, add_setting
from workflow_rl.config import GameConfig, whole_number
from workflow_rl.envs.episode import Episode
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import ACTION_NAMES, parse_action

_KEYS = "Left/Right, Home/End: time | action + Enter: play it, Tab completes | Ctrl-C quits"
_NARROW_KEYS = "Left/Right: time | action + Enter, Tab completes | Ctrl-C quits"
_MENU_HEIGHT = 5  # leaves the table of a 24-line terminal in sight


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "play",
        "step through an episode in the terminal: arrow through time, or defend by name",
        "workflow-rl play --red-agent meander\n"
        "workflow-rl play --red-agent bline --seed 7 --rules competition\n"
        "printf 'DecoyFemitter User2\\nRestore User1\\n' | workflow-rl play",
    )
    for name in ("red_agent", "rules", "observation", "green_agent", "episode_length"):
        add_setting(parser, GAME[name])
    add_setting(parser, SEED, text="which game is played")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plays in the terminal, or reads one action a line where there is none."""
    config = GameConfig(
        red_agent=args.red_agent,
        rules=args.rules,
        observation=args.observation,
        green_agent=args.green_agent,
        episode_length=args.episode_length,
    )
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
            if not line.strip():
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
    from prompt_toolkit.application.current import get_app
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.completion import ConditionalCompleter, FuzzyCompleter, WordCompleter
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.formatted_text import ANSI
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.layout import (
        CompletionsMenu,
        ConditionalContainer,
        Float,
        FloatContainer,
        HSplit,
        Layout,
        VSplit,
        Window,
    )
    from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl

    problem = ""

    def play_typed(buffer: Buffer) -> bool:
        nonlocal problem
        try:
            if buffer.text.strip():
                episode.act(parse_action(buffer.text))
            else:
                episode.forward()
        except InvalidInputError as error:
            buffer.complete_state = None  # closes the menu, which would cover the problem
            problem = str(error)
            return True  # keep what was typed, to be corrected
        return False

    def forget_problem(_: Buffer) -> None:
        nonlocal problem
        problem = ""

    # An action's name is two words: the pattern takes the whole line as the word to complete.
    names = FuzzyCompleter(WordCompleter(list(ACTION_NAMES), sentence=True), pattern="^.+")
    nothing_typed = Condition(lambda: not typed.text)
    typed = Buffer(
        completer=ConditionalCompleter(names, ~nothing_typed),
        complete_while_typing=True,
        accept_handler=play_typed,
        on_text_changed=forget_problem,
        multiline=False,
    )
    keys = KeyBindings()

    @keys.add("right", filter=nothing_typed)
    def _(event: Any) -> None:
        episode.forward()

    @keys.add("left", filter=nothing_typed)
    def _(event: Any) -> None:
        episode.back()

    @keys.add("home", filter=nothing_typed)
    def _(event: Any) -> None:
        episode.go_to(0)

    @keys.add("end", filter=nothing_typed)
    def _(event: Any) -> None:
        episode.go_to(episode.length)

    @keys.add("c-c")
    @keys.add("c-d")
    def _(event: Any) -> None:
        event.app.exit()

    def columns() -> int:
        return int(get_app().output.get_size().columns)

    body = HSplit(
        [
            Window(FormattedTextControl(lambda: ANSI(episode.text(colour=True, width=columns())))),
            ConditionalContainer(
                Window(
                    FormattedTextControl(lambda: textwrap.fill(problem, columns())),
                    dont_extend_height=True,
                    style="bold",
                ),
                Condition(lambda: bool(problem)),
            ),
            Window(
                FormattedTextControl(lambda: _KEYS if columns() >= len(_KEYS) else _NARROW_KEYS),
                height=1,
                style="reverse",
            ),
            VSplit(
                [Window(FormattedTextControl("action> "), width=8), Window(BufferControl(typed))],
                height=1,
            ),
        ]
    )
    menu = CompletionsMenu(max_height=_MENU_HEIGHT)
    root = FloatContainer(body, floats=[Float(menu, xcursor=True, ycursor=True)])
    return Application(Layout(root), key_bindings=keys, full_screen=True, **application)
