"""Help: the basic flags of a command on one screen, every flag of it by `--help-all`."""

import argparse
import re
import shlex
from pathlib import Path

import pytest

import workflow_rl
from tests.cli.run import Capture, Patch
from workflow_rl.cli import build_parser, main

ROOT = Path(workflow_rl.__file__).parent.parent
COMMANDS = build_parser().commands
PARSERS = {"": build_parser(), **COMMANDS}


@pytest.fixture(autouse=True)
def narrow(monkeypatch: Patch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def flags_in(text: str) -> list[str]:
    return re.findall(r"^  (?:-h, )?(--[a-z-]+)", text, re.MULTILINE)


@pytest.mark.parametrize("name", PARSERS)
def test_help_is_one_screen(name: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*name.split(), "--help"])
    out, err = capsys.readouterr()
    assert (stop.value.code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"usage: workflow-rl {name}".rstrip())
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80
    assert len(flags_in(out)) <= 15
    assert "default: None" not in out
    if name:
        assert out.count(f"  workflow-rl {name}") in (1, 2)  # examples


@pytest.mark.parametrize("name", COMMANDS)
def test_all_help_has_every_flag_with_its_default_and_examples(name: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        main([name, "--help-all"])
    out = capsys.readouterr().out
    assert stop.value.code == 0
    assert max(map(len, out.splitlines())) <= 80
    parser = PARSERS[name]
    named = [action.option_strings[0] for action in parser.flags if action.option_strings]
    assert sorted(flags_in(out)) == sorted([*named, "--help", "--help-all"])
    words = " ".join(out.split())
    for action in parser.flags:
        told = " ".join((action.help or "").split()) % vars(action)
        unsaid = action.default in (None, argparse.SUPPRESS) or action.nargs == 0
        if action.option_strings and not unsaid:
            told += f" (default: {action.default})"
        assert told in words  # whole: no word is broken at the end of a line
        assert told.count("(default: ") <= 1
        assert "None)" not in told
    for example in parser.examples:
        assert f"  {example}\n" in out
    for flag in set(re.findall(r"--[a-z-]+", out)) - {"--help", "--help-all"}:
        assert flag in parser._option_string_actions, flag


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_commands(name: str) -> None:
    assert PARSERS[name].examples
    for example in PARSERS[name].examples:
        words = shlex.split(example[example.index("workflow-rl") :])
        assert build_parser().parse_args(words[1:]).command == name


def test_every_flag_in_the_documents_is_a_flag_of_its_command() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "Makefile"]
    found = 0
    for page in pages:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        if page.name == "CHANGELOG.md":
            continue
        for command, rest in re.findall(
            r"(?:workflow-rl ([a-z-]+)|parallel_train_workflow_rl\.py)([^`\n;|]*)", text
        ):
            known = PARSERS.get(command or "search")
            if known is None:
                continue
            for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest):
                found += 1
                assert flag in known._option_string_actions, f"{page.name}: {command} {flag}"
    assert found > 100
