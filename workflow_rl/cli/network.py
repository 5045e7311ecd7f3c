"""`workflow-rl network`: what a network is, its picture, a new one, and the other format."""

import argparse
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workflow_rl.cli.arguments import SEED, Commands, add_command, add_flag, add_output, add_setting
from workflow_rl.config import one_of
from workflow_rl.errors import InvalidInputError, printable
from workflow_rl.files import named_output, write_named
from workflow_rl.scenario.loading import ENDINGS, SHIPPED, TOML_ENDINGS, network_of
from workflow_rl.scenario.network import Network, Reachability

if TYPE_CHECKING:
    from rich.panel import Panel

_EXAMPLES = """workflow-rl network check office
workflow-rl network new --hosts 30 --zones 4 --seed 1 --output mine.toml
workflow-rl network show mine.toml
workflow-rl network show plant --output plant.html
workflow-rl network convert Scenario2.yaml --output mine.toml
workflow-rl network new --hosts 9 --reachability cyborg --output mine.yaml"""
CHECK, SHOW, NEW, CONVERT = ACTIONS = ("check", "show", "new", "convert")
_DRAWN: Final = {"hosts": 12, "zones": 3, "seed": 0, "reachability": "routes", "rare": 0.0}
_WIDTH: Final = 80
_BOX: Final = 36  # columns of a zone's box
_PAGES: Final = (".html", ".htm")


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands, "network", "check, show, draw or convert the network that is played on", _EXAMPLES
    )
    parser.add_argument(
        "action",
        metavar="ACTION",
        help="check: what it is, what cannot matter, what CybORG's agents do there, what Blue can "
        "do; show: its picture; new: draw one at random; convert: write it in the other format",
    )
    parser.add_argument(
        "network",
        metavar="NETWORK",
        nargs="?",
        help=f"{', '.join(SHIPPED)}, or a file: .toml (docs/networks.md), or .yaml, a scenario of "
        "CybORG",
    )
    add_flag(parser, "--hosts", "of new: how many hosts, 4 to 64", "12", type=int, metavar="N")
    add_flag(parser, "--zones", "of new: how many zones, 1 to 10", "3", type=int, metavar="N")
    add_setting(parser, SEED, text="of new: which one", default="0")
    add_flag(
        parser,
        "--reachability",
        "of new: routes (Red goes on from what it holds) or cyborg (a network that CybORG plays)",
        "routes",
        metavar="NAME",
    )
    add_flag(
        parser,
        "--rare",
        "of new: probability of each rarer feature, such as port lists or hosts without an agent",
        "0",
        type=float,
        metavar="X",
        basic=False,
    )
    add_output(parser, "the terminal; convert needs one", "show: a page; new, convert: the network")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Does what the action says."""
    action = one_of("action", args.action, ACTIONS)
    if action == NEW:
        return _new(args)
    misplaced = [name for name in _DRAWN if name in args]
    if misplaced:
        raise InvalidInputError(f"--{misplaced[0]} only goes with `network new`")
    if args.network is None:
        raise InvalidInputError(f"name a network: {', '.join(SHIPPED)}, or a file")
    if action == CHECK and "output" in args:
        raise InvalidInputError("--output does not go with `network check`")
    network = network_of(args.network)
    if action == CHECK:
        return _check(network)
    if action == CONVERT:
        if "output" not in args:
            raise InvalidInputError(f"convert needs --output, a file of {', '.join(ENDINGS)}")
        return _write(args.output, network)
    return _show(network, getattr(args, "output", None))


def _new(args: argparse.Namespace) -> int:
    from workflow_rl.scenario.network_toml import toml_of
    from workflow_rl.scenario.random_network import random_network

    if args.network is not None:
        raise InvalidInputError("`network new` draws a network: it takes none")
    drawn = argparse.Namespace(**(_DRAWN | vars(args)))
    reachability = Reachability(one_of("reachability", drawn.reachability, tuple(Reachability)))
    network = random_network(drawn.hosts, drawn.zones, drawn.seed, reachability, drawn.rare)
    if "output" in args:
        return _write(args.output, network)
    print(printable(toml_of(network)), end="")
    return 0


def _write(path: Path, network: Network) -> int:
    """Writes a network in the format that the file's ending names."""
    from workflow_rl.scenario.cyborg_writer import scenario_of
    from workflow_rl.scenario.network_toml import toml_of

    if path.suffix not in ENDINGS:
        raise InvalidInputError(f"{path} must end in one of {', '.join(ENDINGS)}")
    text = toml_of(network) if path.suffix in TOML_ENDINGS else scenario_of(network)
    write_named(named_output(path), text)
    print(printable(f"network: {path}"))
    return 0


def _check(network: Network) -> int:
    from workflow_rl.scenario.attackers import cannot_matter, forecasts, what_blue_can
    from workflow_rl.scenario.cyborg_writer import why_not_in_cyborg
    from workflow_rl.scenario.summary import summary_of

    _say([f"{network.name}: {summary_of(network)}"])
    reason = why_not_in_cyborg(network)
    _say(["", f"CybORG cannot play it: {reason}" if reason else "CybORG can play it."])
    _say(["", "What CybORG's own agents do there, or would do by their rules:"])
    _say(f"- {found.red} {found.course}: {found.sentence}" for found in forecasts(network))
    unneeded = cannot_matter(network)
    _say(["", "What cannot matter:" if unneeded else "Everything in it can matter."])
    _say(f"- {sentence}" for sentence in unneeded)
    _say(["", "What Blue can do:"])
    _say(f"- {sentence}" for sentence in what_blue_can(network))
    return 0


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        indent = "  " if line.startswith("- ") else ""
        wrapped = textwrap.fill(
            line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        print(printable(wrapped))


def _show(network: Network, output: Path | None) -> int:
    if output is not None:
        from workflow_rl.pages.network import write_network_page

        if output.suffix not in _PAGES:
            raise InvalidInputError(f"{output} must end in .html: show writes a page")
        write_network_page(named_output(output), network)
        print(printable(f"page: {output}"))
        return 0
    from rich.columns import Columns

    from workflow_rl.cli.console import make_console
    from workflow_rl.scenario.summary import summary_of

    console = make_console(width=max(_BOX, make_console().width))
    console.print(f"{network.name}: {summary_of(network)}")
    console.print(Columns(_boxes(network), padding=(0, 1)))
    console.print("* Red starts here; ! its service is a target; of each host the value, + that of")
    console.print("its service, what Blue has there unless it watches, and > what it reveals")
    return 0


def _boxes(network: Network) -> Sequence["Panel"]:
    """Returns a box for each zone."""
    from rich.box import ASCII
    from rich.panel import Panel
    from rich.text import Text

    from workflow_rl.scenario.summary import reached_from

    return [
        Panel(
            Text("\n".join([reached_from(network, zone), *_host_lines(network, zone.hosts)])),
            title=Text(zone.name),
            title_align="left",
            width=_BOX,
            box=ASCII,
        )
        for zone in network.zones
    ]


def _host_lines(network: Network, names: Sequence[str]) -> Iterable[str]:
    for host in (network.hosts[network.number(name)] for name in names):
        mark = "*" if host.name == network.foothold else " "
        target = f" + {host.service_value:g} !" if host.name in network.roles.targets else ""
        blue = "" if host.blue == "watched" else f" {host.blue}"
        others = [reveal.host for reveal in host.reveals if reveal.host != host.name]
        yield f"{mark} {host.name} {host.value:g}{target}{blue}"
        if others:
            yield f"    > {', '.join(others)}"
