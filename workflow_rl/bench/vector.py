"""`workflow-rl bench vector`: what it costs to step Python environments in other processes."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final

from workflow_rl.bench.measure import Rate, Ratio, busy_processes, describe_machine
from workflow_rl.bench.vector_contenders import (
    APART,
    ASYNC,
    CYBORG,
    GYM_PIPES,
    GYM_SHARED,
    LABELS,
    PROCESS_PER_ENV,
    SB3,
    SERIAL,
    SINGLE,
    SYNC,
    WORKS,
    ZERO,
)
from workflow_rl.bench.vector_host import ContenderProcess, Played
from workflow_rl.config import GameConfig
from workflow_rl.envs.shared import usable_cores
from workflow_rl.errors import MissingDependencyError

SIZES: Final = (25, 200, 500)


@dataclass(frozen=True)
class VectorRow:
    """One measured contender."""

    work: str
    contender: str
    num_envs: int
    processes: int
    rate: Rate
    steps: int  # of environments, in all repeats
    cpu_cores: float  # kept busy by all its processes
    cpu_seconds: float  # of all its processes, in all repeats
    memory_bytes: int | None  # of all its processes
    start_seconds: float
    group: int  # environments of the contenders it took turns with

    @property
    def cpu_microseconds(self) -> float:
        """Processor time of a step, which other programs disturb less than the rate."""
        return 1e6 * self.cpu_seconds / self.steps

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        return LABELS[self.contender]


@dataclass(frozen=True)
class VectorReport:
    """All that one run measured."""

    config: GameConfig
    machine: dict[str, Any]
    load: int
    rows: list[VectorRow]
    skipped: list[str]
    ratios: list[Ratio]
    settings: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Returns the report as plain data."""
        return {
            "benchmark": "vector",
            "red_agent": self.config.red_agent,
            "machine": self.machine,
            "busy_processes": self.load,
            **self.settings,
            "rows": [
                {
                    "work": row.work,
                    "contender": row.contender,
                    "name": row.label,
                    "num_envs": row.num_envs,
                    "processes": row.processes,
                    "steps_per_second": row.rate.median,
                    "repeats": list(row.rate.repeats),
                    "steps_played": row.steps,
                    "cpu_cores": row.cpu_cores,
                    "cpu_microseconds_per_step": row.cpu_microseconds,
                    "memory_bytes": row.memory_bytes,
                    "start_seconds": row.start_seconds,
                }
                for row in self.rows
            ],
            "skipped": self.skipped,
            "ratios": [vars(ratio) for ratio in self.ratios],
        }


@dataclass(frozen=True)
class VectorPlan:
    """What is measured, and for how long."""

    works: Sequence[str] = WORKS
    contenders: Sequence[str] = tuple(LABELS)
    sizes: Sequence[int] = SIZES
    process_limit: int = 200  # of CybORG, no contender with more processes is started
    workers: int | None = None  # of ours; None is one for each core
    repeats: int = 5
    seconds: float = 1.0  # minimum duration of each contender in each round
    load: int = 0  # busy processes beside it


def run(
    config: GameConfig, plan: VectorPlan, progress: Callable[[str], None] = lambda name: None
) -> VectorReport:
    """Measures the contenders of each size side by side: they take turns, the others sleep."""
    machine = describe_machine()  # whose load is not ours yet
    rows: list[VectorRow] = []
    skipped: list[str] = []
    for work in plan.works:
        progress(f"looking for what {work} needs")
        try:
            with ContenderProcess(work, SINGLE, 1, config.red_agent, None):
                pass
        except MissingDependencyError as error:
            skipped.append(str(error))
            continue
        for size in plan.sizes:
            with ExitStack() as stack:
                hosts = _start(config, plan, work, size, stack, skipped, progress)
                with busy_processes(plan.load) if plan.load else nullcontext():
                    rows += _measure(hosts, plan, work, size, progress)
    return VectorReport(
        config=config,
        machine=machine,
        load=plan.load,
        rows=rows,
        skipped=list(dict.fromkeys(skipped)),  # each reason once
        ratios=ratios_of(rows, plan.workers or usable_cores()),
        settings={"repeat_count": plan.repeats, "seconds_per_repeat": plan.seconds},
    )


