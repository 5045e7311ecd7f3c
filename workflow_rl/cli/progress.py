"""How the events of a search or a training are shown."""

import time
from collections.abc import Sequence
from typing import Self

from rich.console import Console

from workflow_rl.cli.console import Bars, print_whole
from workflow_rl.config import ExperimentConfig
from workflow_rl.report.snapshot import planned_updates
from workflow_rl.runs.pool import Done, Event, Failed, Retried, Row, Rows, Started
from workflow_rl.runs.store import BASE, POLISH, TRAINING
from workflow_rl.runs.train import workflow_named
from workflow_rl.runs.training import TrainTask
from workflow_rl.runs.trials import Trial
from workflow_rl.train.job import TrainOutcome
from workflow_rl.workflow.orders import orders_of

_WORKFLOWS = "workflows"


def notice_of(event: Event) -> str | None:
    """Returns what is out of the ordinary about an event, in words."""
    if isinstance(event, Retried):
        return f"{event.task.name} is done again: {event.reason}"
    if isinstance(event, Failed):
        job = event.task.job
        named = job.workflow or "all orders"
        return f"{event.task.name} failed and is left out: {event.reason} ({named})"
    return None


def speed_words(rate: float) -> str:
    """Writes steps per second, in thousands where there are many."""
    return f"{rate / 1000:,.0f}k steps/s" if rate >= 10_000 else f"{rate:,.0f} steps/s"


def show_task(bars: Bars, name: str, event: Event, done: int, where: str = "") -> None:
    """Shows how one of many tasks goes, beside the bar that counts them.

    Args:
        bars: where.
        name: of the bar.
        event: what happened.
        done: tasks that are through.
        where: said before the task's name.
    """
    news = f"{where}{event.task.name}"
    if isinstance(event, Rows) and "env_reward" in (row := event.rows[-1]):
        news += f", {row['transitions']:,} transitions: reward {float(row['env_reward']):.1f}"
    elif notice := notice_of(event):
        print_whole(bars.console, notice)
    bars.move(name, done, news)


class SearchProgress(Bars):
    """A bar over workflows and one over the updates of a training; a line for each that ends."""

    def __init__(
        self, console: Console, config: ExperimentConfig, earlier: Sequence[Trial] = ()
    ) -> None:
        """Prepares the bars.

        Args:
            console: where they are shown.
            config: of the run.
            earlier: trials that were done before.
        """
        super().__init__(console)
        self._config = config
        self._earlier = [(trial.order, trial.outcome) for trial in earlier]
        self._training = ""  # whose updates are shown
        self._best = float("-inf")
        self._done = 0
        self._transitions = 0
        self._since = time.perf_counter()

    def __enter__(self) -> Self:
        """Starts showing, with what was done before."""
        super().__enter__()
        for order, result in self._earlier:
            assert result is not None
            self._finish(order, result)
        return self

    def show(self, event: Event) -> None:
        """Shows what happened."""
        if isinstance(event, Started):
            self._start(event.task)
        elif isinstance(event, Rows):
            for row in event.rows:
                self._update(event.task.name, row)
        elif isinstance(event, Done) and event.task.name not in (BASE, POLISH, TRAINING):
            self._finish(event.task.job.order, event.result)
        elif isinstance(event, Done) and event.task.name == POLISH:
            self._follow("scoring", total=1, news="the policy on fresh games")
        elif notice := notice_of(event):
            print_whole(self.console, notice)

    def _start(self, task: TrainTask) -> None:
        """Shows a new bar for a training."""
        if task.name not in (BASE, TRAINING):
            self.begin(_WORKFLOWS, self._config.search.n_workflows)
        self._follow(task.name, planned_updates(self._config, task.name))
        order = task.job.order
        named = workflow_named(self._config, order)
        if order is not None and task.name != TRAINING:
            named = orders_of(self._config.train)[order].short
        print_whole(self.console, f"{task.name}: {named}")

    def _follow(self, name: str, total: int, news: str = "") -> None:
        """Shows a new bar in place of the last one."""
        self.end(self._training)
        self._training = name
        self.begin(name, total, news=news)

    def _update(self, training: str, row: Row) -> None:
        """Moves the bar of a training, if it is the one that is shown."""
        train = self._config.train
        self._transitions += train.n_envs * train.rollout_steps(self._config.game.episode_length)
        rate = self._transitions / max(time.perf_counter() - self._since, 1e-9)
        compliance = row[f"compliance_{train.compliance_view}"]
        scores = f"reward {float(row['env_reward']):.1f} compliance {float(compliance):.3f}"
        news = f"{scores if row['episodes'] else 'no episode ended'} {speed_words(rate)}"
        if training == self._training:
            self.move(training, int(row["update"]), news)

    def _finish(self, order: int, result: TrainOutcome) -> None:
        """Moves the bar of the search and notes the best so far."""
        self.begin(_WORKFLOWS, self._config.search.n_workflows)
        self._done += 1
        if result.is_compliant:
            self._best = max(self._best, result.objective.reward.mean)
        found = self._best > float("-inf")
        self.move(
            _WORKFLOWS, self._done, f"best {self._best:.1f}" if found else "none compliant yet"
        )
        workflow = orders_of(self._config.train)[order].short
        print_whole(
            self.console,
            f"{self._done}/{self._config.search.n_workflows} {workflow}: "
            f"{result.objective.reward}, compliance {result.objective.compliance.mean:.3f}"
            f"{'' if result.is_compliant else ', too low'}",
        )
