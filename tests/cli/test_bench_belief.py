import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import refusal, run_here

Outcome = tuple[str, dict[str, Any]]
SHORT = ("--repeats", "2", "--seconds", "0.01", "--games", "40", "--episode-length", "30")


@pytest.fixture(scope="module")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("bench")
    game = ("--rules", "competition", "--blue", "random,greedy", "--seed", "3")
    out = run_here("bench", "belief", *SHORT, *game, cwd=folder)
    (path,) = (path for path in folder.rglob("*") if path.is_file())
    assert f"figures: {path.relative_to(folder)}" in out
    assert re.fullmatch(r"bench_belief_\d{8}_\d{6}\.json", path.name)
    return out, json.loads(path.read_text())


def test_what_was_played_is_named(tiny_run: Outcome) -> None:
    out, figures = tiny_run
    assert "red mixed, rules competition, green sleep; 40 games of 30 steps each" in out
    assert (figures["benchmark"], figures["rules"], figures["games"]) == (
        *("belief", "competition", 40),
    )


def test_every_forecast_is_counted_in_the_tables(tiny_run: Outcome) -> None:
    out, figures = tiny_run
    assert [row["blue"] for row in figures["calibration"]] == ["random", "greedy"]
    for name in ("held", "privileged"):
        several = [row[name] for row in figures["calibration"]]
        assert all(one["count"] == 40 * 30 * 12 for one in several)
        for bins in zip(*(one["bins"] for one in several), strict=True):
            if count := sum(b["count"] for b in bins):
                assert re.search(rf"│ +{bins[0]['range']} │ +{count:,} │ ", out)
    for row in figures["calibration"]:
        scores = [row["held"]["brier"], row["marked"], row["shown"]]
        assert scores[0] < scores[2] <= scores[1]
        cells = " │ ".join(f"{score:.5f}" for score in scores)
        assert re.search(rf"{row['blue']} +│ +{cells.replace(' │ ', ' │ +')}", out)
        assert row["ot_stopped"]["count"] == 40 * 30
        assert 0 < row["red_agent"] <= 1
        assert row["exact"] == 1.0


def test_the_speed_is_measured_with_few_and_many_particles(tiny_run: Outcome) -> None:
    out, figures = tiny_run
    rows = [(row["blue"], row["particles"]) for row in figures["speed"]]
    assert rows == [(blue, n) for blue in ("random", "greedy") for n in (100, 1000)]
    for row in figures["speed"]:
        assert len(row["repeats"]) == 2
        assert f" {row['updates_per_second']:,.0f} " in out


@pytest.mark.parametrize(
    ("flag", "value", "sentence"),
    [
        ("--games", "1", "--games must be a whole number from 2 to 100000, not 1"),
        ("--blue", "nobody", "nobody is no run directory, no policy file and no baseline"),
        ("--red-agent", "wolf", "unknown red agent 'wolf'"),
        ("--repeats", "0", "--repeats must be a whole number from 1 to 1000, not 0"),
        ("--seed", "-1", "--seed must be a whole number from 0 to"),
    ],
)
def test_a_wrong_flag_is_one_sentence_and_writes_nothing(
    flag: str,
    value: str,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sentence in refusal(["bench", "belief", flag, value], capsys, tmp_path)
