from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.pages.runs import log_rows
from tests.runs.test_folder import episodes
from tests.runs.toy import board_of, csv_rows, episode_rows, tiny
from workflow_rl.runs.folder import EpisodeLog
from workflow_rl.runs.store import RunDirectory
from workflow_rl.runs.tables import SCALARS, SPEED, RunTables, write_episodes
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[RunDirectory]:
    with closing(RunDirectory.create(tmp_path, tiny(), [])) as made:
        yield made


def trained(directory: RunDirectory, name: str, updates: int) -> list[dict[str, Any]]:
    """The raw logs of a training; returns its rows."""
    rows = log_rows(name, 7, updates)
    folder = directory.training(name)
    for row in rows:
        folder.updates.append(row)
        folder.episodes.append(row["update"], episodes(2, order=7))
    return rows


def updates_of(directory: RunDirectory) -> list[tuple[str, str]]:
    rows = csv_rows(directory.path / "training_log.csv")
    return [(row["training"], row["update"]) for row in rows]


def test_rows_are_added_as_they_come(directory: RunDirectory) -> None:
    tables = RunTables(directory)
    tables.add(log_rows("base", None, 2))
    tables.add(log_rows("trial_000", 7, 1))
    assert updates_of(directory) == [("base", "1"), ("base", "2"), ("trial_000", "1")]


def test_tensorboard_shows_each_training_as_a_run_from_its_own_first_transition(
    directory: RunDirectory,
) -> None:
    tables, rows = RunTables(directory), log_rows("base", None, 2)
    tables.add(rows[:1])
    tables.add(log_rows("trial_000", 7, 1))  # meanwhile
    tables.add(rows[1:])
    folder = directory.path / "tensorboard"
    assert {path.name for path in folder.iterdir()} == {"base", "trial_000"}
    for name, expected in (("base", [-100.0, -50.0]), ("trial_000", [-100.0])):
        board = board_of(folder / name)
        events = board.Scalars("charts/episodic_return")
        assert [event.value for event in events] == expected
        assert [event.step for event in events] == [1_000 * (k + 1) for k in range(len(events))]
        assert all(event.value > 0 for event in board.Scalars("charts/SPS"))
        assert {*SCALARS, SPEED} == set(board.Tags()["scalars"])


def test_the_raw_logs_of_the_trainings_make_the_tables_in_their_order(
    directory: RunDirectory,
) -> None:
    tables = RunTables(directory)
    trained(directory, "trial_000", 2)
    trained(directory, "base", 3)
    tables.add(log_rows("lost", 7, 4))  # by an attempt of which nothing is left
    before = tables.age
    tables.rebuild(["base", "trial_000", "polish"])
    assert tables.age < before
    expected = [("base", "1"), ("base", "2"), ("base", "3")]
    expected += [("trial_000", "1"), ("trial_000", "2")]
    assert updates_of(directory) == expected
    seen = [(row["training"], row["update"]) for row in episode_rows(directory.path)]
    assert seen == [(name, int(update)) for name, update in expected for _ in range(2)]
    tables.add(log_rows("polish", 7, 1))  # and they go on
    assert updates_of(directory) == [*expected, ("polish", "1")]


def test_before_the_first_update_there_are_no_tables(directory: RunDirectory) -> None:
    RunTables(directory).rebuild(["base"])
    assert not (directory.path / "training_log.csv").exists()
    assert not (directory.path / "episodes.parquet").exists()


def test_all_episodes_make_one_parquet_file(tmp_path: Path) -> None:
    parts = {}
    for name, order in (("base", 3), ("trial_000", NUM_ORDERS - 1), ("polish", 0)):
        log = EpisodeLog(tmp_path / name)
        if name != "polish":
            log.append(4, episodes(2, order))
        parts[name] = log.read()
    write_episodes(tmp_path / "episodes.parquet", parts, TYPES)
    rows: list[dict[str, Any]] = pq.read_table(tmp_path / "episodes.parquet").to_pylist()
    assert [row["training"] for row in rows] == ["base"] * 2 + ["trial_000"] * 2
    assert rows[1] == {
        "training": "base",
        "workflow": TYPES.format(3),
        "update": 4,
        "env": 1,
        "env_reward": 0.0,
        "alignment": 15.0,
        "compliance_observed": 0.5,
        "compliance_true": 0.25,
        "fixes": 2,
    }
    assert rows[3]["workflow"] == TYPES.format(NUM_ORDERS - 1)
    write_episodes(tmp_path / "episodes.parquet", {}, TYPES)
    assert pq.read_table(tmp_path / "episodes.parquet").num_rows == 0
