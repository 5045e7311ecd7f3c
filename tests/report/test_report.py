import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.report.runs import HOSTILE, POLICY, log_rows, trial, write_run
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import read_json, write_json
from workflow_rl.report.findings import find
from workflow_rl.report.report import report_html, write_report
from workflow_rl.report.rundata import read_run
from workflow_rl.workflow.orders import ORDERS

LIMIT = 8 * 1024 * 1024
SECTIONS = ("answer", "orders", "matters", "path", "learning", "cost", "setup")


def report(*runs: Path, output: Path | None = None, **more: Any) -> str:
    file = write_report(runs, output or runs[0].parent / "report.html", **more)
    text = file.read_text(encoding="utf-8")
    assert file.stat().st_size < LIMIT
    return text


def drawn(text: str) -> set[str]:
    """The figures that a page will draw."""
    start = text.index('id="page-data">') + len('id="page-data">')
    return set(json.loads(text[start : text.index("</script>", start)])["figures"])


def visible(text: str) -> str:
    """What stands in a page but for its scripts and style, as a reader sees it."""
    text = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", text, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " ", text))


def test_a_real_run_has_every_section_with_its_figure(real_run: Path, tmp_path: Path) -> None:
    text = report(real_run, output=tmp_path / "report.html")
    for section in SECTIONS:
        assert f'id="run1-{section}-section"' in text
    figures = {"scores", "orders", "pairs", "path", "curves", "stages", "cost"}
    assert drawn(text) - {"run1-positions"} == {f"run1-{name}" for name in figures}
    assert set(re.findall(r'class="plot" id="([^"]+)"', text)) == drawn(text)
    assert text.count("<tr data-order=") == len(ORDERS)
    assert "What is missing" not in text
    told = " ".join(visible(text).split())
    noted = read_json(real_run / "experiment_config.json")
    for value in (noted["packages"]["torch"], noted["python"], "rule set main"):
        assert value in told
    assert "game.episode_length 30 not the default" in told


def test_the_page_asks_for_nothing_from_outside(real_run: Path, tmp_path: Path) -> None:
    text = report(real_run, output=tmp_path / "report.html")
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", text, flags=re.DOTALL)
    assert re.findall(r'\b(?:src|href|action|poster)="(?!#|data:)[^"]*"', markup) == []
    style = " ".join(re.findall(r"<style>(.*?)</style>", text, flags=re.DOTALL))
    assert "url(" not in style
    assert "@import" not in style


