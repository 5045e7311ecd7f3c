import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import workflow_rl
from tests.cli.run import complaint, run
from workflow_rl.cli import build_parser, main


def commands(
    parser: argparse.ArgumentParser, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Yields every command and what there is below it."""
    yield path, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from commands(below, (*path, name))


COMMANDS = dict(commands(build_parser()))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*path, "--help"])
    assert stop.value.code == 0
    out, err = capsys.readouterr()
    assert out.startswith(" ".join(("usage: workflow-rl", *path)))
    assert err == ""


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_flag_names_its_default(path: tuple[str, ...]) -> None:
    shown = "".join(COMMANDS[path].format_help().split())  # long defaults break anywhere
    for action in COMMANDS[path]._actions:
        if action.option_strings and action.default not in (None, argparse.SUPPRESS):
            assert "".join(f"(default: {action.default})".split()) in shown


@pytest.mark.parametrize(
    "path",
    [("report",), ("replay",), ("watch",), ("play",), ("parity",), ("bench", "sim")],
    ids=" ".join,
)
def test_a_command_shows_examples_of_itself(path: tuple[str, ...]) -> None:
    _, _, examples = COMMANDS[path].format_help().partition("examples:\n")
    command = " ".join(("workflow-rl", *path))
    lines = [line.strip() for line in examples.splitlines()]
    assert lines
    for line in lines:
        assert command in line
        words = line.partition(command)[2].split()
        build_parser().parse_args([*path, *words])


def test_the_overview_names_every_command() -> None:
    shown = build_parser().format_help()
    for path in COMMANDS:
        if len(path) == 1:
            assert re.search(rf"^ +{path[0]}\b", shown, re.MULTILINE)


def test_the_version_is_that_of_the_package() -> None:
    result = run("--version")
    assert result.returncode == 0
    assert result.stdout == f"workflow-rl {workflow_rl.__version__}\n"


def test_help_works_as_a_process() -> None:
    result = run("--help")
    assert result.returncode == 0
    assert "usage: workflow-rl" in result.stdout


@pytest.mark.parametrize("args", [[], ["bench"]])
def test_a_command_is_needed(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(args)
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "required" in err


def test_without_a_command_the_process_fails() -> None:
    result = run()
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("args", [["defend"], ["play", "--speed", "3"], ["bench", "disk"]])
def test_unknown_words_are_refused(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(args)
    assert stop.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["play"], ["bench", "sim"]])
@pytest.mark.parametrize(
    ("flag", "value", "allowed"),
    [
        ("--red-agent", "nobody", "bline, meander, sleep, mixed"),
        ("--rules", "house", "main, competition"),
        ("--observation", "all", "challenge, cardiff, memory, belief, truth"),
    ],
)
def test_an_unknown_choice_is_answered_with_the_known_ones(
    command: list[str], flag: str, value: str, allowed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, flag, value]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert repr(value) in err
    assert err.endswith(f"choose one of {allowed}\n")
    assert err.count("\n") == 1


def test_a_mistake_is_one_line_of_a_process() -> None:
    assert "--seed" in complaint(run("play", "--seed", "-1"))


def test_help_tells_the_exit_codes() -> None:
    told = " ".join(build_parser().format_help().split())
    for code in ("0 done", "1 the work failed", "2 the request was wrong", "130 interrupted"):
        assert code in told


@pytest.mark.parametrize(
    "args",
    [
        ("evaluate", "x" * 5_000),
        ("replay", "x" * 5_000),
        ("report", "x" * 5_000),
        ("watch", "x" * 5_000),
        ("select", "x" * 5_000),
        ("search", "--resume", "x" * 5_000),
        ("search", "--checkpoint-dir", "x" * 5_000),
        ("evaluate", "sleep", "--output", "x" * 5_000),
        ("report", ".", "--output", "x" * 5_000),
        ("report", ".", "--landscape", "x" * 5_000),
        ("parity", "x" * 5_000),
        ("bench", "sim", "--json", "x" * 5_000),
    ],
    ids=lambda args: " ".join(args[:2]).strip("x"),
)
def test_a_path_too_long_is_a_wrong_request(
    args: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("workflow-rl: error: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("search", "--hidden", ","), "write values with commas between, not ','"),
        (("search", "--hidden", "64,,32"), "write values with commas between, not '64,,32'"),
        (("evaluate", "bline=A,meander=B,junk"), "does not name a policy per red agent"),
        (("evaluate", "bline=A,meander=B,bline=C"), "does not name a policy per red agent"),
    ],
)
def test_nonsense_is_not_accepted(
    args: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(args)
    except SystemExit as stop:  # of the parser
        code = int(stop.code or 0)
    assert code == 2
    assert reason in capsys.readouterr().err


def test_an_empty_folder_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert f"{tmp_path} is not a run directory" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
