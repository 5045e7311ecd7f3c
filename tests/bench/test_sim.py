import importlib.util

import pytest

from workflow_rl.bench.measure import Rate
from workflow_rl.bench.sim import (
    BATCH_SIZES,
    MINI_CAGE_SIZES,
    SimRow,
    measure_rows,
    ratios_of,
    start_up_seconds,
)
from workflow_rl.config import GameConfig
from workflow_rl.sim.batch import max_threads


def test_every_simulator_that_is_here_is_measured_and_the_others_are_named() -> None:
    told: list[str] = []
    config = GameConfig(red_agent="meander", rules="competition")
    rows, skipped = measure_rows(config, repeats=1, seconds=0.01, progress=told.append)
    expected = {("simulator", n, threads) for n in BATCH_SIZES for threads in {1, max_threads()}}
    expected |= {("memory copy", n, 1) for n in BATCH_SIZES}
    expected |= {("Cage2VectorEnv.step", 200, 1), ("Cage2VectorEnv.step, memory", 200, 1)}
    expected |= {("Cage2Env.step", 1, 1)}
    reasons = iter(skipped)
    if importlib.util.find_spec("CybORG") is not None:
        expected |= {("CybORG", 1, 1), ("CyborgEnv.step", 1, 1)}
    else:
        assert "CybORG is not installed" in next(reasons)
    if importlib.util.find_spec("mini_CAGE") is not None:
        expected |= {("mini_CAGE", n, 1) for n in MINI_CAGE_SIZES}
    else:
        assert "mini_CAGE" in next(reasons)
    assert not list(reasons)
    assert {(row.name, row.num_envs, row.threads) for row in rows} == expected
    assert len(rows) == len(told) == len(expected)
    assert all(len(row.rate.repeats) == 1 and row.rate.median > 0 for row in rows)


def row(name: str, rate: float, num_envs: int = 1, threads: int = 1) -> SimRow:
    return SimRow(name, num_envs, threads, Rate((rate,)))


OURS = [
    row("simulator", 100.0, 200),
    row("simulator", 150.0, 200, 2),
    row("simulator", 125.0, 20_000),
    row("simulator", 900.0, 20_000, 2),
    row("Cage2VectorEnv.step", 90.0, 200),
    row("Cage2VectorEnv.step, memory", 60.0, 200),
    row("Cage2Env.step", 30.0),
]


def test_alone_the_simulator_is_compared_with_itself_on_one_thread() -> None:
    (ratio,) = ratios_of(OURS)
    assert (ratio.name, ratio.value) == ("time per step, 20,000 / 200 envs", 0.8)


def test_beside_others_the_best_of_each_is_compared() -> None:
    others = [
        row("CybORG", 2.0),
        row("CyborgEnv.step", 1.0),
        row("mini_CAGE", 5.0, 200),
        row("mini_CAGE", 10.0, 5_000),
    ]
    assert {ratio.name: ratio.value for ratio in ratios_of(OURS + others)} == {
        "simulator at 200 envs / CybORG": 75.0,
        "Cage2VectorEnv.step at 200 envs / CybORG": 45.0,
        "Cage2VectorEnv.step, memory at 200 envs / CybORG": 30.0,
        "Cage2Env.step / CybORG": 15.0,
        "CyborgEnv.step / CybORG": 0.5,
        "simulator at 200 envs / mini_CAGE at its best size": 15.0,
        "time per step, 20,000 / 200 envs": 0.8,
    }


@pytest.mark.slow
def test_without_a_cache_the_first_step_waits_for_the_compiler() -> None:
    cold, warm = start_up_seconds()
    assert cold > warm > 0
