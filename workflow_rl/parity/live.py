"""Plays the real CybORG, replays it on the simulator and compares every step."""

import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import GameConfig, ObservationName
from workflow_rl.envs.cyborg import CyborgEnv
from workflow_rl.parity.recorder import Act, Begin, record
from workflow_rl.parity.replay import Comparison, compare
from workflow_rl.scenario.images import NUM_DECOYS
from workflow_rl.scenario.scenario2 import (
    CHALLENGE_SIZE,
    DECOY_ACTIONS,
    FIRST_ANALYSE,
    FIRST_REMOVE,
    FIRST_RESTORE,
    NUM_ACTIONS,
    NUM_HOSTS,
    SLEEP,
)

_CHUNK: Final = 20  # episodes that are compared at a time
_BUSY_SHARES: Final = (0.1, 0.1, 0.25, 0.25, 0.3)  # sleep, analyse, remove, restore, decoy
_BUSY_AT_MARKED: Final = 0.7  # of its actions, if there is a marked host


@dataclass(frozen=True)
class Blue:
    """A Blue player."""

    name: str
    begin: Begin
    observation: ObservationName = "challenge"  # the one it takes


def _random(seed: int) -> Act:
    rng = np.random.default_rng(seed)
    return lambda observation, action_mask, step: int(rng.integers(NUM_ACTIONS))


def _busy(seed: int) -> Act:
    rng = np.random.default_rng(seed)

    def act(observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int) -> int:
        marked = np.flatnonzero(observation[:CHALLENGE_SIZE].reshape(NUM_HOSTS, 4).any(axis=1))
        at_marked = len(marked) and rng.random() < _BUSY_AT_MARKED
        host = int(rng.choice(marked) if at_marked else rng.integers(NUM_HOSTS))
        kind = rng.choice(len(_BUSY_SHARES), p=_BUSY_SHARES)
        decoy = DECOY_ACTIONS[host, rng.integers(NUM_DECOYS)]
        choices = (SLEEP, FIRST_ANALYSE + host, FIRST_REMOVE + host, FIRST_RESTORE + host, decoy)
        return int(choices[kind])

    return act


BUILT_IN_BLUES: Final = (
    Blue("random", _random),  # all 145 actions alike
    Blue("busy", _busy),  # removes, restores and places decoys, mostly where something is
)


def name_of(game: GameConfig, blue: Blue) -> str:
    """Returns a name without a space, from which the episodes' seeds derive."""
    red = Path(game.red_agent).name  # wherever the file of a policy is
    return f"{red}-{blue.name}-{game.episode_length}"


def compare_live(
    game: GameConfig, blue: Blue, episodes: int, seed: int, cyborg_path: str | Path | None = None
) -> Iterator[Comparison]:
    """Plays a game on CybORG, repeats it on the simulator and compares every step.

    An episode depends on the game, the name of Blue, the seed and its own number alone.

    Args:
        game: what is played, but for what Blue sees.
        blue: who defends.
        episodes: how many.
        seed: which ones.
        cyborg_path: where CybORG is.

    Yields:
        The comparison of everything played so far, after every few episodes.
    """
    env = CyborgEnv(**asdict(replace(game, observation=blue.observation)), cyborg_path=cyborg_path)
    name = name_of(game, blue)
    total: Comparison | None = None
    for start in range(0, episodes, _CHUNK):
        numbers = range(start, min(start + _CHUNK, episodes))
        seeds = [_seed_of(name, seed, number) for number in numbers]
        trace = record(name, env, seeds, blue.begin)
        cut = int((trace.lengths < trace.steps).sum())
        result = replace(compare(trace, game.rules), cut=cut)
        total = total + result if total else result
        yield total


def _seed_of(name: str, seed: int, episode: int) -> int:
    entropy = [zlib.crc32(name.encode()), seed, episode]
    return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0])
