"""How a run's progress is shown: bars in a terminal, plain lines elsewhere."""

import time

from rich.console import Console
from rich.progress import TaskID

from workflow_rl.cli.console import make_bars, print_whole
from workflow_rl.config import ExperimentConfig
from workflow_rl.ordersearch.loop import Trial
from workflow_rl.report.snapshot import planned_updates
from workflow_rl.runs.logs import Row
from workflow_rl.train.loop import TrainResult
from workflow_rl.workflow.orders import format_order

_LINE_EVERY = 5.0  # seconds between plain lines


class ProgressListener:
    """Shows a bar over workflows and one over updates, or plain lines."""

    def __init__(self, console: Console, config: ExperimentConfig) -> None:
        """Prepares the bars."""
        self._console = console
        self._config = config
        self._bars = make_bars(console)
        self._workflows: TaskID | None = None
        self._updates: TaskID | None = None
        self._best = float("-inf")
        self._transitions = 0
        self._since = time.perf_counter()
        self._last_line = 0.0

    def __enter__(self) -> "ProgressListener":
        """Starts showing."""
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stops showing."""
        self._bars.stop()

    def began(self, phase: str, detail: str) -> None:
        """Shows a new bar for a phase or a trial."""
        if phase == "search":
            total = self._config.search.n_workflows
            self._workflows = self._bars.add_task("workflows", total=total, news="")
            return
        total = planned_updates(self._config, phase)
        if self._updates is not None:
            self._bars.remove_task(self._updates)
        self._updates = self._bars.add_task(f"{phase}", total=total, news="")
        if not self._console.is_terminal:
            self._console.print(f"{phase}: {detail}")
        else:
            self._bars.console.print(f"[dim]{phase}: {detail}[/dim]")

    def updated(self, row: Row) -> None:
        """Moves the bar of the training."""
        train = self._config.train
        self._transitions += train.n_envs * train.rollout_steps(self._config.game.episode_length)
        rate = self._transitions / max(time.perf_counter() - self._since, 1e-9)
        compliance = row[f"compliance_{train.compliance_view}"]
        scores = f"reward {float(row['env_reward']):.1f} compliance {float(compliance):.3f}"
        news = f"{scores if row['episodes'] else 'no episode ended'} {rate:,.0f} transitions/s"
        if self._best > float("-inf"):
            news += f" best {self._best:.1f}"
        if self._updates is not None:
            self._bars.update(self._updates, completed=int(row["update"]), news=news)
        now = time.perf_counter()
        if not self._console.is_terminal and now - self._last_line > _LINE_EVERY:
            self._last_line = now
            self._console.print(f"{row['training']} update {row['update']}: {news}")

    def finished(self, trial: Trial, result: TrainResult, done: int) -> None:
        """Moves the bar of the search and notes the best so far."""
        if result.is_compliant:
            self._best = max(self._best, result.env_reward)
        news = f"best {self._best:.1f}" if self._best > float("-inf") else "none compliant yet"
        if self._workflows is not None:
            self._bars.update(self._workflows, completed=done, news=news)
        state = "compliant" if result.is_compliant else "not compliant"
        self._console.print(
            f"{done}/{self._config.search.n_workflows} {format_order(trial.order)}: "
            f"reward {result.env_reward:.2f} ± {result.env_reward_error:.2f}, "
            f"compliance {result.compliance:.3f} ({state}), {result.stopped}"
        )

    def noticed(self, text: str) -> None:
        """Says what is out of the ordinary."""
        print_whole(self._console, text)
