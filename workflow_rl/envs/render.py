"""One moment of an episode as text: the last step, Blue's table and the true state."""

import io
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from workflow_rl.config import GameConfig
from workflow_rl.errors import explain_missing
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.images import DECOY_NAMES, EXPLOIT_NAMES
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.tables import NOBODY
from workflow_rl.sim.network import held_hosts
from workflow_rl.sim.state import (
    Access,
    Activity,
    Mark,
    Outcome,
    Raised,
    RedAction,
    Success,
)
from workflow_rl.sim.table import read_table

if TYPE_CHECKING:  # an environment that is not rendered does without it
    from rich.text import Text

MAX_WIDTH: Final = 100
_HIDDEN: Final = ("true access", "malware")  # from Blue
_STYLES: Final = {
    "scan": "yellow",
    "exploit": "bold red",
    "unknown": "yellow",
    "user": "dark_orange",
    "privileged": "bold red",
}


def _words(name: str) -> str:
    return name.lower().replace("_", " ")


def situation(state: Any, config: GameConfig, *, blind: bool = False) -> str:
    """Says which step of which game it is; blind, without what Blue is not told."""
    if blind:
        return f"step {state['step']} of {config.episode_length} | rules {config.rules}"
    service = "DOWN" if state["ot_down"] else "running"
    red = config.reds[state["red_number"]].name
    return (
        f"step {state['step']} of {config.episode_length} | red {red} | "
        f"rules {config.rules} | OT service {service}"
    )


def reward_tenths(state: Any) -> list[int]:
    """Returns the last reward's parts in tenths: confidentiality, availability, action cost."""
    return [int(state[name]) for name in ("confidentiality", "availability", "action_cost")]


def blue_sentence(state: Any, network: Network) -> str:
    """Says what Blue did in the last step."""
    if state["blue_action"] == NOBODY:
        return "nothing yet"
    success = Success(state["blue_success"])
    note = " (refused)" if success is Success.FALSE else ""
    return actions_of(network).names[int(state["blue_action"])] + note


def red_sentence(state: Any, network: Network) -> str:
    """Says what Red did in the last step and how it ended."""
    action = RedAction(state["red_action"])
    if state["red_raised"]:
        raised = Raised(state["red_raised"]).name.title().replace("_", "")
        return f"sleep: in CybORG this agent ended by a {raised}"
    if action is RedAction.SLEEP:
        return "nothing yet" if state["step"] == 0 else "sleep"
    target = int(state["red_target"])
    sweep = action is RedAction.DISCOVER_REMOTE_SYSTEMS
    where = f"{network.zone_names[target].lower()} subnet" if sweep else network.host_names[target]
    by = f" by {EXPLOIT_NAMES[state['red_exploit']]}" if state["red_exploit"] != NOBODY else ""
    hit = f" ({DECOY_NAMES[state['red_decoy_hit']]})" if state["red_decoy_hit"] != NOBODY else ""
    return f"{_words(action.name)} {where}{by}: {_words(Outcome(state['red_outcome']).name)}{hit}"


def _cell(word: str) -> "Text":
    from rich.text import Text

    return Text("-" if word in ("none", "no") else word, style=_STYLES.get(word, ""))


class HostView(NamedTuple):
    """One host at one moment: its true state, and Blue's table of it."""

    access: Access  # of Red, in truth
    mark: Mark
    activity: Activity  # in this step, as Blue's monitor reported it
    malware: bool
    decoys: tuple[str, ...]


def host_view(state: Any, network: Network, host: int) -> HostView:
    """Returns what an environment's record says of one host."""
    activity, mark = read_table(network, state["table"])[host]
    held = int(held_hosts(state))
    live = int(state["decoys"][host])
    return HostView(
        access=Access((held >> host & 1) + (int(state["privileged"]) >> host & 1)),
        mark=Mark(mark),
        activity=Activity(activity),
        malware=bool(int(state["malware"]) >> host & 1),
        decoys=tuple(n.removeprefix("Decoy") for d, n in enumerate(DECOY_NAMES) if live >> d & 1),
    )


def _host_row(state: Any, network: Network, host: int) -> "dict[str, str | Text]":
    view = host_view(state, network, host)
    name = network.host_names[host]
    return {
        "host": name + (" (Red)" if name == network.foothold else ""),  # where Red starts, stays
        "Blue sees": _cell(_words(view.activity.name)),
        "mark": _cell(_words(view.mark.name)),
        "true access": _cell(_words(view.access.name)),
        "malware": "file" if view.malware else "-",
        "decoys": " ".join(view.decoys) or "-",
    }


@explain_missing("text of an episode")
def frame_text(
    state: Any,
    config: GameConfig,
    total: float,
    *,
    colour: bool = False,
    width: int = MAX_WIDTH,
    blind: bool = False,
) -> str:
    """Returns one moment of an episode as text.

    Args:
        state: the environment's record.
        config: the game.
        total: the return so far.
        colour: whether to use the terminal's colours.
        width: columns of the terminal; longer lines are wrapped.
        blind: whether to hide Red, its access and rewards until the end of the episode.

    Raises:
        MissingDependencyError: rich is not installed.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console(
        file=io.StringIO(),
        width=min(width, MAX_WIDTH),
        force_terminal=colour,
        no_color=not colour,
        legacy_windows=False,
        color_system="standard" if colour else None,
        highlight=False,
    )
    parts = [tenths / 10 for tenths in reward_tenths(state)]
    blind = blind and state["step"] < config.episode_length
    console.print(situation(state, config, blind=blind))
    console.print(f"Blue: {blue_sentence(state, config.network)}")
    if not blind:
        console.print(f"Red:  {red_sentence(state, config.network)}")
        console.print(
            f"reward {sum(parts):.1f} (confidentiality {parts[0]:.1f}, availability "
            f"{parts[1]:.1f}, action {parts[2]:.1f})"
        )
        console.print(f"return so far {total:.1f}")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="underline")
    rows = [_host_row(state, config.network, h) for h in range(len(config.network.hosts))]
    headings = [heading for heading in rows[0] if not (blind and heading in _HIDDEN)]
    for heading in headings:
        table.add_column(heading, no_wrap=heading != "decoys")
    for row in rows:
        table.add_row(*(row[heading] for heading in headings))
    console.print(table)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())
