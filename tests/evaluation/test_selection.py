"""Which policy is handed over, and what it is worth."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agents.policies import config_of, new_policy, policy_file
from tests.refused import refusal
from workflow_rl.agents.greedy import GreedyAgent
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import GameConfig
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.protocol import evaluate
from workflow_rl.evaluation.selection import (
    SCORING_SEED,
    SELECTION_SEED,
    Candidate,
    Games,
    Ranking,
    choose,
    score_policy,
    select,
    snapshots_of,
)
from workflow_rl.scenario.scenario2 import parse_action
from workflow_rl.workflow.orders import ORDERS

GAME = GameConfig(red_agent="meander", episode_length=30)
ORDER = 31
FOLLOWED = ORDERS[ORDER]


def always(action: str, *, order: int | None = None) -> Policy:
    """A policy that always does the same."""
    bias = np.zeros(145, np.float32)
    bias[parse_action(action)] = 50
    weights = {"actor.0.weight": np.zeros((145, 52), np.float32), "actor.0.bias": bias}
    return Policy(weights, config_of(order=order))


def test_a_score_is_that_of_held_out_games_against_each_red_agent() -> None:
    scores = list(score_policy(always("Sleep", order=ORDER), GAME, 200))
    assert [score.red_agent for score in scores] == ["bline", "meander", "sleep"]
    for score in scores:
        game = GAME.changed(red_agent=score.red_agent)
        greedy = play_batch(GreedyAgent(FOLLOWED), game, SCORING_SEED, 200, FOLLOWED)
        assert score.greedy == greedy.result
        assert score.deterministic == score.sampled  # it always sleeps
    assert scores[2].deterministic.reward.mean == 0.0
    # Worse than repairing without training, but against a Red that sleeps.
    assert [score.is_unfit for score in scores] == [True, True, False]


def test_the_better_policy_is_chosen_whatever_its_place() -> None:
    sleeping, restoring = always("Sleep"), always("Restore User0")  # which costs 1 a step
    assert choose([restoring, sleeping], GAME, 0.9, 20) == 1
    assert choose([sleeping, restoring], GAME, 0.9, 20) == 0
    assert choose([sleeping, sleeping], GAME, 0.9, 20) == 0


def test_a_policy_that_does_not_comply_is_chosen_last() -> None:
    """Sleeping costs less than restoring all the time, but fixes nothing."""
    order = next(i for i, units in enumerate(ORDERS) if units[0] == "user")
    fixing, idle = always("Restore User1", order=order), always("Sleep", order=order)
    game = GameConfig(red_agent="bline", episode_length=12)
    found = [
        play_batch(PolicyAgent(policy, "p"), game, 5, 60, policy.order).result
        for policy in (fixing, idle)
    ]
    complied = [result.compliance.mean for result in found]
    assert complied[0] > complied[1]
    assert found[0].reward.mean < found[1].reward.mean
    assert choose([idle, fixing], game, 0.6 * complied[0], 60) == 1
    assert choose([idle, fixing], game, 0.0, 60) == 0


# --- among the policies that a training kept


def kept(folder: Path, number: int, **policy: object) -> list[Path]:
    """Some policies as a training would keep them."""
    paths = []
    for seed in range(number):
        path = folder / "trainings" / "training" / "snapshots" / f"update_{seed:06d}.safetensors"
        described = {"red_agent": "bline", "rules": "main"} | policy
        paths.append(policy_file(path, new_policy(seed=seed, **described)))  # type: ignore[arg-type]
    return paths


def ranked(paths: list[Path], *, episodes: int, **changes: object) -> tuple[Candidate, ...]:
    *_, last = select(paths, changes, episodes=episodes)
    assert isinstance(last, Ranking)
    return last.candidates


def test_the_best_is_the_one_an_evaluation_finds_best(tmp_path: Path) -> None:
    assert "--snapshot-every" in refusal(snapshots_of, tmp_path)
    paths = kept(tmp_path, 6)
    assert snapshots_of(tmp_path) == paths
    *rounds, last = select(paths, {"episode_length": 30}, episodes=800)
    assert isinstance(last, Ranking)
    # One in four went on to the second round.
    assert [c.result.games for c in rounds if isinstance(c, Candidate)] == [200] * 6 + [800]
    counted = [event for event in rounds if isinstance(event, Games)]
    assert [(games.done, games.total) for games in counted[-2:]] == [(1_200, 2_000), (2_000, 2_000)]
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
    for threshold, sorted_by in ((0.0, "reward"), (1.0, "compliance")):
        described = {"compliance_threshold": threshold, "conditioned": True, "order": ORDER}
        paths = kept(tmp_path / sorted_by, 8, **described)
        found = ranked(paths, episode_length=30, episodes=100)
        means = [getattr(candidate.result, sorted_by).mean for candidate in found]
        assert means == sorted(means, reverse=True)
        assert not np.isnan(means).any()
        assert max(candidate.result.compliance.mean for candidate in found) < 1


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
    (asleep,) = ranked([path], episodes=60, red_agent="sleep", red_probabilities=None)
    assert asleep.result.reward.mean > found.result.reward.mean  # another than in training
