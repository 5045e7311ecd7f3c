"""A training whose numbers stop being finite has failed; it is never recommended."""

from pathlib import Path

import pytest

from tests.cli.run import said
from tests.runs.toy import the_run
from workflow_rl.cli import main

TOY = "--n-envs 4 --max-steps 10 --max-episodes 2 --hidden 8 --learning-rate 1e30".split()  # noqa: SIM905
SEARCH = ["--score-games", "5", "--n-workflows", "2", "--base-updates", "3", "--no-report"]


def failure(args: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(args) == 1
    err = said(capsys.readouterr().err)
    assert err.startswith("workflow-rl: error: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("warm_start", ["common", "none"])
def test_a_search_without_a_finite_training_fails(
    tmp_path: Path, warm_start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["search", *TOY, *SEARCH, "--warm-start", warm_start, "--checkpoint-dir", str(tmp_path)]
    err = failure(args, capsys)
    reason = "there is no base policy" if warm_start == "common" else "every workflow failed"
    assert reason in err
    assert "the training diverged: losses or weights are not finite" in err
    assert not (the_run(tmp_path) / "policies" / "recommended.safetensors").exists()
    assert "diverged" in failure(["search", "--resume", str(the_run(tmp_path))], capsys)


def test_a_training_that_diverges_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    order = "user > enterprise > op_server > op_host > defender"
    args = ["train", "--workflow", order, *TOY, "--checkpoint-dir", str(tmp_path)]
    assert "the training diverged" in failure(args, capsys)
    assert list(tmp_path.rglob("recommended.safetensors")) == []
