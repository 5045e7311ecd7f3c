from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pages.runs import log_rows, trial, write_log, write_run
from tests.runs.test_store import holder
from tests.runs.toy import board_of
from workflow_rl.pages import snapshot
from workflow_rl.pages.snapshot import last_rows, take_snapshot
from workflow_rl.runs.folder import CsvLog


def test_the_scalars_are_those_of_tensorboard(real_run: Path) -> None:
    board = board_of(real_run / "tensorboard" / "polish")
    shown = take_snapshot(real_run).scalars
    assert set(shown) == set(board.Tags()["scalars"])
    for name, value in shown.items():
        if name != "charts/SPS":  # ours is of the last updates, the board's of the whole run
            assert board.Scalars(name)[-1].value == pytest.approx(value, rel=1e-4, abs=1e-6)
    assert shown["charts/SPS"] > 0


def test_a_run_under_way_tells_where_it_is_and_when_it_will_be_done(tmp_path: Path) -> None:
    trials = [trial(0, 5, -30.0), trial(1, 60, -20.0), trial(2, 70, None)]
    rows = log_rows("base", None, 3) + log_rows("trial_002", 70, 2)
    run = write_run(tmp_path / "run", trials, rows)
    with holder(run):
        shot = take_snapshot(run)
    assert shot.run.is_live
    assert (shot.training, shot.update, shot.updates) == ("trial_002", 2, 50)
    assert (shot.done, shot.planned) == (2, 20)
    assert shot.seconds_left == pytest.approx(18.0)  # a second for each of those to come
    assert shot.scalars["charts/episodic_return"] == -50.0
    assert shot.scalars["charts/SPS"] == pytest.approx(1_000)


@given(st.integers(1, 40), st.integers(0, 120))
def test_the_end_of_a_log_is_read_without_the_rest(
    tmp_path_factory: pytest.TempPathFactory, number: int, cut: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "training_log.csv"
    write_log(path, log_rows("base", None, number))
    data = path.read_bytes()
    path.write_bytes(data[: max(len(data) - cut, 1)])
    whole = CsvLog(path).rows()
    with pytest.MonkeyPatch.context() as patch:
        assert last_rows(path) == whole
        patch.setattr(snapshot, "_TAIL", 700)
        few = last_rows(path)
    assert len(few) < 7
    assert few == whole[len(whole) - len(few) :]
    assert few or not whole or number > 1
