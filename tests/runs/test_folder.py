"""The folder of one training: its logs, which may be cut off anywhere, and its result."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.refused import refused
from tests.runs.work import job, outcome
from workflow_rl.files import save_arrays, write_atomically
from workflow_rl.runs.folder import CsvLog, EpisodeLog, TrainingFolder
from workflow_rl.train.episodes import Episodes

ROWS = [
    {"training": "base", "update": 1, "reward": -1.25},
    {"training": "base", "update": 2, "reward": math.nan},
    {"training": "trial_000", "update": 1, "reward": 0.1 + 0.2},
]
READ = [
    {"training": "base", "update": "1", "reward": "-1.25"},
    {"training": "base", "update": "2", "reward": ""},
    {"training": "trial_000", "update": "1", "reward": "0.3"},
]


def filled(path: Path) -> CsvLog:
    log = CsvLog(path / "below" / "log.csv")
    for row in ROWS:
        log.append(row)
    return log


def episodes(number: int, order: int = 0) -> Episodes:
    return Episodes(
        env=np.arange(number, dtype=np.int32),
        order=np.full(number, order, np.int64),
        env_reward=np.linspace(-9, 0, number, dtype=np.float32),
        alignment=np.full(number, 15, np.float32),
        compliance_observed=np.full(number, 0.5, np.float32),
        compliance_true=np.full(number, 0.25, np.float32),
        fixes=np.arange(number, dtype=np.int32) * 2,
        judged_observed=np.arange(number, dtype=np.int32),
        judged_true=np.zeros(number, np.int32),
    )


# --- tables


def test_a_table_cut_off_anywhere_keeps_its_whole_rows_and_goes_on(tmp_path: Path) -> None:
    whole = filled(tmp_path).path.read_bytes()
    assert whole.startswith(b"training,update,reward\n")
    cut = CsvLog(tmp_path / "cut.csv")
    assert cut.rows() == []
    for size in range(len(whole) + 1):
        cut.path.write_bytes(whole[:size])
        kept = cut.rows()
        assert kept == READ[: max(whole[:size].count(b"\n") - 1, 0)]
        cut.rewrite(kept)
        cut.append(ROWS[2])
        assert cut.rows() == [*kept, READ[2]]


def test_no_cell_of_a_table_is_a_formula_to_a_spreadsheet(tmp_path: Path) -> None:
    log = CsvLog(tmp_path / "log.csv")
    harmless = ["-1.5", "+3", "-.5", "-inf", "+nan", "a=b", 'x,"y', "", "-1e-05"]
    formulas = ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-A1", " =1"]
    log.rewrite({"a": text} for text in [*harmless, *formulas, "\t=1\r\n", "\x1b[31m"])
    kept = [row["a"] for row in log.rows()]
    assert kept == [*harmless, *(f"'{text}" for text in formulas), "?=1??", "?[31m"]
    log.rewrite(log.rows())
    assert [row["a"] for row in log.rows()] == kept


# --- episodes


def columns(log: EpisodeLog) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = log.read().to_pydict()
    return found


def three_updates(path: Path) -> tuple[EpisodeLog, list[int]]:
    """A log of three updates of 2, 3 and 1 episodes, and its size after each."""
    log, sizes = EpisodeLog(path / "episodes.arrow"), []
    for update, number in ((1, 2), (2, 3), (4, 1)):
        log.append(update, episodes(number))
        sizes.append(log.path.stat().st_size)
    return log, sizes


def test_episodes_cut_off_anywhere_keep_the_whole_updates_and_go_on(tmp_path: Path) -> None:
    log, sizes = three_updates(tmp_path)
    whole, expected = log.path.read_bytes(), columns(log)
    updates = expected["update"]
    assert updates == [1, 1, 2, 2, 2, 4]
    assert expected["env_reward"] == [-9.0, 0.0, -9.0, -4.5, 0.0, -9.0]
    log.path.unlink()
    log.keep_up_to(1)
    log.append(1, episodes(0))
    assert len(log.read()) == 0
    ends = {end + by for end in sizes for by in (-1, 0, 1, 100)}
    for size in {*range(0, len(whole), 13), *ends}:
        log.path.write_bytes(whole[:size])
        complete = sum(size >= end for end in sizes)
        assert columns(log)["update"] == updates[: (0, 2, 5, 6)[complete]]
        log.keep_up_to(1)
        kept = 2 if complete else 0
        assert columns(log)["update"] == [1] * kept
        log.append(2, episodes(3))
        log.append(4, episodes(1))
        assert columns(log) == {name: column[2 - kept :] for name, column in expected.items()}
        if complete:
            assert log.path.read_bytes() == whole  # as if nothing had happened


# --- what is kept of a training


def test_the_result_of_another_training_or_version_is_refused(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path / "one")
    refused("there is no file", folder.load_result)
    folder.save_result(job(4), outcome(4, -3.5), {})
    refused("another configuration", folder.load_result, job(5))
    given = outcome(4, -3.5).as_json()
    del given["updates"]
    save_arrays(folder.result, "training result", {}, {"outcome": given})
    refused("is not a result of this version", folder.load_result)


def test_what_a_training_left_elsewhere_is_put_here_with_the_result_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, here = TrainingFolder(tmp_path / "there"), TrainingFolder(tmp_path / "here")
    for path in (there.result, there.updates.path, there.snapshot(5)):
        write_atomically(path, path.name.encode())
    written: list[str] = []

    def write(path: Path, data: bytes) -> None:
        written.append(path.relative_to(here.path).as_posix())
        write_atomically(path, data)

    monkeypatch.setattr("workflow_rl.runs.folder.write_atomically", write)
    here.complete(there.files())
    assert written == ["snapshots/update_000005.safetensors", "updates.csv", "result.safetensors"]
    assert here.files() == there.files()
    here.clear()
    assert not here.path.exists()
    here.clear()
