"""A search or a training, started from Python."""

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.config import ExperimentConfig
from workflow_rl.envs.python_world import check_backend
from workflow_rl.ordersearch.loop import Trial
from workflow_rl.runs.execution import Execution, open_workers
from workflow_rl.runs.listener import Listener
from workflow_rl.runs.logs import Row
from workflow_rl.runs.run import SearchOutcome, SearchRun
from workflow_rl.runs.store import RunDirectory
from workflow_rl.runs.training import describe_trained
from workflow_rl.train.loop import TrainJob, TrainResult
from workflow_rl.train.loop import train as run_train
from workflow_rl.workflow.orders import order_index, parse_order


class Silent:
    """A listener that says nothing."""

    def began(self, phase: str, detail: str) -> None:
        """A phase or a trial begins."""

    def updated(self, row: Row) -> None:
        """An update was made."""

    def finished(self, trial: Trial, result: TrainResult, done: int) -> None:
        """A trial is over."""

    def noticed(self, text: str) -> None:
        """Something out of the ordinary happened."""


def search(
    config: ExperimentConfig | None = None,
    *,
    checkpoint_dir: str | Path = "logs",
    resume: str | Path | None = None,
    execution: Execution | None = None,
    listen: Callable[[Path], Listener] = lambda path: Silent(),
) -> SearchOutcome:
    """Searches the 120 workflows; `workflow_rl.search` does so and writes the report.

    Args:
        config: everything the run depends on; by default that of the command line.
        checkpoint_dir: where the run directory is made.
        resume: an interrupted run's directory to go on with; `config` is then its own.
        execution: where workflows are trained: here, in processes or on Ray.
        listen: makes who is told how the search in a directory goes.

    Returns:
        Every trial, the recommendation, and the run directory with policies and logs.
    """
    with ExitStack() as stack:
        if resume is not None:
            directory = stack.enter_context(closing(RunDirectory.open(Path(resume))))
            config = directory.config
        else:
            config = config or ExperimentConfig()
            check_backend(config.game, config.backend)
        workers = stack.enter_context(
            open_workers(execution or Execution(), config.search.parallel_workflows)
        )
        if resume is None:
            directory = RunDirectory.create(Path(checkpoint_dir), config, sys.argv)
            stack.enter_context(closing(directory))
        return SearchRun(directory, listen(directory.path), workers).run()


def train_workflow(
    workflow: str | Sequence[str] | None, config: ExperimentConfig | None = None
) -> tuple[Policy, TrainResult]:
    """Trains the policy of one workflow; nothing is written.

    Args:
        workflow: the order to follow, as text or as five unit types; None learns all orders.
        config: everything the training depends on; its search part is not used.

    Returns:
        The best policy met, and how the training went.
    """
    config = config or ExperimentConfig()
    order = None
    if workflow is not None:
        order = order_index(parse_order(workflow) if isinstance(workflow, str) else workflow)
    job = TrainJob(
        config.game, config.ppo, config.train, config.seed, order, backend=config.backend
    )
    result = run_train(job)
    return Policy(result.best, describe_trained(job, result)), result


__all__ = ["load_policy", "search", "train_workflow"]
