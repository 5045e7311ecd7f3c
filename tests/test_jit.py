import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest

import workflow_rl
from tests.refused import refused
from workflow_rl import jit

PACKAGE = Path(workflow_rl.__file__).parent
COMPILED = sorted(
    path.relative_to(PACKAGE).as_posix()
    for folder in {"scenario", "sim", *jit._COMPILED_FOLDERS}
    for path in (PACKAGE / folder).rglob("*.py")
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package's sources."""
    copy = tmp_path / "workflow_rl"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def test_the_fingerprint_changes_with_every_source_of_a_rule(package: Path) -> None:
    assert jit.fingerprint(package) == jit.fingerprint(PACKAGE)
    seen = {jit.fingerprint(package)}
    sources = [*COMPILED, "jit.py"]
    for source in sources:
        (package / source).write_text((package / source).read_text() + "\n# changed\n")
        seen.add(jit.fingerprint(package))
    (package / "sim" / "new_rule.py").write_text("")
    seen.add(jit.fingerprint(package))
    (package / "sim" / "new_rule.py").rename(package / "scenario" / "new_rule.py")
    seen.add(jit.fingerprint(package))
    assert len(seen) == 1 + len(sources) + 2


def test_the_fingerprint_changes_with_numbas_options(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {jit.fingerprint(PACKAGE)}
    for option, value in (("OPT", 0), ("BOUNDSCHECK", 1), ("LOOP_VECTORIZE", 0)):
        monkeypatch.setattr(numba.core.config, option, value)
        seen.add(jit.fingerprint(PACKAGE))
    assert len(seen) == 4


def test_the_cache_lies_under_xdg_cache_home_or_else_the_home_folder_by_fingerprint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for xdg, folder in ((str(tmp_path / "xdg"), "xdg"), ("", ".cache")):
        monkeypatch.setenv("XDG_CACHE_HOME", xdg)
        expected = tmp_path / folder / "workflow_rl" / jit.fingerprint(PACKAGE)
        assert jit.cache_folder.__wrapped__() == expected


def test_kernels_unused_for_a_month_are_dropped(tmp_path: Path) -> None:
    now = time.time()
    for name, days in (("old", 31), ("recent", 29), ("mine", 400)):
        (tmp_path / name / "deep").mkdir(parents=True)
        os.utime(tmp_path / name, (now, now - days * 24 * 3600))
    jit.drop_old(tmp_path, keep="mine")
    assert {path.name for path in tmp_path.iterdir()} == {"recent", "mine"}
    assert (tmp_path / "mine").stat().st_mtime >= now - 5  # used, so kept for another month
    jit.drop_old(tmp_path / "nothing here", keep="mine")


def test_a_home_that_cannot_be_written_does_not_stop_the_import(tmp_path: Path) -> None:
    blocked = tmp_path / "a_file"
    blocked.write_text("")
    environment = os.environ | {"XDG_CACHE_HOME": str(blocked)}
    command = [sys.executable, "-c", "import workflow_rl.sim.batch; print('imported')"]
    done = subprocess.run(
        command, env=environment, cwd=PACKAGE.parent, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "imported\n", "")


@pytest.mark.parametrize("given", ["0", "-1", "", "abc", "1.5", "4097", "9" * 5_000])
def test_a_number_of_threads_that_numba_cannot_use_is_one_sentence(given: str) -> None:
    refused("NUMBA_NUM_THREADS must be a whole number from 1 to 4096", jit.check_threads, given)
    for fits in ("1", " 2 ", "4096"):
        jit.check_threads(fits)


def compile_something() -> None:
    """Compiles a function that was never compiled before."""

    def double(x: int) -> int:
        return 2 * x

    numba.njit(double)(3)


@pytest.mark.compiled
def test_a_long_compilation_is_announced_once_on_standard_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    jit._say_compiling.cache_clear()
    monkeypatch.setattr(jit, "_MESSAGE_AFTER_SECONDS", 0.0)
    for _ in range(2):
        with jit.compile_message():
            compile_something()
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("workflow-rl: compiling the simulator")
    assert err.count("\n") == 1


def test_where_nothing_is_compiled_nothing_is_announced(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    jit._say_compiling.cache_clear()
    monkeypatch.setattr(jit, "_MESSAGE_AFTER_SECONDS", 0.0)
    with jit.compile_message():
        time.sleep(0.2)  # as long as anything takes that is not compiling
    assert capfd.readouterr() == ("", "")


UPDATE = """
from dataclasses import replace
from tests.runs.toy import tiny
from workflow_rl.config import PPO_FORMS
from workflow_rl.runs.training import job_of
from workflow_rl.train.loop import Training
record, _ = Training(job_of(replace(tiny(), ppo=PPO_FORMS["modern"]), None)).update()
print(record.stats)
"""


@pytest.mark.slow
def test_an_update_is_the_same_compiled_and_loaded(tmp_path: Path) -> None:
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    compiled, loaded = (
        subprocess.run(
            [sys.executable, "-c", UPDATE], env=env, check=True, capture_output=True, text=True
        ).stdout
        for _ in range(2)
    )
    assert compiled == loaded
