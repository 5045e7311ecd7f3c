from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agents.policies import new_policy, policy_file
from workflow_rl.agents.policy import load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.protocol import evaluate
from workflow_rl.evaluation.selection import (
    SELECTION_SEED,
    Candidate,
    Ranking,
    select,
    snapshots_of,
)
from workflow_rl.workflow.orders import TYPES

ORDER = TYPES.index("enterprise > op_server > op_host > user > defender")


def kept(folder: Path, number: int, **policy: object) -> list[Path]:
    """Some policies as a training would keep them."""
    paths = []
    for seed in range(number):
        path = folder / "trainings" / "training" / "snapshots" / f"update_{seed:06d}.safetensors"
        path.parent.mkdir(parents=True, exist_ok=True)
        described = {"red_agent": "bline", "rules": "main"} | policy
        paths.append(policy_file(path, new_policy(seed=seed, **described)))  # type: ignore[arg-type]
    return paths


def ranked(
    paths: list[Path], *, episodes: int, threshold: float | None = None, **changes: object
) -> tuple[Candidate, ...]:
    *_, last = select(paths, changes, episodes=episodes, threshold=threshold)
    assert isinstance(last, Ranking)
    return last.candidates


def test_the_policies_kept_by_a_run_are_found_in_their_order(tmp_path: Path) -> None:
    paths = kept(tmp_path, 3)
    assert snapshots_of(tmp_path) == paths


def test_a_run_without_any_says_how_to_keep_some(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="--snapshot-every"):
        snapshots_of(tmp_path)


def test_the_best_is_the_one_an_evaluation_finds_best(tmp_path: Path) -> None:
    paths = kept(tmp_path, 6)
    *rounds, last = select(paths, {"episode_length": 30}, episodes=800)
    assert isinstance(last, Ranking)
    # One in four went on to the second round.
    assert [c.result.games for c in rounds if isinstance(c, Candidate)] == [200] * 6 + [800]
    assert last.candidates == (rounds[-1],)
    (chosen,) = last.candidates
    by_evaluation = {
        path: evaluate(path, episodes=500, steps=[30], red_agents=["bline"]).cells[0].mean
        for path in paths
    }
    best = max(by_evaluation.values())
    assert by_evaluation[chosen.path] == pytest.approx(best, abs=5)
    assert chosen.result.reward.mean == pytest.approx(by_evaluation[chosen.path], abs=5)


def test_the_episodes_told_of_are_those_that_were_played(tmp_path: Path) -> None:
    paths = kept(tmp_path, 1, conditioned=True)  # under 20 orders, one game each at least
    assert [c.result.games for c in ranked(paths, episode_length=5, episodes=10)] == [20]


def test_who_does_not_comply_comes_last_whatever_the_reward(tmp_path: Path) -> None:
    paths = kept(tmp_path, 8, conditioned=True, order=ORDER)
    easy = ranked(paths, episode_length=30, episodes=100, threshold=0.0)
    rewards = [c.result.reward.mean for c in easy]
    assert rewards == sorted(rewards, reverse=True)
    strict = ranked(paths, episode_length=30, episodes=100, threshold=1.1)
    compliances = [c.result.compliance.mean for c in strict]
    assert compliances == sorted(compliances, reverse=True)
    assert not np.isnan(compliances).any()


def test_whom_it_faces_may_be_another_than_in_training(tmp_path: Path) -> None:
    paths = kept(tmp_path, 1)
    asleep = ranked(paths, episode_length=30, episodes=50, red_agent="sleep")
    attacked = ranked(paths, episode_length=30, episodes=50)
    assert asleep[0].result.reward.mean > attacked[0].result.reward.mean


@pytest.mark.parametrize(
    "game",
    [
        {"green_agent": "active"},
        {"episode_length": 12},
        {"red_agent": "mixed", "red_probabilities": {"bline": 0.1, "sleep": 0.9}},
    ],
)
def test_a_policy_plays_the_game_it_was_trained_on(tmp_path: Path, game: dict[str, Any]) -> None:
    (path,) = kept(tmp_path, 1, **game)
    (found,) = ranked([path], episodes=60)
    trained = GameConfig(**game)
    agent = PolicyAgent(load_policy(path), "it")
    again, other = (
        play_batch(agent, played, SELECTION_SEED + 60, 60).result
        for played in (trained, GameConfig(red_agent=trained.red_agent))
    )
    assert found.result.reward == again.reward != other.reward
