import platform
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from workflow_rl.provenance import git_revision, package_versions


def test_a_library_that_is_missing_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workflow_rl.provenance._PACKAGES", ("numpy", "no-such-library"))
    assert package_versions() == {"numpy": version("numpy"), "no-such-library": "not installed"}


def test_the_revision_is_a_commit_a_version_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    revision = git_revision()
    assert revision is None or re.fullmatch(r"(v\d\S*|[0-9a-f]{40})(-dirty)?", revision)
    monkeypatch.setenv("PATH", "")
    assert git_revision() is None


def test_a_run_of_the_tests_says_in_one_line_what_it_ran_on() -> None:
    flags = ("--collect-only", "-p", "no:cacheprovider", __file__)
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *flags], capture_output=True, text=True, check=True
    )
    [line] = [one for one in result.stdout.splitlines() if one.startswith("on ")]
    assert line.startswith(f"on {platform.platform()}: Python {platform.python_version()}, ")
    assert all(f"{name} {version(name)}" in line for name in ("numba", "torch", "numpy"))


def test_the_classifiers_name_the_versions_that_were_tried() -> None:
    file = Path(__file__).resolve().parent.parent / "pyproject.toml"
    listed = tomllib.loads(file.read_text(encoding="utf-8"))["project"]["classifiers"]
    named = {one.rsplit(" ", 1)[1] for one in listed if re.search(r":: 3\.\d+$", one)}
    assert named == {"3.11", "3.12", "3.13"}
    assert ".".join(platform.python_version_tuple()[:2]) in named
