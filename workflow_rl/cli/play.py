"""`workflow-rl play`: step through an episode in the terminal."""

import argparse
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from typing import Any

from workflow_rl.cli.arguments import (
    GAME,
    SEED,
    Commands,
    add_command,
    add_flag,
    add_network,
    add_setting,
    add_workflow,
    given_network,
    workflow_units,
)
from workflow_rl.config import GameConfig, whole_number
from workflow_rl.envs.episode import Episode, Moment
from workflow_rl.envs.render import MAX_WIDTH
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network

_GAME = ("rules", "observation", "green_agent", "episode_length")
_KEYS = "Left/Right, Home/End: time | action + Enter: play it, Tab completes | ? help | q quits"
_NARROW_KEYS = "Left/Right: time | action + Enter, Tab completes | ? help | q quits"
_MENU_HEIGHT = 5  # leaves the table of a 24-line terminal in sight
_LEAST = 0.01  # probability that is shown
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

With --policy the last lines say what that policy would play here, with its probabilities,
and how the order judges it. --blind hides Red and rewards until the end.

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
        "workflow-rl play --policy best --blind\n"
        "workflow-rl play --red-agent bline --seed 7 --rules competition\n"
        "workflow-rl play --policy logs/exp_20260101_120000_4242\n"
        "printf 'DecoyFemitter User2\\nRestore User1\\n' | workflow-rl play",
    )
    add_setting(parser, GAME["red_agent"], default="the first of bline, meander, path that plays")
    for name in _GAME:
        add_setting(parser, GAME[name])
    add_network(parser, "that of the policy, or scenario2")
    add_setting(parser, SEED, text="random seed of the game")
    advice = "show at every step what a policy, or whatever else `evaluate` takes, would do and why"
    add_flag(parser, "--policy", advice, "none", metavar="POLICY")
    add_workflow(parser)
    hidden = "hide what Blue does not know until the end: Red, its access, and rewards"
    add_flag(parser, "--blind", hidden, action="store_true")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Plays in the terminal, or reads one action a line where there is none."""
    seed = whole_number("--seed", args.seed, 0, 2**63 - 1)
    named = {name: getattr(args, name) for name in ("red_agent", *_GAME) if name in args}
    network = given_network(args)
    GameConfig(**named)  # refuses a wrong one before anything is loaded
    advisor = _Advisor(args, seed, network) if "policy" in args else None
    if advisor is not None:
        named["observation"] = advisor.agent.observation
        network = getattr(advisor.agent, "network", network)
    elif "workflow" in args or "units" in args:
        raise InvalidInputError("--workflow and --units go with --policy")
    config = GameConfig.on(network or SCENARIO2, **named)
    show = partial(_moment_text, advisor=advisor, blind="blind" in args)
    episode = Episode(config, seed)
    if sys.stdin.isatty() and sys.stdout.isatty():
        build_screen(episode, show).run()
    else:
        play_lines(episode, show)
    return 0


def _moment_text(
    episode: Episode, advisor: "_Advisor | None", *, width: int = MAX_WIDTH, **how: Any
) -> str:
    """Returns the moment shown, and what an agent would do there."""
    text = episode.text(width=width, **how)
    if advisor is None or episode.has_ended:
        return text
    lines = (textwrap.fill(line, width) for line in advisor.lines(episode))
    return "\n".join([text, *lines])


class _Advisor:
    """What an agent would do at a moment, how probable it finds that, and how that is judged."""

    def __init__(self, args: argparse.Namespace, seed: int, network: Network | None) -> None:
        """Makes the agent that is asked; raises as `make_agent`."""
        from workflow_rl.agents.agent import TellingAgent
        from workflow_rl.agents.named import make_agent
        from workflow_rl.workflow.orders import read_order
        from workflow_rl.workflow.units import units_of

        workflow, units = getattr(args, "workflow", None), workflow_units(args)
        self.agent = make_agent(
            args.policy,
            workflow,
            units=units,
            sampled=False,
            rules=args.rules,
            observation=args.observation,
            network=network,
        )
        self._order = self.agent.order
        if self._order is None and workflow is not None:
            played: Network = getattr(self.agent, "network", SCENARIO2)
            named = None if units is None else units_of(units, played)
            self._order = read_order(workflow, named, played)
        if isinstance(self.agent, TellingAgent):
            self.agent.keeps_chances = True
        self._seed = seed
        self._last: tuple[Moment, list[str]] | None = None

    def lines(self, episode: Episode) -> list[str]:
        """Returns what there is to say at the moment shown, from what the agent saw up to it."""
        from workflow_rl.pages.replay import ask
        from workflow_rl.workflow.explain import explain_observed

        if self._last is not None and self._last[0] is episode.moment:
            return self._last[1]
        self.agent.begin(1, self._seed)
        for step, moment in enumerate(episode.moments[: episode.position + 1]):
            action, choice = ask(self.agent, episode.config.network, moment, step)
        names = actions_of(episode.config.network).names
        told = {a: f"{names[a]} ({100 * p:.0f} %)" for a, p in choice if p >= _LEAST}
        mine = told.pop(action, names[action])
        lines = [", ".join([f"{self.agent.name} would play {mine}", *told.values()])]
        if self._order is not None:
            judged = explain_observed(moment.state["table"], action, self._order)
            due = f"{judged.due}: {', '.join(judged.due_hosts)}" if judged.due else "none"
            lines += [f"{judged.word}: {judged.why}", f"first in the order of those marked: {due}"]
        self._last = episode.moment, lines
        return lines


def play_lines(episode: Episode, show: Callable[..., str] = Episode.text) -> None:
    """Plays the actions given on standard input, one a line, and prints each moment."""
    print(show(episode), flush=True)
    try:
        for line in sys.stdin:
            word = line.strip().casefold()
            if word in _QUIT_WORDS:
                return
            if word in _HELP_WORDS:
                print(f"\n{_HELP}", flush=True)
            if not word or word in _HELP_WORDS:
                continue
            episode.act(actions_of(episode.config.network).parse(line.strip()))
            print(f"\n{show(episode)}", flush=True)
            if episode.has_ended:
                print("\nthe episode has ended")
                return
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"the actions on standard input are not text: {error}") from error


def build_screen(
    episode: Episode, show: Callable[..., str] = Episode.text, **application: Any
) -> Any:
    """Returns the full-screen application, ready to run; `show` writes a moment of the episode."""
    from prompt_toolkit.application import Application
    from prompt_toolkit.layout import CompletionsMenu, Float, FloatContainer, Layout

    line = _Line(episode)
    menu = CompletionsMenu(max_height=_MENU_HEIGHT)
    root = FloatContainer(_body(episode, line, show), [Float(menu, xcursor=True, ycursor=True)])
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
        names = FuzzyCompleter(
            WordCompleter(list(actions_of(episode.config.network).names), sentence=True),
            pattern="^.+",
        )
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
            self._episode.act(actions_of(self._episode.config.network).parse(buffer.text))
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


def _body(episode: Episode, line: _Line, show: Callable[..., str]) -> Any:
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
        return ANSI(show(episode, colour=True, width=columns()))

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
