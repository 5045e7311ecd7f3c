"""Finished runs, written by hand: enterprise before user is worth 10, nothing else anything."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.report.runs import pairwise, trial, write_run
from workflow_rl.config import RED_AGENTS, ExperimentConfig
from workflow_rl.estimates import Estimate
from workflow_rl.evaluation.scoring import Score
from workflow_rl.scenario.units import UNITS
from workflow_rl.workflow.orders import TYPES

BEST = TYPES.index(("enterprise", "op_server", "user", "op_host", "defender"))
_PAIR = (UNITS.index("enterprise"), UNITS.index("user"))
VALUES = pairwise([10.0 if pair == _PAIR else 0.0 for pair in TYPES.pairs])


def score(red_agent: str, mean: float, by_hand: float) -> Score:
    return Score(
        red_agent, Estimate(mean, 0.2), Estimate(mean, 0.2), 0.97, 0.9, Estimate(by_hand, 0.2)
    )


def finished(folder: Path, **noted: Any) -> Path:
    """The directory of a search that has come to its end."""
    tried = [BEST, *range(0, 120, 6)]
    trials = [trial(k, order, VALUES[order] + 0.1 * (-1) ** k) for k, order in enumerate(tried)]
    scores = (
        score(red, mean, -20.0) for red, mean in zip(RED_AGENTS, (-15.4, -90.0, 0.0), strict=True)
    )
    summary = {
        "recommended": TYPES.format(BEST),
        "recommendation": {"order": BEST, "reason": "highest believed value"},
        "policy_scores": [s.as_json() for s in scores],
        "policy_score_games": 2000,
        "seconds": 60.0,
    }
    return write_run(folder, trials, summary=summary, **noted)


def trained(folder: Path, workflow: str | None = TYPES.format(7)) -> Path:
    """The directory of a training of one workflow."""
    result = trial(0, 7, -20.0)["result"]
    return write_run(folder, summary={"workflow": workflow, **result}, purpose="train")


def mixed(folder: Path) -> Path:
    """The directory of a search against all red agents."""
    config = ExperimentConfig()
    config = replace(config, game=replace(config.game, red_agent="mixed"))
    return finished(folder, config=config)