def _start(
    config: GameConfig,
    plan: VectorPlan,
    work: str,
    size: int,
    stack: ExitStack,
    skipped: list[str],
    progress: Callable[[str], None],
) -> dict[str, tuple[ContenderProcess, int | None]]:
    """Starts one contender after the other.

    Returns:
        By name, each with its memory in bytes; reasons for missing ones go to `skipped`.
    """
    hosts: dict[str, tuple[ContenderProcess, int | None]] = {}
    for name in plan.contenders:
        what = f"{LABELS[name]}, {size} envs of {work}"
        if work == CYBORG and name in PROCESS_PER_ENV and size > plan.process_limit:
            skipped.append(f"{what}: more than {plan.process_limit} processes (--process-limit)")
            continue
        progress(f"starting {what}")
        try:
            host = stack.enter_context(
                ContenderProcess(work, name, size, config.red_agent, plan.workers)
            )
        except MissingDependencyError as error:
            skipped.append(str(error))
            continue
        host.play(0)  # one step warms it up
        hosts[name] = host, host.memory()
    return hosts


def _measure(
    hosts: dict[str, tuple[ContenderProcess, int | None]],
    plan: VectorPlan,
    work: str,
    size: int,
    progress: Callable[[str], None],
) -> list[VectorRow]:
    """Lets the contenders take turns and returns the row of each."""
    played: dict[str, list[Played]] = {name: [] for name in hosts}
    for _ in range(plan.repeats):
        for name, (host, _) in hosts.items():
            progress(f"measuring {LABELS[name]}, {size} envs of {work}")
            played[name].append(host.play(plan.seconds))
    return [
        VectorRow(
            work=work,
            contender=name,
            num_envs=1 if name == SINGLE else size,
            processes=host.processes,
            rate=Rate(tuple(p.steps / p.seconds for p in played[name])),
            steps=sum(p.steps for p in played[name]),
            cpu_cores=statistics.median(p.cpu_seconds / p.seconds for p in played[name]),
            cpu_seconds=sum(p.cpu_seconds for p in played[name]),
            memory_bytes=memory,
            start_seconds=host.start_seconds,
            group=size,
        )
        for name, (host, memory) in hosts.items()
    ]


def ratios_of(rows: Sequence[VectorRow], cores: int) -> list[Ratio]:
    """Returns the ratios of our rows to what was measured beside them.

    Args:
        rows: measured.
        cores: that our workers use; one environment alone uses one.
    """
    found = {(row.work, row.group, row.contender): row for row in rows}
    ratios = []
    for (work, size, ours), row in found.items():
        if ours not in (SYNC, ASYNC):
            continue
        beside = {name: other for (w, s, name), other in found.items() if (w, s) == (work, size)}
        for name, value in _named_ratios(row, beside, cores):
            ratios.append(Ratio(f"{name}, {size} envs", value))
    return ratios


def _named_ratios(
    row: VectorRow, beside: Mapping[str, VectorRow], cores: int
) -> Iterator[tuple[str, float]]:
    """Yields each ratio of one of our rows to those it took turns with, with its name."""
    ours, work = row.contender, row.work
    if work == ZERO:
        for theirs in (GYM_PIPES, GYM_SHARED, SB3):
            if theirs in beside:
                yield f"{work}: {ours} / {theirs}", row.rate.median / beside[theirs].rate.median
    if work == CYBORG:
        for alone in (SINGLE, APART, SERIAL):
            if alone in beside:
                times = 1 if alone == APART else cores
                other = alone if times == 1 else f"{times} x {alone}"
                value = row.rate.median / (times * beside[alone].rate.median)
                yield f"{work}: {ours} / {other}", value
    pipes = beside.get(GYM_PIPES)
    if pipes is None:
        return
    value = pipes.cpu_microseconds / row.cpu_microseconds
    yield f"{work}: processor time, {GYM_PIPES} / {ours}", value
    if pipes.memory_bytes and row.memory_bytes and ours == SYNC:
        yield f"{work}: memory, {ours} / {GYM_PIPES}", row.memory_bytes / pipes.memory_bytes
