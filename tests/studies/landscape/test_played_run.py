"""Landscapes by playing: interrupted anywhere they go on, and play nothing twice."""

import contextlib
from pathlib import Path

import pytest

from tests.agents.policies import new_policy, policy_file
from tests.runs.toy import the_run, tiny
from workflow_rl.errors import InvalidInputError
from workflow_rl.ordersearch.strategies import TriedOrder
from workflow_rl.studies.landscape import played_run
from workflow_rl.studies.landscape.played import Searches
from workflow_rl.studies.landscape.played_run import PlayedPlan, PlayedRun, is_played, open_played

CONFIG = tiny(seed=5, episode_length=3, require=("op_server > user > enterprise > op_host",))


class StopError(Exception):
    """Interrupts, as Ctrl-C would."""


@pytest.fixture
def policy(tmp_path: Path) -> str:
    return str(policy_file(tmp_path / "any.safetensors", new_policy(conditioned=True)))


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(played_run, "REPLAYED_STRATEGIES", ("random", "round-robin"))


def found(run: PlayedRun, stop_at: int = 10**9) -> tuple[dict[int, list[TriedOrder]], Searches]:
    """Plays all, and searches, unless that is stopped."""
    shown: list[int] = []

    def show(done: int) -> None:
        shown.append(done)
        if len(shown) == stop_at:
            raise StopError

    played = run.play(show)
    searches = run.search(1, show) if run.plan.sample is not None else {}
    return played, searches


@pytest.mark.parametrize("sample", [None, 4])
def test_a_landscape_interrupted_anywhere_goes_on_exactly(
    sample: int | None, policy: str, tmp_path: Path
) -> None:
    plan = PlayedPlan(policy, games=2, sample=sample, seeds=2)
    with open_played(CONFIG, plan, checkpoint_dir=tmp_path / "whole") as run:
        assert run.number == (10 if sample is None else 4)  # of five orders that are allowed
        whole = found(run)
    path, again = None, None
    for _ in range(9):
        with (
            contextlib.suppress(StopError),
            open_played(CONFIG, plan, checkpoint_dir=tmp_path / "ours", resume=path) as run,
        ):
            path = run.directory.path
            again = found(run, stop_at=2)
            break
    assert again == whole
    assert path is not None
    assert the_run(tmp_path / "ours") == path
    assert is_played(path)
    for name in ("played.jsonl", "searched.jsonl")[: 1 if sample is None else 2]:
        content = (the_run(tmp_path / "whole") / name).read_bytes()
        assert (path / name).read_bytes() == content
        assert len(content.splitlines()) == (run.number if name == "played.jsonl" else 2)


def test_more_searches_can_be_asked_for_later(policy: str, tmp_path: Path) -> None:
    plan = PlayedPlan(policy, games=2, sample=2)
    with open_played(CONFIG, plan, checkpoint_dir=tmp_path) as run:
        played, searches = found(run)
    with open_played(resume=run.directory.path) as run:
        assert found(run) == (played, searches)
        assert run.search(0, lambda done: None) == {}


@pytest.mark.parametrize("line", ["3", '{"workflow": "nobody"}', "{", '{"strategy": 1}'])
def test_damaged_lines_are_said_to_be_so(line: str, policy: str, tmp_path: Path) -> None:
    plan = PlayedPlan(policy, games=2, sample=2)
    with open_played(CONFIG, plan, checkpoint_dir=tmp_path) as run:
        for name in ("played.jsonl", "searched.jsonl"):
            (run.directory.path / name).write_text(f"{line}\n")
        with pytest.raises(InvalidInputError, match=r"played\.jsonl is damaged: remove it"):
            run.play(lambda done: None)
        with pytest.raises(InvalidInputError, match=r"searched\.jsonl is damaged: remove it"):
            run.search(1, lambda done: None)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"games": 1}, "--games must be a whole number from 2"),
        ({"seeds": 0}, "--seeds must be a whole number from 1"),
        ({"sample": 0}, "--sample must be a whole number from 1"),
        ({"sample": 6}, "--sample must be a whole number from 1 to 5"),
        ({"policy_sha256": "0"}, "is not the policy that the landscape began with"),
    ],
)
def test_what_cannot_be_played_is_refused_before_anything_is_written(
    plan: dict[str, object], said: str, policy: str, tmp_path: Path
) -> None:
    with (
        pytest.raises(InvalidInputError, match=said),
        open_played(CONFIG, PlayedPlan(policy, **plan), checkpoint_dir=tmp_path / "logs"),  # type: ignore[arg-type]
    ):
        pass
    assert not (tmp_path / "logs").exists()
