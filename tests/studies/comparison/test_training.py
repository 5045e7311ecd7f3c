import json

import numpy as np
import pytest

from workflow_rl.config import ComparisonConfig, GameConfig
from workflow_rl.processes import one_thread
from workflow_rl.runs.pool import Returned
from workflow_rl.studies.comparison.measured import Measured, MeasureTask, job_of
from workflow_rl.train.loop import Training

PLAN = ComparisonConfig(
    game=GameConfig(episode_length=10),
    transitions=1_000,
    presets=("episode", "parallel25"),
    seeds=(3,),
)


@pytest.fixture(scope="module", params=PLAN.presets)
def measured(request: pytest.FixtureRequest) -> Measured:
    *_, last = MeasureTask(request.param, job_of(PLAN, request.param, 3)).run()
    assert isinstance(last, Returned)
    found: Measured = last.value
    return found


def test_it_is_the_training_that_the_preset_asks_for(measured: Measured) -> None:
    (preset,) = (name for name in PLAN.presets if name == measured.preset)
    training = Training(job_of(PLAN, preset, 3))
    with one_thread():
        for _ in training.updates():
            pass
    result = training.outcome()
    assert (measured.updates, measured.transitions) == (result.updates, result.transitions)
    assert measured.transitions == 1_000
    assert measured.gradient_steps == 4 * measured.updates
    assert measured.transitions_per_update * measured.updates == measured.transitions
    last = max(3 * measured.n_envs, int(measured.curve.episodes[-1]))
    if last == 3 * measured.n_envs:
        reward, _ = measured.curve.at("transitions", np.inf, last)
        assert reward == pytest.approx(result.objective.reward.mean, rel=1e-5)


def test_the_curve_covers_the_whole_training(measured: Measured) -> None:
    assert measured.curve.total == 100
    assert measured.curve.transitions[-1] == 1_000
    assert (np.diff(measured.curve.seconds) > 0).all()
    assert measured.curve.seconds[-1] == pytest.approx(measured.seconds, rel=1e-6)
    assert (measured.curve.compliance >= 0).all()
    assert (measured.curve.compliance <= 1).all()


def test_costs_are_measured(measured: Measured) -> None:
    assert measured.seconds > 0
    assert 0 <= measured.added_mb <= measured.peak_mb
    assert measured.peak_mb > 50


def test_it_survives_json(measured: Measured) -> None:
    again = Measured.from_json(json.loads(json.dumps(measured.as_json())))
    assert again.as_json() == measured.as_json()


def test_it_tells_how_it_goes() -> None:
    task = MeasureTask("parallel25", job_of(PLAN, "parallel25", 0))
    assert task.name == "parallel25, seed 0"
    first, *_ = task.run()
    assert not isinstance(first, Returned)
    assert first["transitions"] == 250
    assert first["env_reward"] < 0
