"""Plays the real CybORG, replays it on the simulator and compares every step."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import GameConfig, ObservationName
from workflow_rl.envs.cyborg import CyborgEnv
from workflow_rl.parity.recorder import Act, record
from workflow_rl.parity.replay import Comparison, compare
from workflow_rl.scenario.actions import ActionKind, actions_of
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network

_CHUNK: Final = 20  # episodes that are compared at a time
_BUSY_SHARES: Final = (0.1, 0.1, 0.25, 0.25, 0.3)  # sleep, analyse, remove, restore, decoy
_BUSY_KINDS: Final = (ActionKind.ANALYSE, ActionKind.REMOVE, ActionKind.RESTORE)
_BUSY_AT_MARKED: Final = 0.7  # of its actions, if there is a marked host


@dataclass(frozen=True)
class Blue:
    """A Blue player."""

    name: str
    begin: Callable[[Network, int], Act]  # begins an episode of a seed on a network
    observation: ObservationName = "challenge"  # the one it takes


def _random(network: Network, seed: int) -> Act:
    rng, size = np.random.default_rng(seed), actions_of(network).size
    return lambda observation, action_mask, step: int(rng.integers(size))


def _busy(network: Network, seed: int) -> Act:
    rng, actions = np.random.default_rng(seed), actions_of(network)
    num_hosts, num_observed = len(network.hosts), len(network.observed)
    observed = np.array([network.number(host) for host in network.observed])
    sleep = actions.names.index("Sleep")
    on_hosts = [actions.first(kind) for kind in _BUSY_KINDS]
    placing = actions.kinds >= ActionKind.FIRST_DECOY
    decoys = [np.flatnonzero(placing & (actions.hosts == host)) for host in range(num_hosts)]

    def act(observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int) -> int:
        table = observation[: 4 * num_observed].reshape(num_observed, 4)
        marked = observed[table.any(axis=1)]
        at_marked = len(marked) and rng.random() < _BUSY_AT_MARKED
        host = int(rng.choice(marked) if at_marked else rng.integers(num_hosts))
        kind = rng.choice(len(_BUSY_SHARES), p=_BUSY_SHARES)
        decoy = int(rng.choice(decoys[host])) if len(decoys[host]) else sleep
        choices = (sleep, *(sleep if first is None else first + host for first in on_hosts), decoy)
        return choices[kind]

    return act


BUILT_IN_BLUES: Final = (
    Blue("random", _random),  # all actions alike
    Blue("busy", _busy),  # removes, restores and places decoys, mostly where something is
)


def name_of(game: GameConfig, blue: Blue) -> str:
    """Returns a name without a space, from which the episodes' seeds derive."""
    red = Path(game.red_agent).name  # wherever the file of a policy is
    name = f"{red}-{blue.name}-{game.episode_length}"
    where = "" if game.network == SCENARIO2 else f"{game.network.name.replace(' ', '_')}-"
    return where + name


def compare_live(
    game: GameConfig,
    blue: Blue,
    episodes: int,
    seed: int,
    cyborg_path: str | Path | None = None,
    scenario_file: str | Path | None = None,
) -> Iterator[Comparison]:
    """Plays a game on CybORG, repeats it on the simulator and compares every step.

    An episode depends on the game, the name of Blue, the seed and its own number alone.

    Args:
        game: what is played, but for what Blue sees.
        blue: who defends.
        episodes: how many.
        seed: which ones.
        cyborg_path: where CybORG is.
        scenario_file: what CybORG reads; None: its own Scenario2, or the network written for it.

    Yields:
        The comparison of everything played so far, after every few episodes.
    """
    env = CyborgEnv(
        game=replace(game, observation=blue.observation),
        cyborg_path=cyborg_path,
        scenario_file=scenario_file,
    )
    name = name_of(game, blue)
    total: Comparison | None = None
    for start in range(0, episodes, _CHUNK):
        numbers = range(start, min(start + _CHUNK, episodes))
        seeds = [_seed_of(name, seed, number) for number in numbers]
        trace = record(name, env, seeds, partial(blue.begin, game.network))
        cut = int(((trace.lengths < trace.steps) & (trace.raised == 0)).sum())
        result = replace(compare(trace, game.rules), cut=cut)
        total = total + result if total else result
        yield total


def _seed_of(name: str, seed: int, episode: int) -> int:
    entropy = [zlib.crc32(name.encode()), seed, episode]
    return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0])
