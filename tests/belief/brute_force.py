"""Bayes' rule by trying the random words themselves, on whole states: slow, and easy to trust."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import RED_AGENTS, GameConfig
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.draws import WORDS, Draws
from workflow_rl.sim.network import held_hosts

TARGET, EXPLOIT, DETECTION, GREEN, DECOY = range(len(Draws._fields))


def evenly(number: int) -> NDArray[np.int64]:
    """That many words spread evenly: a uniform choice falls on each of its members as often."""
    return (2 * np.arange(number) + 1) * WORDS // (2 * number)


WORDS_TO_TRY = {
    TARGET: evenly(2520),  # divided evenly by any number of targets up to ten
    EXPLOIT: evenly(4 * 420),  # three quarters for the favourite, the rest by up to seven others
    DETECTION: evenly(20),
    GREEN: evenly(16),  # of Green's list the eighths, halves and so on
    DECOY: evenly(60),  # divided evenly by any number of decoys up to five
}
# What tells the outcomes of a draw apart in the state after the step; of the last one everything.
TOLD_BY = {DECOY: ("decoys",), TARGET: ("red_target", "bline_target"), EXPLOIT: ("red_exploit",)}


class BruteForce:
    """What the states that explain one history say; prior even over the red agents."""

    def __init__(self, network: Network = SCENARIO2, **game: str) -> None:
        config = GameConfig(network=network, red_agent="mixed", **game)  # type: ignore[arg-type]
        self._hosts = np.arange(len(network.hosts))
        self._batches = {
            draw: Batch(len(words), config, autoreset=False) for draw, words in WORDS_TO_TRY.items()
        }
        for batch in self._batches.values():
            batch.reset(seed=0)
        self._draws: tuple[int, ...] = (TARGET, EXPLOIT, DETECTION)
        if "Misinform" in network.actions:
            self._draws = (DECOY, *self._draws)
        if "green_agent" in game:
            self._draws = (GREEN, *self._draws)
        state = self._batches[TARGET].state[:1].copy()
        self._dtype = state.dtype
        self._explain: dict[bytes, float] = {}
        for agent in range(len(RED_AGENTS)):
            state["red_agent"] = agent
            self._explain[state.tobytes()] = 1 / len(RED_AGENTS)

    def update(self, table: NDArray[np.int64], action: int) -> None:
        after: dict[bytes, float] = {}
        for before, weight in self._explain.items():
            for state, chance in self._outcomes(before, action, {}, self._draws):
                if (state["table"] == table).all():
                    after[state.tobytes()] = after.get(state.tobytes(), 0.0) + weight * chance
        total = sum(after.values())
        self._explain = {state: weight / total for state, weight in after.items()}

    def _outcomes(
        self, before: bytes, action: int, fixed: dict[int, int], draws: tuple[int, ...]
    ) -> Iterator[tuple[np.void, float]]:
        """Yields the states after the step, and with which chance each."""
        draw, *later = draws
        words, batch = WORDS_TO_TRY[draw], self._batches[draw]
        batch.state[:] = np.frombuffer(before, self._dtype)
        given = np.zeros((len(words), len(Draws._fields)), np.int64)
        for other, word in fixed.items():
            given[:, other] = word
        given[:, draw] = words
        batch.step(np.full(len(words), action), given)
        told_by = np.arange(len(words))[:, None]
        if draw in TOLD_BY:
            fields = [batch.state[name].reshape(len(words), -1) for name in TOLD_BY[draw]]
            told_by = np.concatenate(fields, axis=1)
        _, first, number = np.unique(told_by, axis=0, return_index=True, return_counts=True)
        states = batch.state[first].copy()
        for i, times in enumerate(number):
            chance = float(times) / len(words)
            if not later:
                yield states[i], chance
                continue
            known = fixed | {draw: int(words[first[i]])}
            for state, share in self._outcomes(before, action, known, tuple(later)):
                yield state, chance * share

    @property
    def states(self) -> NDArray[np.void]:
        return np.frombuffer(b"".join(self._explain), self._dtype)

    def mean(self, values: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The probability of what is true of some states."""
        weights = np.array(list(self._explain.values()))
        return np.tensordot(weights, values, axes=1)

    @property
    def access(self) -> NDArray[np.float64]:
        """(hosts, 3) as of a Belief."""
        held = held_hosts(self.states)[:, None] >> self._hosts & 1
        level = held + (self.states["privileged"][:, None] >> self._hosts & 1)
        return np.stack([self.mean(level == access) for access in range(3)], axis=-1)

    @property
    def ot_stopped(self) -> float:
        return float(self.mean(self.states["ot_down"] != 0))

    @property
    def red_agent(self) -> NDArray[np.float64]:
        return self.mean(self.states["red_agent"][:, None] == np.arange(len(RED_AGENTS)))
