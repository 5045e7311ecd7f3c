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
from workflow_rl.runs.tables import SCALARS, RunTables, write_episodes
from workflow_rl.workflow.orders import NUM_ORDERS, TYPES

PER_UPDATE = 6 * 20  # environments times steps of the tiny configuration


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[RunDirectory]:
    with closing(RunDirectory.create(tmp_path, tiny(), [])) as made:
        yield made


def trained(directory: RunDirectory, name: str, updates: int) -> list[dict[str, Any]]:
    """The raw logs of a training; returns its rows."""
    rows = log_rows(name, 7, updates)
    folder = directory.training(name)
    for row in rows:
        row["transitions"] = PER_UPDATE * row["update"]
        folder.updates.append(row)
        folder.episodes.append(row["update"], episodes(2, order=7))
    return rows


def updates_of(directory: RunDirectory) -> list[tuple[str, str]]:
    rows = csv_rows(directory.path / "training_log.csv")
    return [(row["training"], row["update"]) for row in rows]


def test_rows_are_added_as_they_come_and_counted(directory: RunDirectory) -> None:
    with closing(RunTables(directory)) as tables:
        tables.add(log_rows("base", None, 2))
        tables.add(log_rows("trial_000", 7, 1))
        assert tables.transitions == 3 * PER_UPDATE
    assert updates_of(directory) == [("base", "1"), ("base", "2"), ("trial_000", "1")]
    board = board_of(directory.path / "tensorboard")
    events = board.Scalars("charts/episodic_return")
    assert [event.step for event in events] == [PER_UPDATE * n for n in (1, 2, 3)]
    assert [event.value for event in events] == [-100.0, -50.0, -100.0]
    assert all(event.value > 0 for event in board.Scalars("charts/SPS"))
    assert set(SCALARS) <= set(board.Tags()["scalars"])


def test_the_raw_logs_of_the_trainings_make_the_tables_in_their_order(
    directory: RunDirectory,
) -> None:
    with closing(RunTables(directory)) as tables:
        trained(directory, "trial_000", 2)
        trained(directory, "base", 3)
        tables.add(log_rows("lost", 7, 4))  # by an attempt of which nothing is left
        before = tables.age
        tables.rebuild(["base", "trial_000", "polish"])
        assert tables.age < before
        assert tables.transitions == 5 * PER_UPDATE
        expected = [("base", "1"), ("base", "2"), ("base", "3")]
        expected += [("trial_000", "1"), ("trial_000", "2")]
        assert updates_of(directory) == expected
        seen = [(row["training"], row["update"]) for row in episode_rows(directory.path)]
        assert seen == [(name, int(update)) for name, update in expected for _ in range(2)]
        tables.add(log_rows("polish", 7, 1))  # and they go on
        assert updates_of(directory) == [*expected, ("polish", "1")]


def test_before_the_first_update_there_are_no_tables(directory: RunDirectory) -> None:
    with closing(RunTables(directory)) as tables:
        tables.rebuild(["base"])
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


def test_no_episodes_make_an_empty_parquet_file(tmp_path: Path) -> None:
    write_episodes(tmp_path / "episodes.parquet", {}, TYPES)
    assert pq.read_table(tmp_path / "episodes.parquet").num_rows == 0
