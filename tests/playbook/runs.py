"""Finished runs, written by hand: enterprise before user is worth 10, nothing else anything."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.evaluation.scores import scored
from tests.pages.runs import POLICY, pairwise, trial, write_outcome, write_run
from tests.runs.work import outcome
from workflow_rl.config import RED_AGENTS, ExperimentConfig
from workflow_rl.evaluation.selection import Score
from workflow_rl.runs.trials import HandedOver
from workflow_rl.workflow.orders import TYPES
from workflow_rl.workflow.units import TYPE_UNITS

BEST = TYPES.index(("enterprise", "op_server", "user", "op_host", "defender"))
_PAIR = (TYPE_UNITS.names.index("enterprise"), TYPE_UNITS.names.index("user"))
VALUES = pairwise([10.0 if pair == _PAIR else 0.0 for pair in TYPES.pairs])


def score(red_agent: str, mean: float, by_hand: float) -> Score:
    return scored(red_agent, (mean, mean, by_hand), 0.2, (0.97, 0.9))


def finished(
    folder: Path, complies: Callable[[int], bool] = lambda order: True, **noted: Any
) -> Path:
    """The directory of a search that has come to its end; its best order is the lucky one."""
    tried = [BEST, BEST, *range(0, 120, 6)]
    trials = [
        trial(
            k,
            order,
            VALUES[order] + (0.4 if order == BEST else 0.1 * (-1) ** k),
            compliance=0.97 if complies(order) else 0.5,
        )
        for k, order in enumerate(tried)
    ]
    scores = tuple(
        score(red, mean, -20.0) for red, mean in zip(RED_AGENTS, (-15.4, -90.0, 0.0), strict=True)
    )
    return write_run(folder, trials, policy=HandedOver(False, scores, 60.0), **noted)


def trained(folder: Path, order: int | None = 7) -> Path:
    """The directory of a training of one workflow, or of all."""
    run = write_run(folder, policy=POLICY, purpose="train")
    given = outcome(7, -20.0)
    if order is None:
        given = replace(given, order=None, workflow=None)
    write_outcome(run, "training", given)
    return run


def mixed(folder: Path) -> Path:
    """The directory of a search against all red agents."""
    config = ExperimentConfig()
    config = replace(config, game=replace(config.game, red_agent="mixed"))
    return finished(folder, config=config)
