"""Everything after a training is played in the game that was asked for, whole."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from tests.runs.toy import run_tiny, tiny
from workflow_rl import evaluate
from workflow_rl.agents.policy import load_policy
from workflow_rl.config import GameConfig
from workflow_rl.evaluation.result import Result
from workflow_rl.evaluation.selection import SCORING_SEED
from workflow_rl.pages.live import recommended_replay

GAMES = 40
# Each field of a game with a value that is not its default.
CHANGES: dict[str, dict[str, Any]] = {
    "red_agent": {"red_agent": "meander=1,bait=1"},
    "episode_length": {"episode_length": 35},
    "rules": {"rules": "competition"},
    "observation": {"observation": "memory"},
    "network": {"network": "cage1"},
    "green_agent": {"green_agent": "active"},
    "red_probabilities": {
        "red_agent": "mixed",
        "red_probabilities": {"bline": 0.7, "meander": 0.2, "sleep": 0.1},
    },
}


def played(run: Path, game: GameConfig) -> list[Result]:
    """What the policy of a run gets in a game, and what the greedy agent does under its order."""
    order = load_policy(run).order
    found = []
    for what in (run, "greedy"):
        evaluation = evaluate(
            what,
            episodes=GAMES,
            steps=[game.episode_length],
            red_agents=game.scored_reds,
            rules=game.rules,
            green_agent=game.green_agent,
            network=game.network,
            workflow=order,
            seed=SCORING_SEED,
        )
        results = [cell.result for cell in evaluation.cells]
        found.append(Result.pooled(results, game.red_weights, game.red_agent))
    return found


@pytest.mark.parametrize("field", [field.name for field in fields(GameConfig)])
def test_a_search_scores_its_policy_in_its_own_game(tmp_path: Path, field: str) -> None:
    few: dict[str, Any] = {
        "n_workflows": 1,
        "warm_start": "none",
        "polish": "documented",
        "score_games": GAMES,
    }
    config = tiny(**few, **CHANGES[field])
    outcome = run_tiny(tmp_path, **few, **CHANGES[field])
    told = [
        Result.pooled(results, config.game.red_weights, config.game.red_agent)
        for results in (
            [score.deterministic for score in outcome.handed_over.scores],
            [score.greedy for score in outcome.handed_over.scores],
        )
    ]
    assert told == played(outcome.path, config.game)
    assert told[0] == outcome.handed_over.result(config.game)
    assert load_policy(outcome.path).config.game == config.game
    if field not in ("observation", "network"):  # which are the policy's own, whatever the game's
        default = config.game.changed(**{field: getattr(GameConfig(), field)})
        assert told != played(outcome.path, default)


def test_a_search_s_replay_is_of_its_own_game(tmp_path: Path) -> None:
    changes = CHANGES["red_probabilities"] | {"green_agent": "active", "rules": "competition"}
    outcome = run_tiny(tmp_path, n_workflows=1, warm_start="none", **changes)
    replay = recommended_replay(outcome.path)
    seen = load_policy(outcome.path).observation.name
    assert replay.config == replace(tiny(**changes).game, observation=seen)
