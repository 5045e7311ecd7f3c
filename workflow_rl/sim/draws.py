"""Chance: the draws of a step, from a counter-based generator or from a recording.

A draw is either a random 32-bit word (0 or more) or, when negative, a recorded outcome: `~draw`
is then what happened. Rules never see the difference: they ask the functions below to choose, so
replaying a recording and playing freely are the same code.

The words come from Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
2011) with the seed as key and (step, episode, environment) as counter. Nothing is carried from
step to step: an environment's episode depends on those three numbers alone, whatever the batch
size, the number of threads or the order of work.
"""

from typing import Final, NamedTuple

import numpy as np

from workflow_rl.jit import rule
from workflow_rl.scenario.images import FAVOURITE_EXPLOIT_PROBABILITY

_M0: Final = np.uint64(0xD2511F53)
_M1: Final = np.uint64(0xCD9E8D57)
_W0: Final = np.uint64(0x9E3779B9)
_W1: Final = np.uint64(0xBB67AE85)
_LOW: Final = np.uint64(0xFFFFFFFF)
_32: Final = np.uint64(32)

WORDS: Final = 1 << 32  # a random word is below this
FAVOURITE_BELOW: Final = round(FAVOURITE_EXPLOIT_PROBABILITY * WORDS)
TOOK_FAVOURITE: Final = 126  # recorded outcome of an exploit choice: the favourite
CHOSE_NOBODY: Final = 127  # recorded outcome of a choice that may be empty
LAST_OUTCOME: Final = CHOSE_NOBODY  # rules shift and index by outcomes: none may be higher


class Words(NamedTuple):
    """Four independent random words."""

    first: int
    second: int
    third: int
    fourth: int


class Draws(NamedTuple):
    """The draws of one step; a step uses those its rules ask for."""

    target: int  # whom B_line or Meander picks (at the start of an episode: which agent plays)
    exploit: int  # which of several exploits
    detection: int  # whether Blue's monitor sees a reverse shell
    green: int  # what Green does
    decoy: int  # which of several decoys Misinform places


@rule
def philox(counter0: int, counter1: int, counter2: int, key0: int, key1: int) -> Words:
    """Returns the four 32-bit words of Philox4x32-10 at counter (0, 1, 2, 0)."""
    x0, x1, x2, x3 = np.uint64(counter0), np.uint64(counter1), np.uint64(counter2), np.uint64(0)
    k0, k1 = np.uint64(key0), np.uint64(key1)
    for _ in range(10):
        p0 = x0 * _M0
        p1 = x2 * _M1
        x0, x1, x2, x3 = (p1 >> _32) ^ x1 ^ k0, p1 & _LOW, (p0 >> _32) ^ x3 ^ k1, p0 & _LOW
        k0 = (k0 + _W0) & _LOW
        k1 = (k1 + _W1) & _LOW
    # Signed again, since a negative draw has a meaning; numba wants that spelled by type.
    return Words(np.int64(x0), np.int64(x1), np.int64(x2), np.int64(x3))  # type: ignore[arg-type]


@rule
def recorded(outcome: int) -> int:
    """Returns the draw that makes a choice come out as recorded."""
    return ~outcome


@rule
def count(members: int) -> int:
    """Returns the number of members of a set."""
    number = 0
    while members:
        members &= members - 1
        number += 1
    return number


@rule
def first(members: int) -> int:
    """Returns the lowest member of a set that is not empty."""
    return count((members & -members) - 1)


@rule
def choose(draw: int, eligible: int) -> int:
    """Picks one member of a set that is not empty, uniformly.

    A recorded outcome that is not eligible cannot be followed: the lowest member is taken and the
    comparison with the recording shows it.
    """
    if draw < 0:
        outcome = ~draw
        return outcome if outcome < 64 and eligible >> outcome & 1 else first(eligible)
    for _ in range(draw * count(eligible) >> 32):
        eligible &= eligible - 1
    return first(eligible)


@rule
def choose_exploit(draw: int, options: int) -> int:
    """Picks one of the exploits: the favourite with 0.75, else one of the others, uniformly."""
    favourite = first(options)
    others = options & (options - 1)
    if not others:
        return favourite
    if draw < 0:
        return favourite if ~draw == TOOK_FAVOURITE else choose(draw, others)
    if draw < FAVOURITE_BELOW:
        return favourite
    return choose((draw - FAVOURITE_BELOW) * WORDS // (WORDS - FAVOURITE_BELOW), others)


@rule
def happens(draw: int, probability: float) -> bool:
    """Says whether an event of the given probability happens."""
    if draw < 0:
        return ~draw == 1
    return draw < probability * WORDS
