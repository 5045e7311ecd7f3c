import importlib.util
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import refusal, run, terminal
from workflow_rl.bench.sim import BATCH_SIZES, MINI_CAGE_SIZES
from workflow_rl.cli import main
from workflow_rl.sim.batch import max_threads

CONTENDERS = {"CybORG": "CybORG", "mini_CAGE": "mini_CAGE"}  # row -> module


Outcome = tuple[str, dict[str, Any], Path]  # what was printed, what was written, and where


def shortest(subject: str, folder: Path, *more: str) -> Outcome:
    """Runs a benchmark as short as it can be."""
    flags = ["--repeats", "1", "--seconds", "0.01", "--rules", "competition", *more]
    result = run("bench", subject, "--red-agent", "meander", *flags, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 1
    return result.stdout, json.loads(files[0].read_text()), files[0].relative_to(folder)


@pytest.fixture(scope="module")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return shortest("sim", tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def tiny_training(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return shortest("train", tmp_path_factory.mktemp("bench"), "--settle", "2")


def test_the_table_names_the_game(tiny_run: Outcome) -> None:
    out, figures, path = tiny_run
    assert "red meander, rules competition; " in out
    assert f"{os.cpu_count()} cores" in out
    assert f"figures: {path}" in out
    assert re.fullmatch(r"logs/bench_sim_\d{8}_\d{6}\.json", path.as_posix())
    assert (figures["rules"], figures["red_agent"]) == ("competition", "meander")
    assert (figures["repeat_count"], figures["seconds_per_repeat"]) == (1, 0.01)


def test_every_row_is_printed_and_written(tiny_run: Outcome) -> None:
    out, figures, _ = tiny_run
    rows = {(row["name"], row["num_envs"], row["threads"]) for row in figures["rows"]}
    expected = {("simulator", n, threads) for n in BATCH_SIZES for threads in {1, max_threads()}}
    expected |= {("memory copy", n, 1) for n in BATCH_SIZES}
    expected |= {("Cage2VectorEnv.step", 200, 1), ("Cage2Env.step", 1, 1)}
    measured = {name for name, _, _ in rows}
    if "CybORG" in measured:
        expected |= {("CybORG", 1, 1)}
    if "mini_CAGE" in measured:
        expected |= {("mini_CAGE", n, 1) for n in MINI_CAGE_SIZES}
    assert rows == expected
    assert len(figures["rows"]) == len(rows)
    for row in figures["rows"]:
        assert row["steps_per_second"] > 0
        assert len(row["repeats"]) == 1
        threads = f", {row['threads']} threads" if row["threads"] > 1 else ""
        envs = f"{row['num_envs']:,} env" + ("s" if row["num_envs"] > 1 else "")
        line = re.search(rf"{re.escape(row['name'])}, {envs}{threads} .*", out)
        assert line
        assert f" {row['steps_per_second']:,.0f} " in line[0]


def test_what_cannot_be_imported_is_named(tiny_run: Outcome) -> None:
    out, figures, _ = tiny_run
    measured = {row["name"] for row in figures["rows"]}
    for row, module in CONTENDERS.items():
        reasons = [reason for reason in figures["skipped"] if row in reason]
        if row in measured:
            assert not reasons
        else:
            assert len(reasons) == 1
            assert f"not measured: {reasons[0]}" in out
        if importlib.util.find_spec(module) is None:
            assert row not in measured


def test_ratios_memory_and_start_up_are_there(
    tiny_run: Outcome,
) -> None:
    out, figures, _ = tiny_run
    assert [ratio["name"] for ratio in figures["ratios"]][-1] == "time per step, 20,000 / 200 envs"
    for ratio in figures["ratios"]:
        assert set(ratio) == {"name", "value"}
        line = re.search(rf"{re.escape(ratio['name'])} .*", out)
        assert line
        assert f"{ratio['value']:,.2f}x" in line[0]
    assert not re.search(r"\b(aim|met|missed)\b", out)  # what is measured, not what was hoped
    assert 0 < figures["bytes_per_env"] < 10_000
    assert figures["cold_start_seconds"] > figures["warm_reset_seconds"] > 0
    assert f"{figures['bytes_per_env']} bytes per environment" in out
    assert figures["machine"]["cores"] == os.cpu_count()


def test_training_is_measured_beside_the_others(tiny_training: Outcome) -> None:
    out, figures, path = tiny_training
    assert "red meander, rules competition; " in out
    assert f"figures: {path}" in out
    assert re.fullmatch(r"logs/bench_train_\d{8}_\d{6}\.json", path.as_posix())
    assert (figures["rules"], figures["red_agent"]) == ("competition", "meander")
    assert (figures["num_envs"], figures["transitions_per_update"]) == (200, 20_000)
    assert (figures["repeat_count"], figures["settle_updates"]) == (1, 2)
    for row in figures["rows"]:
        line = re.search(rf"{re.escape(row['name'])} .*", out)
        assert line
        assert f" {row['per_second']:,.0f} " in line[0]
    measured = {row["name"] for row in figures["rows"]}
    installed = importlib.util.find_spec("stable_baselines3") is not None
    assert ("Stable-Baselines3 PPO" in measured) == installed
    assert ("CybORG, one process" in measured) == (importlib.util.find_spec("CybORG") is not None)
    for reason in figures["skipped"]:
        assert f"not measured: {reason}" in out


def test_training_shows_phases_arithmetic_and_ratios(tiny_training: Outcome) -> None:
    out, figures, _ = tiny_training
    for stage in figures["stages"]:
        line = re.search(rf"{stage['name']} \({stage['updates']} updates\) .*", out)
        assert line
        assert line[0].count("%") == len(stage["phase_seconds"]) == 4
        assert f"{stage['distinct_inputs']:,}" in line[0]
        assert f"update, {stage['name']}: {stage['update_flop'] / 1e9:.2f} GFLOP" in out
    assert f"sgemm 1024^3: {figures['sgemm_flops'] / 1e9:,.1f} GFLOP/s on one thread" in out
    assert [stage["updates"] for stage in figures["stages"]] == [0, 2]
    for ratio in figures["ratios"]:
        line = re.search(rf"{re.escape(ratio['name'])} .*", out)
        assert line
        assert f"{ratio['value']:,.2f}x" in line[0]


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
    [(["sim", "--seconds", "60"], "measuring"), (["train", "--settle", "100000"], "settling")],
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
