import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.cli.run import Capture, refusal
from tests.parity.fixtures import MAIN_BLINE, MAIN_SLEEP, TRACES, corrupted
from workflow_rl.cli import main
from workflow_rl.parity.trace import load_trace

FILE_LINE = re.compile(
    r"(\S+): red (\w+), rules (\w+): (\d+) episodes, (\d+) steps, 33 fields a step, "
    r"(\d+) mismatches"
)


@pytest.mark.parametrize("rules", ["main", "competition"])
def test_recordings_of_the_rule_set_agree(rules: str, capsys: Capture) -> None:
    assert main(["parity", str(TRACES / rules), "--rules", rules]) == 0
    *files, compared, last = capsys.readouterr().out.splitlines()
    paths = sorted((TRACES / rules).glob("*.npz"))
    traces = [load_trace(path) for path in paths]
    matches = [FILE_LINE.fullmatch(line) for line in files]
    assert [match.groups() if match else None for match in matches] == [
        (t.name, t.red_agent, rules, str(t.episodes), str(t.lengths.sum()), "0") for t in traces
    ]
    episodes, steps = (sum(t.episodes for t in traces), sum(t.lengths.sum() for t in traces))
    assert compared.startswith("compared: obs, ")
    assert compared.count(",") == 32
    assert last == f"parity: {episodes} episodes, {steps} steps, 0 mismatches"


def test_a_mismatch_is_reported_and_fails(tmp_path: Path, capsys: Capture) -> None:
    trace = load_trace(MAIN_BLINE)
    right = trace.arrays["reward"][2, 7]
    wrong = corrupted(trace, "reward", (2, 7)).arrays
    np.savez_compressed(tmp_path / "wrong.npz", **wrong)  # type: ignore[arg-type]
    shutil.copy(MAIN_SLEEP, tmp_path / "good.npz")
    assert main(["parity", str(tmp_path)]) == 1
    *files, divergence, _, last = capsys.readouterr().out.splitlines()
    counts = [match[6] for match in map(FILE_LINE.fullmatch, files) if match]
    assert counts == ["0", "1"]
    assert divergence == (
        "  first divergence: file wrong.npz, episode 2, step 7, field reward, "
        f"expected {wrong['reward'][2, 7]}, got {right}"
    )
    steps = trace.lengths.sum() + 100
    assert last == f"parity: {trace.episodes + 1} episodes, {steps} steps, 1 mismatches"


def test_a_broken_file_is_refused_before_any_replay(tmp_path: Path, capsys: Capture) -> None:
    shutil.copy(MAIN_SLEEP, tmp_path / "a.npz")
    (tmp_path / "b.npz").write_bytes(MAIN_SLEEP.read_bytes()[:9000])
    assert "b.npz is not a " in refusal(["parity", str(tmp_path)], capsys, tmp_path)


def test_a_folder_of_networks_ends_with_a_table(tmp_path: Path, capsys: Capture) -> None:
    for name in ("crash_01", "net_08"):  # net_08 was recorded under the rules competition
        shutil.copytree(TRACES.parent / "networks" / name, tmp_path / name)
    assert main(["parity", str(tmp_path)]) == 0
    *_, head, first, second, _, total, count = capsys.readouterr().out.splitlines()
    assert head.split() == ["network", "hosts", "episodes", "steps", "mismatches"]
    rows = [line.split() for line in (first, second)]
    assert [(row[0], row[-1]) for row in rows] == [("crash_01", "0"), ("net_08", "0")]
    episodes, steps = (sum(int(row[column]) for row in rows) for column in (2, 3))
    assert total == f"parity: {episodes} episodes, {steps} steps, 0 mismatches"
    assert count == "networks: 2"


def test_a_mismatch_on_one_of_several_networks_fails(tmp_path: Path, capsys: Capture) -> None:
    for name in ("crash_01", "net_08"):
        shutil.copytree(TRACES.parent / "networks" / name, tmp_path / name)
    scenario = tmp_path / "net_08" / "scenario.yaml"
    text = scenario.read_text(encoding="utf-8")
    assert ": Low" in text
    scenario.write_text(text.replace(": Low", ": High"), encoding="utf-8")
    assert main(["parity", str(tmp_path)]) == 1
    assert "first divergence: file " in capsys.readouterr().out


def test_live_play_refuses_what_cyborg_cannot_play(tmp_path: Path, capsys: Capture) -> None:
    assert "CybORG cannot play office" in refusal(
        ["parity", "--live", "--network", "office"], capsys, tmp_path
    )
    assert "--network only goes with --live" in refusal(
        ["parity", str(MAIN_SLEEP), "--network", "office"], capsys, tmp_path
    )
