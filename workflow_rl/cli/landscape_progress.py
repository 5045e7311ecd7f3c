"""How the progress of a landscape is shown: bars in a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console

from workflow_rl.cli.console import make_bars, print_whole
from workflow_rl.config import ExperimentConfig
from workflow_rl.ordersearch.loop import Trial
from workflow_rl.runs.logs import Row
from workflow_rl.runs.store import BASE
from workflow_rl.train.loop import TrainResult
from workflow_rl.workflow.orders import NUM_ORDERS

_LINE_EVERY: Final = 10.0  # seconds between plain lines


class LandscapeProgress:
    """Shows how many orders are trained and what happens now."""

    def __init__(self, console: Console, seeds: int) -> None:
        """Prepares the bar.

        Args:
            console: where it is shown.
            seeds: of the landscape.
        """
        self._console = console
        self._seeds = seeds
        self._seed = 0
        self._base_updates = 0
        self._done = 0
        self._best = float("-inf")
        self._last_line = time.perf_counter()
        self._bars = make_bars(console)
        self._task = self._bars.add_task("orders", total=seeds * NUM_ORDERS, news="")

    def __enter__(self) -> "LandscapeProgress":
        """Starts showing."""
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stops showing."""
        self._bars.stop()

    def of_seed(self, number: int, config: ExperimentConfig) -> "LandscapeProgress":
        """Notes which seed's search begins and returns who is to be told of it."""
        self._seed = number
        self._base_updates = config.search.base_updates
        self._best = float("-inf")
        self._show(number * NUM_ORDERS, "")
        return self

    def began(self, phase: str, detail: str) -> None:
        """A phase or a trial begins."""

    def updated(self, row: Row) -> None:
        """Shows how the base policy comes on."""
        if row["training"] == BASE:
            self._show(
                self._done,
                f"base policy, update {row['update']} of {self._base_updates}: "
                f"reward {float(row['env_reward']):.1f}",
            )

    def finished(self, trial: Trial, result: TrainResult, done: int) -> None:
        """Moves the bar."""
        if result.is_compliant:
            self._best = max(self._best, result.env_reward)
        best = f"best {self._best:.2f}" if self._best > float("-inf") else "none compliant yet"
        self._show(self._seed * NUM_ORDERS + done, best)

    def noticed(self, text: str) -> None:
        """Says what is out of the ordinary."""
        print_whole(self._console, text)

    def _show(self, done: int, news: str) -> None:
        self._done = done
        where = f"seed {self._seed + 1} of {self._seeds}"
        news = f"{where}, {news}" if news else where
        self._bars.update(self._task, completed=done, news=news)
        now = time.perf_counter()
        if not self._console.is_terminal and now - self._last_line > _LINE_EVERY:
            self._last_line = now
            total = self._seeds * NUM_ORDERS
            self._console.print(f"{done} of {total} trainings; {news}")


@contextmanager
def replaying(console: Console, replays: int) -> Iterator[Callable[[], None]]:
    """Shows how many replays are done; gives what is to be called after each."""
    with make_bars(console) as bars:
        task = bars.add_task("replays", total=replays, news="of searches on this landscape")
        yield lambda: bars.advance(task)
