"""The short form of `make chaos`."""

from pathlib import Path

import pytest

from tests.chaos.faults import KINDS
from tests.chaos.points import SMALL, survives


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_on_a_failing_disk_goes_on_as_if_nothing_had_happened(
    small_run: tuple[int, Path], kind: str, tmp_path: Path
) -> None:
    operations, run = small_run
    assert operations > 100
    step = operations // 5
    for at in range(1 + KINDS.index(kind) * step // 3, operations + 1, step):
        survives(SMALL, at, kind, run, tmp_path / str(at))


@pytest.mark.slow
def test_a_search_that_dies_at_any_of_its_operations_goes_on_exactly(
    small_run: tuple[int, Path], tmp_path: Path
) -> None:
    operations, run = small_run
    for at in range(1, operations + 1):
        survives(SMALL, at, "crash", run, tmp_path / str(at))
