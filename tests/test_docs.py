"""The documents name code and tests; these tests keep the names, and the tables, true."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "docs" / "rules.md"
DIFFERENCES = ROOT / "docs" / "differences.md"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

CODE = re.compile(r"(?P<file>[\w/]+\.py): (?P<names>\w+(?:, \w+)*)")
TEST = re.compile(r"(?P<file>tests/[\w/]+\.py)::(?P<names>test_\w+)")


def quoted(text: str) -> list[str]:
    """What stands between single backticks."""
    return re.findall(r"`([^`\n]+)`", text)


def defined(path: Path) -> set[str]:
    """The functions, classes and constants of a module."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def broken_references(document: Path) -> list[str]:
    """The references to code and tests in a document that lead nowhere."""
    broken = []
    for reference in quoted(document.read_text(encoding="utf-8")):
        match = TEST.fullmatch(reference) or CODE.fullmatch(reference)
        if match is None:
            is_reference = "::" in reference or ".py: " in reference
            broken += [reference] if is_reference else []
            continue
        folder = ROOT if match["file"].startswith("tests/") else ROOT / "workflow_rl"
        path = folder / match["file"]
        if not path.is_file() or not set(match["names"].split(", ")) <= defined(path):
            broken.append(reference)
    return broken


def rules_of(document: Path) -> list[str]:
    """The rules of a document: its list items, each up to the next blank line or item."""
    lists = [
        part for part in document.read_text(encoding="utf-8").split("\n\n") if part[:2] == "- "
    ]
    return [item for part in lists for item in re.split(r"\n(?=- )", part)]


@pytest.mark.parametrize("document", [RULES, DIFFERENCES], ids=lambda path: path.name)
def test_every_rule_names_its_code_and_a_test_that_exist(document: Path) -> None:
    assert broken_references(document) == []
    rules = rules_of(document)
    assert len(rules) > 30
    unnamed = [
        rule.splitlines()[0]
        for rule in rules
        if not any(CODE.fullmatch(reference) for reference in quoted(rule))
        or not any(TEST.fullmatch(reference) for reference in quoted(rule))
    ]
    assert unnamed == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_is_whole_and_its_links_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert re.findall(r"^(?:<{7} .*|={7}|>{7} .*)$", text, re.MULTILINE) == []  # of a merge
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    files = [link for link in links if link and "://" not in link]
    assert [link for link in files if not (document.parent / link).exists()] == []
