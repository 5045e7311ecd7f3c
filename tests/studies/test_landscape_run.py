"""Landscapes whose every decision and file is real, but that train nothing: see tests/cli."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runs.synthetic import Valued
from tests.runs.toy import tiny, without_costs
from workflow_rl.config import ExperimentConfig
from workflow_rl.errors import InvalidInputError, TrainingFailedError
from workflow_rl.runs.pool import Done, Pool
from workflow_rl.runs.store import RunDirectory
from workflow_rl.studies.landscape import Landscape
from workflow_rl.studies.landscape_run import LandscapeRun, exhaustive, open_landscape
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

CONFIG = tiny(seed=7, warm_start="none", compliance_threshold=0.0)


def new(folder: Path, seeds: int = 1) -> Path:
    """The directory of a new landscape."""
    with open_landscape(CONFIG, seeds, checkpoint_dir=folder) as run:
        return run.directory.path


@contextmanager
def resumed(path: Path, pool: Pool | None = None) -> Iterator[LandscapeRun]:
    with closing(RunDirectory.open(path, "landscape")) as directory:
        yield LandscapeRun(directory, pool or Valued(2))


def trained(path: Path, pool: Pool | None = None) -> Landscape:
    with resumed(path, pool) as run:
        for _ in run.events():
            pass
        return run.table()


def found(path: Path) -> Any:
    """What the search of the first seed has left, but for what it cost."""
    names = ("summary.json", "trials.json", "experiment_config.json")
    data = {name: json.loads((path / "seed_000" / name).read_text()) for name in names}
    del data["experiment_config.json"]["created"]
    return without_costs(data)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Landscape]:
    """A landscape of two seeds, one after the other, that nobody interrupted."""
    path = new(tmp_path_factory.mktemp("logs"), seeds=2)
    with resumed(path) as run:
        places = [number for number, event in run.events() if isinstance(event, Done)]
        assert places == [0] * NUM_ORDERS + [1] * NUM_ORDERS
        return path, run.table()


def test_a_seed_is_a_search_like_any_other_that_tries_every_order_once(
    whole: tuple[Path, Landscape],
) -> None:
    path, land = whole
    assert land.seeds == (7, 8)
    assert (land.reward[0] != land.reward[1]).any()
    left = found(path)
    summary, noted = left["summary.json"], left["experiment_config.json"]
    assert summary["workflows"] == NUM_ORDERS
    means = {one["workflow"]: one["objective"]["reward"]["mean"] for one in summary["trials"]}
    assert land.reward[0].tolist() == [means[TYPES.format(order)] for order in range(NUM_ORDERS)]
    assert land.is_compliant.all()
    assert noted["purpose"] == "search"
    assert ExperimentConfig.from_json(noted["config"]) == exhaustive(CONFIG, 7)


def test_an_interrupted_landscape_goes_on_and_ends_as_if_nothing_had_been(
    whole: tuple[Path, Landscape], tmp_path: Path
) -> None:
    path = new(tmp_path)
    with resumed(path) as run:
        events = run.events()
        for done in range(61):
            while not isinstance(next(events)[1], Done):
                assert run.done == done
            assert run.done == done + 1
        events.close()  # type: ignore[attr-defined]
    assert not (path / "seed_000" / "summary.json").exists()

    with resumed(path) as again:
        next(events := again.events())
        assert again.done == 61  # earlier ones count
        for _ in events:
            pass
        assert again.done == NUM_ORDERS
        assert (again.table().reward == whole[1].reward[:1]).all()
    assert found(path) == found(whole[0])


def test_a_finished_landscape_is_read_and_not_trained_again(whole: tuple[Path, Landscape]) -> None:
    with resumed(whole[0]) as run:
        assert list(run.events()) == []
        assert run.done == 2 * NUM_ORDERS
        assert (run.table().reward == whole[1].reward).all()


@pytest.mark.parametrize(("seeds", "seed"), [(0, 0), (-1, 0), (2, 2**63 - 1)])
def test_seeds_that_cannot_be_leave_nothing_behind(tmp_path: Path, seeds: int, seed: int) -> None:
    with (
        pytest.raises(InvalidInputError),
        open_landscape(tiny(seed=seed), seeds, checkpoint_dir=tmp_path),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_part_with_other_settings_is_refused(tmp_path: Path) -> None:
    path = new(tmp_path)
    RunDirectory.create(path, tiny(seed=8), [], name="seed_000").close()
    for _ in range(2):  # and it is let go of
        with pytest.raises(InvalidInputError, match="other settings"):
            trained(path)


def test_an_order_that_failed_is_named_and_tried_again_when_resumed(
    whole: tuple[Path, Landscape], tmp_path: Path
) -> None:
    path = new(tmp_path)
    said = f"needs every order, but {TYPES.format(7)} of seed 7 failed: it rained; try it again"
    with pytest.raises(TrainingFailedError, match=said):
        trained(path, Valued(fails={7}))
    assert np.array_equal(trained(path).reward, whole[1].reward[:1])
    assert found(path) == found(whole[0])
