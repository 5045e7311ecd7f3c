"""Every benchmark at toy size, in a process of its own, and what its figures rest on."""

import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scale import Constants, forecast
from benchmarks.stepping import ContenderProcess, Start
from workflow_rl.errors import WorkerDiedError

ROOT = Path(__file__).resolve().parent.parent.parent
SHORT = "--repeats 2 --seconds 0.01"
SCALE = "scale --repeats 1 --seconds 0.01 --workflows 1 --updates 1 --envs 2 --observations 5 9"
RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray")
REDS = "workflow_rl/envs/red_policies/vs-best_main.safetensors"
TOYS = (
    f"sim {SHORT} --red-agent meander --rules competition --no-start-up",
    f"train {SHORT} --settle 2 --n-envs 4 --observation memory",
    f"vector {SHORT} --envs 3 --contenders single sync gym-pipes",
    pytest.param(f"vector {SHORT} --envs 3 --process-limit 2", marks=pytest.mark.slow),
    pytest.param("engines --updates 1", marks=pytest.mark.slow),
    f"belief {SHORT} --games 20 --episode-length 20 --blue random greedy",
    "standing_orders --evaluations 3 --games 5 --rules competition",
    "soak --minutes 0.02 --n-envs 5",
    f"mixture {REDS} --rounds 2 --updates 1 --longer 1 --red-updates 1 --games 5 --judged 5",
    f"{SCALE} --executors processes --nodes 0",
    pytest.param(
        f"{SCALE} --executors ray --nodes 2 --tiny 4",
        marks=[pytest.mark.slow, pytest.mark.ray, RAY],
    ),
)
WRONG = (
    ("sim --repeats 0", "argument --repeats: must be from 1 to 1000, not 0"),
    ("sim --output .", ". is a directory: name a file"),
    ("vector --contenders sync ray", "argument --contenders: invalid choice: 'ray'"),
    ("belief --blue nobody", "nobody is no run directory, no policy file and no baseline"),
    ("mixture nowhere.safetensors", "nowhere.safetensors is no file"),
    ("soak --minutes nan", "argument --minutes: must be from 0.001 to 10000.0, not nan"),
)


def run(command: str, output: Path | None = None) -> subprocess.CompletedProcess[str]:
    script, *flags = command.split()
    where = [] if output is None else ["--output", str(output)]
    return subprocess.run(
        [sys.executable, "-m", f"benchmarks.{script}", *flags, *where],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("command", TOYS)
def test_a_benchmark_prints_tables_and_writes_finite_ratios(command: str, tmp_path: Path) -> None:
    result = run(command, tmp_path / "figures.json")
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    figures: dict[str, Any] = json.loads((tmp_path / "figures.json").read_text())
    assert figures["benchmark"] == command.split()[0]
    assert figures["machine"]["cores"] == os.cpu_count()
    assert figures["ratios"] or figures["found"]
    for name, ratio in figures["ratios"].items():
        assert 0 < ratio["low"] <= ratio["median"] <= ratio["high"] < math.inf
        assert f"| {name} " in result.stdout
    for title, rows in figures["tables"].items():
        assert f"\n{title}\n" in result.stdout
        assert rows
    for reason in figures["skipped"]:
        assert f"not measured: {reason}" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["figures.json"]


@pytest.mark.parametrize(("command", "sentence"), WRONG)
def test_a_wrong_flag_is_one_sentence(command: str, sentence: str) -> None:
    result = run(command)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"python -m benchmarks.{command.split()[0]}: error: {sentence}")
    assert result.stderr.count("\n") == 1


def test_a_contender_whose_process_dies_is_one_error() -> None:
    def lose_one() -> None:
        with ContenderProcess(Start("zero", "sync", 2, "bline", 1)) as contender:
            os.kill(contender.started.pid, signal.SIGKILL)
            contender.play(0.01)

    with pytest.raises(WorkerDiedError, match="the process of sync, 2 envs of zero died"):
        lose_one()


def test_a_cluster_is_busy_until_its_driver_is() -> None:
    picks = {10: 0.05, 100: 0.05, 1_000: 0.5}
    constants = Constants(training=2.0, updates=50, scheduling=0.01, row=0.0002, picks=picks)
    assert constants.pick(316.22776) == pytest.approx(0.158, rel=0.01)  # in log-log, between
    assert constants.pick(2_000) == pytest.approx(1.0)  # and beyond
    small = forecast(constants, nodes=10, cores=2, strategy="gp-ucb")
    assert (small["trainings at a time"], small["bottleneck"]) == (20, "training")
    assert small["driver, s per workflow"] == pytest.approx(0.01 + 0.01 + 0.05)
    assert small["workflows per hour"] == pytest.approx(20 / 2.0 * 3_600)
    large = forecast(constants, nodes=500, cores=2, strategy="gp-ucb")
    assert (large["bottleneck"], large["it can feed"]) == ("picks", pytest.approx(2.0 / 0.52))
    assert large["workflows per hour"] == pytest.approx(3_600 / 0.52)
    without = forecast(constants, nodes=500, cores=2, strategy="exhaustive")
    assert without["workflows per hour"] == pytest.approx(3_600 / 0.02)
