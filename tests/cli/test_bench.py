import importlib.util
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.cli.run import refusal, run, terminal
from workflow_rl.bench import sim, train
from workflow_rl.bench.measure import describe_machine
from workflow_rl.cli import main
from workflow_rl.cli.bench import print_sim, print_train
from workflow_rl.config import GameConfig

GAME = GameConfig(red_agent="meander", rules="competition")
Shown = tuple[str, dict[str, Any]]  # what is printed of a report, and what is written of it


@pytest.fixture(scope="module")
def simulated() -> Shown:
    """All that `bench sim` shows; but for start-up, which takes long, it is measured."""
    rows, skipped = sim.measure_rows(GAME, repeats=1, seconds=0.01)
    report = sim.SimReport(
        config=GAME,
        machine=describe_machine(),
        load=3,
        rows=rows,
        skipped=skipped,
        ratios=sim.ratios_of(rows),
        bytes_per_env=456,
        cold_start_seconds=23.45,
        warm_reset_seconds=0.678,
        settings={"repeat_count": 1, "seconds_per_repeat": 0.01},
    )
    out = io.StringIO()
    print_sim(Console(file=out, width=200), report)
    return out.getvalue(), json.loads(json.dumps(report.as_json()))


@pytest.fixture(scope="module")
def trained() -> Shown:
    """All that `bench train` shows, of few environments."""
    report = train.run(GAME, repeats=1, seconds=0.01, settle=2, num_envs=4)
    out = io.StringIO()
    print_train(Console(file=out, width=200), report)
    return out.getvalue(), json.loads(json.dumps(report.as_json()))


@pytest.mark.parametrize("shown", ["simulated", "trained"])
def test_the_game_and_the_machine_are_named(shown: str, request: pytest.FixtureRequest) -> None:
    out, figures = request.getfixturevalue(shown)
    told = " ".join(out.split())  # a title goes over several lines
    assert f"red meander, rules competition; {os.cpu_count()} cores" in told
    assert "; medians of 1" in told
    assert ("; 3 busy processes beside it" in told) == (shown == "simulated")
    assert (figures["rules"], figures["red_agent"]) == ("competition", "meander")
    assert figures["machine"]["cores"] == os.cpu_count()
    assert figures["repeat_count"] == 1


@pytest.mark.parametrize("shown", ["simulated", "trained"])
def test_ratios_and_what_is_missing_are_printed(shown: str, request: pytest.FixtureRequest) -> None:
    out, figures = request.getfixturevalue(shown)
    for ratio in figures["ratios"]:
        assert set(ratio) == {"name", "value"}
        line = re.search(rf"{re.escape(ratio['name'])} .*", out)
        assert line
        assert f"{ratio['value']:,.2f}x" in line[0]
    for reason in figures["skipped"]:
        assert f"not measured: {reason}" in out
    assert not re.search(r"\b(aim|met|missed)\b", out)  # what is measured, not what was hoped


def test_every_simulator_is_a_row(simulated: Shown) -> None:
    out, figures = simulated
    for row in figures["rows"]:
        threads = f", {row['threads']} threads" if row["threads"] > 1 else ""
        envs = f"{row['num_envs']:,} env" + ("s" if row["num_envs"] > 1 else "")
        line = re.search(rf"{re.escape(row['name'])}, {envs}{threads} .*", out)
        assert line
        assert f" {row['steps_per_second']:,.0f} " in line[0]
    assert (
        "memory: 456 bytes per environment; first step without a compile cache: 23.4 s; "
        "import and reset with it: 0.68 s"
    ) in out


def test_every_trainer_is_a_row(trained: Shown) -> None:
    out, figures = trained
    for row in figures["rows"]:
        line = re.search(rf"{re.escape(row['name'])} .*", out)
        assert line
        assert f" {row['per_second']:,.0f} " in line[0]
    measured = {row["name"] for row in figures["rows"]}
    installed = importlib.util.find_spec("stable_baselines3") is not None
    for name in ("Stable-Baselines3 PPO", "Stable-Baselines3 PPO, modern"):
        assert (name in measured) == installed
    assert ("CybORG, one process" in measured) == (importlib.util.find_spec("CybORG") is not None)


