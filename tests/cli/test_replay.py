import shutil
from pathlib import Path

import pytest

from tests.agents.policies import new_policy, policy_file
from tests.cli.run import Capture, Patch
from tests.parity.fixtures import MAIN_BLINE
from workflow_rl.agents.policy import load_policy
from workflow_rl.cli import main

WORKFLOW = "user > enterprise > op_server > op_host > defender"


@pytest.fixture
def made(real_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(real_run, tmp_path / "exp"))


def test_the_recommended_policy_of_a_run_is_replayed_into_it(made: Path, capsys: Capture) -> None:
    args = ["replay", str(made), "--red-agent", "meander", "--seed", "7", "--steps", "40"]
    assert main(args) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("40 steps, return -")
    assert out[1] == f"replay: {made}/replay.html"
    text = (made / "replay.html").read_text()
    assert " against Meander" in text
    assert "40 steps" in text
    assert "seed 7" in text


def test_a_search_is_replayed_against_its_own_attacker(made: Path) -> None:
    assert load_policy(made).config.game.red_agent == "mixed"
    for seed in ("0", "1", "2"):
        assert main(["replay", str(made), "--seed", seed, "--steps", "3"]) == 0
        assert " against B_line" in (made / "replay.html").read_text()


def test_36_outputs_and_every_name_are_replayed(
    monkeypatch: Patch, tmp_path: Path, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    one = policy_file(
        tmp_path / "one.safetensors", new_policy("cardiff", "cardiff", episode_length=20)
    )
    other = policy_file(tmp_path / "other.safetensors", new_policy("cardiff", "cardiff", seed=1))
    for what in (str(one), f"bline={one},meander={other}"):  # others: tests/pages
        assert main(["replay", what, "--steps", "20", "--red-agent", "meander"]) == 0
        out = capsys.readouterr().out
        assert out.startswith("20 steps, return ")
        assert "replay: replay.html" in out
        text = Path("replay.html").read_text()
        assert " against Meander" in text
        assert "20 steps" in text
    assert main(["replay", "cardiff", "--rules", "competition", "--workflow", WORKFLOW]) == 0
    text = (tmp_path / "replay.html").read_text()
    assert "counted fixes followed the order" in text


def test_a_recording_is_replayed_and_judged_by_a_workflow_that_is_given(tmp_path: Path) -> None:
    file = tmp_path / "trace.html"
    args = ["replay", str(MAIN_BLINE), "--episode", "3", "--output", str(file)]
    assert main(args) == 0
    assert "fixes are not judged" in file.read_text()
    assert main([*args, "--workflow", WORKFLOW]) == 0
    assert "counted fixes followed the order" in file.read_text()
