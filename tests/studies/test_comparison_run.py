import json
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.runs.toy import tiny
from tests.studies.quick import make_quick
from workflow_rl.config import ComparisonConfig, GameConfig
from workflow_rl.errors import InvalidInputError, TrainingFailedError
from workflow_rl.runs.pool import Done, Event, Failed, SerialPool, Started, Task
from workflow_rl.studies.comparison import summarise
from workflow_rl.studies.comparison_run import ComparisonRun, open_comparison
from workflow_rl.studies.landscape_run import open_landscape

PLAN = ComparisonConfig(
    game=GameConfig(episode_length=5),
    transitions=500,
    presets=("minibatch", "parallel25"),
    seeds=(6,),
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_quick(monkeypatch)


def test_an_interrupted_comparison_goes_on_with_what_is_missing(tmp_path: Path) -> None:
    with open_comparison(PLAN, checkpoint_dir=tmp_path) as comparison:
        path = comparison.directory.path
        assert comparison.number == 3
        for event in comparison.events():
            if isinstance(event, Done):
                assert event.task.name == "minibatch, seed 6"
                break

    with open_comparison(resume=path) as again:
        assert again.plan == PLAN
        begun = [event.task.name for event in again.events() if isinstance(event, Started)]
        assert begun == ["parallel25, seed 6", "gradients"]
        assert again.missing() == []
        trainings, noise = again.results()
        assert [(m.preset, m.transitions) for m in trainings] == [
            ("minibatch", 500),
            ("parallel25", 500),
        ]
        assert {name: found.samples for name, found in noise.items()} == {
            "minibatch": 50,
            "parallel25": 125,
        }
        file = again.write(summarise(PLAN, trainings, noise, [-50.0]))
    data = json.loads(file.read_text())
    assert [found["preset"] for found in data["presets"]] == ["minibatch", "parallel25"]
    assert ComparisonConfig.from_json(data["plan"]) == PLAN
    assert "would never update" in data["updates_of_20000_steps_in_50_episodes"]
    assert list(path.rglob("*.tmp")) == []


class Losing(SerialPool):
    """Gives up the second task."""

    def events(self, tasks: Iterable[Task], *, ordered: bool = False) -> Generator[Event]:
        first, second, *_ = tasks
        yield from super().events([first])
        yield Failed(second, "lost 3 times")


def test_a_training_given_up_is_one_sentence_and_what_is_finished_is_kept(tmp_path: Path) -> None:
    with open_comparison(PLAN, checkpoint_dir=tmp_path) as comparison:
        losing = ComparisonRun(comparison.directory, Losing())
        with pytest.raises(TrainingFailedError, match=r"^parallel25, seed 6: lost .* --resume$"):
            list(losing.events())
        missing = [task.name for task in comparison.missing()]
    assert missing == ["parallel25, seed 6", "gradients"]


@pytest.mark.parametrize(
    ("plan", "open_study", "words"),
    [
        ((PLAN,), open_comparison, "not a comparison of this version"),
        ((tiny(warm_start="none"), 1), open_landscape, "does not say of which seeds"),
    ],
)
def test_a_study_that_does_not_know_its_plan_is_refused(
    plan: tuple[Any, ...], open_study: Any, words: str, tmp_path: Path
) -> None:
    with open_study(*plan, checkpoint_dir=tmp_path) as study:
        file = study.directory.path / "experiment_config.json"
    noted = json.loads(file.read_text())
    del noted["plan"]
    file.write_text(json.dumps(noted))
    for _ in range(2):  # and it is let go of
        with pytest.raises(InvalidInputError, match=words), open_study(resume=file.parent):
            pass
