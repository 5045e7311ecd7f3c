from pathlib import Path

import pytest

from tests.report.runs import searched


@pytest.fixture(scope="session")
def real_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the real search; nobody changes it."""
    return searched(tmp_path_factory.mktemp("logs"))
