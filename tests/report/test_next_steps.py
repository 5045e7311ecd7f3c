import shlex
from pathlib import Path

from tests.report.runs import POLICY, trial, write_run
from workflow_rl.cli import build_parser
from workflow_rl.report.report import next_steps
from workflow_rl.report.rundata import read_run


def test_before_the_end_there_is_nothing_to_do_yet(tmp_path: Path) -> None:
    assert next_steps(read_run(write_run(tmp_path / "run", [trial(0, 5, -30.0)]))) == []


def test_every_command_is_one_that_can_be_given(tmp_path: Path) -> None:
    run = write_run(tmp_path / "my run", [trial(0, 5, -30.0)], policy=POLICY)
    *commands, python = (text for _, text in next_steps(read_run(run)))
    parser = build_parser()
    for text in commands:
        for line in text.splitlines():
            program, *words = shlex.split(line)
            assert program == "workflow-rl"
            parser.parse_args(words)
    assert str(run) in python
    compile(python, "python", "exec")


def test_the_python_runs(real_run: Path) -> None:
    _, python = next_steps(read_run(real_run))[-1]
    names: dict[str, object] = {}
    exec(python, names)
    assert isinstance(names["reward"], float)
