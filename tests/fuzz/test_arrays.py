"""What compiled code is handed: a crash of the interpreter fails a test, not the tests.

`make fuzz` makes 4,000 calls, and 4,000 others with every index checked; `make test` makes 400.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CALLS = 8 * int(os.environ.get("FUZZ", "50"))


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("seed", "checked"), [(0, "0"), pytest.param(1, "1", marks=pytest.mark.slow)]
)
def test_arrays_that_do_not_fit_are_refused_in_a_sentence(seed: int, checked: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.arrays", str(CALLS), str(seed)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "NUMBA_BOUNDSCHECK": checked},
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    outcomes = json.loads(ended.stdout)
    assert sum(sum(found.values()) for found in outcomes.values()) == CALLS
    assert sum(found.get("refused", 0) for found in outcomes.values()) > CALLS / 2
