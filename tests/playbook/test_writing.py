"""What a run's playbook files say, from hand-written runs and from a real one."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import workflow_rl
from tests.evaluation.scores import scored
from tests.pages.runs import trial, write_run
from tests.playbook.cacao_rules import broken_rules
from tests.playbook.runs import finished, mixed, trained
from tests.refused import refused
from workflow_rl.config import RED_AGENTS, ExperimentConfig, TrainConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.playbook.handout import handout_of
from workflow_rl.playbook.plan import formatted
from workflow_rl.playbook.reading import read_playbook
from workflow_rl.playbook.writing import cacao, runbook, write_playbook
from workflow_rl.runs.trials import HandedOver
from workflow_rl.workflow.orders import TYPES

SCORES = [scored(red, (-9.0,) * 3, 1.0, (0.5, 0.5)) for red in RED_AGENTS]
ORDER = "enterprise > op_server > user > op_host > defender"


def test_both_files_are_written_into_the_run_and_the_order_comes_back(tmp_path: Path) -> None:
    run = finished(tmp_path / "exp")
    assert workflow_rl.write_playbook(run) == [run / "playbook.md", run / "playbook.json"]
    playbook = json.loads((run / "playbook.json").read_text())
    assert broken_rules(playbook) == []
    assert playbook["created"] == "2026-01-01T12:00:00.000Z"
    assert formatted(read_playbook(run / "playbook.json")) == ORDER
    first = [(run / name).read_bytes() for name in ("playbook.md", "playbook.json")]
    shutil.copytree(run, tmp_path / "copy" / "exp")  # the same run gives the same files
    assert [path.read_bytes() for path in write_playbook(tmp_path / "copy" / "exp")] == first


def test_the_evidence_goes_with_the_playbook(tmp_path: Path) -> None:
    (file,) = write_playbook(finished(tmp_path / "exp"), tmp_path / "new" / "p", format="cacao")
    assert file == tmp_path / "new" / "p"
    (kept,) = json.loads(file.read_text())["playbook_extensions"].values()
    assert kept["run"]["rules"] == "main"
    evidence = kept["evidence"]
    assert evidence["result"]["reward"] == {"mean": -15.4, "half_width": 0.2}
    assert [score["red_agent"] for score in evidence["by_attacker"]] == list(RED_AGENTS)
    clear = [pair for pair in evidence["pairs"] if pair["is_clear"]]
    assert [(pair["first"], pair["second"]) for pair in clear] == [("enterprise", "user")]


def test_a_real_search_and_a_training_have_playbooks(real_run: Path, tmp_path: Path) -> None:
    for run in (real_run, trained(tmp_path / "exp")):
        files = write_playbook(run, tmp_path / "of.it")
        assert files == [tmp_path / "of.md", tmp_path / "of.json"]
        playbook = json.loads(files[1].read_text())
        assert broken_rules(playbook) == []
        (kept,) = playbook["playbook_extensions"].values()
        does = [score["actions"] for score in kept["evidence"]["by_attacker"]]
        assert all(sum(shares.values()) == pytest.approx(1) for shares in does)
        assert bool(does) == (run is real_run)
        assert playbook["name"] == f"Repair order: {formatted(read_playbook(files[1]))}"


def test_runs_without_a_recommendation_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    damaged = finished(tmp_path / "damaged")
    (damaged / "scores.json").write_text("{")
    huge = mixed(tmp_path / "huge")
    written = (huge / "experiment_config.json").read_text()
    weights = '"red_probabilities": {"bline": 1e308, "meander": 1e308}'  # no number together
    (huge / "experiment_config.json").write_text(
        written.replace('"red_probabilities": null', weights)
    )
    for run, said in (
        (tmp_path / "nowhere", "there is no run directory"),
        (empty, "is not a run directory"),
        (write_run(tmp_path / "begun", [trial(0, 3, -20.0)]), "was interrupted: go on with --res"),
        (trained(tmp_path / "aimless", order=None), "recommends no order: only a search"),
        (finished(tmp_path / "timeless", created="yesterday"), "does not say when the run began"),
        (damaged, "is damaged or of another version"),
        (huge, "is damaged or of another version"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            write_playbook(run)
        assert not list(run.glob("playbook*"))
    with pytest.raises(InvalidInputError, match="choose one of markdown, cacao, both"):
        write_playbook(damaged, format="pdf")
    for output, kind in ((tmp_path, "cacao"), ("/", "both"), ("", "both")):
        with pytest.raises(InvalidInputError, match="is a directory"):
            write_playbook(damaged, output, format=kind)


# --- the runbook


def section(path: Path, title: str) -> str:
    return runbook(handout_of(path)).partition(f"## {title}\n\n")[2].partition("\n\n## ")[0]


def test_it_says_what_to_fix_first_and_what_that_costs(tmp_path: Path) -> None:
    run = finished(tmp_path / "a`b\n# c")  # a hostile name
    text = runbook(handout_of(run))
    assert text.startswith(f"# Repair order: {ORDER}\n\nWhich compromised machines to fix first")
    assert "the run `a'b?# c` of 2026-01-01" in text
    first, *_, last = section(run, "What to fix first").splitlines()
    assert first == "1. **enterprise**: Enterprise0, Enterprise1, Enterprise2"
    assert last == "5. **defender**: Defender"
    costs = section(run, "What each step costs")
    assert "| enterprise | 1.0 a host | 0, on Enterprise1, Enterprise2 only | 1.0 |" in costs
    assert "| op_host | 0.1 a host | does not help | 1.0 |" in costs
    assert "OT service on Op_Server0 costs 10.0 in every step" in costs


NASTY = "<script>alert(1)</script>[x](javascript:x) `*a*` | &lt;\n# b\x1b[31m\ud800"


def test_nothing_that_came_from_a_file_is_markdown_or_html(tmp_path: Path) -> None:
    given = finished(tmp_path / "exp", command=["workflow-rl", NASTY], git_revision=[NASTY])
    handout = handout_of(given)
    result = replace(handout.recommended.result, red_agent=NASTY)
    scores = [replace(s, deterministic=replace(s.deterministic, red_agent=NASTY)) for s in SCORES]
    mine = replace(handout.recommended, reason=NASTY, scores=tuple(scores), result=result)
    told = replace(handout, recommended=mine, finding=replace(handout.finding, idle=(NASTY,)))
    text = runbook(told)
    shown = r"&lt;script>alert(1)&lt;/script>\[x\](javascript:x) \`\*a\*\` \| &amp;lt;?# b?\[31m?"
    assert f"- Why this order: {shown}." in text
    assert text.count(f"| {shown} | no |") == len(SCORES)
    code = re.compile(r"`[^`\n]+`")
    assert "Found by `workflow-rl '<script>" in text
    assert "<" not in code.sub("", text)
    assert text.replace("\n", "").isprintable()
    assert json.loads(cacao(told))["playbook_extensions"]


def test_a_run_with_other_attackers_than_there_are_is_refused(tmp_path: Path) -> None:
    run = finished(tmp_path / "exp")
    scores = run / "scores.json"
    data = json.loads(scores.read_text())
    named = json.loads(scores.read_text().replace('"bline"', json.dumps(NASTY)))
    for damaged in (named, data | {"scores": data["scores"][1:]}, data | {"scores": {}}):
        scores.write_text(json.dumps(damaged))
        refused("scores.json is damaged", write_playbook, run)
        assert not list(run.glob("playbook*"))


def test_it_says_which_part_of_the_order_matters_and_which_does_not(tmp_path: Path) -> None:
    matters = section(finished(tmp_path / "exp"), "Which part of the order matters")
    found, _, first, rest = matters.split("\n", 3)
    assert found.startswith(
        "For trained policies: enterprise before user; the 60 best orders are equal"
    )
    assert first.startswith("- enterprise before user: worth 10.1 (9.9 to 10.3) points an episode")
    assert "The place of op_host and of defender makes no difference" in rest
    assert "bline leaves no mark there" in rest
    assert "    - enterprise, op_server (" in rest
    assert "op_host, defender" not in rest


def test_neighbours_that_never_complied_the_other_way_are_not_offered(tmp_path: Path) -> None:
    def complies(order: int) -> bool:
        return TYPES[order].index("enterprise") < TYPES[order].index("op_server")

    matters = section(finished(tmp_path / "exp", complies), "Which part of the order matters")
    assert " trials with op_server before enterprise complied.\n" in matters
    assert "    - enterprise, op_server (" not in matters


def test_units_of_several_prices_and_a_policy_below_the_threshold_are_told(tmp_path: Path) -> None:
    units = {"jewels": ("Op_Server0", "User1"), "users": ("User2", "User3")}
    config = ExperimentConfig(train=TrainConfig(units=units))
    policy = HandedOver(False, tuple(SCORES), 1.0)
    run = write_run(tmp_path / "exp", [trial(0, 0, -20.0)], policy=policy, config=config)
    assert "**Use it with care**" in runbook(handout_of(run))
    costs = section(run, "What each step costs")
    assert "| jewels | 1.0 Op_Server0; 0.1 User1 | does not help | 1.0 |" in costs
    assert "| users | 0.1 a host | 0 | 1.0 |" in costs