def test_the_recommended_policy_s_replay_is_linked_where_it_is(
    real_run: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(real_run, tmp_path / "logs" / "run")
    assert "Watch the recommended policy" not in report(run, output=run / "report.html")
    (run / "replay.html").write_text("a replay")
    assert 'href="replay.html"' in report(run, output=run / "report.html")
    elsewhere = tmp_path / "reports" / "one.html"
    assert 'href="../logs/run/replay.html"' in report(run, output=elsewhere)


def test_against_a_known_game_the_baselines_are_shown(tmp_path: Path) -> None:
    trials = [trial(0, 5, -20.0), trial(1, 60, -18.0)]
    text = report(write_run(tmp_path / "run", trials))
    assert "run1-scores" in drawn(text)
    told = visible(text)
    for name in ("winner (Cardiff)", "sleep", "-13.76", "competition", "published leaderboard"):
        assert name in told


def test_regret_is_told_by_a_landscape(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [trial(0, 5, -20.0), trial(1, 60, -18.0)])
    file = tmp_path / "truth.json"
    write_json(file, {" > ".join(order): -10.0 - k for k, order in enumerate(ORDERS)})
    assert "By the landscape" not in visible(report(run))
    assert "the best of all orders is 60.00 better" in visible(report(run, landscape=file))


# --- several runs


def test_several_runs_stand_side_by_side(real_run: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", [trial(k, 17 * k, -20.0 - k) for k in range(5)])
    text = report(real_run, other, output=tmp_path / "report.html")
    assert {"compare-rewards", "compare-paths", "compare-effects"} <= drawn(text)
    assert text.count('role="tabpanel"') == text.count('role="tab"') == 2
    assert "not comparable with each other" in visible(text)
    same = report(other, other, output=tmp_path / "report.html")
    assert "not comparable with each other" not in visible(same)


def test_the_most_and_longest_runs_stay_within_the_report_s_size(tmp_path: Path) -> None:
    trials = [trial(k, k % 120, -20.0 - k / 70, top=[[1, 0.5]] * 3) for k in range(200)]
    rows = [row for k in range(40) for row in log_rows(f"trial_{k:03d}", k, 120)]
    found = find(read_run(write_run(tmp_path / "run", trials, log_rows("base", None, 800) + rows)))
    text = report_html([found] * 8, tmp_path)
    assert len(text.encode()) < LIMIT
    told = visible(text)
    assert "The last 60 of 200 decisions" in told
    assert "The 30 best of 40 trials are shown" in told
    with pytest.raises(InvalidInputError, match="1 to 8 runs, not 9"):
        write_report([tmp_path / "run"] * 9, tmp_path / "more.html")
    assert not (tmp_path / "more.html").exists()


# --- what is broken, half-written or empty


def test_a_run_that_has_only_begun_says_what_is_missing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "experiment_config.json").write_text("{}")
    text = report(run)
    told = visible(text)
    assert "What is missing" in told
    for name in ("experiment_config.json", "trials.json", "training_log.csv", "summary.json"):
        assert name in told
    for section in SECTIONS:
        assert f'id="run1-{section}-section"' in text
    assert drawn(text) == set()


@pytest.mark.parametrize(
    "name",
    [
        "experiment_config.json",
        "trials.json",
        "training_log.csv",
        "scores.json",
        "episodes.parquet",
    ],
)
@pytest.mark.parametrize("cut", [None, 200])
def test_a_run_without_one_of_its_files_shows_the_rest(
    real_run: Path, tmp_path: Path, name: str, cut: int | None
) -> None:
    run = shutil.copytree(real_run, tmp_path / "run")
    if cut is None:
        (run / name).unlink()
    else:
        (run / name).write_bytes((run / name).read_bytes()[:cut])
    text = report(run)
    assert ("What is missing" in text) == (name != "episodes.parquet")
    kept = drawn(text)
    assert ("run1-orders" in kept) == (name != "trials.json")
    assert {"run1-cost", "run1-curves"} <= kept


def test_a_run_that_has_only_its_base_policy_shows_that(tmp_path: Path) -> None:
    text = report(write_run(tmp_path / "run", rows=log_rows("base", None, 7)))
    assert drawn(text) == {"run1-stages", "run1-cost"}
    assert "Nothing can be recommended yet" in visible(text)


def test_no_compliant_trial_is_no_obstacle(tmp_path: Path) -> None:
    trials = [trial(k, 30 * k, -20.0 - k, compliance=0.1 * k) for k in range(4)]
    told = visible(report(write_run(tmp_path / "run", trials)))
    assert "take it with care" in told
    assert "because fewer than two complied" in told


# --- data with markup in it


def hostile_run(folder: Path) -> Path:
    """A run whose every text is markup."""
    trials = [trial(k, 30 * k, -20.0 - k, reason=HOSTILE) for k in range(4)]
    rows = log_rows(HOSTILE, 3, 4)
    run = write_run(
        folder / HOSTILE,
        trials,
        rows,
        policy=POLICY,
        rules=HOSTILE,
        command=["workflow-rl", HOSTILE],
        created=HOSTILE,
        git_revision=HOSTILE,
        python=HOSTILE,
        packages={HOSTILE: HOSTILE},
    )
    (run / "evaluations").mkdir()
    cells = [{"red_agent": "bline", "steps": 100, "mean": -15.0}]
    (run / "evaluations" / "e.json").write_text(
        json.dumps({"rules": "main", "agent": HOSTILE, "policy": HOSTILE, "cells": cells})
    )
    return run


def test_markup_in_a_run_is_shown_as_text(tmp_path: Path) -> None:
    text = report(hostile_run(tmp_path))
    assert HOSTILE not in text
    assert visible(text).count(HOSTILE) > 10
