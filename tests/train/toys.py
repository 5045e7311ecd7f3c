"""Trainings of a fraction of a second to test with."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workflow_rl.config import PPO_FORMS, GameConfig, PPOConfig, TrainConfig
from workflow_rl.files import json_text
from workflow_rl.nets.policy_file import Weights
from workflow_rl.train.episodes import Episodes
from workflow_rl.train.job import TrainJob, TrainOutcome
from workflow_rl.train.loop import Training, UpdateRecord

TOY: dict[str, Any] = {
    "n_envs": 6,
    "max_episodes": 6,
    "min_updates": 2,
    "hidden": (16, 16),
    "stop_at": "budget",
}
MODERN = replace(PPO_FORMS["modern"], minibatch_size=20)


def job(
    ppo: PPOConfig = PPO_FORMS["documented"],
    *,
    seed: int = 0,
    order: int | None = 40,
    base: Any = None,
    game: dict[str, Any] | None = None,
    **over: Any,
) -> TrainJob:
    """A training of a fraction of a second."""
    defaults: dict[str, Any] = {"red_agent": "bline", "episode_length": 10}
    rules = GameConfig(**(defaults | (game or {})))
    return TrainJob(rules, ppo, TrainConfig(**(TOY | over)), seed, order, base)


JOBS: dict[str, Callable[[], TrainJob]] = {
    "documented": job,
    "modern on drawn orders": lambda: job(MODERN, order=None, alignment="adaptive"),
    "updates that cut episodes": lambda: job(MODERN, order=None, update_steps=42),
    "true view, no order shown": lambda: job(
        compliance_view="true",
        conditioned=False,
        game={"red_agent": "mixed", "observation": "cardiff", "green_agent": "active"},
    ),
    "fixed weight": lambda: job(alignment="fixed", game={"red_agent": "meander"}),
    "until compliant": lambda: job(stop_at="compliance", compliance_threshold=0.1),
    "replayed rollouts": lambda: job(replay_rollouts=1),
    "bonus for removals": lambda: job(removal_bonus=1.0),
    "a belief, updates that cut episodes": lambda: job(
        MODERN, order=None, update_steps=42, game={"observation": "belief"}
    ),
    "documented, fused": lambda: job(replace(PPO_FORMS["documented"], engine="fused")),
    "modern, autograd": lambda: job(replace(MODERN, engine="autograd"), order=None),
    "replayed masked rollouts": lambda: job(MODERN, order=None, replay_rollouts=2),
}


def trained(some: TrainJob) -> Training:
    """A training at its end."""
    training = Training(some)
    for _ in training.updates():
        pass
    return training


def train(some: TrainJob) -> TrainOutcome:
    return trained(some).outcome()


def final(training: Training) -> Weights:
    return training.learner.network.weights()


def assert_is(weights: Weights, expected: Weights) -> None:
    assert weights.keys() == expected.keys()
    for name in expected:
        assert weights[name].tobytes() == expected[name].tobytes(), name


def assert_same(a: Training, b: Training) -> None:
    """Two trainings found the same, and ended with the same policies."""
    assert json_text(a.outcome().as_json()) == json_text(b.outcome().as_json())
    assert_is(a.best, b.best)
    assert_is(final(a), final(b))


def logged(some: TrainJob) -> tuple[TrainOutcome, list[UpdateRecord], list[Episodes]]:
    """A training, its log, and its episodes by update."""
    training = Training(some)
    updates = list(training.updates())
    return (
        training.outcome(),
        [record for record, _ in updates],
        [episodes for _, episodes in updates],
    )


def every_policy(some: TrainJob) -> tuple[Training, list[UpdateRecord], list[Weights]]:
    """A training at its end, its log, and the weights that played each update."""
    training, records = Training(some), []
    players = [final(training)]
    for record, _ in training.updates():
        records.append(record)
        players.append(final(training))
    return training, records, players
