"""`workflow-rl parity`: compares the simulator with recordings of CybORG, or with CybORG itself."""

import argparse
import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from workflow_rl.agents.named import make_agent
from workflow_rl.cli.arguments import (
    BACKEND,
    GAME,
    SEED,
    Commands,
    Extend,
    add_command,
    add_flag,
    add_setting,
    list_of,
)
from workflow_rl.cli.console import Bars, make_console
from workflow_rl.config import (
    GREEN_AGENTS,
    MAX_EPISODE_LENGTH,
    RED_AGENTS,
    RULE_SETS,
    GameConfig,
    RuleSetName,
    one_of,
    red_agent_name,
    whole_number,
)
from workflow_rl.config.reds import BUILT_IN, reds_of
from workflow_rl.errors import InvalidInputError, shown
from workflow_rl.parity.live import BUILT_IN_BLUES, Blue, compare_live, name_of
from workflow_rl.parity.recorder import Act
from workflow_rl.parity.replay import Comparison, compare
from workflow_rl.parity.trace import Trace, find_networks, find_traces, load_trace
from workflow_rl.scenario.cyborg_writer import scenario_of
from workflow_rl.scenario.loading import SCENARIO2, SHIPPED, YAML_ENDINGS, network_of
from workflow_rl.scenario.network import Network

_EXAMPLES = """workflow-rl parity tests/parity/traces/main
workflow-rl parity tests/parity/traces/competition --rules competition
workflow-rl parity --live --episodes 50 --cyborg-path cage-challenge-2
workflow-rl parity --live --red-agent meander --blue random logs/exp_...
workflow-rl parity --live --network Scenario1b.yaml net.toml --episodes 5"""
_ALL: Final = "all"
_EPISODES: Final = "episodes"  # the bar's name
_LIVE: Final[dict[str, Any]] = {  # defaults of the flags that only go with --live
    "network": [SCENARIO2.name],
    "episodes": 20,
    "red_agent": _ALL,
    "blue": ["random", "busy"],
    "episode_length": [GAME["episode_length"].default],
    "green_agent": GAME["green_agent"].default,
    "seed": SEED.default,
    "cyborg_path": None,
}


def add_to(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "parity",
        "replay recordings of the real CybORG, or play it live, and compare every step",
        _EXAMPLES,
    )
    parser.add_argument(
        "path",
        metavar="DIR",
        nargs="?",
        type=Path,
        default=None,
        help="folder of .npz traces, one file, or a folder of networks, each a folder with its "
        "scenario.yaml and traces",
    )
    add_setting(parser, GAME["rules"])
    title = "live play: CybORG plays, the simulator repeats it (docs/cyborg.md)"
    _add_live_flags(parser.add_argument_group(title))
    parser.set_defaults(run=run)


def _add_live_flags(group: Any) -> None:
    """Adds the flags of live play; not given they set nothing."""
    live = "play CybORG and the simulator in parallel, instead of DIR"
    add_flag(group, "--live", live, action="store_true")

    def add(name: str, text: str, **settings: Any) -> None:
        default = _LIVE[name.removeprefix("--").replace("-", "_")]
        shown = ",".join(map(str, default)) if isinstance(default, list) else default
        add_flag(group, name, text, shown, **settings)

    several: dict[str, Any] = {"action": Extend, "nargs": "+"}
    files = f"with --live: networks: {', '.join(SHIPPED)}, scenario files of CybORG, ours"
    add("--network", files, type=lambda text: [text], metavar="FILE", **several)
    each = "of each red agent against each Blue at each length"
    add("--episodes", f"with --live: episodes {each}", type=int, metavar="N")
    attackers = f"{', '.join(BUILT_IN)}, patient[:STEPS[:SCRIPT]], a red policy"
    own = f"{_ALL} (CybORG's own three)"
    add("--red-agent", f"with --live: red agent: {attackers}, or {own}", metavar="NAME")
    built_in = ", ".join(blue.name for blue in BUILT_IN_BLUES)
    defends = f"with --live: Blue agent: {built_in}, a policy file or a run"
    add("--blue", defends, type=_blues, metavar="WHO,WHO", **several)
    lengths = f"with --live: {GAME['episode_length'].text}"
    add("--episode-length", lengths, type=list_of(int), metavar="N,N", **several)
    add_setting(group, GAME["green_agent"], default=_LIVE["green_agent"])
    add_setting(group, SEED, text="with --live: which episodes", default=str(_LIVE["seed"]))
    cyborg = BACKEND["cyborg_path"]
    add_setting(group, cyborg, default=cyborg.shown(None))


def _blues(text: str) -> list[str]:
    """Returns the parts of a list; a file's name may have a comma itself."""
    return [text] if Path(text).exists() else list_of(str)(text)


def run(args: argparse.Namespace) -> int:
    """Replays recordings or plays live; the exit code is 0 only without a mismatch."""
    if "live" in args:
        if args.path is not None:
            raise InvalidInputError("give either DIR or --live, not both")
        return _play_live(argparse.Namespace(**(_LIVE | vars(args))))
    misplaced = [name for name in _LIVE if name in args]
    if misplaced:
        raise InvalidInputError(f"--{misplaced[0].replace('_', '-')} only goes with --live")
    if args.path is None:
        raise InvalidInputError("give DIR, a folder of recordings, or --live")
    return _replay(args)


