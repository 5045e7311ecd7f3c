"""The tools that the tests themselves rely on."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import skipped_line
from tests.interpreted import Ints, Record
from tests.mutation.changes import all_modules, changed_lines, changes_of
from tests.mutation.trial import selection

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


def test_the_tests_that_count_coverage_interpreted_are_there() -> None:
    commands = subprocess.run(
        ["make", "--dry-run", "coverage"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    (interpreted,) = (line for line in commands.splitlines() if "NUMBA_DISABLE_JIT" in line)
    named = re.findall(r"tests/[\w/.]+", interpreted)
    assert {"tests/sim", "tests/ppo/test_loss.py"} <= set(named)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_what_was_skipped_is_one_line_with_the_command_that_would_run_it() -> None:
    reasons = ["Skipped: CybORG is not installed: see docs/cyborg.md"] * 2
    line = skipped_line(
        [*reasons, "Skipped: there is no Chromium here", "Skipped: needs two cores"]
    )
    assert line.startswith("skipped: 2 without CybORG (git clone ")
    assert "; 1 without Chromium (apt-get install chromium && make test); " in line
    assert line.endswith("; 1 (needs two cores)")
    assert "\n" not in line


def test_a_mutant_meets_the_tests_of_its_package_and_a_rule_the_recordings() -> None:
    assert {"sim/reward", "scenario/tables", "workflow/compliance"} <= set(all_modules())
    for module in all_modules():
        tests = selection(module)
        own = f"tests/{module.replace('/', '/test_')}.py"
        is_game = module.split("/")[0] in ("scenario", "sim")
        assert own in tests or not (ROOT / own).exists()
        assert ("::test_the_recordings" in tests[-1]) == is_game
        assert ("tests/sim/test_turn.py" in tests) == is_game


def test_the_changes_of_a_module_are_listed_and_a_share_of_them_is_always_the_same() -> None:
    pytest.importorskip("cosmic_ray")
    changes, some = (list(changes_of("sim/reward", share)) for share in (1.0, 0.3))
    assert len({change.name for change in changes}) == len(changes) > 50
    assert some == [change for change in changes if change in some]
    assert 0.1 * len(changes) < len(some) < 0.5 * len(changes)
    assert not any("Is" in change.operator for change in changes)
    assert "  ->  " in some[0].lines()
    diff = ["--- a", "+++ b", "@@ -1 +1 @@", " same", "-    x = 1", "+    x = 2"]
    assert changed_lines(iter(diff)) == "x = 1  ->  x = 2"
