"""`workflow-rl play`: step through an episode in the terminal."""

import argparse
import sys
from typing import Any

from workflow_rl.cli.arguments import (
    Commands,
    add_command,
    add_observation,
    add_red_agent,
    add_rules,
)
from workflow_rl.config import GREEN_AGENTS, GameConfig, whole_number
from workflow_rl.errors import InvalidInputError
from workflow_rl.play import Episode
from workflow_rl.scenario.actions import ACTION_NAMES, parse_action

_KEYS = (
    "left/right: back and forward in time | type an action (Tab completes), Enter plays it | "
    "Home/End | Ctrl-C quits"
)


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
    add_red_agent(parser)
    add_rules(parser)
    add_observation(parser)
    parser.add_argument(
        "--green-agent", default="sleep", metavar="NAME", help=f"Green: {' or '.join(GREEN_AGENTS)}"
    )
    parser.add_argument("--episode-length", type=int, default=100, metavar="N", help="steps")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="which game is played")
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
    print(episode.text())
    for line in sys.stdin:
        if line.strip() and not episode.has_ended:
            episode.act(parse_action(line))
            print(f"\n{episode.text()}", flush=True)


def build_screen(episode: Episode, **application: Any) -> Any:
    """Returns the full-screen application, ready to run."""
    from prompt_toolkit.application import Application
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.completion import FuzzyWordCompleter
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.formatted_text import ANSI
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.layout import (
        CompletionsMenu,
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
        problem = ""
        try:
            if buffer.text.strip():
                episode.act(parse_action(buffer.text))
            else:
                episode.forward()
        except InvalidInputError as error:
            problem = str(error)
            return True  # keep what was typed, to be corrected
        return False

    typed = Buffer(
        completer=FuzzyWordCompleter(list(ACTION_NAMES)),
        complete_while_typing=True,
        accept_handler=play_typed,
        multiline=False,
    )
    nothing_typed = Condition(lambda: not typed.text)
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

    body = HSplit(
        [
            Window(FormattedTextControl(lambda: ANSI(episode.text(colour=True)))),
            Window(FormattedTextControl(lambda: problem), height=2, style="bold"),
            VSplit(
                [Window(FormattedTextControl("action> "), width=8), Window(BufferControl(typed))],
                height=1,
            ),
            Window(FormattedTextControl(_KEYS), height=1, style="reverse"),
        ]
    )
    root = FloatContainer(
        body, floats=[Float(CompletionsMenu(max_height=8), xcursor=True, ycursor=True)]
    )
    return Application(Layout(root), key_bindings=keys, full_screen=True, **application)
