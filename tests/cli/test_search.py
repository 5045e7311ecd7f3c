import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import workflow_rl
from tests.cli.run import WIDE, run_here, said
from tests.runs.toy import assert_same, findings, the_run, tiny
from workflow_rl.cli import main
from workflow_rl.estimates import Estimate
from workflow_rl.runs.store import RunDirectory
from workflow_rl.workflow.orders import TYPES
from workflow_rl.workflow.short_names import legend, short_order

SCRIPT = Path(workflow_rl.__file__).parent / "parallel_train_workflow_rl.py"
TOY: tuple[str, ...] = (
    "--n-envs",
    "20",
    "--n-workflows",
    "3",
    "--max-episodes",
    "6",
    "--min-episodes",
    "2",
)
TOY += (
    "--score-games",
    "5",
    "--base-updates",
    "6",
    "--polish-updates",
    "3",
    "--compliance-threshold",
    "0.1",
)
TOY += ("--initial-design", "2")  # the third pick is the Gaussian process's
QUICK: tuple[str, ...] = (
    "--n-envs",
    "6",
    "--n-workflows",
    "2",
    "--max-episodes",
    "2",
    "--max-steps",
    "20",
)
QUICK += ("--score-games", "5", "--base-updates", "2", "--polish-updates", "1", "--hidden", "8")


# --- mistakes


