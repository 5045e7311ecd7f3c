import importlib.util
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import WIDE, refusal, run, terminal
from workflow_rl.envs.cyborg_import import load_cyborg
from workflow_rl.errors import MissingDependencyError

# What was measured, what was printed of it, what was written, and where.
Outcome = tuple[list[str], str, dict[str, Any], Path]
ALL = "single,apart,serial,sync,async,gym-pipes,gym-shared,sb3"
SHORT = ("--repeats", "2", "--seconds", "0.01", "--red-agent", "meander")


@pytest.fixture(
    scope="module",
    params=["single,sync,gym-pipes", pytest.param(ALL, marks=pytest.mark.slow)],
    ids=["some", "all"],
)
def tiny_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("bench")
    flags = ("--envs", "3", "--process-limit", "2", "--contenders", request.param)
    result = run("bench", "vector", *SHORT, *flags, cwd=folder)
    assert result.returncode == 0, result.stderr
    (path,) = (path for path in folder.rglob("*") if path.is_file())
    contenders = request.param.split(",")
    return contenders, result.stdout, json.loads(path.read_text()), path.relative_to(folder)


def test_every_contender_is_printed_and_written(tiny_run: Outcome) -> None:
    expected, out, figures, path = tiny_run
    assert f"figures: {path}" in out
    assert re.fullmatch(r"logs/bench_vector_\d{8}_\d{6}\.json", path.as_posix())
    assert (figures["benchmark"], figures["red_agent"]) == ("vector", "meander")
    assert (figures["repeat_count"], figures["seconds_per_repeat"]) == (2, 0.01)
    if importlib.util.find_spec("stable_baselines3") is None:
        expected = [name for name in expected if name != "sb3"]
    zero = [row for row in figures["rows"] if row["work"] == "zero"]
    assert [row["contender"] for row in zero] == expected
    for row in figures["rows"]:
        assert row["steps_per_second"] > 0
        assert row["steps_played"] >= 2 * row["num_envs"]
        assert len(row["repeats"]) == 2
        assert 0 < row["cpu_cores"] < 2 * (os.cpu_count() or 1)
        assert row["cpu_microseconds_per_step"] > 0
        assert row["start_seconds"] > 0
        assert row["memory_bytes"] > 10_000_000
        size, processes = row["num_envs"], row["processes"]
        assert re.search(
            rf"{row['contender']} +│ +{size} │ +{processes} │ +[\d,]+ │ +\d\.\d\d │ ", out
        )
    ours = {"sync": 1 + min(3, len(os.sched_getaffinity(0))), "gym-pipes": 4, "serial": 1}
    for row in zero:
        assert row["processes"] == ours.get(row["contender"], row["processes"])
    assert "zero: sync / gym-pipes, 3 envs" in [ratio["name"] for ratio in figures["ratios"]]
    assert all(ratio["name"] in out for ratio in figures["ratios"])


def test_cyborg_is_measured_where_it_can_be_imported(tiny_run: Outcome) -> None:
    asked, out, figures, _ = tiny_run
    found = {row["contender"] for row in figures["rows"] if row["work"] == "cyborg"}
    try:
        load_cyborg()
    except MissingDependencyError:
        assert not found
        assert len(figures["skipped"]) == 1
        assert "not measured: CybORG is not installed" in out
        return
    assert found == {"single", "apart", "serial", "sync", "async"} & set(asked)
    assert "cyborg: sync / " in out
    assert "pipes, 3 envs of cyborg: more than 2 processes (--process-limit)" in out


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--envs", "0"),
        ("--envs", "25,"),
        ("--envs", "many"),
        ("--work", "zero,hard"),
        ("--contenders", "sync,ray"),
        ("--process-limit", "-1"),
        ("--workers", "0"),
        ("--repeats", "0"),
        ("--seconds", "61"),
        ("--red-agent", "mixed"),
    ],
)
def test_a_wrong_flag_is_one_sentence_and_writes_nothing(
    flag: str,
    value: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    refusal(["bench", "vector", "--json", "figures.json", flag, value], capsys, tmp_path)


def test_a_contender_that_dies_is_one_error_with_its_last_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n\n\nclass Deadly:\n    def find_spec(self, name, *args):\n"
        "        if name == 'CybORG' and 'vector_host' in sys.argv[0]:\n"
        "            os.write(2, b'no more')\n            os._exit(9)\n\n\n"
        "sys.meta_path.insert(0, Deadly())\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setitem(WIDE, "PYTHONPATH", path)
    result = run("bench", "vector", *SHORT, "--work", "cyborg", cwd=tmp_path)
    assert result.returncode == 1
    assert "single with 1 envs of cyborg ended by itself" in result.stderr
    assert result.stderr.endswith("no more\n")
    assert "Traceback" not in result.stderr


def test_ctrl_c_ends_a_measurement_without_a_traceback(tmp_path: Path) -> None:
    args = ("--work", "zero", "--contenders", "sync,gym-pipes", "--seconds", "60")
    with terminal("bench", "vector", *args, cwd=tmp_path) as screen:
        screen.wait_for("measuring")
        screen.interrupt()
        assert screen.code() == 130
        assert "workflow-rl: interrupted" in screen.shown
        assert "Traceback" not in screen.shown
    assert not list(tmp_path.iterdir())
