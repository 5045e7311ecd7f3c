"""Terminal, `summary.json` and report tell the same of a search, number by number."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.pages.test_report import visible
from workflow_rl.cli.progress import print_outcome
from workflow_rl.evaluation.selection import Score
from workflow_rl.files import read_json
from workflow_rl.pages.report import write_report
from workflow_rl.pages.words import about_behaviour
from workflow_rl.playbook.handout import handout_of
from workflow_rl.playbook.writing import runbook
from workflow_rl.runs.search import open_search
from workflow_rl.runs.store import stored_config
from workflow_rl.runs.trials import HandedOver
from workflow_rl.train.job import TrainOutcome


def words_of(text: str) -> str:
    return " ".join(text.replace("\u00a0", " ").split())


@pytest.fixture(scope="module")
def terminal(real_run: Path) -> str:
    out = io.StringIO()
    with open_search(resume=real_run) as search:  # a finished one: nothing happens
        for _ in search.events():
            raise AssertionError
        assert search.outcome is not None
        console = Console(file=out, width=80, highlight=False)
        print_outcome(console, search.outcome, search.directory)
    return words_of(out.getvalue())


@pytest.fixture(scope="module")
def page(real_run: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    written = write_report([real_run], tmp_path_factory.mktemp("page") / "report.html")
    return words_of(visible(written.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def summary(real_run: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_json(real_run / "summary.json")
    return found


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def test_the_finding_has_the_same_words(summary: dict[str, Any], terminal: str, page: str) -> None:
    finding, order = summary["finding"], summary["recommended"]
    told = finding["headline"]
    assert f"found: {told}." in terminal
    assert f"{told[:1].upper()}{told[1:]}." in page
    assert f"the {finding['best_orders']} " in told or not finding["pairs"]
    for sentence in finding["details"]:
        assert sentence in terminal
        assert sentence in page
    assert order in terminal
    reason = summary["recommendation"]["reason"]
    assert " by hand (" in reason
    assert f"why this one: {reason}" in terminal
    assert f"Reason for the choice: {reason}." in page
    assert " ".join(f"{k} {unit}" for k, unit in enumerate(order.split(" > "), 1)) in page


def test_its_policy_is_worth_the_same(summary: dict[str, Any], terminal: str, page: str) -> None:
    mean, half = summary["policy_env_reward"], summary["policy_env_reward_half_width"]
    assert f"its policy: reward {mean:.2f} ± {half:.2f}" in terminal
    assert f"Score {mean:.2f} ± {half:.2f} points per game" in page
    for name in ("policy_compliance", "policy_compliance_true"):
        assert f"{summary[name]:.3f}" in terminal
        assert percent(summary[name]) in page
    games = summary["policy_score_games"]
    assert f"in {games:,} held-out games" in terminal
    assert f"in {games:,} held-out games" in page


def test_scores_by_red_agent_are_the_same(
    summary: dict[str, Any], terminal: str, page: str
) -> None:
    assert len(summary["policy_scores"]) == 3
    for score in map(Score.from_json, summary["policy_scores"]):
        mine = score.deterministic
        seen, true = mine.compliance.mean, mine.compliance_true.mean
        rewards = f"{score.red_agent} {mine.reward} {score.sampled.reward}"
        of, of_true = f"({mine.fixes:.1f})", f"({mine.fixes_true:.1f})"
        by_hand = score.greedy.reward
        assert f"{by_hand.mean:.1f} against {score.red_agent}" in page or score.red_agent == "sleep"
        assert f"{rewards} {seen:.3f} {of} {true:.3f} {of_true} {by_hand}" in terminal
        assert f"{rewards} {percent(seen)} {of} {percent(true)} {of_true} {by_hand}" in page
        assert (f"unfit for {score.red_agent}" in terminal) == score.is_unfit
        assert (f"Unfit for {score.red_agent}" in page) == score.is_unfit


def test_what_the_policy_does_is_the_same(real_run: Path, terminal: str, page: str) -> None:
    policy = HandedOver.load(real_run)
    does = policy.behaviour(stored_config(real_run).game)
    assert does is not None
    assert f"what it does, by steps: {does} (wait: " in terminal
    by_hand = words_of(runbook(handout_of(real_run)))
    assert about_behaviour(does) in page
    assert about_behaviour(does) in by_hand
    shares = " | ".join(f"{100 * share:.0f} %" for share in does.phase_shares[0])
    assert f"| 1-10 | {shares} |" in by_hand


def test_trials_are_the_same(summary: dict[str, Any], terminal: str, page: str) -> None:
    compliant, tried = summary["compliant_workflows"], summary["workflows"]
    assert f"{compliant} of {tried} workflows compliant." in terminal
    assert f"{compliant} of {tried} trials complied." in page
    for trial in summary["trials"]:
        reward = TrainOutcome.from_json(trial).objective.reward
        assert str(reward) in terminal
        assert f"Result: {reward}, " in page
