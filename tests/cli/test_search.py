"""Searches at toy size: what they show and leave, by the command and by the documented script."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import workflow_rl
from tests.cli.run import COMMAND, TOY_SEARCH, WIDE, Capture, Made, Patch, flags, run_here, said
from tests.runs.toy import assert_same, the_run, tiny
from workflow_rl.cli import main
from workflow_rl.runs.store import RunDirectory
from workflow_rl.workflow.orders import TYPES

SCRIPT = Path(workflow_rl.__file__).parent / "parallel_train_workflow_rl.py"
TOY = flags(  # the third pick is the Gaussian process's
    "--n-envs 20 --n-workflows 3 --max-episodes 6 --min-episodes 2 --score-games 5 "
    "--base-updates 6 --polish-updates 3 --compliance-threshold 0.1 --initial-design 2"
)
SMALL = "--max-episodes 2 --max-steps 20 --score-games 5 --base-updates 2 --polish-updates 1"


@pytest.fixture(scope="module")
def by_script(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """The documented script on two threads, run somewhere else than in the repository."""
    folder = tmp_path_factory.mktemp("elsewhere")
    threads = {"OMP_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2"}
    result = subprocess.run(
        [sys.executable, str(SCRIPT), *TOY],
        capture_output=True,
        text=True,
        cwd=folder,
        env={k: v for k, v in WIDE.items() if k != "PYTHONPATH"} | threads,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return the_run(folder / "logs"), result.stdout, result.stderr


@pytest.fixture(scope="module")
def by_command(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The same search by the command, here and on one thread."""
    folder = tmp_path_factory.mktemp("here")
    out = run_here("search", *TOY, cwd=folder)
    return the_run(folder / "logs"), out


def test_the_script_is_the_command_on_any_threads(
    by_script: tuple[Path, str, str], by_command: Made
) -> None:
    assert_same(by_script[0], by_command[0])
    assert not {"\x1b", "\r"} & set(by_script[1])
    assert said(by_script[2]) == ""
    noted = json.loads((by_script[0] / "experiment_config.json").read_text())
    assert noted["command"] == [str(SCRIPT), *TOY]
    assert noted["version"] == workflow_rl.__version__
    repeated = f"workflow-rl search --warm-start common {' '.join(TOY)}"
    assert repeated in (by_script[0] / "report.html").read_text()


@pytest.mark.parametrize(
    ("command", "first"),
    [
        ([sys.executable, str(SCRIPT)], "1. base: 800 updates of one policy on all orders"),
        ([*COMMAND, "search"], "1. trials: 20 workflows, picked by gp-ucb"),
    ],
)
def test_the_script_trains_a_base_policy_by_default_and_the_command_none(
    command: list[str], first: str, tmp_path: Path
) -> None:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        _, phase, more = (process.stdout.readline() for _ in range(3))
        process.send_signal(signal.SIGINT)
        last = process.stdout.read().splitlines()[-1]
    assert phase.startswith(first)
    assert ("as documented (--warm-start universal" in more) == ("base" in first)
    assert last.startswith("stopped; go on with: workflow-rl search --resume logs/")


def test_the_end_is_a_ranking_a_recommendation_and_paths(by_command: Made) -> None:
    run, out = by_command
    summary = json.loads((run / "summary.json").read_text())
    table = out[out.index("workflows tried:") :].splitlines()

    def reward(trial: dict[str, Any]) -> float:
        return float(trial["objective"]["reward"]["mean"])

    ranked = sorted(summary["trials"], key=lambda t: (not t["is_compliant"], -reward(t)))
    for rank, (line, trial) in enumerate(zip(table[2:5], ranked, strict=True), 1):
        assert line.split()[0] == str(rank)
        assert TYPES.read(trial["workflow"]).short in line
        assert f"{reward(trial):.2f} ± " in line
    assert f"found: {summary['finding']['headline']}." in " ".join(out.split())
    assert f"recommended: {summary['recommended']}" in out
    where = f"everything is in logs/{run.name}, the policy in policies/recommended.safetensors"
    assert where in out
    for told in (f"logs/{run.name}/replay.html", f"workflow-rl playbook logs/{run.name}"):
        assert told in out


def test_resuming_a_finished_run_shows_its_outcome_again(by_command: Made) -> None:
    run, first = by_command
    begun = ("--n-workflows", "3", "--red-agent", "B_lineAgent")  # what it was begun with
    second = run_here("search", *begun, "--resume", str(run), cwd=run.parent.parent)

    def ranking(out: str) -> str:
        return out[out.index("workflows tried:") : out.rindex(" transitions in")]

    assert ranking(first) == ranking(second)


def test_a_run_in_use_or_begun_otherwise_is_not_resumed(tmp_path: Path, capsys: Capture) -> None:
    directory = RunDirectory.create(tmp_path, tiny(), [])
    resume = ["search", "--resume", str(directory.path)]
    before = {path.name for path in directory.path.iterdir()}
    assert main(resume) == 2
    assert "is in use by a live process" in capsys.readouterr().err
    directory.close()
    assert main([*resume, *flags("--red-agent meander --gamma 0.5")]) == 2
    assert "leave out --gamma, --red-agent\n" in capsys.readouterr().err
    assert {path.name for path in directory.path.iterdir()} == before


@pytest.mark.parametrize(
    "words",  # pairs of settings: tests/pairs
    [
        f"--preset episode --n-workflows 2 {SMALL} --max-steps 100",
        f"--preset standard --n-workflows 2 {SMALL} --max-episodes 15",
    ],
)
def test_a_preset_is_searched_into_any_folder(words: str, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / ("a folder [bold]" + "x" * 150)
    assert main(["search", *flags(words), "--checkpoint-dir", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "recommended: " in out
    run = the_run(folder)
    assert (run / "policies" / "recommended.safetensors").exists()
    assert out.splitlines()[0].endswith(str(run))  # in one piece and as it is
    assert out.splitlines()[-4].endswith(f"{run}/replay.html")


def test_a_narrow_terminal_shows_bars_and_whole_workflows(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=80, highlight=False)
    monkeypatch.setattr("workflow_rl.cli.search.make_console", lambda: screen)
    assert main(["search", *TOY_SEARCH, "--checkpoint-dir", str(tmp_path)]) == 0
    assert isinstance(screen.file, io.StringIO)
    shown = screen.file.getvalue()
    for part in ("workflows", "2/2", "trial_001", "reward -"):
        assert part in shown
    assert "-inf" not in shown
    table = shown[shown.index("workflows tried:") :]
    assert "…" not in table
    for trial in json.loads((the_run(tmp_path) / "summary.json").read_text())["trials"]:
        assert TYPES.read(trial["workflow"]).short in table
    assert TYPES.units.legend in " ".join(table.split())
