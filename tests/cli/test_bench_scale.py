import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import refusal, run, run_here
from tests.runs.work import do_without_processes

SCALE: tuple[str, ...] = ("bench", "scale", "--workflows", "1", "--updates", "1", "--envs", "2")
SCALE += ("--observations", "5,9", "--repeats", "1", "--seconds", "0.01", "--json", "figures.json")


def figures_in(folder: Path) -> dict[str, Any]:
    assert [path.name for path in folder.iterdir()] == ["figures.json"]
    figures: dict[str, Any] = json.loads((folder / "figures.json").read_text())
    return figures


def searched(figures: dict[str, Any]) -> list[tuple[str, int]]:
    for row in figures["searches"]:
        assert row["whole_transitions_per_second"] > 0
        assert row["workflows_transitions_per_second"] > 0
        assert len(row["whole_repeats"]) == len(row["workflows_repeats"]) == 1
    return [(row["executor"], row["workers"]) for row in figures["searches"]]


def test_searches_and_the_gaussian_process_are_measured_without_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    do_without_processes(monkeypatch)
    out = run_here(*SCALE, "--executors", "processes", "--nodes", "0", cwd=tmp_path)
    figures = figures_in(tmp_path)
    assert searched(figures) == [("processes", 1), ("processes", 2)]
    names = [ratio["name"] for ratio in figures["ratios"]]
    assert names == [
        "processes: 2 workers / 2 x 1 worker, whole search",
        "processes: 2 workers / 2 x 1 worker, workflows alone",
    ]
    assert all(name in out for name in names)
    for what in ("fit", "pick", "pick beside as many pending", "pick, orders of 12 hosts"):
        assert [float(v) > 0 for v in figures["gp"][what].values()] == [True, True]
        assert what in out
    assert figures["constants"] is None  # the driver's share is not known without a cluster
    assert figures["forecasts"] == []


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray")
def test_with_a_simulated_cluster_larger_ones_are_forecast(tmp_path: Path) -> None:
    flags = ("--executors", "ray", "--nodes", "2", "--tiny", "4")
    result = run(*SCALE, *flags, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    out, figures = result.stdout, figures_in(tmp_path)
    assert searched(figures) == [("ray", 1), ("ray", 2)]
    assert [(row["nodes"], row["updates"]) for row in figures["tiny"]] == [(2, 1), (2, 11)]
    assert all(row["wall"] > 0 and row["driver"] > 0 for row in figures["tiny"])
    assert set(figures["constants"]["picks"]) == {"5", "9"}
    ahead = [(one["strategy"], one["nodes"]) for one in figures["forecasts"]]
    assert ahead == [(s, n) for s in ("gp-ucb", "exhaustive") for n in (10, 100, 1_000)]
    assert "forecast for nodes of" in out
    assert figures["skipped"] == []


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--executors", "serial"),
        ("--nodes", "-1"),
        ("--nodes", "many"),
        ("--observations", "1"),
        ("--workflows", "0"),
        ("--tiny", "0"),
        ("--repeats", "0"),
        ("--red-agent", "mixed"),
    ],
)
def test_a_wrong_flag_is_one_sentence_and_writes_nothing(
    flag: str,
    value: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    refusal(["bench", "scale", "--json", "figures.json", flag, value], capsys, tmp_path)
