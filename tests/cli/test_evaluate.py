import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.agents.policies import ORDER, new_policy, policy_file, weights
from tests.cli.run import COMMAND, complaint, run
from workflow_rl import evaluate
from workflow_rl.agents.policy import save_policy
from workflow_rl.cli import build_parser, main
from workflow_rl.workflow.orders import TYPES

FEW = ("--episodes", "20")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path) -> dict[str, object]:
    (path,) = folder.glob("*/evaluation.json")
    data: dict[str, object] = json.loads(path.read_text())
    return data


def test_the_documented_command_shows_the_cells_and_the_leaderboard(here: Path) -> None:
    result = run("evaluate", "react-restore", "--rules", "competition", *FEW, cwd=here)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == (
        "react-restore: rules competition, cage2, deterministic, 20 episodes a cell, seed 0"
    )
    assert re.match(r" +100 +sleep +-92\.00 +0\.00 +-92\.00 to -92\.00", lines[10])
    found = evaluate("react-restore", rules="competition", episodes=20)
    assert lines[11].startswith(f"score, the sum of the 9 means: {found.total} (95 %); ")
    text = result.stdout
    for published in ("rules main:", "rules competition:", "-54.57 ± 0.43", "-823.89 ± 1.03"):
        assert published in text
    assert "1 CardiffUni" in text
    assert "cage-challenge/cage-challenge-2" in text
    files = re.search(r"written: (\S+\.json), (\S+\.txt)", text)
    assert files
    data = json.loads((here / files[1]).read_text())
    assert data["agent"] == "react-restore"
    assert data["cells"][0]["returns"] == found.cells[0].returns.tolist()
    assert (here / files[2]).read_text().startswith("workflow-rl v")
    assert "compliance" not in text


def test_a_policy_shows_its_compliance_and_writes_into_its_run(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = new_policy(order=ORDER, conditioned=True)
    policy_file(here / "exp_1" / "policies" / "recommended.safetensors", policy)
    assert main(["evaluate", "exp_1", *FEW, "--steps", "10", "--red-agent", "meander,bline"]) == 0
    out = capsys.readouterr().out
    assert "compliance, observed" in out
    assert "compliance, true" in out
    assert f"compliance by: {TYPES.format(ORDER)}" in out
    assert "sum of the 2 means" in out
    assert "CardiffUni" not in out  # two cells are no score
    data = written(here / "exp_1" / "evaluations")
    assert data["workflow"] == TYPES.format(ORDER)
    assert not (here / "evaluations").exists()


def test_flags_reach_the_evaluation(here: Path) -> None:
    policy_file(here / "it.safetensors", new_policy(order=ORDER, conditioned=True))
    flags = ["--sampled", "--workflow", TYPES.format(3), "--seed", "5", "--rules", "competition"]
    flags += ["--steps", "10", "--red-agent", "RedMeanderAgent", "--output", "place"]
    flags += ["--author", "A. Nobody", "--team", "none", "--listed-episodes", "2"]
    assert main(["evaluate", "it.safetensors", *FEW, *flags]) == 0
    data = json.loads((here / "place" / "evaluation.json").read_text())
    expected = evaluate(
        "it.safetensors",
        episodes=20,
        sampled=True,
        workflow=TYPES.format(3),
        seed=5,
        rules="competition",
        steps=[10],
        red_agents=["meander"],
    )
    assert data["cells"][0]["returns"] == expected.cells[0].returns.tolist()
    assert (data["policy"], data["rules"], data["seed"]) == ("sampled", "competition", 5)
    lines = (here / "place" / "evaluation.txt").read_text().splitlines()
    assert lines[1] == "author: A. Nobody, team: none, technique: it"
    assert [line.startswith("actions: [(") for line in lines[4:]] == [True] * 2 + [False] * 18


def test_a_narrow_terminal_gets_totals_only(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("workflow_rl.cli.console._PLAIN_WIDTH", 80)
    assert main(["evaluate", "sleep", *FEW]) == 0
    out = capsys.readouterr().out
    assert "-54.57 ± 0.43" in out
    assert "-13.76" not in out


def test_a_reader_that_goes_away_does_not_cost_the_files(here: Path) -> None:
    command = [*COMMAND, "evaluate", "sleep", "--episodes", "20"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=here) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.stdout.close()
    assert first.startswith("sleep: rules main")
    assert written(here / "evaluations")["agent"] == "sleep"


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["nobody"], "nobody is no run directory, no policy file and no baseline"),
        (["bline=a"], "bline=PATH,meander=PATH"),
        (["sleep", "--rules", "house"], "choose one of main, competition"),
        (["sleep", "--steps", "30,x"], "--steps must be whole numbers"),
        (["sleep", "--red-agent", "nobody"], "unknown red agent 'nobody'"),
        (["sleep", "--episodes", "1"], "episodes must be a whole number from 2"),
        (["sleep", "--backend", "real"], "choose one of cage2, cyborg"),
        (["greedy", "--workflow", "user"], "is not a workflow"),
        (["sleep", "--seed", "-1"], "seed must be"),
        (["sleep", "--output", "file"], "nothing can be written to file"),
        (["file"], "damaged or not a policy file"),
        (["blind"], "a policy of 52 inputs does not fit the observation memory of 304 values"),
        (["odd"], "a policy of 60 inputs cannot play: an observation has 52 or 62 or 304 or"),
        (["truth", "--backend", "cyborg"], "the observation 'truth' is the simulator's"),
        (["bline=table,meander=memory"], "the two policies see different things"),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(
    args: list[str], text: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "file").write_text("no policy")
    for name, size in (("odd", 60), ("table", 52), ("memory", 304), ("truth", 334)):
        policy_file(here / name, new_policy(size))
    told = {"conditioned": False, "observation": "memory"}
    save_policy(here / "blind", weights(52, 145), told)
    before = sorted(here.iterdir())
    assert main(["evaluate", *args]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert text in err
    assert err.count("\n") == 1
    assert sorted(here.iterdir()) == before


def test_a_second_evaluation_does_not_overwrite_the_first(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", "sleep", *FEW, "--steps", "5", "--output", "place"]
    assert main(command) == 0
    before = (here / "place" / "evaluation.json").read_bytes()
    assert main(command) == 2
    assert "already holds an evaluation" in capsys.readouterr().err
    assert (here / "place" / "evaluation.json").read_bytes() == before


def test_a_mistake_is_one_line_of_a_process(here: Path) -> None:
    assert "nobody" in complaint(run("evaluate", "nobody", cwd=here))


def test_the_examples_in_the_help_are_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "--help"])
    _, _, examples = capsys.readouterr().out.partition("examples:\n")
    lines = [shlex.split(line) for line in examples.splitlines()]
    assert len(lines) >= 3
    for program, *words in lines:
        assert program == "workflow-rl"
        assert build_parser().parse_args(words).command == "evaluate"
