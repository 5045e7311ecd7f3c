from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from workflow_rl.config import ExperimentConfig
from workflow_rl.runs.training import TrainTask, job_of
from workflow_rl.train.job import TrainJob, TrainOutcome
from workflow_rl.train.loop import Training
from workflow_rl.train.valuation import valued


def job(objective: str) -> TrainJob:
    train = {"n_envs": 10, "max_episodes": 2, "min_updates": 1, "objective_games": 40}
    config = ExperimentConfig.preset(
        "parallel200",
        game={"red_agent": "bline=3,meander=1,sleep=1", "episode_length": 40},
        train=train | {"objective": objective},
    )
    return job_of(config, 7)


def test_a_workflow_is_valued_by_its_attackers_in_the_same_fresh_games(tmp_path: Path) -> None:
    with closing(Training(job("worst"))) as training:
        for _ in training.updates():
            pass
        played = training.outcome()
        found = {name: valued(played, job(name), training.best) for name in ("worst", "mean")}
    by = {result.red_agent: result for result in found["worst"].by_attacker}
    assert list(by) == ["bline", "meander", "sleep"]
    assert {result.games for result in by.values()} == {40}
    means = [result.reward.mean for result in by.values()]
    assert found["worst"].objective.reward.mean == min(means) < max(means)
    assert found["mean"].objective.reward.mean == pytest.approx(sum(means) / 3)
    assert valued(played, job("episodes"), training.best) is played
    base = replace(job("worst"), order=None)  # a base policy follows any order
    assert valued(played, base, training.best) is played
    restored = TrainOutcome.from_json(found["mean"].as_json())
    assert restored.by_attacker == found["mean"].by_attacker
    *_, last = TrainTask("t", job("worst"), tmp_path / "t").run()
    assert replace(last.value, alignment_weights=()) == replace(  # type: ignore[union-attr]
        found["worst"], alignment_weights=()
    )
