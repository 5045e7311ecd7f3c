import ast
import json
import re
from pathlib import Path

import pytest

import workflow_rl
from tests.refused import refused
from workflow_rl import evaluate
from workflow_rl.evaluation.files import challenge_lines, checked_directory, write_evaluation
from workflow_rl.evaluation.result import Evaluation
from workflow_rl.scenario.scenario2 import ACTION_NAMES

ACTIONS = re.compile(r"actions: (\[.*\]), total reward: (-?\d+\.\d+)\n")


@pytest.fixture(scope="module")
def found() -> Evaluation:
    return evaluate("greedy", episodes=6, steps=[10, 20], red_agents=["bline"], logged_episodes=4)


def test_the_text_file_has_the_challenges_lines(found: Evaluation) -> None:
    lines = list(challenge_lines(found, author="A. Nobody", team="none"))
    assert len(lines) == 3 + 2 * (1 + 6)
    assert re.fullmatch(
        rf"workflow-rl v{workflow_rl.__version__} \(cage2, rules main\), Scenario2, "
        r"Commit Hash: \S+\n",
        lines[0],
    )
    assert lines[1] == "author: A. Nobody, team: none, technique: greedy\n"
    assert lines[2] == "wrappers: ChallengeWrapper(env=env, agent_name='Blue')\n"
    for start, cell in ((3, found.cells[0]), (10, found.cells[1])):
        assert lines[start] == (
            f"steps: {cell.steps}, adversary: B_lineAgent, mean: {cell.mean}, "
            f"standard deviation {cell.sd}\n"
        )
        for episode in range(6):
            match = ACTIONS.fullmatch(lines[start + 1 + episode])
            assert match
            assert float(match[2]) == cell.returns[episode]
            pairs = ast.literal_eval(match[1])
            assert len(pairs) == (cell.steps if episode < 4 else 0)
    pairs = ast.literal_eval(ACTIONS.fullmatch(lines[4])[1])  # type: ignore[index]
    blue = ACTION_NAMES[found.cells[0].log.blue[0, 0]]
    assert pairs[0] == (blue, "DiscoverRemoteSystems User")


def test_a_drawn_attacker_is_named_as_such() -> None:
    drawn = evaluate("sleep", episodes=2, steps=[5], red_agents=["mixed"])
    told = "steps: 5, adversary: one of the three, drawn for each episode, mean: "
    assert list(challenge_lines(drawn))[3].startswith(told)


def test_both_files_say_where_they_come_from(found: Evaluation, tmp_path: Path) -> None:
    json_path, text_path = write_evaluation(found, tmp_path / "new" / "place", author="A")
    written = [path.name for path in (tmp_path / "new" / "place").iterdir()]
    assert sorted(written) == ["evaluation.json", "evaluation.txt"]
    assert text_path.read_text() == "".join(challenge_lines(found, author="A"))
    data = json.loads(json_path.read_text())
    assert {key: data[key] for key in found.as_json()} == json.loads(json.dumps(found.as_json()))
    assert {"command", "created", "git_revision", "packages"} <= set(data)


def test_a_name_that_is_no_text_costs_no_evaluation(found: Evaluation, tmp_path: Path) -> None:
    """As the command line gives it where the locale does not know a byte."""
    paths = write_evaluation(found, tmp_path, author="Ren\udce9", team="é\n\x1b[31m")
    assert "\nauthor: Ren?, team: é??[31m, tech" in paths[1].read_text(encoding="utf-8")
    assert json.loads(paths[0].read_text())["agent"] == "greedy"


def test_an_evaluation_goes_to_a_directory_of_its_own(found: Evaluation, tmp_path: Path) -> None:
    assert checked_directory(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    assert not (tmp_path / "a").exists()
    write_evaluation(found, tmp_path)
    refused("already holds an evaluation", checked_directory, tmp_path)
    for path in (tmp_path / "evaluation.txt", tmp_path / "evaluation.txt" / "below"):
        refused("nothing can be written", checked_directory, path)
