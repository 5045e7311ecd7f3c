"""`workflow-rl parity --live`: plays the real CybORG and the simulator side by side."""

import argparse
import time
from pathlib import Path
from typing import Any, Final

from workflow_rl.agents.named import make_agent
from workflow_rl.cli.arguments import BACKEND, GAME, SEED, Extend, add_setting, list_of
from workflow_rl.config import (
    GREEN_AGENTS,
    MAX_EPISODE_LENGTH,
    MIXED,
    RED_AGENTS,
    RULE_SETS,
    one_of,
    red_agent_name,
    whole_number,
)
from workflow_rl.errors import InvalidInputError
from workflow_rl.parity.live import BUILT_IN_BLUES, Blue, LiveResult, Match, compare_live
from workflow_rl.parity.recorder import Act

_ALL: Final = "all"
_LINE_EVERY: Final = 5.0  # seconds between plain lines
DEFAULTS: Final[dict[str, Any]] = {  # of the flags that only go with --live
    "episodes": 20,
    "red_agent": _ALL,
    "blue": ["random", "busy"],
    "episode_length": [GAME["episode_length"].default],
    "green_agent": GAME["green_agent"].default,
    "seed": SEED.default,
    "cyborg_path": None,
}


def add_flags(parser: Any) -> None:
    """Adds the flags of live play; not given they set nothing."""
    group = parser.add_argument_group(
        "live play", "CybORG plays, the simulator repeats it: docs/cyborg.md"
    )
    group.add_argument(
        "--live", action="store_true", default=argparse.SUPPRESS, help="instead of DIR"
    )

    def add(name: str, text: str, **settings: Any) -> None:
        default = DEFAULTS[name.removeprefix("--").replace("-", "_")]
        shown = ",".join(map(str, default)) if isinstance(default, list) else default
        group.add_argument(
            name, default=argparse.SUPPRESS, help=f"{text} (default: {shown})", **settings
        )

    each = "of each red agent against each Blue at each length"
    add("--episodes", f"episodes {each}", type=int, metavar="N")
    add("--red-agent", f"who attacks: {', '.join((*RED_AGENTS, _ALL))}", metavar="NAME")
    built_in = ", ".join(blue.name for blue in BUILT_IN_BLUES)
    several: dict[str, Any] = {"action": Extend, "nargs": "+"}
    add(
        "--blue",
        f"who defends: {built_in}, a policy file or a run",
        type=_blues,
        metavar="WHO,WHO",
        **several,
    )
    add(
        "--episode-length",
        GAME["episode_length"].text,
        type=list_of(int),
        metavar="N,N",
        **several,
    )
    add_setting(group, GAME["green_agent"], default=DEFAULTS["green_agent"])
    add_setting(group, SEED, text="which episodes", default=str(DEFAULTS["seed"]))
    cyborg = BACKEND["cyborg_path"]
    add_setting(group, cyborg, default=cyborg.shown(None))


def _blues(text: str) -> list[str]:
    """Returns the parts of a list; a file's name may have a comma itself."""
    return [text] if Path(text).exists() else list_of(str)(text)


def run_live(args: argparse.Namespace) -> int:
    """Plays every match; the last line counts, the exit code is 0 only without a mismatch."""
    given = argparse.Namespace(**(DEFAULTS | vars(args)))
    matches = _matches(given)
    episodes = whole_number("--episodes", given.episodes, 1, 10**9)
    seed = whole_number("--seed", given.seed, 0, 2**63 - 1)
    results: list[LiveResult] = []
    with _MatchProgress(episodes * len(matches)) as progress:
        for match in matches:
            for result in compare_live(match, episodes, seed, given.cyborg_path):
                progress.show(match, result.comparison.episodes)
            progress.end(match, result)
            results.append(result)
    total = sum(results[1:], results[0])
    print(f"compared: {', '.join(total.comparison.fields)}")
    if total.cut:
        print(
            f"compared only up to a process id that CybORG drew twice: {total.cut} of these "
            "episodes (docs/parity.md)"
        )
    print(
        f"parity: {total.comparison.episodes} episodes, {total.comparison.steps} steps, "
        f"{total.comparison.mismatches} mismatches"
    )
    return 0 if total.comparison.mismatches == 0 else 1


def _matches(given: argparse.Namespace) -> list[Match]:
    rules = one_of("rule set", given.rules, RULE_SETS)
    green = one_of("green agent", given.green_agent, GREEN_AGENTS)
    reds = RED_AGENTS if given.red_agent == _ALL else (red_agent_name(given.red_agent),)
    if MIXED in reds:
        raise InvalidInputError(f"live play takes the red agents one by one: say {_ALL}")
    lengths = [
        whole_number("--episode-length", length, 1, MAX_EPISODE_LENGTH)
        for length in given.episode_length
    ]
    blues = [_blue(who) for who in given.blue]
    return [
        Match(red, blue, length, rules, green)
        for red in reds
        for blue in blues
        for length in lengths
    ]


def _blue(who: str) -> Blue:
    """Returns the Blue of a name, or the one that draws its actions from a trained policy."""
    for blue in BUILT_IN_BLUES:
        if blue.name == who:
            return blue
    if not Path(who).exists():
        names = ", ".join(blue.name for blue in BUILT_IN_BLUES)
        raise InvalidInputError(f"unknown Blue {who!r}: give {names}, a policy file or a run")
    agent = make_agent(who, sampled=True)

    def begin(seed: int) -> Act:
        agent.begin(1, seed)
        return lambda seen, mask, step: int(agent.act(seen[None], mask[None], step)[0])

    return Blue(Path(who).name, begin, agent.observation)


class _MatchProgress:
    """Shows a bar over the episodes, or plain lines, and a line for each match that has ended."""

    def __init__(self, episodes: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._console = Console(highlight=False, markup=False, soft_wrap=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.completed:.0f}/{task.total:.0f} episodes"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=episodes)
        self._total = episodes
        self._done = 0
        self._last_line = time.monotonic()

    def __enter__(self) -> "_MatchProgress":
        """Starts showing."""
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stops showing."""
        self._bar.stop()

    def show(self, match: Match, episodes: int) -> None:
        """Shows how many episodes of a match have been played."""
        done = self._done + episodes
        self._bar.update(self._task, description=match.name, completed=done)
        now = time.monotonic()
        if not self._console.is_terminal and now - self._last_line > _LINE_EVERY:
            self._last_line = now
            self._console.print(f"{match.name}: {done}/{self._total} episodes")

    def end(self, match: Match, result: LiveResult) -> None:
        """Prints the result of a match."""
        comparison = result.comparison
        self._done += comparison.episodes
        self._console.print(
            f"{match.name}: red {match.red_agent}, rules {match.rules}: {comparison.episodes} "
            f"episodes, {comparison.steps} steps, {len(comparison.fields)} fields a step, "
            f"{comparison.mismatches} mismatches"
        )
        if comparison.first:
            self._console.print(f"  {comparison.first}")
