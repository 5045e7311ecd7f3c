"""Finished runs whose files were changed afterwards: nobody reads them as if they were whole."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runs.test_resume import emptied, finished, flipped, halved, refused, whole
from tests.runs.toy import assert_same, run_search
from workflow_rl.agents.policy import load_policy
from workflow_rl.cli import main
from workflow_rl.errors import InvalidInputError
from workflow_rl.runs.store import RunDirectory

__all__ = ["finished", "whole"]

Captured = pytest.CaptureFixture[str]
MANIFEST = "manifest.json"


def files_of(run: Path) -> list[str]:
    """What the manifest of a run names, the configuration first."""
    noted = json.loads((run / MANIFEST).read_text())
    return [*noted["given"], *noted["made"]]


def edited(path: Path, old: str, new: str) -> Path:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def other_score(run: Path) -> Path:
    return edited(run / "summary.json", '"mean": -', '"mean": -9')


def other_attacker(run: Path) -> Path:
    config = run / "experiment_config.json"
    return edited(config, '"red_agent": "bline"', '"red_agent": "meander"')


def other_policy(run: Path) -> Path:
    path = run / "policies" / "recommended.safetensors"
    return Path(shutil.copy(run / "policies" / "base.safetensors", path))


def half_the_log(run: Path) -> Path:
    halved(run / "training_log.csv")
    return run / "training_log.csv"


def test_a_finished_run_names_its_files(whole: Path) -> None:
    tables = "training_log.csv episodes.parquet gp_sampling_log.csv trials.json scores.json"
    named = {*tables.split(), "summary.json", "experiment_config.json"}
    named |= {f"policies/{name}.safetensors" for name in ("base", "trial_000", "recommended")}
    named |= {f"trainings/polish/{name}" for name in ("result.safetensors", "updates.csv")}
    files = files_of(whole)
    assert named <= set(files)
    there = {path.relative_to(whole).as_posix() for path in whole.rglob("*") if path.is_file()}
    left = {name for name in there - set(files) if not name.startswith("tensorboard/")}
    assert left == {MANIFEST, ".lock"}


def test_whatever_was_changed_in_a_finished_run_resume_names_it(
    finished: Path, capsys: Captured
) -> None:
    for name in files_of(finished):
        path = finished / name
        content = path.read_bytes()
        for damage in (flipped, halved, emptied):
            if not content or (damage is flipped and len(content) < 40):
                continue
            damage(path)
            told = name.removesuffix("logs.json")  # what these note of its neighbours differs then
            assert told in refused(finished, capsys, set()), (name, damage)
            path.write_bytes(content)
    assert main(["search", "--resume", str(finished), "--no-report"]) == 0


def test_whatever_can_be_made_again_is_when_it_is_removed(finished: Path, whole: Path) -> None:
    for name in files_of(whole)[1:]:
        if name.endswith("/result.safetensors"):  # a training is made again as a whole
            shutil.rmtree((finished / name).parent)
        elif not name.startswith("trainings/"):
            (finished / name).unlink()
        else:
            continue
        run_search(resume=finished)
        assert_same(finished, whole)
        assert (finished / name).exists(), name
    assert set(files_of(finished)) == set(files_of(whole))


def test_what_is_missing_in_a_training_is_named(finished: Path, capsys: Captured) -> None:
    path = finished / "trainings" / "polish" / "snapshots" / "update_000001.safetensors"
    path.unlink()
    err = refused(finished, capsys, set())
    assert f"{path} is missing" in err
    assert f"remove {finished / 'trainings' / 'polish'} and go on with --resume" in err


@pytest.mark.parametrize("damage", [other_score, other_attacker, half_the_log])
@pytest.mark.parametrize("command", ["report", "playbook", "watch"])
def test_who_tells_of_a_run_checks_what_it_reads(
    finished: Path, command: str, damage: Callable[[Path], Path], capsys: Captured, tmp_path: Path
) -> None:
    path = damage(finished)
    args = [] if command == "watch" else ["--output", str(tmp_path / "out.html")]
    assert main([command, str(finished), *args]) == 2
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert f"{path} is damaged: its content is not what was written" in err
    assert "bring back a copy" in err
    assert not (tmp_path / "out.html").exists()
    assert out == ""


@pytest.mark.parametrize(
    ("command", "damage"),
    [
        *(("evaluate", other_policy), ("replay", other_policy), ("export", other_policy)),
        ("replay", other_attacker),  # else it would be of another game than the run's
    ],
)
def test_who_takes_the_policy_of_a_run_checks_it(
    finished: Path, command: str, damage: Callable[[Path], Path], capsys: Captured
) -> None:
    path = damage(finished)
    assert main([command, str(finished)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"{path} is damaged" in err
    if damage is other_policy:
        with pytest.raises(InvalidInputError, match=r"recommended\.safetensors is damaged"):
            load_policy(finished)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"given": 3, "made": []}'])
def test_a_damaged_manifest_is_named_and_made_again(
    finished: Path, whole: Path, text: str, capsys: Captured
) -> None:
    (finished / MANIFEST).write_text(text)
    assert f"{MANIFEST} is damaged" in refused(finished, capsys, set())
    (finished / MANIFEST).unlink()
    run_search(resume=finished)
    assert_same(finished, whole)
    assert files_of(finished) == files_of(whole)


def test_a_manifest_names_no_file_outside_of_its_run(finished: Path, capsys: Captured) -> None:
    for name in ("../secret", "/etc/passwd"):
        (finished / MANIFEST).write_text(json.dumps({"given": {}, "made": {name: "0"}}))
        assert "it names files outside" in refused(finished, capsys, set())


def test_what_is_made_of_a_finished_run_later_does_not_count(
    finished: Path, whole: Path, capsys: Captured
) -> None:
    (finished / "report.html").write_text("mine")
    shutil.copy(finished / "policies/base.safetensors", finished / "policies/selected.safetensors")
    (finished / "policies" / "recommended.onnx").write_bytes(b"")
    assert main(["search", "--resume", str(finished), "--no-report"]) == 0
    (finished / MANIFEST).unlink()
    assert main(["search", "--resume", str(finished), "--no-report"]) == 0
    assert files_of(finished) == files_of(whole)
    capsys.readouterr()


def test_a_run_that_is_changed_is_unsealed_first(finished: Path) -> None:
    directory = RunDirectory.open(finished)
    assert directory.check_sealed()
    directory.unseal()
    assert not directory.check_sealed()
    directory.close()
