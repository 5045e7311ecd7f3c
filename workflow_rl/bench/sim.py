"""`workflow-rl bench sim`: the simulator's speed beside a memory copy and other simulators."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Final

from workflow_rl.bench import contenders
from workflow_rl.bench.measure import (
    Rate,
    Ratio,
    Work,
    busy_processes,
    describe_machine,
    measure,
)
from workflow_rl.config import GameConfig
from workflow_rl.errors import InvalidInputError, MissingDependencyError
from workflow_rl.sim.batch import Batch, max_threads

BATCH_SIZES: Final = (1, 25, 200, 2_000, 20_000)
MINI_CAGE_SIZES: Final = (200, 1_000, 5_000)
WITH_MEMORY: Final = "Cage2VectorEnv.step, memory"
_START = (
    "import time; t = time.perf_counter(); import workflow_rl; "
    "env = workflow_rl.Cage2VectorEnv(200); env.reset(seed=0); "
    "print(time.perf_counter() - t); import numpy; env.step(numpy.zeros(200, int)); "
    "print(time.perf_counter() - t)"
)


@dataclass(frozen=True)
class SimRow:
    """One measured simulator."""

    name: str
    num_envs: int
    threads: int
    rate: Rate

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        threads = f", {self.threads} threads" if self.threads > 1 else ""
        return f"{self.name}, {self.num_envs:,} env{'s' if self.num_envs > 1 else ''}{threads}"


@dataclass(frozen=True)
class SimReport:
    """All that one run measured."""

    config: GameConfig
    machine: dict[str, Any]
    load: int
    rows: list[SimRow]
    skipped: list[str]
    ratios: list[Ratio]
    bytes_per_env: int
    cold_start_seconds: float
    warm_reset_seconds: float
    settings: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Returns the report as plain data."""
        return {
            "benchmark": "sim",
            "rules": self.config.rules,
            "red_agent": self.config.red_agent,
            "observation": self.config.observation,
            "machine": self.machine,
            "busy_processes": self.load,
            **self.settings,
            "rows": [
                {
                    "name": row.name,
                    "num_envs": row.num_envs,
                    "threads": row.threads,
                    "steps_per_second": row.rate.median,
                    "repeats": list(row.rate.repeats),
                }
                for row in self.rows
            ],
            "skipped": self.skipped,
            "ratios": [vars(ratio) for ratio in self.ratios],
            "bytes_per_env": self.bytes_per_env,
            "cold_start_seconds": self.cold_start_seconds,
            "warm_reset_seconds": self.warm_reset_seconds,
        }


def run(
    config: GameConfig,
    *,
    repeats: int,
    seconds: float,
    load: int,
    progress: Callable[[str], None] = lambda name: None,
) -> SimReport:
    """Measures everything that can be measured here."""
    rows, skipped = measure_rows(
        config, repeats=repeats, seconds=seconds, load=load, progress=progress
    )
    progress("start-up")
    cold, warm = start_up_seconds()
    return SimReport(
        config=config,
        machine=describe_machine(),
        load=load,
        rows=rows,
        skipped=skipped,
        ratios=ratios_of(rows),
        bytes_per_env=_bytes_per_env(config),
        cold_start_seconds=cold,
        warm_reset_seconds=warm,
        settings={"repeat_count": repeats, "seconds_per_repeat": seconds},
    )


def measure_rows(
    config: GameConfig,
    *,
    repeats: int,
    seconds: float,
    load: int = 0,
    progress: Callable[[str], None] = lambda name: None,
) -> tuple[list[SimRow], list[str]]:
    """Returns the rate of every simulator that is here, and why the others are not measured."""
    works, skipped = _works(config)
    with busy_processes(load) if load else nullcontext():
        rates = measure(
            {_row_name(key): work for key, work in works.items()},
            repeats=repeats,
            seconds=seconds,
            progress=progress,
        )
    return [SimRow(*key, rates[_row_name(key)]) for key in works], skipped


_Key = tuple[str, int, int]  # name, environments, threads


def _row_name(key: _Key) -> str:
    """Returns a row's name while it is measured."""
    return f"{key[0]} {key[1]} envs, {key[2]} threads"


def _works(config: GameConfig) -> tuple[dict[_Key, Work], list[str]]:
    works: dict[_Key, Work] = {}
    skipped = []
    for threads in sorted({1, max_threads()}):
        for n in BATCH_SIZES:
            works["simulator", n, threads] = contenders.simulator(n, threads, config)
    works["Cage2VectorEnv.step", 200, 1] = contenders.vector_env(200, config)
    remembering = replace(config, observation="memory")
    works[WITH_MEMORY, 200, 1] = contenders.vector_env(200, remembering)
    works["Cage2Env.step", 1, 1] = contenders.single_env(config)
    for n in BATCH_SIZES:
        works["memory copy", n, 1] = contenders.memory_copy(n, config)
    try:
        works["CybORG", 1, 1] = contenders.cyborg(config)
        works["CyborgEnv.step", 1, 1] = contenders.cyborg_env(config)
    except InvalidInputError as error:
        skipped.append(str(error))
    try:
        for n in MINI_CAGE_SIZES:
            works["mini_CAGE", n, 1] = contenders.mini_cage(n, config)
    except MissingDependencyError as error:
        skipped.append(str(error))
    return works, skipped


def ratios_of(rows: list[SimRow]) -> list[Ratio]:
    """Returns what can be compared: ours over the others', and large batches over small ones."""

    def best(name: str, num_envs: int | None = None, threads: int | None = None) -> float:
        rates = [
            row.rate.median
            for row in rows
            if row.name == name
            and num_envs in (None, row.num_envs)
            and threads in (None, row.threads)
        ]
        return max(rates, default=0.0)

    ours, single = best("simulator", 200), best("Cage2Env.step")
    original, adapted, mini = best("CybORG"), best("CyborgEnv.step"), best("mini_CAGE")
    small, large = best("simulator", 200, 1), best("simulator", 20_000, 1)
    ratios = []
    if original:
        ratios.append(Ratio("simulator at 200 envs / CybORG", ours / original))
        for name in ("Cage2VectorEnv.step", WITH_MEMORY):
            ratios.append(Ratio(f"{name} at 200 envs / CybORG", best(name, 200) / original))
        ratios.append(Ratio("Cage2Env.step / CybORG", single / original))
    if adapted:
        ratios.append(Ratio("CyborgEnv.step / CybORG", adapted / original))
    if mini:
        ratios.append(Ratio("simulator at 200 envs / mini_CAGE at its best size", ours / mini))
    ratios.append(Ratio("time per step, 20,000 / 200 envs", small / large))
    return ratios


def _bytes_per_env(config: GameConfig) -> int:
    batch = Batch(1_000, config)
    total = batch.state.nbytes + sum(array.nbytes for array in batch.out)
    return -(-total // batch.num_envs)


def start_up_seconds() -> tuple[float, float]:
    """Returns the time to the first step without a cache, and to the reset with one."""

    def start(cache: str) -> list[float]:
        result = subprocess.run(
            [sys.executable, "-c", _START],
            env=os.environ | {"XDG_CACHE_HOME": cache},
            capture_output=True,
            text=True,
            check=True,
        )
        return [float(line) for line in result.stdout.split()]

    with tempfile.TemporaryDirectory() as cache:
        _, cold = start(cache)
        warm, _ = start(cache)
    return cold, warm
