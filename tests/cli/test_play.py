"""Playing without a terminal: one action a line, and what is said of mistakes."""

import io
import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.cli.run import COMMAND, Capture, Patch, run
from workflow_rl.cli import main
from workflow_rl.scenario.tables import HOST_NAMES

Play = Callable[..., tuple[int, str, str]]


@pytest.fixture
def play(monkeypatch: Patch, capsys: Capture) -> Play:
    """Plays lines with flags, here; the exit code and what is printed."""

    def played(lines: str, *flags: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(lines))
        return main(["play", *flags]), *capsys.readouterr()

    return played


def test_piped_actions_are_played_and_shown() -> None:
    result = run("play", "--seed", "3", actions="DecoyFemitter User2\n\n  restore user1 \n139\n")
    assert result.returncode == 0
    assert "Traceback" not in result.stderr
    start, first, second, third = result.stdout.split("\n\n")
    assert start.startswith("step 0 of 100 | red bline | rules main | OT service running\n")
    assert "Blue: nothing yet" in start
    assert first.startswith("step 1 of 100")
    assert "Blue: DecoyFemitter User2" in first
    assert "Blue: Restore User1" in second
    assert "reward -1.0 (confidentiality 0.0, availability 0.0, action -1.0)" in second
    assert "Blue: Restore Op_Server0" in third
    assert "return so far -2.0" in third
    for moment in (start, first, second, third):
        assert [line.split()[0] for line in moment.splitlines()[-13:]] == list(HOST_NAMES)
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize(
    "action", ["fly", "Restore", "Restore User9", "145", "-1", "9" * 30, "\x1b[C", "ü"]
)
def test_an_unknown_action_is_answered_with_the_known_ones(action: str, play: Play) -> None:
    code, out, err = play(f"Sleep\n{action}\nSleep\n")
    assert code == 2
    assert out.count("step ") == 2  # the start and the one good action
    assert err.startswith(f"workflow-rl: error: unknown action {action!r}: ")
    assert err.count("\n") == 1
    for word in ("0 to 144", "Sleep", "Monitor", "DecoyVsftpd", "Restore", *HOST_NAMES):
        assert word in err


def test_bytes_that_are_no_text_are_refused(monkeypatch: Patch, capsys: Capture) -> None:
    lines = io.TextIOWrapper(io.BytesIO(b"Sleep\n\xff\xfe\n"), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", lines)
    assert main(["play"]) == 2
    assert "not text" in capsys.readouterr().err


def test_actions_behind_the_end_are_not_played(play: Play) -> None:
    code, out, _ = play("Sleep\n" * 5, "--episode-length", "2")
    assert code == 0
    assert out.count("Blue: ") == 3
    assert "step 2 of 2" in out


def test_flags_reach_the_game(play: Play) -> None:
    game = "--red-agent RedMeanderAgent --rules competition --episode-length 30 "
    game += "--green-agent active --observation cardiff"
    code, out, _ = play("Sleep\n" * 2, *game.split())
    assert code == 0
    assert "step 2 of 30 | red meander | rules competition" in out


def test_ctrl_c_while_it_waits_for_an_action() -> None:
    with subprocess.Popen(
        [*COMMAND, "play"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline().startswith(b"step 0 of 100")
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read().decode()
    assert process.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors


def test_piped_help_and_quitting(play: Play) -> None:
    code, out, _ = play("Sleep\n?\nMonitor\nq\nRestore User1\n")
    assert code == 0
    assert "what Blue believes of the host" in out
    assert "Blue: Monitor" in out
    assert "Restore User1\n" not in out.split("Blue: Monitor")[1]
