import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from workflow_rl.ordersearch.loop import Failed, Trial
from workflow_rl.runs.api import Silent
from workflow_rl.runs.listener import Listener
from workflow_rl.runs.tasks import News, SerialWorkers, Task
from workflow_rl.studies.landscape.table import Landscape

from tests.runs.toy import findings, tiny
from workflow_rl.config import ExperimentConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.studies.landscape.run import LandscapeRun, exhaustive
from workflow_rl.train.job import TrainResult
from workflow_rl.workflow.orders import NUM_ORDERS, format_order

CONFIG = tiny(
    seed=7, n_envs=2, episode_length=5, max_episodes=1, base_updates=1, compliance_threshold=0.0
)


class StopError(BaseException):
    """Nobody catches this, as nobody catches kill -9."""


class Stopping(Silent):
    """Dies when so many trainings are done."""

    def __init__(self, after: int) -> None:
        self._after = after

    def finished(self, trial: Trial, result: TrainResult, done: int) -> None:
        if done == self._after:
            raise StopError


def quiet(number: int, config: ExperimentConfig) -> Listener:
    return Silent()


def trained(folder: Path, seeds: int = 1) -> tuple[Path, Landscape]:
    run = LandscapeRun.create(folder, CONFIG, seeds, ["workflow-rl", "landscape"])
    try:
        return run.directory.path, run.train(quiet)
    finally:
        run.directory.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Landscape]:
    """A landscape of one seed that nobody interrupted."""
    return trained(tmp_path_factory.mktemp("logs"))


def test_every_order_is_trained_once(whole: tuple[Path, Landscape]) -> None:
    path, land = whole
    assert land.seeds == (7,)
    summary = json.loads((path / "seed_000" / "summary.json").read_text())
    assert summary["workflows"] == NUM_ORDERS
    rewards = {trial["workflow"]: trial["env_reward"] for trial in summary["trials"]}
    assert len(rewards) == NUM_ORDERS
    assert sorted(land.reward[0].tolist()) == sorted(rewards.values())
    assert land.is_compliant.all()


def test_a_seeds_run_is_a_search_like_any_other(whole: tuple[Path, Landscape]) -> None:
    noted = json.loads((whole[0] / "seed_000" / "experiment_config.json").read_text())
    assert noted["purpose"] == "search"
    assert ExperimentConfig.from_json(noted["config"]) == exhaustive(CONFIG, 7)


def test_an_interrupted_landscape_goes_on_and_ends_as_if_nothing_had_been(
    whole: tuple[Path, Landscape], tmp_path: Path
) -> None:
    run = LandscapeRun.create(tmp_path, CONFIG, 1, ["workflow-rl"])
    with pytest.raises(StopError):
        run.train(lambda number, config: Stopping(after=61))
    run.directory.close()
    path = run.directory.path
    assert not (path / "seed_000" / "summary.json").exists()

    again = LandscapeRun.open(path)
    land = again.train(quiet)
    again.directory.close()
    assert (land.reward == whole[1].reward).all()
    assert findings(path / "seed_000") == findings(whole[0] / "seed_000")


def test_a_finished_landscape_is_read_and_not_trained_again(whole: tuple[Path, Landscape]) -> None:
    def nobody(number: int, config: ExperimentConfig) -> Listener:
        raise AssertionError("nothing is left to train")

    run = LandscapeRun.open(whole[0])
    land = run.train(nobody)
    run.directory.close()
    assert (land.reward == whole[1].reward).all()


def test_what_was_found_is_written_with_what_it_depends_on(
    whole: tuple[Path, Landscape],
) -> None:
    run = LandscapeRun.open(whole[0])
    path = run.write(analyse_landscape(whole[1], run.config.search, replays=0))
    run.directory.close()
    data = json.loads(path.read_text())
    assert path == whole[0] / "landscape.json"
    assert (data["rules"], data["red_agent"], data["seeds"]) == ("main", "bline", [7])
    assert data["packages"]["torch"].startswith("2.")
    assert ExperimentConfig.from_json(data["config"]) == exhaustive(CONFIG, 7)
    assert np.array_equal(Landscape.from_json(data).reward, whole[1].reward)


@pytest.mark.parametrize(("seeds", "seed"), [(0, 0), (-1, 0), (2, 2**63 - 1)])
def test_seeds_that_cannot_be_leave_nothing_behind(tmp_path: Path, seeds: int, seed: int) -> None:
    with pytest.raises(InvalidInputError):
        LandscapeRun.create(tmp_path, tiny(seed=seed), seeds, ["workflow-rl"])
    assert list(tmp_path.iterdir()) == []


def test_a_landscape_that_does_not_know_its_seeds_is_refused(tmp_path: Path) -> None:
    run = LandscapeRun.create(tmp_path, CONFIG, 1, ["workflow-rl"])
    run.directory.close()
    file = run.directory.path / "experiment_config.json"
    noted = json.loads(file.read_text())
    del noted["plan"]
    file.write_text(json.dumps(noted))
    for _ in range(2):  # and it is let go of
        with pytest.raises(InvalidInputError, match="does not say of which seeds"):
            LandscapeRun.open(run.directory.path)


def test_a_part_with_other_settings_is_refused(tmp_path: Path) -> None:
    run = LandscapeRun.create(tmp_path, CONFIG, 1, ["workflow-rl"])
    part = run.directory.path / "seed_000"
    other = LandscapeRun.create(tmp_path, tiny(seed=8), 1, ["workflow-rl"])
    part.mkdir()
    for run_with in (run, other):
        run_with.directory.close()
    source = other.directory.path / "experiment_config.json"
    noted = json.loads(source.read_text()) | {"purpose": "search"}
    (part / source.name).write_text(json.dumps(noted))
    again = LandscapeRun.open(run.directory.path)
    with pytest.raises(InvalidInputError, match="other settings"):
        again.train(quiet)
    again.directory.close()


def test_an_order_that_failed_is_named_and_tried_again_when_resumed(
    whole: tuple[Path, Landscape], tmp_path: Path
) -> None:
    class Unlucky(SerialWorkers):
        def wait(self, among: Sequence[Task], news: News) -> tuple[Task, TrainResult | Failed]:
            if among[0].name == "trial_007":
                return among[0], Failed("it rained")
            return super().wait(among, news)

    run = LandscapeRun.create(tmp_path, CONFIG, 1, ["workflow-rl", "landscape"])
    said = f"needs every order, but {format_order(7)} of seed 7 failed: it rained; try it again"
    with pytest.raises(InvalidInputError, match=said):
        run.train(quiet, Unlucky())
    run.directory.close()
    again = LandscapeRun.open(run.directory.path)
    land = again.train(quiet)
    again.directory.close()
    assert np.array_equal(land.reward, whole[1].reward)
    assert findings(again.directory.path / "seed_000") == findings(whole[0] / "seed_000")
