"""The states that explain a history, with their probabilities, and the space to compute them."""

from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.belief.outcomes import MOST_OUTCOMES
from workflow_rl.jit import rule
from workflow_rl.sim.draws import Draws
from workflow_rl.sim.state import STATE_DTYPE

_WORD: Final = np.dtype(np.int64).itemsize
NUM_WORDS: Final = STATE_DTYPE.itemsize // _WORD
# What Blue does not know; the other fields are the same in every state that explains a history.
HIDDEN: Final = (
    "privileged",
    "removable",
    "persistent",
    "malware",
    "ot_running",
    "subnets_known",
    "addresses_known",
    "names_known",
    "ports_known",
    "ports",
    "ot_known",
    "red_agent",
    "red_success",
    "red_outcome",
    "bline_index",
    "bline_target",
    "bline_passed_scan",
    "meander_swept",
    "meander_scanned",
    "meander_exploited",
    "meander_escalated",
    "meander_mapped",
)


def _words_of(name: str) -> range:
    """Returns which of a record's 8-byte words a field lies in."""
    assert STATE_DTYPE.fields is not None
    dtype, offset, *_ = STATE_DTYPE.fields[name]
    return range(offset // _WORD, -(-(offset + dtype.itemsize) // _WORD))


HIDDEN_WORDS: Final = np.array(
    sorted({word for name in HIDDEN for word in _words_of(name)}), dtype=np.int64
)
_NUM_HIDDEN = len(HIDDEN_WORDS)
_MULTIPLIER = -0x61C8864680B583EB  # 2**64 over the golden ratio, as a signed number


class Hypotheses(NamedTuple):
    """The states that explain each environment's history: distinct, the first `number` of a row."""

    states: NDArray[np.void]  # (n, rows) of STATE_DTYPE, settled (`settling.settle`)
    weights: NDArray[np.float64]  # (n, rows) their probabilities, which add up to 1
    number: NDArray[np.int64]  # (n,)
    is_exact: NDArray[np.bool_]  # (n,) no state of this episode was ever left out

    @classmethod
    def empty(cls, num_envs: int, rows: int) -> Self:
        """Allocates room for `rows` states of each environment."""
        return cls(
            states=np.zeros((num_envs, rows), STATE_DTYPE),
            weights=np.zeros((num_envs, rows), np.float64),
            number=np.zeros(num_envs, np.int64),
            is_exact=np.zeros(num_envs, np.bool_),
        )

    def enlarged(self, rows: int) -> "Hypotheses":
        """Returns the same states with more room."""
        larger = Hypotheses.empty(len(self.number), rows)
        old = self.states.shape[1]
        larger.states[:, :old] = self.states
        larger.weights[:, :old] = self.weights
        larger.number[:] = self.number
        larger.is_exact[:] = self.is_exact
        return larger


class Workspace(NamedTuple):
    """Where the next states of one environment are gathered; nothing outlasts an update."""

    env: NDArray[np.void]  # (2,) the state of which outcomes are tried, and one of them
    env_words: NDArray[np.int64]  # (2, words) the same memory
    draws: NDArray[np.int64]  # (MOST_OUTCOMES, 4) outcomes of chance
    chances: NDArray[np.float64]  # (MOST_OUTCOMES,) their probabilities
    states: NDArray[np.void]  # (m,) distinct next states
    words: NDArray[np.int64]  # (m, words) the same memory
    weights: NDArray[np.float64]  # (m,) their probabilities, up to a common factor
    slots: NDArray[np.int32]  # (a power of 2 above m,) hash table: a state's number + 1, or 0
    slot_of: NDArray[np.int64]  # (m,) where each state stands in it

    @classmethod
    def empty(cls, size: int) -> Self:
        """Allocates room for `size` states."""
        env, states = np.zeros(2, STATE_DTYPE), np.zeros(size, STATE_DTYPE)
        return cls(
            env=env,
            env_words=env.view(np.int64).reshape(2, NUM_WORDS),
            draws=np.zeros((MOST_OUTCOMES, len(Draws._fields)), np.int64),
            chances=np.zeros(MOST_OUTCOMES, np.float64),
            states=states,
            words=states.view(np.int64).reshape(size, NUM_WORDS),
            weights=np.zeros(size, np.float64),
            slots=np.zeros(1 << (2 * size).bit_length(), np.int32),
            slot_of=np.zeros(size, np.int64),
        )


@rule
def add_state(
    new: NDArray[np.int64],
    weight: float,
    words: NDArray[np.int64],
    weights: NDArray[np.float64],
    slots: NDArray[np.int32],
    slot_of: NDArray[np.int64],
    number: int,
) -> int:
    """Adds a state, or its weight to that of its equal, and returns how many there are.

    Args:
        new: (words,) the state.
        weight: its probability, up to a common factor.
        words: as in Workspace, like the others.
        weights: see there.
        slots: see there.
        slot_of: see there.
        number: how many there are.
    """
    hashed = 0
    for i in range(_NUM_HIDDEN):
        hashed = (hashed ^ new[HIDDEN_WORDS[i]]) * _MULTIPLIER
        hashed ^= hashed >> 29
    last = len(slots) - 1
    slot = hashed & last
    while slots[slot]:
        other = slots[slot] - 1
        if is_same(new, words[other]):
            weights[other] += weight
            return number
        slot = slot + 1 & last
    words[number] = new
    weights[number] = weight
    slots[slot] = number + 1
    slot_of[number] = slot
    return number + 1


@rule
def is_same(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Says whether two states agree in all that is hidden."""
    differ = 0
    for i in range(_NUM_HIDDEN):
        differ |= one[HIDDEN_WORDS[i]] ^ other[HIDDEN_WORDS[i]]
    return differ == 0
