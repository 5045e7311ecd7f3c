import json
import shutil
from pathlib import Path

import pytest

import workflow_rl
from tests.playbook.cacao_rules import broken_rules
from tests.playbook.runs import finished, trained
from tests.report.runs import trial, write_run
from workflow_rl.errors import InvalidInputError
from workflow_rl.playbook.plan import formatted
from workflow_rl.playbook.reading import read_playbook
from workflow_rl.playbook.writing import write_playbook


def test_both_files_are_written_into_the_run_and_the_order_comes_back(tmp_path: Path) -> None:
    run = finished(tmp_path / "exp")
    assert workflow_rl.write_playbook(run) == [run / "playbook.md", run / "playbook.json"]
    playbook = json.loads((run / "playbook.json").read_text())
    assert broken_rules(playbook) == []
    assert playbook["created"] == "2026-01-01T12:00:00.000Z"
    order = formatted(read_playbook(run / "playbook.json"))
    assert order == "enterprise > op_server > user > op_host > defender"
    assert (run / "playbook.md").read_text().startswith(f"# Repair order: {order}\n")


def test_the_same_run_gives_the_same_files(tmp_path: Path) -> None:
    run = finished(tmp_path / "exp")
    first = [path.read_bytes() for path in write_playbook(run)]
    shutil.copytree(run, tmp_path / "copy" / "exp")
    assert [path.read_bytes() for path in write_playbook(tmp_path / "copy" / "exp")] == first


def test_the_evidence_goes_with_the_playbook(tmp_path: Path) -> None:
    (file,) = write_playbook(finished(tmp_path / "exp"), tmp_path / "new" / "p", format="cacao")
    assert file == tmp_path / "new" / "p"
    (kept,) = json.loads(file.read_text())["playbook_extensions"].values()
    assert kept["run"]["rules"] == "main"
    assert kept["evidence"]["result"]["reward"] == {"mean": -15.4, "half_width": 0.2}
    assert [score["red_agent"] for score in kept["evidence"]["by_attacker"]] == [
        "bline",
        "meander",
        "sleep",
    ]
    clear = [pair for pair in kept["evidence"]["pairs"] if pair["is_clear"]]
    assert [(pair["first"], pair["second"]) for pair in clear] == [("enterprise", "user")]


def test_a_real_search_and_a_training_have_playbooks(real_run: Path, tmp_path: Path) -> None:
    for run in (real_run, trained(tmp_path / "exp")):
        files = write_playbook(run, tmp_path / "of.it")
        assert files == [tmp_path / "of.md", tmp_path / "of.json"]
        playbook = json.loads(files[1].read_text())
        assert broken_rules(playbook) == []
        assert playbook["name"] == f"Repair order: {formatted(read_playbook(files[1]))}"


def test_runs_without_a_recommendation_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    begun = write_run(tmp_path / "begun", [trial(0, 3, -20.0)])
    aimless = trained(tmp_path / "aimless", order=None)
    timeless = finished(tmp_path / "timeless", created="yesterday")
    damaged = finished(tmp_path / "damaged")
    (damaged / "scores.json").write_text("{")
    for run, said in (
        (tmp_path / "nowhere", "there is no run directory"),
        (empty, "is not a run directory"),
        (begun, "was interrupted: go on with --resume"),
        (aimless, "recommends no order: only a search"),
        (timeless, "does not say when the run began"),
        (damaged, "is damaged or of another version"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            write_playbook(run)
        assert not list(run.glob("playbook*"))
    with pytest.raises(InvalidInputError, match="choose one of markdown, cacao, both"):
        write_playbook(damaged, format="pdf")
    for output, kind in ((tmp_path, "cacao"), ("/", "both"), ("", "both")):
        with pytest.raises(InvalidInputError, match="is a directory"):
            write_playbook(damaged, output, format=kind)
