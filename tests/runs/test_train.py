import json
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.runs.toy import csv_rows, tiny, without_costs
from workflow_rl.agents.policy import load_policy
from workflow_rl.config import ExperimentConfig
from workflow_rl.evaluation.selection import (
    DRAWN_ORDERS,
    SELECTION_SEED,
    Candidate,
    Ranking,
    orders_played,
)
from workflow_rl.runs.pool import Done, Event, Rows, Started
from workflow_rl.runs.store import RunDirectory
from workflow_rl.runs.train import train_events, train_workflow, workflow_named
from workflow_rl.workflow.orders import TYPES

CONFIG = tiny()


def trained(directory: RunDirectory, order: int | None) -> list[Event | Candidate | Ranking]:
    with closing(directory):
        return list(train_events(directory, order))


def test_one_training_tells_how_it_goes_and_leaves_its_tables_policy_and_summary(
    tmp_path: Path,
) -> None:
    directory = RunDirectory.create(tmp_path, CONFIG, [], "train")
    events = trained(directory, 7)
    assert [type(event) for event in events] == [Started, *[Rows] * 3, Done]
    last = events[-1]
    assert isinstance(last, Done)
    rows = csv_rows(directory.path / "training_log.csv")
    assert [(row["training"], row["update"]) for row in rows] == [
        ("training", str(update)) for update in (1, 2, 3)
    ]
    summary = json.loads((directory.path / "summary.json").read_text())
    assert summary == {"rules": "main", "workflow": TYPES.format(7)} | asdict(last.result)
    # It is the training that nobody writes down.
    policy, result = train_workflow(TYPES.format(7), CONFIG)
    assert result == last.result
    kept = load_policy(directory.path)
    assert kept.description == policy.description
    assert all((kept.weights[k] == policy.weights[k]).all() for k in policy.weights)


def test_where_policies_are_kept_the_best_by_games_of_their_own_is_handed_over(
    tmp_path: Path,
) -> None:
    config = tiny(snapshot_every=1)
    directory = RunDirectory.create(tmp_path, config, [], "train")
    events = trained(directory, 7)
    ranking = next(event for event in events if isinstance(event, Ranking))
    assert len({event.path for event in events if isinstance(event, Candidate)}) == 4
    best = load_policy(ranking.candidates[0].path)
    handed_over = load_policy(directory.path)
    assert all((handed_over.weights[k] == best.weights[k]).all() for k in best.weights)
    assert SELECTION_SEED > 2**40  # no games that a user evaluates by


def test_a_training_too_short_to_keep_a_policy_hands_over_the_best_it_met(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path, tiny(snapshot_every=20), [], "train")
    assert isinstance(trained(directory, 7)[-1], Done)
    assert load_policy(directory.path).order == TYPES[7]


def test_a_policy_of_any_order_is_selected_under_several_of_them(tmp_path: Path) -> None:
    config = tiny(snapshot_every=3, units="any", order_encoding="ranks")
    directory = RunDirectory.create(tmp_path, config, [], "train")
    played = [event for event in trained(directory, None) if isinstance(event, Candidate)]
    assert {event.path.stem for event in played} == {"recommended", "update_000003"}
    assert {event.episodes % DRAWN_ORDERS for event in played} == {0}  # as many under each
    orders = orders_played(load_policy(directory.path))
    assert len({str(order) for order in orders}) == DRAWN_ORDERS
    assert {len(order) for order in orders if order is not None} == {5, 12}


def test_a_training_goes_on_in_its_directory(tmp_path: Path) -> None:
    whole = RunDirectory.create(tmp_path / "whole", CONFIG, [], "train")
    expected = trained(whole, None)[-1]
    directory = RunDirectory.create(tmp_path / "ours", CONFIG, [], "train")
    with closing(directory):
        for event in train_events(directory, None):
            if isinstance(event, Rows):
                break
    last = trained(RunDirectory.open(directory.path, "train"), None)[-1]
    assert isinstance(last, Done)
    assert isinstance(expected, Done)
    assert last.result == expected.result
    ours, theirs = (csv_rows(d.path / "training_log.csv") for d in (directory, whole))
    assert without_costs(ours) == without_costs(theirs)
    assert json.loads((directory.path / "summary.json").read_text())["workflow"] is None


@pytest.mark.parametrize(
    ("config", "order", "name"),
    [
        (CONFIG, 7, TYPES.format(7)),
        (CONFIG, None, "all orders"),
        (tiny(units="any"), None, "all orders of any units"),
        (tiny(units="hosts"), None, "all orders of hosts"),
        (tiny(units={"jewels": ["Op_Server0"]}), None, "all orders of jewels, rest"),
        (tiny(conditioned=False), None, "no workflow"),
    ],
)
def test_what_is_trained_is_named(config: ExperimentConfig, order: int | None, name: str) -> None:
    assert workflow_named(config, order) == name
