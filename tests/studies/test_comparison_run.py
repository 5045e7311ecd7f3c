import json
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest

from tests.studies.quick import make_quick
from workflow_rl.config import ComparisonConfig, GameConfig
from workflow_rl.errors import InvalidInputError, TrainingFailedError
from workflow_rl.runs.pool import Done, Event, Failed, SerialPool, Started, Task
from workflow_rl.studies.comparison import summarise
from workflow_rl.studies.comparison_run import ComparisonRun, open_comparison

PLAN = ComparisonConfig(
    game=GameConfig(episode_length=5),
    transitions=500,
    presets=("minibatch", "parallel25"),
    seeds=(6,),
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_quick(monkeypatch)


def new(folder: Path) -> Path:
    """The directory of a new comparison."""
    with open_comparison(PLAN, checkpoint_dir=folder) as comparison:
        return comparison.directory.path


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
        yield Failed(second, "lost 3 times, at last because its process was ended by SIGKILL")


def test_a_training_given_up_is_one_sentence_and_what_is_finished_is_kept(tmp_path: Path) -> None:
    with open_comparison(PLAN, checkpoint_dir=tmp_path) as comparison:
        losing = ComparisonRun(comparison.directory, Losing())
        said = (
            "^parallel25, seed 6: lost 3 times, at last because its process was ended by SIGKILL; "
            "nothing finished is lost: continue with --resume$"
        )
        with pytest.raises(TrainingFailedError, match=said):
            list(losing.events())
        missing = [task.name for task in comparison.missing()]
    assert missing == ["parallel25, seed 6", "gradients"]


def test_a_comparison_that_does_not_know_what_it_compares_is_refused(tmp_path: Path) -> None:
    path = new(tmp_path)
    file = path / "experiment_config.json"
    noted = json.loads(file.read_text())
    del noted["plan"]
    file.write_text(json.dumps(noted))
    for _ in range(2):  # and it is let go of
        with (
            pytest.raises(InvalidInputError, match="not a comparison of this version"),
            open_comparison(resume=path),
        ):
            pass
