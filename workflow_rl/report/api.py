"""The search as Python's users know it: with its report."""

import warnings
from pathlib import Path

from workflow_rl.config import ExperimentConfig
from workflow_rl.report.live import ReportListener
from workflow_rl.runs.api import Silent
from workflow_rl.runs.api import search as run_search
from workflow_rl.runs.execution import Execution
from workflow_rl.runs.run import SearchOutcome


def search(
    config: ExperimentConfig | None = None,
    *,
    checkpoint_dir: str | Path = "logs",
    resume: str | Path | None = None,
    execution: Execution | None = None,
) -> SearchOutcome:
    """Searches the 120 workflows, as `workflow-rl search` does, and writes the run's report.

    Args:
        config: everything the run depends on; by default that of the command line.
        checkpoint_dir: where the run directory is made.
        resume: an interrupted run's directory to go on with; `config` is then its own.
        execution: where workflows are trained: here, in processes or on Ray.

    Returns:
        Every trial, the recommendation, and the run directory with policies, logs and report.
    """
    listeners: list[ReportListener] = []

    def listen(path: Path) -> ReportListener:
        listeners.append(ReportListener(path, Silent(), warnings.warn))
        return listeners[0]

    outcome = run_search(
        config,
        checkpoint_dir=checkpoint_dir,
        resume=resume,
        execution=execution,
        listen=listen,
    )
    listeners[0].conclude()
    return outcome
