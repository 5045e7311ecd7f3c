"""The states that explain a history, with their probabilities, and the space to compute them."""

from functools import cache
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.belief.outcomes import most_outcomes
from workflow_rl.jit import rule
from workflow_rl.scenario.network import Network
from workflow_rl.sim.state import state_dtype

_WORD: Final = np.dtype(np.int64).itemsize
# What Blue does not know; the other fields are the same in every state that explains a history.
_HIDDEN: Final = (
    "privileged",
    "removable",
    "persistent",
    "malware",
    "ot_down",
    "subnets_known",
    "addresses_known",
    "names_known",
    "ports_known",
    "ports",
    "ot_known",
    "red_agent",
    "red_raised",
    "red_success",
    "red_outcome",
    "bline_index",
    "bline_target",
    "bline_reached",
    "meander_swept",
    "meander_scanned",
    "meander_exploited",
    "meander_escalated",
    "meander_mapped",
    "meander_impacted",
)


def hidden_fields(network: Network) -> tuple[str, ...]:
    """Returns the fields of a state that Blue does not know on a network.

    Blue knows which decoys stand unless Misinform places them.
    """
    return (*_HIDDEN, "decoys") if "Misinform" in network.actions else _HIDDEN


@cache
def hidden_words(network: Network) -> NDArray[np.int64]:
    """Returns which of a record's 8-byte words those fields lie in."""
    fields = state_dtype(network).fields
    assert fields is not None
    words: set[int] = set()
    for name in hidden_fields(network):
        dtype, offset, *_ = fields[name]
        words.update(range(offset // _WORD, -(-(offset + dtype.itemsize) // _WORD)))
    return np.array(sorted(words), np.int64)


_MULTIPLIER = -0x61C8864680B583EB  # 2**64 over the golden ratio, as a signed number


class Hypotheses(NamedTuple):
    """The states that explain each environment's history: distinct, the first `number` of a row."""

    states: NDArray[np.void]  # (n, rows) of a State, settled (`settling.settle`)
    weights: NDArray[np.float64]  # (n, rows) their probabilities, which add up to 1
    number: NDArray[np.int64]  # (n,)
    is_exact: NDArray[np.bool_]  # (n,) no state of this episode was ever left out

    @classmethod
    def empty(cls, dtype: np.dtype[np.void], num_envs: int, rows: int) -> Self:
        """Allocates room for `rows` states, of that type, of each environment."""
        return cls(
            states=np.zeros((num_envs, rows), dtype),
            weights=np.zeros((num_envs, rows), np.float64),
            number=np.zeros(num_envs, np.int64),
            is_exact=np.zeros(num_envs, np.bool_),
        )

    def enlarged(self, rows: int) -> "Hypotheses":
        """Returns the same states with more room."""
        larger = Hypotheses.empty(self.states.dtype, len(self.number), rows)
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
    hidden: NDArray[np.int64]  # the words in which states differ
    draws: NDArray[np.int64]  # (`most_outcomes`, 4) outcomes of chance
    chances: NDArray[np.float64]  # (`most_outcomes`,) their probabilities
    states: NDArray[np.void]  # (m,) distinct next states
    words: NDArray[np.int64]  # (m, words) the same memory
    weights: NDArray[np.float64]  # (m,) their probabilities, up to a common factor
    slots: NDArray[np.int32]  # (a power of 2 above m,) hash table: a state's number + 1, or 0
    slot_of: NDArray[np.int64]  # (m,) where each state stands in it

    @classmethod
    def empty(cls, network: Network, size: int) -> Self:
        """Allocates room for `size` states on a network."""
        dtype, outcomes = state_dtype(network), most_outcomes(network)
        env, states = np.zeros(2, dtype), np.zeros(size, dtype)
        return cls(
            env=env,
            env_words=env.view(np.int64).reshape(2, -1),
            hidden=hidden_words(network),
            draws=np.zeros((outcomes, 4), np.int64),
            chances=np.zeros(outcomes, np.float64),
            states=states,
            words=states.view(np.int64).reshape(size, -1),
            weights=np.zeros(size, np.float64),
            slots=np.zeros(1 << (2 * size).bit_length(), np.int32),
            slot_of=np.zeros(size, np.int64),
        )


@rule
def add_state(
    new: NDArray[np.int64],
    weight: float,
    hidden: NDArray[np.int64],
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
        hidden: the words in which states differ.
        words: as in Workspace, like the others.
        weights: see there.
        slots: see there.
        slot_of: see there.
        number: how many there are.
    """
    hashed = 0
    for word in hidden:
        hashed = (hashed ^ new[word]) * _MULTIPLIER
        hashed ^= hashed >> 29
    last = len(slots) - 1
    slot = hashed & last
    while slots[slot]:
        other = slots[slot] - 1
        if is_same(new, words[other], hidden):
            weights[other] += weight
            return number
        slot = slot + 1 & last
    words[number] = new
    weights[number] = weight
    slots[slot] = number + 1
    slot_of[number] = slot
    return number + 1


@rule
def is_same(one: NDArray[np.int64], other: NDArray[np.int64], hidden: NDArray[np.int64]) -> bool:
    """Says whether two states agree in all that is hidden."""
    differ = 0
    for word in hidden:
        differ |= one[word] ^ other[word]
    return differ == 0
