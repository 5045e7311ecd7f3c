"""How the events of a run are shown: bars in a terminal, plain lines elsewhere."""

import time
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.progress import TaskID

from workflow_rl.cli.console import make_bars, print_whole
from workflow_rl.config import ExperimentConfig
from workflow_rl.estimates import Estimate
from workflow_rl.report.snapshot import planned_updates
from workflow_rl.runs.logs import Row
from workflow_rl.runs.pool import Done, Event, Failed, Retried, Rows, Started
from workflow_rl.runs.store import BASE, POLISH
from workflow_rl.runs.train import TRAINING, workflow_named
from workflow_rl.runs.training import TrainTask
from workflow_rl.runs.trial import Trial
from workflow_rl.train.job import TrainResult
from workflow_rl.workflow.orders import orders_of
from workflow_rl.workflow.short_names import short_order

_LINE_EVERY: Final = 5.0  # seconds between plain lines of a search
_LANDSCAPE_LINE_EVERY: Final = 10.0


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


class SearchProgress:
    """Shows a bar over workflows and one over the updates of a training, or plain lines."""

    def __init__(
        self, console: Console, config: ExperimentConfig, earlier: Sequence[Trial] = ()
    ) -> None:
        """Prepares the bars.

        Args:
            console: where they are shown.
            config: of the run.
            earlier: trials that were done before.
        """
        self._console = console
        self._config = config
        self._bars = make_bars(console)
        self._workflows: TaskID | None = None
        self._updates: TaskID | None = None
        self._best = float("-inf")
        self._done = 0
        self._transitions = 0
        self._since = time.perf_counter()
        self._last_line = 0.0
        self._earlier = [(trial.order, trial.result) for trial in earlier]

    def __enter__(self) -> "SearchProgress":
        """Starts showing."""
        self._bars.start()
        for order, result in self._earlier:
            assert result is not None
            self._finish(order, result)
        return self

    def __exit__(self, *_: object) -> None:
        """Stops showing."""
        self._bars.stop()

    def show(self, event: Event) -> None:
        """Shows what happened."""
        if isinstance(event, Started):
            self._start(event.task)
        elif isinstance(event, Rows):
            for row in event.rows:
                self._update(row)
        elif isinstance(event, Done) and event.task.name not in (BASE, POLISH, TRAINING):
            self._finish(event.task.job.order, event.result)
        elif isinstance(event, Done) and event.task.name == POLISH:
            self._follow("scoring", total=1, news="the policy on fresh games")
        elif notice := notice_of(event):
            print_whole(self._console, notice)

    def _start(self, task: TrainTask) -> None:
        """Shows a new bar for a training."""
        if self._workflows is None and task.name not in (BASE, TRAINING):
            self._add_workflows()
        self._follow(task.name, planned_updates(self._config, task.name), news="")
        order = task.job.order
        named = workflow_named(self._config, order)
        if order is not None and task.name != TRAINING:
            named = short_order(orders_of(self._config.train)[order])
        line = f"{task.name}: {named}"
        self._console.print(line if not self._console.is_terminal else f"[dim]{line}[/dim]")

    def _follow(self, name: str, total: int, news: str) -> None:
        """Shows a new bar in place of the last one."""
        if self._updates is not None:
            self._bars.remove_task(self._updates)
        self._updates = self._bars.add_task(name, total=total, news=news)

    def _add_workflows(self) -> None:
        total = self._config.search.n_workflows
        self._workflows = self._bars.add_task("workflows", total=total, news="")

    def _update(self, row: Row) -> None:
        """Moves the bar of the training."""
        train = self._config.train
        self._transitions += train.n_envs * train.rollout_steps(self._config.game.episode_length)
        rate = self._transitions / max(time.perf_counter() - self._since, 1e-9)
        compliance = row[f"compliance_{train.compliance_view}"]
        scores = f"reward {float(row['env_reward']):.1f} compliance {float(compliance):.3f}"
        news = f"{scores if row['episodes'] else 'no episode ended'} {speed_words(rate)}"
        if self._updates is not None:
            self._bars.update(self._updates, completed=int(row["update"]), news=news)
        now = time.perf_counter()
        if not self._console.is_terminal and now - self._last_line > _LINE_EVERY:
            self._last_line = now
            self._console.print(f"{row['training']} update {row['update']}: {news}")

    def _finish(self, order: int, result: TrainResult) -> None:
        """Moves the bar of the search and notes the best so far."""
        if self._workflows is None:
            self._add_workflows()
        assert self._workflows is not None
        self._done += 1
        if result.is_compliant:
            self._best = max(self._best, result.env_reward)
        news = f"best {self._best:.1f}" if self._best > float("-inf") else "none compliant yet"
        self._bars.update(self._workflows, completed=self._done, news=news)
        workflow = short_order(orders_of(self._config.train)[order])
        self._console.print(
            f"{self._done}/{self._config.search.n_workflows} {workflow}: "
            f"{Estimate.from_error(result.env_reward, result.env_reward_error)}, "
            f"compliance {result.compliance:.3f}{'' if result.is_compliant else ', too low'}"
        )


class LandscapeProgress:
    """Shows how many orders are trained and what happens now."""

    def __init__(self, console: Console, config: ExperimentConfig, seeds: int) -> None:
        """Prepares the bar.

        Args:
            console: where it is shown.
            config: of the landscape.
            seeds: how many.
        """
        self._console = console
        self._base_updates = config.search.base_updates
        self._seeds = seeds
        self._total = seeds * orders_of(config.train).count
        self._seed = -1
        self._done = 0
        self._best = float("-inf")
        self._last_line = time.perf_counter()
        self._bars = make_bars(console)
        self._task = self._bars.add_task("orders", total=self._total, news="")

    def __enter__(self) -> "LandscapeProgress":
        """Starts showing."""
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stops showing."""
        self._bars.stop()

    def show(self, seed: int, event: Event, done: int) -> None:
        """Shows what happened in the search of a seed.

        Args:
            seed: its place.
            event: what happened.
            done: orders trained so far, of all seeds together.
        """
        self._done = done
        if seed != self._seed:
            self._seed = seed
            self._best = float("-inf")
            self._show("")
        if isinstance(event, Rows) and event.task.name == BASE:
            row = event.rows[-1]
            self._show(
                f"base policy, update {row['update']} of {self._base_updates}: "
                f"reward {float(row['env_reward']):.1f}"
            )
        elif isinstance(event, Done) and event.task.name != BASE:
            if event.result.is_compliant:
                self._best = max(self._best, event.result.env_reward)
            found = self._best > float("-inf")
            self._show(f"best {self._best:.2f}" if found else "none compliant yet")
        elif notice := notice_of(event):
            print_whole(self._console, notice)

    def _show(self, news: str) -> None:
        where = f"seed {self._seed + 1} of {self._seeds}"
        news = f"{where}, {news}" if news else where
        self._bars.update(self._task, completed=self._done, news=news)
        now = time.perf_counter()
        if not self._console.is_terminal and now - self._last_line > _LANDSCAPE_LINE_EVERY:
            self._last_line = now
            self._console.print(f"{self._done} of {self._total} trainings; {news}")
