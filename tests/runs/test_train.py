import json
import shutil
from pathlib import Path

import pytest

from tests.chaos.faults import Crash, failing_disk
from tests.refused import refused
from tests.runs.toy import csv_rows, episode_rows, the_run, tiny, without_costs
from workflow_rl.agents.policy import load_policy
from workflow_rl.config import ExperimentConfig
from workflow_rl.evaluation.selection import (
    DRAWN_ORDERS,
    SELECTION_SEED,
    Candidate,
    Games,
    Ranking,
    orders_played,
)
from workflow_rl.runs.pool import Done, Event
from workflow_rl.runs.train import TrainingRun, open_training
from workflow_rl.workflow.orders import TYPES

CONFIG = tiny()
Trained = tuple[Path, list[Event | Candidate | Games | Ranking]]


def trained(folder: Path, config: ExperimentConfig = CONFIG, order: int | None = 7) -> Trained:
    workflow = None if order is None else TYPES.format(order)
    with open_training(config, workflow, checkpoint_dir=folder) as run:
        return run.directory.path, list(run.events())


def resumed(path: Path) -> TrainingRun:
    with open_training(resume=path) as run:
        list(run.events())
    return run


def test_where_snapshots_are_kept_the_best_on_validation_games_is_handed_over(
    tmp_path: Path,
) -> None:
    path, events = trained(tmp_path, tiny(snapshot_every=1))
    ranking = next(event for event in events if isinstance(event, Ranking))
    assert len({event.path for event in events if isinstance(event, Candidate)}) == 4
    best = load_policy(ranking.candidates[0].path)
    handed_over = load_policy(path)
    assert all((handed_over.weights[k] == best.weights[k]).all() for k in best.weights)
    assert SELECTION_SEED > 2**40  # no games that a user evaluates by
    assert resumed(path).selected == ranking.candidates[0]


def test_a_training_too_short_to_keep_a_policy_hands_over_the_best_it_met(tmp_path: Path) -> None:
    path, events = trained(tmp_path, tiny(snapshot_every=20))
    assert isinstance(events[-1], Done)
    assert load_policy(path).order == TYPES[7]
    assert resumed(path).selected is None


def test_a_policy_of_any_order_is_selected_under_several_of_them(tmp_path: Path) -> None:
    config = tiny(snapshot_every=3, units="any", order_encoding="ranks")
    path, events = trained(tmp_path, config, None)
    played = [event for event in events if isinstance(event, Candidate)]
    assert {event.path.stem for event in played} == {"recommended", "update_000003"}
    assert {event.result.games % DRAWN_ORDERS for event in played} == {0}  # as many under each
    orders = orders_played(load_policy(path))
    assert len({str(order) for order in orders}) == DRAWN_ORDERS
    assert {len(order) for order in orders if order is not None} == {5, 12}


# --- going on


def assert_same_training(path: Path, other: Path) -> None:
    """Two finished trainings have left the same, but for what they cost."""
    training = (f"trainings/training/{name}" for name in ("result.safetensors", "episodes.arrow"))
    for name in ("policies/recommended.safetensors", *training):
        assert (path / name).read_bytes() == (other / name).read_bytes(), name
    assert episode_rows(path) == episode_rows(other)
    ours, theirs = (csv_rows(p / "training_log.csv") for p in (path, other))
    assert without_costs(ours) == without_costs(theirs)
    assert (path / "summary.json").read_bytes() == (other / "summary.json").read_bytes()


@pytest.mark.parametrize("order", [7, None])
def test_a_training_that_dies_at_any_of_its_writes_goes_on_exactly(
    tmp_path: Path, order: int | None
) -> None:
    config = tiny(snapshot_every=2)
    with failing_disk(None) as writes:
        whole, _ = trained(tmp_path / "whole", config, order)
    for at in range(5, writes.count + 1, 6 if order else 12):  # 4: there is no run yet
        with failing_disk(at), pytest.raises(Crash):
            trained(tmp_path / str(at), config, order)
        path = the_run(tmp_path / str(at))
        assert resumed(path).order == order
        assert_same_training(path, whole)


def test_a_finished_training_is_not_touched_and_one_taken_away_is_trained_again(
    tmp_path: Path,
) -> None:
    path, events = trained(tmp_path / "a", tiny(snapshot_every=2))
    before = {file: file.stat().st_mtime_ns for file in path.rglob("*")}
    done = events[-1]
    assert isinstance(done, Done)
    assert resumed(path).outcome == done.result
    assert {file: file.stat().st_mtime_ns for file in path.rglob("*")} == before
    whole = Path(shutil.copytree(path, tmp_path / "whole"))
    shutil.rmtree(path / "trainings" / "training")
    resumed(path)
    assert_same_training(path, whole)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("trainings/training/updates.csv", "", "updates.csv is damaged"),
        ("trainings/training/result.safetensors", "x", "result.safetensors is damaged"),
        ("scores.json", "[]", "is not of this version"),
        ("experiment_config.json", None, "does not say which workflow it trains"),
    ],
)
def test_damage_is_one_sentence(name: str, content: str | None, said: str, tmp_path: Path) -> None:
    path, _ = trained(tmp_path)
    noted = json.loads((path / "experiment_config.json").read_text())
    del noted["plan"]
    (path / name).write_text(json.dumps(noted) if content is None else content)
    if content is None:
        (path / "manifest.json").unlink()
    refused(said, resumed, path)
