"""What a policy does: how often it takes each action in a game, by phase, kind and host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.scenario.actions import (
    ACTION_HOST,
    ACTION_KIND,
    ACTION_NAMES,
    NO_HOST,
    NUM_ACTIONS,
    SLEEP,
    ActionKind,
)
from workflow_rl.scenario.tables import HOST_NAMES

KINDS: Final = ("decoy", "remove", "analyse", "restore", "wait")
# What the kind `wait` is.
WAITING: Final = "Sleep, Monitor, or a decoy that is already there"
_PHASE_ENDS: Final = (10, 30)  # steps after which the next phase begins; the last one has no end
_KIND_OF: Final = np.array(  # (145,) index in KINDS
    [
        {
            ActionKind.SLEEP: KINDS.index("wait"),
            ActionKind.MONITOR: KINDS.index("wait"),
            ActionKind.ANALYSE: KINDS.index("analyse"),
            ActionKind.REMOVE: KINDS.index("remove"),
            ActionKind.RESTORE: KINDS.index("restore"),
        }.get(kind, KINDS.index("decoy"))
        for kind in ACTION_KIND.tolist()
    ]
)


@dataclass(frozen=True, eq=False)
class Behaviour:
    """The actions of an average game against one attacker.

    A decoy that is already there, or that its host does not take, changes nothing: it counts as
    Sleep.
    """

    times: NDArray[np.float64]  # (phases, 145) how often each action is taken in a game

    def __eq__(self, other: object) -> bool:
        """Says whether all actions are taken as often."""
        return isinstance(other, Behaviour) and np.array_equal(self.times, other.times)

    @classmethod
    def mean(cls, parts: Sequence[Self], weights: Sequence[float] | None = None) -> Self:
        """Returns the mean over games of the same length; without weights all count alike."""
        return cls(np.average([part.times for part in parts], axis=0, weights=weights))

    @property
    def phases(self) -> list[str]:
        """The phases by their first and last step: `1-10`, `11-30`, `31-100`."""
        lengths = self.times.sum(axis=1).round().astype(int).tolist()
        ends = np.cumsum([0, *lengths]).tolist()
        return [f"{start + 1}-{end}" for start, end in pairwise(ends)]

    @property
    def shares(self) -> dict[str, float]:
        """Share of all steps in which an action of each kind is taken."""
        return dict(zip(KINDS, self._by_kind(self.times.sum(axis=0)[None])[0], strict=True))

    @property
    def phase_shares(self) -> NDArray[np.float64]:
        """(phases, kinds) share of the phase's steps."""
        return self._by_kind(self.times)

    @property
    def host_times(self) -> dict[str, NDArray[np.float64]]:
        """(kinds,) how often actions of each kind are taken on each host, the busiest host first.

        Hosts on which nothing is done are left out; what concerns no host is not counted.
        """
        times = self.times.sum(axis=0)
        table = np.zeros((len(HOST_NAMES), len(KINDS)))
        used = ACTION_HOST != NO_HOST
        np.add.at(table, (ACTION_HOST[used], _KIND_OF[used]), times[used])
        busiest = np.argsort(-table.sum(axis=1), kind="stable")
        return {HOST_NAMES[host]: table[host] for host in busiest if table[host].any()}

    @staticmethod
    def _by_kind(times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns (phases, kinds) shares of the actions (phases, 145)."""
        kinds = times @ np.eye(len(KINDS))[_KIND_OF]
        shares: NDArray[np.float64] = kinds / kinds.sum(axis=1, keepdims=True)
        return shares

    def __str__(self) -> str:
        """Writes the shares of all steps: `decoy 41 %, analyse 29 %, ...`, the largest first."""
        ordered = sorted(self.shares.items(), key=lambda item: -item[1])
        return ", ".join(f"{kind} {100 * share:.0f} %" for kind, share in ordered)

    def as_json(self) -> list[dict[str, float]]:
        """Returns how often each action is taken, by its name, for each phase."""
        return [
            {ACTION_NAMES[action]: float(phase[action]) for action in phase.nonzero()[0]}
            for phase in self.times
        ]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> Self:
        """Returns the behaviour that `as_json` gave.

        Raises:
            KeyError, TypeError, ValueError: it is not such data.
        """
        times = np.zeros((len(data), NUM_ACTIONS))
        for row, phase in zip(times, data, strict=True):
            for name, number in dict(phase).items():
                row[ACTION_NAMES.index(name)] = float(number)
        is_played = len(times) > 0 and times.any(axis=1).all()
        if not (is_played and np.isfinite(times).all() and (times >= 0).all()):
            raise ValueError("actions are missing")
        return cls(times)


class ActionCounter:
    """Counts the actions of many games that are played side by side."""

    def __init__(self, steps: int) -> None:
        """Counts nothing yet; `steps` is the length of a game."""
        self._counts = np.zeros((1 + sum(end < steps for end in _PHASE_ENDS), NUM_ACTIONS), int)
        self._steps = steps

    def count(
        self,
        step: int,
        actions: NDArray[np.int64],
        before: NDArray[np.integer],
        after: NDArray[np.integer],
    ) -> None:
        """Counts the actions (n,) of one step, given the decoys (n, 13) before and after it."""
        in_vain = (_KIND_OF[actions] == KINDS.index("decoy")) & (before == after).all(axis=1)
        taken = np.where(in_vain, SLEEP, actions)
        phase = sum(step >= end for end in _PHASE_ENDS)
        self._counts[phase] += np.bincount(taken, minlength=NUM_ACTIONS)

    def behaviour(self) -> Behaviour | None:
        """Returns what was counted, for one game; None if no game was counted."""
        games = self._counts.sum() / self._steps
        return Behaviour(self._counts / games) if games else None
