import html
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.scores import scored
from tests.pages.runs import HOSTILE, POLICY, log_rows, pairwise, trial, write_run
from tests.pages.test_page import data_of
from tests.playbook.runs import trained
from workflow_rl.cli import build_parser
from workflow_rl.config import ExperimentConfig, GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.files import read_json, write_json
from workflow_rl.pages.findings import find
from workflow_rl.pages.report import next_steps, report_html, write_report
from workflow_rl.pages.rundata import read_run
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
    return set(data_of(text)["figures"])


def visible(text: str) -> str:
    """What stands in a page but for its scripts and style, as a reader sees it."""
    text = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_a_real_run_has_every_section_with_its_figure(real_run: Path, tmp_path: Path) -> None:
    text = report(real_run, output=tmp_path / "report.html")
    for section in SECTIONS:
        assert f'id="run1-{section}-section"' in text
    figures = {"scores", "does", "orders", "pairs", "path", "curves", "stages", "cost"}
    assert drawn(text) - {"run1-positions"} == {f"run1-{name}" for name in figures}
    assert set(re.findall(r'class="plot" id="([^"]+)"', text)) == drawn(text)
    assert text.count("<tr data-order=") == len(ORDERS)
    assert "What is missing" not in text
    told = visible(text)
    noted = read_json(real_run / "experiment_config.json")
    for value in (noted["packages"]["torch"], noted["python"], "rule set main"):
        assert value in told
    assert "game.episode_length 30 not the default" in told
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", text, flags=re.DOTALL)
    assert re.findall(r'\b(?:src|href|action|poster)="(?!#|data:)[^"]*"', markup) == []
    style = " ".join(re.findall(r"<style>(.*?)</style>", text, flags=re.DOTALL))
    assert not re.search(r"url\(|@import", style)


# --- what the page says

TWO = [trial(0, 5, -20.0), trial(1, 60, -18.0)]
CLEAR = pairwise([0.0] * 9 + [8.0])  # op_host before user
UNFIT = scored("meander", (-300.0, -300.0, -80.0), 0.5, (0.97, 0.95))
SAID: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "The recommended order, one of 60: | Clear effects are blue | the 24 compliant": (
        [trial(k, o, CLEAR[o] + 0.1 * (k % 3)) for k, o in enumerate(range(0, 120, 5))],
        {"config": ExperimentConfig(game=GameConfig(red_agent="meander"))},
    ),
    "no effect is clear": ([trial(k, 30 * k, -20.0 - k % 2) for k in range(4)], {}),
    "The order that came closest to complying: | use it with care | because fewer than two": (
        [trial(k, 30 * k, -20.0 - k, compliance=0.1 * k) for k in range(4)],
        {"policy": replace(POLICY, scores=(scored("bline", (-9.0,) * 3, 1.0, (0.3, 0.3)),) * 3)},
    ),
    "The search has not ended | winner (Cardiff) | -13.76 | competition | published leaderboard": (
        TWO,
        {},
    ),
    "any order, fine-tuned for this one against all": (
        TWO,
        {"policy": replace(POLICY, trained_further=True)},
    ),
    "any order, as shipped with the package | Unfit for meander: -300.0, where | -80.0.": (
        TWO,
        {"policy": replace(POLICY, scores=(POLICY.scores[0], UNFIT, POLICY.scores[2]))},
    ),
    "nothing can be recommended yet | Too few trials have complied | No trial has ended": (
        [],
        {"rows": log_rows("base", None, 7)},
    ),
}


@pytest.mark.parametrize("said", SAID)
def test_the_page_says_it(tmp_path: Path, said: str) -> None:
    trials, more = SAID[said]
    told = visible(report(write_run(tmp_path / "run", trials, **more))).casefold()
    for sentence in said.casefold().split(" | "):
        assert sentence in told


def test_a_training_is_not_called_a_search(tmp_path: Path) -> None:
    told = visible(report(trained(tmp_path / "one")))
    assert "a training of one workflow, not a search: the workflow it was trained for." in told
    told = visible(report(trained(tmp_path / "all", order=None)))
    assert "a training, not a search: it recommends no order" in told


def test_regret_is_told_by_a_landscape(tmp_path: Path) -> None:
    run, file = write_run(tmp_path / "run", TWO), tmp_path / "truth.json"
    write_json(file, {" > ".join(order): -10.0 - k for k, order in enumerate(ORDERS)})
    assert "By the landscape" not in visible(report(run))
    told = visible(report(run, landscape=file))
    assert "number 2, at -18.00. By the landscape its regret is 60.00" in told


# --- what to do next


def test_every_command_is_one_that_can_be_given(tmp_path: Path) -> None:
    assert next_steps(read_run(write_run(tmp_path / "begun", TWO))) == []
    run = write_run(tmp_path / "my run", TWO, policy=POLICY)
    *commands, _ = (text for _, text in next_steps(read_run(run)))
    parser = build_parser()
    for line in "\n".join(commands).splitlines():
        program, *words = shlex.split(line)
        assert program == "workflow-rl"
        parser.parse_args(words)


def test_the_python_runs(real_run: Path) -> None:
    _, python = next_steps(read_run(real_run))[-1]
    names: dict[str, object] = {}
    exec(python, names)
    assert isinstance(names["reward"], float)


# --- several runs


def test_several_runs_stand_side_by_side(real_run: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", [trial(k, 17 * k, -20.0 - k) for k in range(5)])
    text = report(real_run, other, output=tmp_path / "report.html")
    assert {"compare-rewards", "compare-paths", "compare-effects"} <= drawn(text)
    assert text.count('role="tabpanel"') == text.count('role="tab"') == 2
    assert "their rewards are not comparable" in visible(text)
    same = report(other, other, output=tmp_path / "report.html")
    assert "their rewards are not comparable" not in visible(same)


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


def test_markup_in_a_run_is_text(tmp_path: Path) -> None:
    text = report(hostile_run(tmp_path))
    assert HOSTILE not in text
    assert visible(text).count(HOSTILE) > 10
