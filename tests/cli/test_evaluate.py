import json
import re
from pathlib import Path

import pytest

from tests.agents.policies import ORDER, new_policy, policy_file
from tests.cli.run import Capture, Patch, run
from workflow_rl import evaluate
from workflow_rl.cli import main
from workflow_rl.workflow.orders import TYPES

FEW = ("--episodes", "20")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: Patch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_documented_command_shows_the_cells_and_the_leaderboard(here: Path) -> None:
    result = run("evaluate", "react-restore", "--rules", "competition", *FEW, cwd=here)
    assert result.returncode == 0, result.stderr
    progress = re.compile(r"episodes \d+/\d+$")  # every few seconds
    lines = [line for line in result.stdout.splitlines() if not progress.match(line)]
    assert re.match(r" +100 +sleep +-92\.00 +0\.00 +-92\.00 to -92\.00", lines[10])
    found = evaluate("react-restore", rules="competition", episodes=20)
    assert lines[11].startswith(f"score, the sum of the 9 means: {found.total} (95 %); ")
    text = result.stdout
    for published in ("\nrules competition:", "-54.57 ± 0.43", "-823.89 ± 1.03"):
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
    apart = lines.index("attackers that deviate from the scripts, not part of the score")
    shown = lines[apart + 2 : apart + 2 + len(data["deviating"])]
    reds = [line.split()[:2] for line in shown]
    assert reds == [["100", cell["red_agent"]] for cell in data["deviating"]]


def test_red_agents_are_a_list_or_one_mixture_and_the_flag_may_be_repeated(here: Path) -> None:
    names = ["--red-agent", "bait,patient:2", "--red-agent", "bline=1,B_line=1,bait=2"]
    assert main(["evaluate", "sleep", *FEW, "--steps", "5", *names, "--output", "place"]) == 0
    cells = json.loads((here / "place" / "evaluation.json").read_text())["cells"]
    told = [cell["red_agent"] for cell in cells]
    assert told == ["bait", "patient:2:bline", "bline=2,bait=2"]
    text = (here / "place" / "evaluation.txt").read_text()
    assert "steps: 5, adversary: bline=2,bait=2, mean" in text


def test_a_policy_shows_compliance_and_writes_into_its_run(here: Path, capsys: Capture) -> None:
    policy = new_policy(order=ORDER, conditioned=True)
    policy_file(here / "exp_1" / "policies" / "recommended.safetensors", policy)
    assert main(["evaluate", "exp_1", *FEW, "--steps", "10", "--red-agent", "meander,bline"]) == 0
    out = capsys.readouterr().out
    assert "compliance, observed" in out
    assert "compliance, true" in out
    assert f"compliance by: {TYPES.format(ORDER)}" in out
    assert "sum of the 2 means" in out
    assert "CardiffUni" not in out  # two cells are no score
    (file,) = here.glob("exp_1/evaluations/*/evaluation.json")
    data = json.loads(file.read_text())
    assert f"({data['cells'][0]['fixes_observed']:.1f})" in out  # the repairs that it judges
    assert data["workflow"] == TYPES.format(ORDER)
    assert not (here / "evaluations").exists()


def test_actions_are_shown_on_request(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--steps", "12,6", "--red-agent", "bline"]
    assert main(["evaluate", "sleep", *FEW, *short]) == 0
    assert "by kind of action" not in capsys.readouterr().out
    assert main(["evaluate", "greedy", *FEW, *short, "--actions", "--output", "place"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("share of steps by kind of action")
    phases = [line.split() for line in lines[start + 2 : start + 4]]
    assert [row[:2] for row in phases] == [["bline", "1-10"], ["bline", "11-12"]]
    assert all(97 <= sum(int(share.rstrip("%")) for share in row[2:]) <= 103 for row in phases)
    assert lines[start + 4].startswith("actions a game by host")


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
