import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workflow_rl.runs.folder import CsvLog, EpisodeLog
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
    )


# --- tables


def test_a_table_grows_row_by_row_under_one_header(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert log.rows() == READ
    assert log.path.read_text().splitlines()[0] == "training,update,reward"
    assert len(log.path.read_text().splitlines()) == 4


def test_a_table_without_a_file_is_empty(tmp_path: Path) -> None:
    assert CsvLog(tmp_path / "log.csv").rows() == []


def test_a_table_cut_off_anywhere_keeps_its_whole_rows_and_goes_on(tmp_path: Path) -> None:
    whole = filled(tmp_path).path.read_bytes()
    cut = CsvLog(tmp_path / "cut.csv")
    for size in range(len(whole) + 1):
        cut.path.write_bytes(whole[:size])
        kept = cut.rows()
        assert kept == READ[: max(whole[:size].count(b"\n") - 1, 0)]
        cut.rewrite(kept)
        cut.append(ROWS[2])
        assert cut.rows() == [*kept, READ[2]]


def test_rewriting_replaces_all_rows(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.rewrite(ROWS[1:])
    assert log.rows() == READ[1:]
    log.rewrite([])
    assert log.rows() == []


# --- episodes


def columns(log: EpisodeLog) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = log.read().to_pydict()
    return found


def test_episodes_are_kept_as_they_ended(tmp_path: Path) -> None:
    log = EpisodeLog(tmp_path / "below" / "episodes.arrow")
    assert len(log.read()) == 0
    log.append(1, episodes(2, order=7))
    log.append(2, episodes(0))
    log.append(3, episodes(3))
    rows = columns(log)
    assert rows["update"] == [1, 1, 3, 3, 3]
    assert rows["order"] == [7, 7, 0, 0, 0]
    assert rows["env"] == [0, 1, 0, 1, 2]
    assert rows["env_reward"] == [-9.0, 0.0, -9.0, -4.5, 0.0]
    assert rows["fixes"] == [0, 2, 0, 2, 4]


def three_updates(path: Path) -> tuple[EpisodeLog, list[int]]:
    """A log of three updates of 2, 3 and 1 episodes, and its size after each."""
    log, sizes = EpisodeLog(path / "episodes.arrow"), []
    for update, number in ((1, 2), (2, 3), (4, 1)):
        log.append(update, episodes(number))
        sizes.append(log.path.stat().st_size)
    return log, sizes


def test_episodes_cut_off_anywhere_keep_the_whole_updates(tmp_path: Path) -> None:
    log, sizes = three_updates(tmp_path)
    whole = log.path.read_bytes()
    updates = columns(log)["update"]
    assert updates == [1, 1, 2, 2, 2, 4]
    ends = {end + by for end in sizes for by in (-1, 0, 1)}
    for size in {*range(0, len(whole), 13), *ends}:
        log.path.write_bytes(whole[:size])
        kept = (0, 2, 5, 6)[sum(size >= end for end in sizes)]
        assert columns(log)["update"] == updates[:kept]


@pytest.mark.parametrize("complete", [0, 1, 2, 3])
@pytest.mark.parametrize("more", [0, 1, 100])
def test_episodes_cut_off_go_on_with_whole_updates(
    tmp_path: Path, complete: int, more: int
) -> None:
    log, sizes = three_updates(tmp_path)
    whole = log.path.read_bytes()
    expected = columns(log)
    log.path.write_bytes(whole[: [0, *sizes][complete] + more])
    log.keep_up_to(1)
    kept = 2 if complete else 0
    assert columns(log)["update"] == [1] * kept
    log.append(2, episodes(3))
    log.append(4, episodes(1))
    assert columns(log) == {name: column[2 - kept :] for name, column in expected.items()}
    if complete:
        assert log.path.read_bytes() == whole  # as if nothing had happened


def test_episodes_of_later_updates_can_be_dropped(tmp_path: Path) -> None:
    log = EpisodeLog(tmp_path / "episodes.arrow")
    log.keep_up_to(1)
    assert not log.path.exists()
    for update in (1, 2, 3):
        log.append(update, episodes(2))
    log.keep_up_to(2)
    assert columns(log)["update"] == [1, 1, 2, 2]
    log.keep_up_to(0)
    assert len(log.read()) == 0
