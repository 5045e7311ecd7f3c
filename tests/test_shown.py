"""What the documents show works as shown: their Python, their output, their commands."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.run import TOY_SEARCH, TOY_TRAIN, run_here
from tests.runs.toy import the_run

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = ROOT / "docs" / "tutorials"
FIRST_SEARCH = TUTORIALS / "first-search.md"
UNITS = TUTORIALS / "units.md"
NEED_A_RUN = {FIRST_SEARCH, UNITS}  # or a file: followed as a whole
NEED_CYBORG = {TUTORIALS / "real-cyborg.md"}
SMALL = {  # flags that make the commands of a tutorial small
    "search": TOY_SEARCH,
    "train": TOY_TRAIN,
    "evaluate": ("--episodes", "2"),
}
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def blocks(document: Path, kind: str) -> list[str]:
    """The blocks of a kind, such as python, in a document."""
    text = document.read_text(encoding="utf-8")
    return [code for name, code in _BLOCK.findall(text) if name == kind]


def commands(document: Path) -> Iterator[list[str]]:
    """The commands of ours that a document shows, as words after the program's name."""
    for block in blocks(document, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if "workflow-rl" in words:
                yield words[words.index("workflow-rl") + 1 :]


def run_python(document: Path, folder: Path, kind: str = "python") -> None:
    """Runs a document's Python from top to bottom; what it says is printed must be."""
    code = "\n".join(blocks(document, kind))
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        check=False,
    )
    assert result.returncode == 0, f"{document.name}: {result.stderr}"
    shown = "".join(blocks(document, "text")).splitlines()
    if shown and blocks(document, "python"):
        missing = [line for line in shown if line not in result.stdout.splitlines()]
        assert not missing, f"{document.name} shows what is not printed: {missing}"


def test_rllib_trains_as_its_tutorial_tells(tmp_path: Path) -> None:
    pytest.importorskip("ray.rllib", reason="needs RLlib", exc_type=ImportError)
    run_python(TUTORIALS / "libraries.md", tmp_path, "py")


def with_python() -> list[object]:
    return [
        pytest.param(
            document,
            id=document.relative_to(ROOT).as_posix(),
            marks=[pytest.mark.cyborg] if document in NEED_CYBORG else [],
        )
        for document in DOCUMENTS
        if blocks(document, "python") and document not in NEED_A_RUN
    ]


@pytest.mark.parametrize("document", with_python())
def test_python_runs_and_prints_what_is_shown(document: Path, tmp_path: Path) -> None:
    run_python(document, tmp_path)


def follow(document: Path, folder: Path) -> dict[str, str]:
    """Runs a tutorial's commands, made small, then its Python; returns what each command printed.

    The first command makes the run that the others name.
    """
    printed: dict[str, str] = {}
    run = "RUN"
    for words in commands(document):
        named = (run if word == "RUN" else word for word in words)
        out = run_here(*named, *SMALL.get(words[0], ()), cwd=folder)
        run = run if printed else str(the_run(folder / "logs"))
        printed[words[0]] = printed.get(words[0], "") + out
    run_python(document, folder)
    return printed


def test_the_first_search_goes_as_its_tutorial_tells(tmp_path: Path) -> None:
    assert follow(FIRST_SEARCH, tmp_path).keys() == {"search", "report", "replay", "evaluate"}


def test_one_s_own_units_are_searched_as_their_tutorial_tells(tmp_path: Path) -> None:
    [file] = blocks(UNITS, "toml")
    (tmp_path / "units.toml").write_text(file)
    printed = follow(UNITS, tmp_path)
    assert printed.keys() == {"search", "train", "evaluate", "playbook"}
    [shown] = blocks(UNITS, "console")
    assert set(shown.splitlines()) <= set(printed["search"].splitlines())
    assert "playbook.md" in printed["playbook"]
