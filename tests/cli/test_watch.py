import subprocess
from pathlib import Path

from tests.cli.run import COMMAND, WIDE, Capture, terminal
from tests.pages.runs import log_rows, trial, write_log, write_run, write_trials
from tests.runs.test_store import holder
from tests.runs.toy import tiny
from workflow_rl.cli import main
from workflow_rl.files import write_json
from workflow_rl.runs.store import RunDirectory

ROWS = log_rows("base", None, 3) + log_rows("trial_001", 60, 2)
TRIALS = [trial(0, 5, -30.0), trial(1, 60, None)]


def test_one_look_shows_progress_scalars_and_trials(tmp_path: Path, capsys: Capture) -> None:
    folder = write_run(tmp_path / "exp", TRIALS, ROWS)
    with holder(folder):
        assert main(["watch", str(folder), "--once"]) == 0
    out = capsys.readouterr().out
    assert "under way" in out
    for text in ("1/20", "trial_001", "2/50", "reward -50", "memory, MB 500", "1,000 steps/s"):
        assert text in out
    assert "reward by update ▁█" in out
    assert "trial_000 " in out
    assert "go on with" not in out
    assert "-30.00 best" in out


def test_an_interrupted_run_is_shown_once_with_what_is_missing(
    tmp_path: Path, capsys: Capture
) -> None:
    folder = write_run(tmp_path / "exp", TRIALS, ROWS)
    assert main(["watch", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "interrupted" in out
    assert "no summary.json" in out
    assert out.endswith(f"\ngo on with: workflow-rl search --resume {folder}\n")


def test_no_terminal_obeys_a_run(tmp_path: Path, capsys: Capture) -> None:
    name = "\x1b[31mred\x9b2J\u202e\ud800"
    trials = [trial(0, 5, -30.0, reason=f"{name}\n:smile:")]
    folder = write_run(tmp_path / "\x1b[31mred", trials, log_rows("\x1b[31mred", 5, 2))
    assert main(["watch", str(folder)]) == 0
    out = capsys.readouterr().out
    assert out.count("?[31mred") >= 3
    assert "?[31mred?" in out
    assert ":smile:" in out
    assert out.replace("\n", "").isprintable()
    assert main(["report", str(folder / "\x1b[2J\nx")]) == 2
    assert capsys.readouterr().err.endswith("red/?[2J?x\n")


def test_a_live_run_is_followed_to_its_end_line_by_line_and_at_a_terminal(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path, tiny(n_workflows=2), [])
    folder = directory.path
    watch = ("watch", str(folder), "--every", "0.05")
    plain = subprocess.Popen([*COMMAND, *watch], stdout=subprocess.PIPE, text=True, env=WIDE)
    assert plain.stdout is not None
    with terminal(*watch) as screen:
        screen.wait_for("0/2")
        assert plain.stdout.readline() == f"{folder.name}: under way, 0/2 workflows\n"
        write_log(folder / "training_log.csv", log_rows("base", None, 2))
        assert "base update 2/3, reward -50.00" in plain.stdout.readline()
        screen.wait_for("reward -50")
        write_trials(folder, TRIALS[:1])
        assert "1/2 workflows" in plain.stdout.readline()
        screen.wait_for("-30.00 best")
        write_json(folder / "summary.json", {"seconds": 3.0})
        directory.close()
        assert screen.code() == 0
        assert "finished" in screen.shown
    last = plain.communicate(timeout=60)[0].splitlines()[-1]
    assert plain.returncode == 0
    assert ": finished, 1/2 workflows" in last
