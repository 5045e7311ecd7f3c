"""The program itself; closed, narrow and full streams never cost the result."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import TOY_SEARCH
from tests.runs.toy import the_run

COMMAND = f"{sys.executable} -m workflow_rl"
SEARCH = f"{COMMAND} search {' '.join(TOY_SEARCH)} --no-report --checkpoint-dir runs"


def shell(command: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=cwd,
        env=os.environ | more,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def is_whole(folder: Path) -> bool:
    return (the_run(folder / "runs") / "summary.json").exists()


def test_a_wrong_number_of_threads_is_said_before_anything_is_loaded(tmp_path: Path) -> None:
    done = shell(SEARCH, tmp_path, NUMBA_NUM_THREADS="-1")
    said = "NUMBA_NUM_THREADS must be a whole number from 1 to 4096, not '-1'"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"workflow-rl: error: the environment variable {said}\n"
    assert not list(tmp_path.iterdir())


def test_a_search_outlives_its_streams(tmp_path: Path) -> None:
    done = shell(f"{SEARCH} 0<&- >&- 2>&-", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert is_whole(tmp_path)


def test_a_search_outlives_its_reader(tmp_path: Path) -> None:
    done = shell(f"{SEARCH} | head -1", tmp_path)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr
    assert done.stdout.count("\n") == 1
    assert is_whole(tmp_path)


def test_narrow_encodings_show_what_they_can(tmp_path: Path) -> None:
    command = f"{COMMAND} evaluate sleep --episodes 2 --author $'Ren\\xe9' --output found"
    done = shell(command, tmp_path, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "score, the sum of the 9 means" in done.stdout
    assert " ? " in done.stdout  # the sign between a mean and its error
    assert "author: Ren?, " in (tmp_path / "found" / "evaluation.txt").read_text(encoding="utf-8")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output_is_said_after_the_work(tmp_path: Path) -> None:
    done = shell(f"{COMMAND} evaluate sleep --episodes 2 --output found > /dev/full", tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("error: standard output: No space left on device\n")
    assert (tmp_path / "found" / "evaluation.json").exists()


def test_a_removed_working_directory_is_one_sentence(tmp_path: Path) -> None:
    path = os.pathsep.join(filter(None, sys.path))
    (tmp_path / "gone").mkdir()
    done = shell(f"cd gone; rmdir ../gone; {COMMAND} search", tmp_path, PYTHONPATH=path)
    assert done.returncode == 2
    assert (
        done.stderr == "workflow-rl: error: the working directory was removed: go to another one\n"
    )


def test_too_little_memory_is_one_sentence(tmp_path: Path) -> None:
    done = shell(f"ulimit -v 6000000; {COMMAND} train --hidden 65536,65536,65536", tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("workflow-rl: error: memory has no room for ")
    assert "16 GiB more: fewer or smaller" in last
