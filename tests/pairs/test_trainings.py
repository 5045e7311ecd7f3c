"""Every pair of settings of a training: it resumes exactly, and its policy can be used."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.pairs.settings import GAME, TRAIN, Row, configuration, named, rows
from workflow_rl import evaluate
from workflow_rl.agents.export import export_policy
from workflow_rl.agents.named import make_agent
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.config import ExperimentConfig
from workflow_rl.pages.replay import frames_of, play_agent
from workflow_rl.runs.train import order_to_train
from workflow_rl.runs.training import job_of
from workflow_rl.train.job import TrainJob
from workflow_rl.train.loop import Training
from workflow_rl.workflow.episode_orders import episode_orders_of
from workflow_rl.workflow.orders import Orders


def job(row: Row) -> TrainJob:
    config = configuration(row)
    return job_of(config, order_to_train(config, _workflow(config)))


def _workflow(config: ExperimentConfig) -> list[str] | None:
    orders = episode_orders_of(config.train)
    if not isinstance(orders, Orders) or not config.train.conditioned:
        return None
    return list(orders[int(orders.nth(np.zeros(1, np.int64))[0])])


ROWS = rows({**GAME, **TRAIN}, job)


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_a_training_resumes_exactly_and_its_policy_plays(row: Row, tmp_path: Path) -> None:
    training = Training(job(row))
    training.update()
    training.save(tmp_path / "checkpoint")
    resumed = Training.load(tmp_path / "checkpoint", training.job)
    for one in (training, resumed):
        for _ in one.updates():
            pass
    assert repr(training.outcome()) == repr(resumed.outcome())
    for name, weight in training.learner.network.weights().items():
        assert np.array_equal(weight, resumed.learner.network.weights()[name]), name
    policy = training.job.policy(training.best)
    policy.save(tmp_path / "policy.safetensors")
    use(load_policy(tmp_path / "policy.safetensors"), training.job)


def use(policy: Policy, job: TrainJob) -> None:
    """Evaluates, replays and exports a policy in the game it was trained in."""
    follows_any = policy.is_conditioned and policy.order is None
    workflow = "op_server > enterprise > op_host > user > defender" if follows_any else None
    game = job.game
    assert policy.config.game == game
    evaluation = evaluate(
        policy,
        episodes=2,
        rules=game.rules,
        steps=[game.episode_length],
        red_agents=[game.red_agent],
        green_agent=game.green_agent,
        workflow=workflow,
    )
    assert np.isfinite(evaluation.total.mean)
    replay = play_agent(make_agent(policy, workflow), game, 1, who="policy")
    frames = json.loads(json.dumps(frames_of(replay), allow_nan=False))
    assert len(frames) == game.episode_length + 1
    if policy.config.ppo.activation in ("relu", "tanh"):
        assert export_policy(policy)
