"""The short form of `make chaos`."""

from pathlib import Path

import pytest

from tests.chaos.faults import KINDS
from tests.chaos.points import SERIAL, number_of_operations, survives


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    return number_of_operations(SERIAL, tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_on_a_failing_disk_goes_on_as_if_nothing_had_happened(
    whole: tuple[int, Path], kind: str, tmp_path: Path
) -> None:
    operations, run = whole
    assert operations > 100
    step = operations // 8
    for at in range(1 + KINDS.index(kind) * step // 3, operations + 1, step):
        survives(SERIAL, at, kind, run, tmp_path / str(at))
