"""Results of playing: of one game (`Result`), of its episodes (`Cell`), of many games."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import (
    RED_AGENTS,
    VIEWS,
    GameConfig,
    ObservationName,
    red_agent_name,
    whole_number,
)
from workflow_rl.config.reds import SHIPPED_REDS
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.behaviour import Behaviour
from workflow_rl.scenario.network import Network
from workflow_rl.workflow.orders import Order

UNKNOWN: Final = Estimate(math.nan)
OFFICIAL_STEPS: Final = (30, 50, 100)
OFFICIAL_EPISODES: Final = 1_000
# Attackers that deviate from CybORG's scripts: whoever holds against these alone need not hold
# against others. An official evaluation plays them, too, apart from its score.
DEVIATING_REDS: Final = ("patient:2:bline", "patient:3:bline", "bait", "random", *SHIPPED_REDS)
DEVIATING_STEPS: Final = 100


def are_official(games: Sequence[GameConfig]) -> bool:
    """Returns whether games are the nine of the challenge, on Scenario2, in which Green sleeps."""
    nine = [(steps, red, "sleep") for steps in OFFICIAL_STEPS for red in RED_AGENTS]
    played = [(game.episode_length, game.red_agent, game.green_agent) for game in games]
    return played == nine and all(game.is_scenario2 for game in games)


@dataclass(frozen=True)
class Result:
    """Reward and compliance in so many games against one attacker, with 95 % intervals."""

    red_agent: str  # who attacked, by a name of `config/reds.py`
    games: int
    reward: Estimate  # the environment's own reward, summed over an episode
    compliance: Estimate = UNKNOWN  # by what Blue saw; NaN without a workflow
    compliance_true: Estimate = UNKNOWN  # by where Red really was
    _: KW_ONLY
    fixes: float = math.nan  # a game, of which compliance is the share; NaN if not counted
    fixes_true: float = math.nan  # and of the true one

    @classmethod
    def pooled(cls, results: Sequence[Self], weights: Sequence[float], red_agent: str) -> Self:
        """Returns the weighted mean of results; those of weight 0 do not count.

        Args:
            results: against each attacker, or under each order.
            weights: of each; they sum to 1.
            red_agent: who attacked in all of them together.
        """
        attacks = [(w, r) for w, r in zip(weights, results, strict=True) if w > 0]

        def mean(name: str) -> Estimate:
            parts: list[tuple[float, Estimate]] = [(w, getattr(r, name)) for w, r in attacks]
            return Estimate(
                sum(w * part.mean for w, part in parts),
                math.sqrt(sum((w * part.half_width) ** 2 for w, part in parts)),
            )

        return cls(
            red_agent,
            sum(r.games for _, r in attacks),
            mean("reward"),
            mean("compliance"),
            mean("compliance_true"),
            fixes=sum(w * r.fixes for w, r in attacks),
            fixes_true=sum(w * r.fixes_true for w, r in attacks),
        )

    def as_json(self) -> dict[str, Any]:
        """Returns the result as plain data; NaN becomes null when it is written."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns the result that `as_json` gave, NaN where null was written.

        Raises:
            KeyError, TypeError, ValueError: it is not such data.
        """
        return cls(
            red_agent_name(data["red_agent"]),
            whole_number("games", data["games"], 0, 2**63),
            *(_estimate(data[name]) for name in ("reward", "compliance", "compliance_true")),
            fixes=_number(data.get("fixes")),
            fixes_true=_number(data.get("fixes_true")),
        )


def with_fixes(rate: str, fixes: float) -> str:
    """Writes compliance with the repairs a game that it is the share of: `1.000 (12.3)`."""
    return rate if math.isnan(fixes) else f"{rate} ({fixes:.1f})"


def _estimate(data: Mapping[str, Any]) -> Estimate:
    return Estimate(_number(data["mean"]), _number(data["half_width"]))


def _number(value: Any) -> float:
    number = math.nan if value is None else float(value)
    return math.nan if math.isnan(number) else number  # this very NaN, so that results stay equal


@dataclass(frozen=True)
class ActionLog:
    """What both sides did in a cell's first episodes, for the challenge's text file."""

    blue: NDArray[np.int16]  # (steps, m) index of the action
    red: NDArray[np.int16]  # (steps, m) index in red_names
    red_names: Sequence[str]


@dataclass(frozen=True)
class Cell:
    """The episodes of one game, one by one."""

    game: GameConfig
    seed: int
    returns: NDArray[np.float64]  # (n,) the environment's own reward, summed
    compliance: dict[str, NDArray[np.float64]]  # view -> (n,); without a workflow there are none
    fixes: dict[str, NDArray[np.int32]]  # view -> (n,) those that compliance is the share of
    log: ActionLog
    behaviour: Behaviour | None = None  # what Blue did; None on another environment

    def __repr__(self) -> str:
        """Says what was played and how it went, without every episode."""
        return (
            f"Cell({self.steps} steps, {self.red_agent}, {len(self.returns):,} episodes: "
            f"{self.result.reward})"
        )

    @property
    def steps(self) -> int:
        """Steps of an episode."""
        return self.game.episode_length

    @property
    def red_agent(self) -> str:
        """Who attacked."""
        return self.game.red_agent

    @property
    def mean(self) -> float:
        """Mean return."""
        return self.result.reward.mean

    @property
    def sd(self) -> float:
        """Standard deviation of the returns."""
        return float(self.returns.std(ddof=1))

    @cached_property
    def result(self) -> Result:
        """Mean return and compliance, with their intervals."""
        rates = (
            Estimate.of_many(self.compliance[view]) if view in self.compliance else UNKNOWN
            for view in VIEWS
        )
        seen, true = (
            float(self.fixes[view].mean()) if view in self.fixes else math.nan for view in VIEWS
        )
        reward, games = Estimate.of_many(self.returns), len(self.returns)
        return Result(self.red_agent, games, reward, *rates, fixes=seen, fixes_true=true)


@dataclass(frozen=True)
class Evaluation:
    """An agent's cells, and those against attackers that deviate, which no total counts."""

    agent: str
    observation: ObservationName
    order: Order | None  # the workflow by which compliance was judged
    backend: str
    seed: int
    is_sampled: bool
    cells: tuple[Cell, ...]
    seconds: float
    deviating: tuple[Cell, ...] = ()

    def __repr__(self) -> str:
        """Says who was evaluated how, the total and each cell's mean, a line each."""
        drawn = "sampled" if self.is_sampled else "deterministic"
        several = f"{len(self.cells)} cell{'s' if len(self.cells) > 1 else ''}"
        parts = "the official nine cells" if self.is_official else several
        head = (
            f"Evaluation of {self.agent} (rules {self.rules}, backend {self.backend}, {drawn}, "
            f"{self.episodes:,} episodes a cell, seed {self.seed}): {self.total} over {parts}"
        )
        rows = [f"  {c.steps:>4} steps, {c.red_agent:<7} {c.result.reward}" for c in self.cells]
        if self.deviating:
            rows.append("apart from these, attackers that deviate from the scripts:")
            rows += [
                f"  {c.steps:>4} steps, {c.red_agent:<15} {c.result.reward}" for c in self.deviating
            ]
        return "\n".join((head, *rows))

    @property
    def rules(self) -> str:
        """The rule set."""
        return self.cells[0].game.rules

    @property
    def network(self) -> Network:
        """What was played on."""
        return self.cells[0].game.network

    @property
    def green_agent(self) -> str:
        """What Green does."""
        return self.cells[0].game.green_agent

    @property
    def episodes(self) -> int:
        """Episodes of each cell."""
        return len(self.cells[0].returns)

    @property
    def total(self) -> Estimate:
        """The sum of the cells' means; the score, if they are the official nine."""
        return Estimate(
            sum(cell.mean for cell in self.cells),
            math.sqrt(sum(cell.result.reward.half_width**2 for cell in self.cells)),
        )

    @property
    def is_official(self) -> bool:
        """Whether the cells are the nine of the challenge, in which Green sleeps."""
        return are_official([cell.game for cell in self.cells])

    def cell(self, steps: int, red_agent: str) -> Cell:
        """Returns the cell of a length and a red agent; KeyError if it was not played."""
        for cell in (*self.cells, *self.deviating):
            if (cell.steps, cell.red_agent) == (steps, red_agent):
                return cell
        raise KeyError(f"no cell of {steps} steps against {red_agent}")

    def as_json(self) -> dict[str, Any]:
        """Returns everything but the actions as plain data."""
        return {
            "agent": self.agent,
            "observation": self.observation,
            "workflow": None if self.order is None else str(self.order),
            "units": None if self.order is None else self.order.units.setting,
            "rules": self.rules,
            "network": self.network.name,
            "reachability": self.network.reachability.value,
            "green_agent": self.green_agent,
            "backend": self.backend,
            "episodes": self.episodes,
            "seed": self.seed,
            "policy": "sampled" if self.is_sampled else "deterministic",
            "seconds": round(self.seconds, 3),
            "total": {
                "mean": self.total.mean,
                "half_width_95": self.total.half_width,
                "is_official": self.is_official,
            },
            "cells": [_cell_json(cell) for cell in self.cells],
            "deviating": [_cell_json(cell) for cell in self.deviating],
        }


def _cell_json(cell: Cell) -> dict[str, Any]:
    rates = {view: cell.compliance.get(view) for view in VIEWS}
    return {
        "steps": cell.steps,
        "red_agent": cell.red_agent,
        "seed": cell.seed,
        "mean": cell.mean,
        "sd": cell.sd,
        "half_width_95": cell.result.reward.half_width,
        **{f"compliance_{v}": None if r is None else float(r.mean()) for v, r in rates.items()},
        **{f"fixes_{v}": float(n.mean()) for v, n in cell.fixes.items()},
        "returns": cell.returns.tolist(),
        **{f"episode_compliance_{v}": r.tolist() for v, r in rates.items() if r is not None},
    }
