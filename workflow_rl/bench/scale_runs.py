"""Whole searches as benchmarks: with one worker and two, and of tiny workflows on many nodes.

The nodes are simulated: a Ray cluster of many on this machine, to measure what scheduling costs.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workflow_rl.bench.measure import Rate
from workflow_rl.config import (
    Execution,
    ExecutorName,
    ExperimentConfig,
    GameConfig,
    SearchConfig,
    TrainConfig,
)
from workflow_rl.runs.pool import Done, Event
from workflow_rl.runs.search import open_search
from workflow_rl.runs.store import BASE
from workflow_rl.runs.summary import SearchOutcome

WORKERS: Final = (1, 2)
FEW, MANY = 1, 11  # updates of tiny workflows: the difference is what a row costs
Progress = Callable[[str], None]


@dataclass(frozen=True)
class ScalePlan:
    """What is measured, and how much of it."""

    executors: Sequence[ExecutorName] = ("processes", "ray")
    workflows: int = 12  # of the whole search
    updates: int = 50  # of each; the base policy has twice as many
    envs: int = 200
    nodes: Sequence[int] = (8, 16)  # of simulated clusters
    tiny: int = 200  # tiny workflows on each of them
    observations: Sequence[int] = (20, 120, 1_000)
    repeats: int = 3
    seconds: float = 0.5  # minimum duration of a fit or a pick in each round
    load: int = 0  # busy processes beside it


@dataclass(frozen=True)
class MeasuredSearch:
    """A whole search with so many workers."""

    executor: str
    workers: int
    whole: Rate  # transitions/s, the base policy included
    trials: Rate  # transitions/s from the first pick to the last result


@dataclass(frozen=True)
class Tiny:
    """Many tiny workflows on a simulated cluster: seconds for each."""

    nodes: int
    updates: int  # of each workflow
    wall: float
    driver: float  # processor time of the driver's process


@dataclass
class _Clock:
    """When the trials of a search began and ended, and what they played."""

    began_at: float = 0.0
    ended_at: float = 0.0
    driver_began: float = 0.0
    driver_ended: float = 0.0
    transitions: int = 0

    def note(self, event: Event) -> None:
        """Takes in what happened: trials begin when the base policy is done."""
        if not isinstance(event, Done):
            return
        self.ended_at, self.driver_ended = time.perf_counter(), time.process_time()
        if event.task.name == BASE:
            self.began_at, self.driver_began = self.ended_at, self.driver_ended
        else:
            self.transitions += event.result.transitions

    @property
    def seconds(self) -> float:
        """From the first pick to the last result."""
        return self.ended_at - self.began_at

    @property
    def driver_seconds(self) -> float:
        """Processor time of this process meanwhile."""
        return self.driver_ended - self.driver_began


def measure_searches(
    config: GameConfig, plan: ScalePlan, executors: Sequence[ExecutorName], progress: Progress
) -> list[MeasuredSearch]:
    """Measures searches with each executor and number of workers, which take turns."""
    whole: dict[tuple[str, int], list[float]] = {}
    trials: dict[tuple[str, int], list[float]] = {}
    for _ in range(plan.repeats):
        for executor in executors:
            for workers in WORKERS:
                progress(f"searching with {workers} of {executor}")
                clock = _Clock()
                settings = SearchConfig(
                    n_workflows=plan.workflows,
                    base_updates=2 * plan.updates,
                    polish_updates=0,
                    parallel_workflows=workers,
                )
                with tempfile.TemporaryDirectory() as folder:
                    experiment = _experiment(config, plan.envs, plan.updates, settings)
                    outcome = _search(experiment, Path(folder), Execution(executor), clock)
                key = executor, workers
                whole.setdefault(key, []).append(outcome.transitions / outcome.seconds)
                trials.setdefault(key, []).append(clock.transitions / clock.seconds)
    return [
        MeasuredSearch(
            executor, workers, Rate(tuple(rates)), Rate(tuple(trials[executor, workers]))
        )
        for (executor, workers), rates in whole.items()
    ]


def _search(
    config: ExperimentConfig, folder: Path, execution: Execution, clock: _Clock
) -> SearchOutcome:
    with open_search(config, checkpoint_dir=folder, execution=execution) as run:
        for event in run.events():
            clock.note(event)
    assert run.outcome is not None
    return run.outcome


def _experiment(
    game: GameConfig, envs: int, updates: int, settings: SearchConfig
) -> ExperimentConfig:
    train = TrainConfig(n_envs=envs, max_episodes=updates, min_updates=1, stop_at="budget")
    return ExperimentConfig(game=game, train=train, search=settings)


def measure_tiny(config: GameConfig, plan: ScalePlan, nodes: int, progress: Progress) -> list[Tiny]:
    """Measures searches of workflows that take no time, so that the driver's share shows."""
    from workflow_rl.runs.ray import connected, simulated_cluster

    game = GameConfig(red_agent=config.red_agent, rules=config.rules, episode_length=5)
    progress(f"starting a cluster of {nodes} nodes")
    rows = []
    # One connection for all: every new one starts new workers.
    with simulated_cluster(nodes) as address, connected(address, nodes):
        for updates in (FEW, MANY):
            clocks = []
            for number in range(1 + plan.repeats):  # the first warms the workers up
                progress(f"{plan.tiny} tiny workflows on {nodes} nodes")
                settings = SearchConfig(
                    n_workflows=plan.tiny if number else 4 * nodes,
                    strategy="exhaustive",
                    base_updates=1,
                    polish_updates=0,
                    parallel_workflows=nodes,
                )
                clock = _Clock()
                with tempfile.TemporaryDirectory() as folder:
                    experiment = _experiment(game, 2, updates, settings)
                    _search(experiment, Path(folder), Execution("ray", address), clock)
                clocks.append(clock)
            wall = statistics.median(clock.seconds for clock in clocks[1:])
            driver = statistics.median(clock.driver_seconds for clock in clocks[1:])
            rows.append(Tiny(nodes, updates, wall / plan.tiny, driver / plan.tiny))
    return rows
