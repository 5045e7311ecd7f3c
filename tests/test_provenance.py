import re
from importlib.metadata import version

import pytest

from workflow_rl.provenance import git_revision, package_versions


def test_the_versions_are_those_that_are_installed() -> None:
    versions = package_versions()
    assert versions["numpy"] == version("numpy")
    assert set(versions) >= {"workflow-rl", "numba", "gymnasium", "torch", "scipy"}


def test_a_library_that_is_missing_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workflow_rl.provenance._PACKAGES", ("numpy", "no-such-library"))
    assert package_versions() == {"numpy": version("numpy"), "no-such-library": "not installed"}


def test_the_revision_is_a_commit_a_version_or_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    revision = git_revision()
    assert revision is None or re.fullmatch(r"(v\d\S*|[0-9a-f]{40})(-dirty)?", revision)
    monkeypatch.setenv("PATH", "")
    assert git_revision() is None
