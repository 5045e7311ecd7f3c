"""What made a result: the revision of these sources and the versions of the libraries."""

import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

_PACKAGES: Final = ("workflow-rl", "numpy", "numba", "gymnasium", "torch", "scipy")


def package_versions() -> dict[str, str]:
    """Returns the installed version of what results depend on."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def git_revision() -> str | None:
    """Returns the revision of these sources; None outside a git checkout."""
    here = Path(__file__).resolve().parent
    try:
        result = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40"],
            cwd=here,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return result.stdout.strip() or None
