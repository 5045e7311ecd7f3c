"""Run directories to report on: written by hand, or by a real search of a second."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.evaluation.scores import scored
from tests.runs.toy import run_search, tiny
from tests.runs.work import outcome
from workflow_rl import __version__
from workflow_rl.config import RED_AGENTS, ExperimentConfig
from workflow_rl.files import save_arrays
from workflow_rl.runs.folder import TrainingFolder
from workflow_rl.runs.trials import HandedOver
from workflow_rl.train.job import TrainOutcome
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

PRECEDENCE = TYPES.precedence(range(NUM_ORDERS))

POLICY = HandedOver(
    False, tuple(scored(red, (-14.0, -15.0, -40.0), 0.5, (0.97, 0.95)) for red in RED_AGENTS), 12.0
)
HOSTILE = "<img src=x onerror=alert(1)>"  # may stand in a file name, too


def pairwise(worth: Sequence[float], centre: float = -30.0) -> NDArray[np.float64]:
    """(120,) values that are sums of what each pair's arrangement is worth."""
    return np.asarray(centre + PRECEDENCE @ (np.array(worth) / 2))


def trial(number: int, order: int, reward: float | None, **changes: Any) -> dict[str, Any]:
    """An entry of trials.json, with the outcome that belongs into the trial's folder.

    Without a reward it is under way. `changes` are of its decision.
    """
    unknown = ("score", "ucb", "mean", "deviation", "compliance_chance")
    decision: dict[str, Any] = {
        "order": order,
        "reason": "design",
        **dict.fromkeys(unknown),
        "top": [],
    }
    compliance = changes.pop("compliance", 0.97)
    entry: dict[str, Any] = {
        "trial": {"number": number, "order": order, "repeat": 0},
        "decision": decision | changes,
        "pick_seconds": 0.1,
        "start": "base",
        "run_seconds": 10.0 + number,
    }
    if reward is not None:
        good = compliance >= 0.95
        entry["outcome"] = outcome(order, reward, compliance=compliance, good=good)
    return entry


def log_rows(training: str, order: int | None, updates: int) -> list[dict[str, Any]]:
    """Rows of training_log.csv."""
    same = {"compliance_true": 0.9, "fixes": 10.0, "alignment_weight": 30.0} | {
        **{"simulate_seconds": 0.1, "infer_seconds": 0.2, "update_seconds": 0.7},
        **{"policy_loss": 0.1, "value_loss": 0.2, "entropy": 4.0, "approx_kl": 0.01},
        **{"clipfrac": 0.02, "explained_variance": 0.3, "distinct_inputs": 500},
        **{"gradient_steps": 4, "cpu_percent": 99.0, "rss_mb": 500.0},
    }
    return [
        {
            "training": training,
            "workflow": "all" if order is None else TYPES.format(order),
            "update": update,
            "transitions": 1_000 * update,
            "episodes": 10,
            "env_reward": -100.0 / update,
            "compliance_observed": 1 - 0.5 / update,
        }
        | same
        for update in range(1, updates + 1)
    ]


def write_log(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    lines = [",".join(rows[0])] + [",".join(map(str, row.values())) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_run(
    folder: Path,
    trials: Sequence[Any] = (),
    rows: Sequence[dict[str, Any]] = (),
    *,
    policy: HandedOver | None = None,
    config: ExperimentConfig | None = None,
    **noted: Any,
) -> Path:
    """Writes a run's directory by hand; with a policy that is handed over it is finished."""
    folder.mkdir(parents=True)
    about = {
        "version": __version__,
        "rules": "main",
        "purpose": "search",
        "command": ["/somewhere/bin/workflow-rl", "search", "--red-agent", "bline"],
        "created": "2026-01-01T12:00:00+0000",
        "git_revision": "0" * 40,
        "python": "3.11.7",
        "packages": {"numpy": "2.0"},
        "config": (config or ExperimentConfig()).as_json(),
    }
    (folder / "experiment_config.json").write_text(json.dumps(about | noted))
    if trials:
        write_trials(folder, trials)
    if rows:
        write_log(folder / "training_log.csv", rows)
    if policy is not None:
        policy.save(folder)
        (folder / "summary.json").write_text("{}")
    return folder


def write_trials(run: Path, trials: Sequence[Any]) -> None:
    """Writes trials.json, and what trainings gave into their folders."""
    entries = [dict(one) if isinstance(one, dict) else one for one in trials]
    for entry in entries:
        if isinstance(entry, dict) and (given := entry.pop("outcome", None)) is not None:
            write_outcome(run, f"trial_{entry['trial']['number']:03d}", given)
    (run / "trials.json").write_text(json.dumps(entries))


def write_outcome(run: Path, training: str, given: TrainOutcome) -> None:
    """Writes what a training gave into its folder."""
    folder = TrainingFolder(run / "trainings" / training)
    folder.path.mkdir(parents=True)
    save_arrays(folder.result, "training result", {}, {"outcome": given.as_json()})


def searched(folder: Path) -> Path:
    """The directory of a real search that takes about a second."""
    config = tiny(
        n_workflows=6,
        strategy="gp-ucb",
        initial_design=3,
        compliance_threshold=0.02,
        n_envs=12,
        episode_length=30,
        base_updates=12,
        polish_updates=4,
    )
    return run_search(config, checkpoint_dir=folder).path
