"""What an evaluation finds: returns and compliance of every episode, and their summaries."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import RED_AGENTS, VIEWS
from workflow_rl.estimates import Estimate
from workflow_rl.workflow.orders import Order

OFFICIAL_STEPS: Final = (30, 50, 100)
OFFICIAL_EPISODES: Final = 1_000


@dataclass(frozen=True)
class ActionLog:
    """What both sides did in a cell's first episodes, for the challenge's text file."""

    blue: NDArray[np.int16]  # (steps, m) index of the action
    red: NDArray[np.int16]  # (steps, m) index in red_names
    red_names: Sequence[str]


@dataclass(frozen=True)
class Cell:
    """The episodes of one length against one red agent."""

    steps: int
    red_agent: str
    seed: int
    returns: NDArray[np.float64]  # (n,) the environment's own reward, summed
    compliance: dict[str, NDArray[np.float64]]  # view -> (n,); without a workflow there are none
    log: ActionLog

    def __repr__(self) -> str:
        """Says what was played and how it went, without every episode."""
        return (
            f"Cell({self.steps} steps, {self.red_agent}, {len(self.returns):,} episodes: "
            f"{self.estimate})"
        )

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(self.returns.mean())

    @property
    def sd(self) -> float:
        """Standard deviation of the returns."""
        return float(self.returns.std(ddof=1))

    @property
    def estimate(self) -> Estimate:
        """Mean return with its interval."""
        return Estimate.of_many(self.returns)

    def mean_compliance(self, view: str) -> float | None:
        """Returns the mean compliance in one view; None without a workflow."""
        rates = self.compliance.get(view)
        return None if rates is None else float(rates.mean())


@dataclass(frozen=True)
class Evaluation:
    """An agent's cells."""

    agent: str
    observation: str
    order: Order | None  # the workflow by which compliance was judged
    rules: str
    backend: str
    episodes: int
    seed: int
    is_sampled: bool
    cells: tuple[Cell, ...]
    seconds: float

    def __repr__(self) -> str:
        """Says who was evaluated how, the total and each cell's mean, a line each."""
        drawn = "sampled" if self.is_sampled else "deterministic"
        several = f"{len(self.cells)} cell{'s' if len(self.cells) > 1 else ''}"
        parts = "the official nine cells" if self.is_official else several
        head = (
            f"Evaluation of {self.agent} (rules {self.rules}, backend {self.backend}, {drawn}, "
            f"{self.episodes:,} episodes a cell, seed {self.seed}): {self.total} over {parts}"
        )
        rows = (f"  {c.steps:>4} steps, {c.red_agent:<7} {c.estimate}" for c in self.cells)
        return "\n".join((head, *rows))

    @property
    def total(self) -> Estimate:
        """The sum of the cells' means; the score, if all nine are there."""
        return Estimate(
            sum(cell.mean for cell in self.cells),
            math.sqrt(sum(cell.estimate.half_width**2 for cell in self.cells)),
        )

    @property
    def is_official(self) -> bool:
        """Whether the cells are the nine of the challenge."""
        nine = [(steps, red) for steps in OFFICIAL_STEPS for red in RED_AGENTS]
        return [(cell.steps, cell.red_agent) for cell in self.cells] == nine

    def cell(self, steps: int, red_agent: str) -> Cell:
        """Returns the cell of a length and a red agent; KeyError if it was not played."""
        for cell in self.cells:
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
        }


def _cell_json(cell: Cell) -> dict[str, Any]:
    return {
        "steps": cell.steps,
        "red_agent": cell.red_agent,
        "seed": cell.seed,
        "mean": cell.mean,
        "sd": cell.sd,
        "half_width_95": cell.estimate.half_width,
        **{f"compliance_{view}": cell.mean_compliance(view) for view in VIEWS},
        "returns": cell.returns.tolist(),
        **{
            f"episode_compliance_{view}": cell.compliance[view].tolist()
            for view in VIEWS
            if view in cell.compliance
        },
    }
