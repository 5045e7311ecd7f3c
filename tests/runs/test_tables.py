from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.pages.runs import log_rows
from tests.runs.test_folder import episodes
from tests.runs.toy import csv_rows, episode_rows, tiny
from workflow_rl.runs.store import RunDirectory
from workflow_rl.runs.tables import RunTables
from workflow_rl.workflow.orders import TYPES


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
    rows = episode_rows(directory.path)
    seen = [(row["training"], row["update"]) for row in rows]
    assert seen == [(name, int(update)) for name, update in expected for _ in range(2)]
    assert rows[1] == {
        **{"training": "base", "workflow": TYPES.format(7), "update": 1, "env": 1, "fixes": 2},
        **{"env_reward": 0.0, "alignment": 15.0},
        **{"compliance_observed": 0.5, "compliance_true": 0.25},
    }
    tables.add(log_rows("polish", 7, 1))  # and they go on
    assert updates_of(directory) == [*expected, ("polish", "1")]


def test_before_the_first_update_there_are_no_tables(directory: RunDirectory) -> None:
    RunTables(directory).rebuild(["base"])
    assert not (directory.path / "training_log.csv").exists()
    assert not (directory.path / "episodes.parquet").exists()
