"""A whole search from Python, with its report: what `workflow-rl search` does."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workflow_rl.config import Execution, ExperimentConfig
from workflow_rl.config.checks import file_path, instance_or_default
from workflow_rl.errors import InvalidInputError
from workflow_rl.pages.live import LiveReport
from workflow_rl.runs.search import open_search
from workflow_rl.runs.trials import SearchOutcome


def search(
    config: ExperimentConfig | None = None,
    *,
    units: str | Path | Mapping[str, Sequence[str]] | None = None,
    require: Sequence[str] | None = None,
    checkpoint_dir: str | Path = "logs",
    resume: str | Path | None = None,
    execution: Execution | None = None,
) -> SearchOutcome:
    """Searches the workflows, as `workflow-rl search` does, and writes the run's report.

    Args:
        config: everything the run depends on; by default that of the command line.
        units: what workflows order: types, hosts, subnets, a TOML file or groups of hosts; by
            default the configuration's.
        require: what every order must agree with, such as "op_server > user"; by default the
            configuration's.
        checkpoint_dir: where the run directory is made.
        resume: an interrupted run's directory to go on with; `config` is then its own.
        execution: where workflows are trained: here, in processes or on Ray.

    Returns:
        Every trial, the recommendation, and the run directory with policies, logs and report.
    """
    given = {"units": units, "require": require}
    asked: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if asked and resume is not None:
        raise InvalidInputError(f"{next(iter(asked))} of a resumed search are its own")
    if asked:
        config = instance_or_default("config", config, ExperimentConfig)
        config = replace(config, train=replace(config.train, **asked))
    with open_search(
        config,
        checkpoint_dir=file_path("checkpoint_dir", checkpoint_dir),
        resume=None if resume is None else file_path("resume", resume),
        execution=execution,
    ) as run:
        report, was_finished = LiveReport(run.directory.path, warnings.warn), run.is_finished
        for _ in run.events():
            report.refresh()
    assert run.outcome is not None
    report.conclude(only_missing=was_finished)
    return run.outcome
