"""Finding CybORG, by a stand-in for it; nothing here needs the real one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.refused import refused
from workflow_rl import CyborgEnv
from workflow_rl.envs.cyborg_import import load_cyborg
from workflow_rl.errors import InvalidInputError, MissingDependencyError

ROOT = Path(__file__).resolve().parent.parent.parent
STAND_IN = {
    "__init__.py": "from CybORG.CybORG import CybORG",
    "CybORG.py": "class CybORG: pass",
    "Agents/__init__.py": "B_lineAgent = GreenAgent = RedMeanderAgent = SleepAgent = object",
    "Agents/Wrappers/__init__.py": "BlueTableWrapper = ChallengeWrapper = EnumActionWrapper = int",
    "Shared/__init__.py": "",
    "Shared/Actions/__init__.py": "DecoySSHD = DiscoverNetworkServices = "
    "DiscoverRemoteSystems = ExploitRemoteService = Impact = PrivilegeEscalate = Sleep = object",
    "Shared/Scenarios/Scenario2.yaml": "",
}


def clone(folder: Path, **changed: str) -> Path:
    """Makes a folder that looks like a clone of CAGE Challenge 2; returns the package in it."""
    package = folder / "CybORG" / "CybORG"
    for name, text in STAND_IN.items():
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(changed.get(path.stem, text))
    return package


def load(*paths: str | Path, cwd: Path, python_path: Path | None = None, variable: str = "") -> str:
    """Loads CybORG from each path in turn, in one new process; '-' is no path."""
    code = (
        "import sys\n"
        "from workflow_rl.envs.cyborg_import import load_cyborg\n"
        "from workflow_rl.errors import InvalidInputError\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        print(load_cyborg(None if path == '-' else path).folder)\n"
        "    except InvalidInputError as error:\n"
        "        print(type(error).__name__, error)\n"
    )
    known = os.pathsep.join(str(path) for path in (ROOT, python_path) if path)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, paths)],
        env=os.environ | {"PYTHONPATH": known, "CYBORG_PATH": variable},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stderr == ""
    return result.stdout


def test_a_path_may_name_the_clone_its_folder_or_the_package(tmp_path: Path) -> None:
    package = clone(tmp_path)
    found = load(tmp_path, tmp_path / "CybORG", package, "CybORG", ".", cwd=tmp_path)
    assert found.splitlines() == [str(package)] * 5


def test_without_a_path_the_variable_counts_and_then_what_python_finds(tmp_path: Path) -> None:
    named, installed = clone(tmp_path / "named"), clone(tmp_path / "installed")
    parent = installed.parent
    assert load("-", cwd=tmp_path, python_path=parent) == f"{installed}\n"
    variable = str(tmp_path / "named")
    assert load("-", cwd=tmp_path, python_path=parent, variable=variable) == f"{named}\n"
    assert load("-", cwd=tmp_path / "installed") == f"{installed}\n"  # a clone, not a package


def test_one_process_uses_one_cyborg(tmp_path: Path) -> None:
    first, second = clone(tmp_path / "first"), clone(tmp_path / "second")
    ours, refusal = load(tmp_path / "first", tmp_path / "second", cwd=tmp_path).splitlines()
    assert ours == str(first)
    assert refusal.startswith(f"InvalidInputError CybORG is already imported from {first}, ")
    assert str(second) in refusal


def test_a_module_that_cyborg_lacks_is_named(tmp_path: Path) -> None:
    clone(tmp_path, CybORG="import a_module_it_needs")
    refusal = load(tmp_path, cwd=tmp_path)
    assert refusal.startswith("MissingDependencyError CybORG needs the module 'a_module_it_needs'")


@pytest.mark.parametrize("missing", ["Shared/Scenarios/Scenario2.yaml", "Agents/__init__.py"])
def test_another_cyborg_is_refused(missing: str, tmp_path: Path) -> None:
    package = clone(tmp_path)
    (package / missing).unlink()
    words = f"{package} is not the CybORG of CAGE Challenge 2"
    for refusal in load(tmp_path, "-", cwd=tmp_path, python_path=package.parent).splitlines():
        assert refusal.startswith(f"InvalidInputError {words}")


def test_a_path_without_cyborg_is_one_sentence(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        refused(f"there is no CybORG in {path}: give the ", load_cyborg, path)


def test_without_cyborg_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CYBORG_PATH", raising=False)
    monkeypatch.setitem(sys.modules, "CybORG", None)
    with pytest.raises(MissingDependencyError) as caught:
        CyborgEnv()
    sentence = str(caught.value)
    assert sentence.startswith("CybORG is not installed: get CAGE Challenge 2 ")
    assert "docs/cyborg.md" in sentence
    assert (ROOT / "docs" / "cyborg.md").is_file()
    assert isinstance(caught.value, InvalidInputError)


def test_wrong_arguments_are_refused_before_cyborg_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "CybORG", None)
    refused("ansi", CyborgEnv, render_mode="human")
    refused("main, competition", CyborgEnv, rules="old")
    refused("seed", CyborgEnv, seed=-1)
