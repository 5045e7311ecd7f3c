import json
from pathlib import Path

import pytest

from workflow_rl.errors import InvalidInputError
from workflow_rl.studies.comparison.plan import Plan
from workflow_rl.studies.comparison.run import ComparisonRun
from workflow_rl.studies.comparison.summary import summarise

PLAN = Plan(episode_length=5, transitions=1_000, presets=("minibatch", "parallel25"), seeds=(6,))


class StopError(BaseException):
    """Nobody catches this, as nobody catches kill -9."""


def test_an_interrupted_comparison_goes_on_with_what_is_missing(tmp_path: Path) -> None:
    run = ComparisonRun.create(tmp_path, PLAN, ["workflow-rl", "compare-updates"])
    assert run.steps == 3
    begun: list[str] = []

    def stop(done: int) -> None:
        if done == 1:
            raise StopError

    with pytest.raises(StopError):
        run.measure(on_start=begun.append, on_done=stop)
    run.directory.close()
    assert begun == ["minibatch, seed 6"]

    again = ComparisonRun.open(run.directory.path)
    assert again.plan == PLAN
    begun.clear()
    trainings, noise = again.measure(2, on_start=begun.append)
    assert begun == ["parallel25, seed 6", "gradients"]
    assert [(m.preset, m.transitions) for m in trainings] == [
        ("minibatch", 1_000),
        ("parallel25", 1_000),
    ]
    assert {name: found.samples for name, found in noise.items()} == {
        "minibatch": 50,
        "parallel25": 125,
    }
    path = again.write(*summarise(trainings, noise, [-50.0]))
    again.directory.close()
    data = json.loads(path.read_text())
    assert [found["preset"] for found in data["presets"]] == ["minibatch", "parallel25"]
    assert Plan.from_json(data["plan"]) == PLAN
    assert "would never update" in data["updates_of_20000_steps_in_50_episodes"]
    assert list(again.directory.path.rglob("*.tmp")) == []


def test_a_comparison_that_does_not_know_what_it_compares_is_refused(tmp_path: Path) -> None:
    run = ComparisonRun.create(tmp_path, PLAN, ["workflow-rl"])
    run.directory.close()
    file = run.directory.path / "experiment_config.json"
    noted = json.loads(file.read_text())
    del noted["plan"]
    file.write_text(json.dumps(noted))
    for _ in range(2):  # and it is let go of
        with pytest.raises(InvalidInputError, match="not a comparison of this version"):
            ComparisonRun.open(run.directory.path)