@pytest.fixture
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--preset fast", "unknown preset 'fast': choose one of episode, hybrid, minibatch"),
        ("--ppo newest", "unknown form of PPO 'newest': choose one of tuned, documented, modern"),
        ("--strategy luck", "unknown strategy 'luck': choose one of gp-ucb, random, round-robin"),
        (
            "--warm-start hot",
            "unknown warm start 'hot': choose one of common, universal",
        ),
        ("--alignment sometimes", "choose one of adaptive, fixed"),
        ("--compliance-view blurred", "choose one of observed, true"),
        ("--stop-at noon", "choose one of compliance, budget"),
        ("--device cuda", "unknown device 'cuda'"),
        ("--red-agent nobody", "choose one of bline, meander, sleep, mixed"),
        ("--rules house", "choose one of main, competition"),
        ("--observation all", "choose one of challenge, cardiff"),
        ("--green-agent busy", "choose one of sleep, active"),
        ("--compliance-threshold 1.5", "compliance_threshold must be a number from 0 to 1"),
        ("--compliance-threshold -0.1", "compliance_threshold must be a number from 0 to 1"),
        ("--compliance-threshold nan", "compliance_threshold must be a number from 0 to 1"),
        ("--alignment-lambda -1", "alignment_lambda must be a number of 0 or more"),
        ("--alignment-lambda inf", "alignment_lambda must be a number of 0 or more"),
        ("--gp-beta -1", "gp_beta must be a number of 0 or more"),
        ("--n-envs 0", "n_envs must be a whole number from 1"),
        ("--n-workflows 0", "n_workflows must be a whole number from 1"),
        ("--max-episodes 0", "max_episodes must be a whole number from 1"),
        ("--max-episodes 6 --min-episodes 7", "min_updates must be a whole number from 1 to 6"),
        ("--max-steps 0", "episode_length must be a whole number from 1"),
        ("--update-steps 10", "update_steps must be a whole number from 200"),
        ("--epochs 0", "epochs must be a whole number from 1"),
        ("--minibatch-size 0", "minibatch_size must be a whole number from 1"),
        ("--learning-rate 0", "learning_rate must be a number above 0"),
        ("--gamma 1.1", "gamma must be a number from 0 to 1"),
        ("--gae-lambda -1", "gae_lambda must be a number from 0 to 1"),
        ("--entropy-weight nan", "entropy_weight must be a number of 0 or more"),
        ("--max-episodes 1 --update-steps 12000", "this would never finish an episode"),
        ("--hidden 0", "units of a hidden layer must be a whole number from 1"),
        ("--parallel-workflows 0", "parallel_workflows must be a whole number from 1"),
        ("--executor cloud", "unknown executor 'cloud': choose one of serial, processes, ray"),
        ("--ray-address auto", "--ray-address only goes with --executor ray"),
        ("--executor serial --parallel-workflows 2", "serial trains one workflow at a time"),
        ("--time-limit 0", "--time-limit must be a number above 0"),
        ("--time-limit nan", "--time-limit must be a number above 0"),
        ("--time-limit 9", "a time limit needs trainings outside of this process"),
        ("--total-episodes 0", "total_episodes must be a whole number from 1"),
        ("--initial-design 121", "initial_design must be a whole number from 1 to 120"),
        ("--seed -1", "seed must be a whole number from 0"),
        ("--n-envs 1 --update-steps 20000", "this would never update: 50 episodes of 100 steps"),
        ("--preset strongest", "the preset strongest trains one policy without a workflow"),
        ("--preset original", "trains one policy without a workflow: use `workflow-rl train`"),
        ("--resume nowhere", "nowhere is not a run directory"),
        ("--resume .", "is not a run directory"),
        ("--checkpoint-dir /proc/nowhere", "no run directory can be made in /proc/nowhere"),
    ],
)
def test_a_mistake_is_one_sentence_before_any_work(
    flags: str, said: str, in_an_empty_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", *flags.split()]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("workflow-rl: error: ")
    assert said in err
    assert list(in_an_empty_folder.iterdir()) == []


def test_a_run_in_use_is_not_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = RunDirectory.create(tmp_path, tiny(), [])
    before = {path.name for path in directory.path.iterdir()}
    assert main(["search", "--resume", str(directory.path)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "is in use by a live process" in err
    assert {path.name for path in directory.path.iterdir()} == before
    directory.close()


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ("--n-workflows 99", "--n-workflows"),
        ("--red-agent meander --gamma 0.5", "--gamma, --red-agent"),
        ("--seed 9", "--seed"),
        ("--preset episode", "--preset"),
        ("--ppo modern", "--ppo"),
    ],
)
def test_other_settings_are_not_silently_ignored_when_resuming(
    flags: str, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = RunDirectory.create(tmp_path, tiny(), [])
    directory.close()
    assert main(["search", *flags.split(), "--resume", str(directory.path)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"leave out {named}\n" in err
    RunDirectory.open(directory.path).close()  # it is free again


# --- a search at toy size


def script(*flags: str, threads: int, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *flags],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={k: v for k, v in WIDE.items() if k != "PYTHONPATH"}
        | {"OMP_NUM_THREADS": str(threads), "NUMBA_NUM_THREADS": str(threads)},
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def by_script(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """The documented command, run somewhere else than in the repository."""
    folder = tmp_path_factory.mktemp("elsewhere")
    result = script(*TOY, threads=2, cwd=folder)
    assert result.returncode == 0, result.stderr
    return the_run(folder / "logs"), result.stdout, result.stderr


def test_the_documented_script_is_the_command_on_any_number_of_threads(
    by_script: tuple[Path, str, str], tmp_path: Path
) -> None:
    run_here("search", *TOY, cwd=tmp_path)  # which trains on one thread
    assert_same(by_script[0], the_run(tmp_path / "logs"))
    noted = json.loads((by_script[0] / "experiment_config.json").read_text())
    assert noted["command"] == [str(SCRIPT), *TOY]


def test_away_from_a_terminal_progress_is_plain_lines(by_script: tuple[Path, str, str]) -> None:
    run, out, err = by_script
    assert "\x1b" not in out
    assert "\r" not in out
    assert said(err) == ""
    lines = out.splitlines()
    assert lines[0] == (f"red bline, rules main, seed 0; run directory logs/{run.name}")
    phases = [line.split(":")[0] for line in lines[1:10] if line[:1].isdigit()]
    assert phases == ["1. base", "2. trials", "3. polish", "4. score"]
    assert "base: all orders" in lines
    orders = [row["workflow"] for row in json.loads((run / "summary.json").read_text())["trials"]]
    for number, order in enumerate(orders):
        short = short_order(TYPES.read(order))
        assert f"trial_{number:03d}: {short}" in lines
        assert any(line.startswith(f"{number + 1}/3 {short}: -") for line in lines)
    assert any(line.startswith("polish: ") for line in lines)


def test_the_end_is_a_ranking_a_recommendation_and_where_everything_is(
    by_script: tuple[Path, str, str],
) -> None:
    run, out, _ = by_script
    summary = json.loads((run / "summary.json").read_text())
    table = out[out.index("workflows tried:") :].splitlines()
    assert table[0].strip() == "workflows tried: red bline, rules main"
    for heading in ("workflow", "reward", "complied", "true", "ep.", "ended"):
        assert heading in table[1]
    trials = summary["trials"]
    ranked = sorted(trials, key=lambda t: (not t["is_compliant"], -t["env_reward"]))
    for rank, (line, trial) in enumerate(zip(table[2:5], ranked, strict=True), 1):
        assert line.split()[0] == str(rank)
        assert short_order(TYPES.read(trial["workflow"])) in line
        assert str(Estimate.from_error(trial["env_reward"], trial["env_reward_error"])) in line
        assert f"{trial['compliance']:.3f}" in line
        assert trial["stopped"].split()[0] in line
    assert f"found: {summary['finding']['headline']}." in " ".join(out.split())
    assert any(f"{summary['recommended']}" in line for line in table if "recommended: " in line)
    assert "5 % of its shells" in " ".join(out.split())
    last = table[-3]
    assert table[-2:] == [f"{name}: logs/{run.name}/{name}.html" for name in ("report", "replay")]
    assert f"policy: logs/{run.name}/policies/recommended.safetensors" in last
    assert last.endswith(f"everything: logs/{run.name}")


def test_a_long_path_is_printed_in_one_piece_and_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / ("a folder [bold]" + "x" * 150)
    assert main(["search", *QUICK, "--checkpoint-dir", str(folder)]) == 0
    run = str(the_run(folder))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(run)
    assert lines[-3].endswith(run)
    assert lines[-1].endswith(f"{run}/replay.html")


def test_the_reference_spelling_of_red_searches_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("meander", "RedMeanderAgent"):
        flags = ("--red-agent", name, "--checkpoint-dir", str(tmp_path / name))
        assert main(["search", *QUICK, *flags]) == 0
        assert "red meander, rules main" in capsys.readouterr().out
    assert findings(the_run(tmp_path / "meander")) == findings(
        the_run(tmp_path / "RedMeanderAgent")
    )


@pytest.mark.parametrize(
    "flags",
    [
        ("--preset", "episode", "--max-steps", "100"),
        ("--preset", "standard", "--max-episodes", "15"),
        ("--strategy", "random"),
        ("--strategy", "round-robin"),
        ("--ppo", "modern"),
        ("--ppo", "documented", "--replay-rollouts", "1"),
        ("--observation", "cardiff", "--rules", "competition"),
        ("--alignment", "fixed", "--compliance-view", "true", "--stop-at", "budget"),
        ("--update-steps", "90"),
        ("--red-agent", "mixed", "--green-agent", "active"),
        ("--red-agent", "sleep"),
    ],
    ids=" ".join,
)
def test_every_way_to_search_works(
    flags: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = QUICK if "--preset" not in flags else QUICK[QUICK.index("--n-workflows") :]
    assert main(["search", *own, *flags, "--checkpoint-dir", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "recommended: " in out
    assert (the_run(tmp_path) / "policies" / "recommended.safetensors").exists()


def test_resuming_a_finished_run_shows_its_outcome_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", *QUICK, "--checkpoint-dir", str(tmp_path)]) == 0
    first = capsys.readouterr().out
    again = ["--n-workflows", "2", "--red-agent", "B_lineAgent"]  # what it was begun with
    assert main(["search", *again, "--resume", str(the_run(tmp_path))]) == 0
    second = capsys.readouterr().out

    def ranking(out: str) -> str:
        return out[out.index("workflows tried:") : out.rindex(" transitions in")]

    assert ranking(first) == ranking(second)
    assert "1/2 " in second


# --- progress at a terminal


def shown_at_a_terminal(width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    from rich.console import Console

    screen = io.StringIO()
    monkeypatch.setattr(
        "workflow_rl.cli.search.make_console",
        lambda: Console(file=screen, force_terminal=True, width=width, highlight=False),
    )
    assert main(["search", *QUICK, "--checkpoint-dir", str(tmp_path)]) == 0
    return screen.getvalue()


def test_at_a_terminal_bars_show_workflows_updates_and_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = shown_at_a_terminal(160, tmp_path, monkeypatch)
    for part in ("workflows", "2/2", "trial_001", "reward -", "compliance 0.", "steps/s"):
        assert part in shown
    assert "-inf" not in shown


def test_a_narrow_terminal_still_shows_whole_workflows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = shown_at_a_terminal(80, tmp_path, monkeypatch)
    table = shown[shown.index("workflows tried:") :]
    assert "…" not in table
    with (the_run(tmp_path) / "gp_sampling_log.csv").open() as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    lines = table.splitlines()
    for row in rows:
        assert any(short_order(TYPES.read(row["workflow"])) in line for line in lines)
    assert legend(TYPES.units) in " ".join(table.split())