def test_training_shows_phases_and_arithmetic(trained: Shown) -> None:
    out, figures = trained
    for stage in figures["stages"]:
        line = re.search(rf"{stage['name']} \({stage['updates']} updates\) .*", out)
        assert line
        assert line[0].count("%") == len(stage["phase_seconds"]) == 4
        assert f"{stage['distinct_inputs']:,}" in line[0]
        assert f"update, {stage['name']}: {stage['update_flop'] / 1e9:.2f} GFLOP" in out
    assert f"sgemm 1024^3: {figures['sgemm_flops'] / 1e9:,.1f} GFLOP/s on one thread" in out
    assert [stage["updates"] for stage in figures["stages"]] == [0, 2, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "flags"), [("sim", ()), ("train", ("--settle", "2"))], ids=["sim", "train"]
)
def test_the_command_measures_shows_and_writes(
    subject: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    flags += ("--repeats", "1", "--seconds", "0.01", "--red-agent", "meander")
    result = run("bench", subject, *flags, "--rules", "competition", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert "red meander, rules competition; " in result.stdout
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    name = path.relative_to(tmp_path).as_posix()
    assert re.fullmatch(rf"logs/bench_{subject}_\d{{8}}_\d{{6}}\.json", name)
    assert f"figures: {name}" in result.stdout
    figures = json.loads(path.read_text())
    assert (figures["benchmark"], figures["repeat_count"]) == (subject, 1)
    assert len(figures["rows"]) > 5
    if subject == "sim":
        assert figures["seconds_per_repeat"] == 0.01
        assert 0 < figures["bytes_per_env"] < 10_000
        assert figures["cold_start_seconds"] > figures["warm_reset_seconds"] > 0
    else:
        assert (figures["num_envs"], figures["transitions_per_update"]) == (200, 20_000)
        assert figures["settle_updates"] == 2


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--repeats", "0"),
        ("--repeats", "1001"),
        ("--seconds", "0"),
        ("--seconds", "nan"),
        ("--seconds", "61"),
        ("--load", "-1"),
        ("--red-agent", "mixed"),
        ("--rules", "house"),
        ("--settle", "-1"),
    ],
)
@pytest.mark.parametrize("subject", ["sim", "train"])
def test_a_wrong_flag_is_one_sentence_and_writes_nothing(
    subject: str,
    flag: str,
    value: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if subject == "sim" and flag == "--settle":
        pytest.skip("a flag of train alone")
    monkeypatch.chdir(tmp_path)
    refusal(["bench", subject, "--json", "figures.json", flag, value], capsys, tmp_path)


@pytest.mark.parametrize("subject", ["sim", "train", "vector", "scale", "soak"])
def test_help_offers_no_attacker_that_is_refused(
    subject: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["bench", subject, "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "who attacks: bline, meander, sleep (default: bline)" in told


def test_figures_do_not_go_into_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "sim", "--json", str(tmp_path)]) == 2
    assert f"{tmp_path} is a directory" in capsys.readouterr().err


@pytest.mark.parametrize("args", [["--repeats", "many"], ["--seconds", ""], ["--fast"]])
def test_flags_of_another_kind_are_refused(
    args: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["bench", "sim", *args])
    assert stop.value.code == 2
    assert args[0] in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (["sim", "--seconds", "60"], "measuring"),
        pytest.param(["train", "--settle", "100000"], "settling", marks=pytest.mark.slow),
    ],
    ids=["sim", "train"],
)
def test_ctrl_c_ends_a_measurement_without_a_traceback(
    args: list[str], shown: str, tmp_path: Path
) -> None:
    with terminal("bench", *args, cwd=tmp_path) as screen:
        screen.wait_for(shown)
        screen.interrupt()
        assert screen.code() == 130
        assert "workflow-rl: interrupted" in screen.shown
        assert "Traceback" not in screen.shown
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("subject", ["sim", "train", "vector"])
def test_a_path_without_cyborg_is_one_sentence(
    subject: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", subject, "--cyborg-path", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "CybORG" in err
