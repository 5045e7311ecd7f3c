"""The tools that the tests themselves rely on."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.interpreted import Ints, Record

ROOT = Path(__file__).resolve().parent.parent


def test_records_and_arrays_hold_what_compiled_code_would_store() -> None:
    array = np.zeros(2, [("small", np.int8), ("sets", np.uint16, 3)])
    record = Record(array[1])
    record.small = 200  # more than fits
    record.sets[2] |= 1 << 9
    assert array["small"].tolist() == [0, 200 - 256]
    assert array["sets"][1].tolist() == [0, 0, 512]
    host = np.array([9], np.int8).view(Ints)[0]
    assert (1 << host, type(host)) == (512, int)


def test_the_rules_are_the_same_interpreted() -> None:
    result = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("--hypothesis-profile=interpreted", "tests/sim/test_red_bline.py"),
        ],
        cwd=ROOT,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout
