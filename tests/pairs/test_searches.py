"""Every pair of settings of a search: it resumes exactly, and is scored in its own game."""

import itertools
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.pairs.settings import GAME, SEARCH, TRAIN, Row, configuration, named, rows
from workflow_rl import evaluate, export_policy, load_policy, search, write_playbook
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import RED_AGENTS, ExperimentConfig
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.selection import SCORING_SEED
from workflow_rl.runs.search import checked_search, open_search

# What a search combines with its own settings; pairs among these are those of trainings.
ALSO = {
    name: {**GAME, **TRAIN}[name]
    for name in (
        *GAME,
        *("ppo.mask_actions", "ppo.engine", "train.update_steps", "train.compliance_view"),
        *("train.units", "train.require", "train.follow", "train.action_space"),
    )
}
TIMES = ("seconds", "search_seconds", "run_seconds", "pick_seconds")


def checked(row: Row) -> ExperimentConfig:
    return checked_search(configuration(row))


ROWS = rows({**SEARCH, **ALSO}, checked)


def figures(run: Path) -> Any:
    """What a search found, without how long it took."""

    def without_times(data: Any) -> Any:
        if isinstance(data, dict):
            return {k: without_times(v) for k, v in data.items() if k not in TIMES}
        return [without_times(part) for part in data] if isinstance(data, list) else data

    return without_times(json.loads((run / "summary.json").read_text()))


@pytest.mark.parametrize("number", range(len(ROWS)), ids=lambda number: named(ROWS[number]))
def test_a_search_resumes_exactly_and_hands_over_what_it_says(number: int, tmp_path: Path) -> None:
    config = checked(ROWS[number])
    run = search(config, checkpoint_dir=tmp_path / "a").path
    with open_search(config, checkpoint_dir=tmp_path / "b") as begun:
        path = begun.directory.path
        with closing(begun.events()) as events:  # type: ignore[type-var]
            for _ in itertools.islice(events, 1 + number % 7):
                pass
    assert figures(search(resume=path).path) == figures(run)
    check_scores(run, config)
    assert {file.name for file in run.iterdir()} >= {"report.html", "replay.html"}
    write_playbook(run, tmp_path / "playbook")
    assert export_policy(run)
    assert evaluate(run, episodes=2, steps=[6], red_agents=["bline"]).cells


def check_scores(run: Path, config: ExperimentConfig) -> None:
    """Plays the games by which the policy was scored once more."""
    policy, games = load_policy(run), config.search.score_games
    told = json.loads((run / "summary.json").read_text())["policy_scores"]
    for red_agent, score in zip(RED_AGENTS, told, strict=True):
        game = config.game.changed(red_agent=red_agent)
        agent = PolicyAgent(policy, "policy")
        cell = play_batch(agent, game, SCORING_SEED, games, policy.order)
        assert score["deterministic"]["reward"]["mean"] == pytest.approx(cell.result.reward.mean)
