"""What the documents show works as shown."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_SNIPPET = re.compile(r"```python\n(.*?)```", re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)#]+)[^)]*\)")


def snippets() -> list[tuple[str, str]]:
    return [
        (document.name, code)
        for document in DOCUMENTS
        for code in _SNIPPET.findall(document.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(("document", "code"), snippets())
def test_python_snippets_run(document: str, code: str) -> None:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, f"{document}: {result.stderr}"


def test_the_readme_shows_a_snippet() -> None:
    assert any(document == "README.md" for document, _ in snippets())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_to_files_lead_somewhere(document: Path) -> None:
    for target in _LINK.findall(document.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