def _replay(args: argparse.Namespace) -> int:
    """Replays every file."""
    rules = one_of("rule set", args.rules, RULE_SETS)
    networks = find_networks(args.path) if args.path.is_dir() else {}
    if networks:
        return _replay_networks(networks, rules)
    traces = [replace(load_trace(path), rules=rules) for path in find_traces(args.path)]
    results: list[Comparison] = []
    for trace in traces:
        results.append(compare(trace, rules))
        _print_one(trace.name, trace, results[-1])
    return _print_all(results)


def _replay_networks(networks: Mapping[Path, Network], otherwise: RuleSetName) -> int:
    """Replays every file of each network by the rules that it was recorded under."""
    traces = {
        folder.name: [load_trace(path, network) for path in find_traces(folder)]
        for folder, network in networks.items()
    }
    results: dict[str, list[Comparison]] = {name: [] for name in traces}
    for name in results:
        for recorded in traces.pop(name):
            rules = recorded.rules or otherwise
            trace = replace(recorded, rules=rules)
            results[name].append(compare(trace, rules))
            _print_one(f"{name}/{trace.name}", trace, results[name][-1])
    sizes = {folder.name: len(network.hosts) for folder, network in networks.items()}
    return _print_networks(sizes, results)


def _print_networks(sizes: Mapping[str, int], results: Mapping[str, Sequence[Comparison]]) -> int:
    """Prints a line for each network and what all have together; returns the exit code."""
    width = max(map(len, sizes))
    print(f"{'network':{width}}  hosts  episodes    steps  mismatches")
    for name, size in sizes.items():
        total = functools.reduce(operator.add, results[name])
        print(
            f"{name:{width}}  {size:5}  {total.episodes:8}  {total.steps:7}  {total.mismatches:10}"
        )
    code = _print_all([result for several in results.values() for result in several])
    print(f"networks: {len(sizes)}")
    return code


def _print_one(name: str, game: GameConfig | Trace, result: Comparison) -> None:
    raised = f", {result.raised} ended by an exception of Red" if result.raised else ""
    print(
        f"{name}: red {game.red_agent}, rules {game.rules}: {result.episodes} episodes{raised}, "
        f"{result.steps} steps, {len(result.fields)} fields a step, "
        f"{result.mismatches} mismatches",
        flush=True,
    )
    if result.first:
        print(f"  {result.first}", flush=True)


def _print_all(results: list[Comparison]) -> int:
    """Prints what was compared and how much of it differs; returns the exit code."""
    total = functools.reduce(operator.add, results)
    print(f"compared: {', '.join(total.fields)}")
    if total.cut:
        print(
            f"compared only up to a process id that CybORG drew twice: {total.cut} of these "
            "episodes (docs/parity.md)"
        )
    print(f"parity: {total.episodes} episodes, {total.steps} steps, {total.mismatches} mismatches")
    return int(total.mismatches > 0)


# --- live play


def _play_live(given: argparse.Namespace) -> int:
    """Plays every match."""
    networks = {name: _network(name) for name in given.network}
    matches = [
        (where, *match)
        for where, (network, _) in networks.items()
        for match in _matches(given, network)
    ]
    episodes = whole_number("--episodes", given.episodes, 1, 10**9)
    seed = whole_number("--seed", given.seed, 0, 2**63 - 1)
    results: dict[str, list[Comparison]] = {}
    done = 0
    with Bars(make_console()) as bars:
        bars.begin(_EPISODES, episodes * len(matches))
        for where, game, blue in matches:
            name, file = name_of(game, blue), networks[where][1]
            for result in compare_live(game, blue, episodes, seed, given.cyborg_path, file):
                bars.move(_EPISODES, done + result.episodes, name)
            done += result.episodes
            _print_one(name if len(networks) == 1 else f"{where}: {name}", game, result)
            results.setdefault(where, []).append(result)
    if len(networks) == 1:
        return _print_all(*results.values())
    return _print_networks({name: len(n.hosts) for name, (n, _) in networks.items()}, results)


def _network(given: str) -> tuple[Network, Path | None]:
    """Returns a network that CybORG can play, and the scenario file that it is to read."""
    network = network_of(given)
    if Path(given).suffix in YAML_ENDINGS:
        return network, Path(given)
    scenario_of(network)
    return network, None


def _matches(given: argparse.Namespace, network: Network) -> list[tuple[GameConfig, Blue]]:
    rules = one_of("rule set", given.rules, RULE_SETS)
    green = one_of("green agent", given.green_agent, GREEN_AGENTS)
    reds = RED_AGENTS if given.red_agent == _ALL else (red_agent_name(given.red_agent),)
    if any(len(reds_of(red)) > 1 for red in reds):
        raise InvalidInputError(f"live play takes the red agents one by one: say {_ALL}")
    lengths = [
        whole_number("--episode-length", length, 1, MAX_EPISODE_LENGTH)
        for length in given.episode_length
    ]
    blues = [_blue(who) for who in given.blue]
    games = [GameConfig(red, rules=rules, green_agent=green, network=network) for red in reds]
    return [
        (game.changed(episode_length=length), blue)
        for game in games
        for blue in blues
        for length in lengths
    ]


def _blue(who: str) -> Blue:
    """Returns the Blue agent of a name, or a trained policy, sampled."""
    for blue in BUILT_IN_BLUES:
        if blue.name == who:
            return blue
    if not Path(who).exists():
        names = ", ".join(blue.name for blue in BUILT_IN_BLUES)
        raise InvalidInputError(f"unknown Blue {shown(who)}: give {names}, a policy file or a run")
    agent = make_agent(who, sampled=True)

    def begin(network: Network, seed: int) -> Act:
        agent.begin(1, seed)
        return lambda seen, mask, step: int(agent.act(seen[None], mask[None], step)[0])

    return Blue(Path(who).name, begin, agent.observation)
