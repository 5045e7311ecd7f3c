"""Runs small enough to test with, and what two of them must have in common."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from workflow_rl.config import Execution, ExperimentConfig, GameConfig, SearchConfig, TrainConfig
from workflow_rl.runs.search import open_search
from workflow_rl.runs.trials import SearchOutcome

# What a run may do differently each time: how long it took, and what it cost.
_COSTS = {"cpu_percent", "rss_mb", "seconds", "search_seconds", "pick_seconds", "run_seconds"} | {
    f"{phase}_seconds" for phase in ("simulate", "infer", "update")
}


def tiny(seed: int = 0, **changes: Any) -> ExperimentConfig:
    """A search that takes a quarter of a second; `changes` are fields of its parts."""
    config = ExperimentConfig(
        game=GameConfig(episode_length=20),
        train=TrainConfig(n_envs=6, max_episodes=3, min_updates=1, hidden=(8,)),
        search=SearchConfig(
            n_workflows=3, strategy="exhaustive", base_updates=3, polish_updates=2, score_games=5
        ),
        seed=seed,
    )
    for name in ("game", "train", "search"):
        part = getattr(config, name)
        mine = {key: value for key, value in changes.items() if hasattr(part, key)}
        config = replace(config, **{name: replace(part, **mine)})
        changes = {key: value for key, value in changes.items() if key not in mine}
    assert not changes
    return config


def csv_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def episode_rows(run: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(run / "episodes.parquet").to_pylist()
    return rows


def board_of(folder: Path) -> Any:
    """What TensorBoard reads in a folder."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = EventAccumulator(str(folder))
    board.Reload()
    return board


def without_costs(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: without_costs(value) for key, value in data.items() if key not in _COSTS}
    if isinstance(data, list):
        return [without_costs(value) for value in data]
    return data


def findings(run: Path) -> dict[str, Any]:
    """Everything a finished run has found and written, but for what it cost."""
    found: dict[str, Any] = {
        name: without_costs(csv_rows(run / name))
        for name in ("training_log.csv", "gp_sampling_log.csv")
    }
    for name in ("summary.json", "scores.json", "trials.json"):
        found[name] = without_costs(json.loads((run / name).read_text()))
    found["episodes.parquet"] = episode_rows(run)
    for path in sorted((run / "policies").iterdir()):
        found[path.name] = path.read_bytes()
    return found


def assert_same(run: Path, other: Path) -> None:
    """Two finished runs have the same workflows, rewards, policies and logs."""
    ours, theirs = findings(run), findings(other)
    assert set(ours) == set(theirs)
    different = [name for name in ours if ours[name] != theirs[name]]
    assert different == [], different


def the_run(folder: Path) -> Path:
    """The only run directory in a folder."""
    (run,) = folder.glob("exp_*")
    return run


def run_search(
    config: ExperimentConfig | None = None,
    *,
    checkpoint_dir: Path = Path("logs"),
    resume: Path | None = None,
    execution: Execution | None = None,
) -> SearchOutcome:
    """Runs a whole search that nobody watches and that writes no report."""
    with open_search(
        config, checkpoint_dir=checkpoint_dir, resume=resume, execution=execution
    ) as search:
        for _ in search.events():
            pass
    assert search.outcome is not None
    return search.outcome


def run_tiny(folder: Path, **changes: Any) -> SearchOutcome:
    """A search as small as can be, done."""
    return run_search(tiny(**changes), checkpoint_dir=folder)
