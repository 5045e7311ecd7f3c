"""What a policy does: how often it takes each action in a game, by phase, kind and host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.network import ON_HOST, WITHOUT_HOST, Network

KINDS: Final = ("decoy", "remove", "analyse", "restore", "wait")
# What the kind `wait` is.
WAITING: Final = "Sleep, Monitor, or a decoy that is already there"
_PHASE_ENDS: Final = (10, 30)  # steps after which the next phase begins; the last one has no end
_KIND_OF: Final = {"Sleep": "wait", "Monitor": "wait", "Analyse": "analyse"} | {
    name: name.lower() for name in ("Remove", "Restore")
}
_SLEEP: Final = "Sleep"


def _kind_of(action: str) -> str:
    """Returns the kind of an action, one of KINDS; what is none of the others is a decoy."""
    return _KIND_OF.get(action.partition(" ")[0], "decoy")


@dataclass(frozen=True)
class Behaviour:
    """The actions of an average game against one attacker.

    A decoy that is already there, or that its host does not take, changes nothing: it counts as
    Sleep.
    """

    times: tuple[Mapping[str, float], ...]  # by phase: how often each action is taken, by its name

    @classmethod
    def mean(cls, parts: Sequence[Self], weights: Sequence[float] | None = None) -> Self:
        """Returns the mean over games of the same length; without weights all count alike."""
        shares = np.ones(len(parts)) if weights is None else np.asarray(weights, np.float64)
        shares = shares / shares.sum()
        found = []
        for phase in zip(*(part.times for part in parts), strict=True):
            names = dict.fromkeys(name for times in phase for name in times)
            found.append(
                {
                    name: float(
                        sum(s * t.get(name, 0.0) for s, t in zip(shares, phase, strict=True))
                    )
                    for name in names
                }
            )
        return cls(tuple(found))

    @property
    def phases(self) -> list[str]:
        """The phases by their first and last step: `1-10`, `11-30`, `31-100`."""
        lengths = [round(sum(phase.values())) for phase in self.times]
        ends = np.cumsum([0, *lengths]).tolist()
        return [f"{start + 1}-{end}" for start, end in pairwise(ends)]

    @property
    def shares(self) -> dict[str, float]:
        """Share of all steps in which an action of each kind is taken."""
        return dict(zip(KINDS, self._by_kind(*self.times), strict=True))

    @property
    def phase_shares(self) -> NDArray[np.float64]:
        """(phases, kinds) share of the phase's steps."""
        return np.array([self._by_kind(phase) for phase in self.times])

    @property
    def host_times(self) -> dict[str, NDArray[np.float64]]:
        """(kinds,) how often actions of each kind are taken on each host, the busiest host first.

        Hosts on which nothing is done are left out; what concerns no host is not counted.
        """
        table: dict[str, NDArray[np.float64]] = {}
        for phase in self.times:
            for action, times in phase.items():
                if host := action.partition(" ")[2]:
                    row = table.setdefault(host, np.zeros(len(KINDS)))
                    row[KINDS.index(_kind_of(action))] += times
        return dict(sorted(table.items(), key=lambda item: -item[1].sum()))

    @staticmethod
    def _by_kind(*phases: Mapping[str, float]) -> list[float]:
        """Returns (kinds,) shares of the actions of some phases."""
        kinds = dict.fromkeys(KINDS, 0.0)
        for phase in phases:
            for action, times in phase.items():
                kinds[_kind_of(action)] += times
        total = sum(kinds.values())
        return [times / total for times in kinds.values()]

    def __str__(self) -> str:
        """Writes the shares of all steps: `decoy 41 %, analyse 29 %, ...`, the largest first."""
        ordered = sorted(self.shares.items(), key=lambda item: -item[1])
        return ", ".join(f"{kind} {100 * share:.0f} %" for kind, share in ordered)

    def as_json(self) -> list[dict[str, float]]:
        """Returns how often each action is taken, by its name, for each phase."""
        return [dict(phase) for phase in self.times]

    @classmethod
    def from_json(cls, data: Sequence[Mapping[str, Any]]) -> Self:
        """Returns the behaviour that `as_json` gave.

        Raises:
            KeyError, TypeError, ValueError: it is not such data.
        """
        phases = tuple(
            {str(name): float(times) for name, times in dict(phase).items()} for phase in data
        )
        kinds = {name.partition(" ")[0] for phase in phases for name in phase}
        if unknown := kinds - {*WITHOUT_HOST, *ON_HOST}:
            raise ValueError(f"there is no action {', '.join(sorted(unknown))}")
        numbers = [times for phase in phases for times in phase.values()]
        is_played = phases and all(any(phase.values()) for phase in phases)
        if not is_played or not all(0 <= times < float("inf") for times in numbers):
            raise ValueError("actions are missing")
        return cls(phases)


class ActionCounter:
    """Counts the actions of many games that are played side by side."""

    def __init__(self, network: Network, steps: int) -> None:
        """Counts nothing yet; `steps` is the length of a game."""
        self._names = actions_of(network).names
        phases = 1 + sum(end < steps for end in _PHASE_ENDS)
        self._counts = np.zeros((phases, len(self._names)), int)
        self._is_decoy = np.array([_kind_of(name) == "decoy" for name in self._names])
        self._sleep = self._names.index(_SLEEP)
        self._steps = steps

    def count(
        self,
        step: int,
        actions: NDArray[np.int64],
        before: NDArray[np.integer],
        after: NDArray[np.integer],
    ) -> None:
        """Counts the actions (n,) of one step, given the decoys (n, hosts) before and after it."""
        in_vain = self._is_decoy[actions] & (before == after).all(axis=1)
        taken = np.where(in_vain, self._sleep, actions)
        phase = sum(step >= end for end in _PHASE_ENDS)
        self._counts[phase] += np.bincount(taken, minlength=len(self._names))

    def behaviour(self) -> Behaviour | None:
        """Returns what was counted, for one game; None if no game was counted."""
        games = self._counts.sum() / self._steps
        if not games:
            return None
        return Behaviour(
            tuple(
                {self._names[a]: float(phase[a] / games) for a in phase.nonzero()[0]}
                for phase in self._counts
            )
        )
