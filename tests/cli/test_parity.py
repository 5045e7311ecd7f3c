import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.agents.policies import new_policy, policy_file
from tests.cli.run import COMMAND, Capture, Patch, refusal, run
from tests.envs.installed import installed_rules
from tests.parity.fixtures import MAIN_BLINE, MAIN_SLEEP, TRACES, corrupted
from workflow_rl.cli import main
from workflow_rl.config import ObservationName
from workflow_rl.parity import replay
from workflow_rl.parity.trace import load_trace

FILE_LINE = re.compile(
    r"(\S+): red (\w+), rules (\w+): (\d+) episodes, (\d+) steps, 30 fields a step, "
    r"(\d+) mismatches"
)
LAST_LINE = re.compile(r"parity: (\d+) episodes, (\d+) steps, (\d+) mismatches")
DIVERGENCE = re.compile(
    r"  first divergence: file (\S+), episode (\d+), step (\d+), field (\w+), "
    r"expected (.+), got (.+)"
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
    assert compared.count(",") == 29
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
    match = DIVERGENCE.fullmatch(divergence)
    assert match
    expected = wrong["reward"][2, 7]
    assert match.groups() == ("wrong.npz", "2", "7", "reward", str(expected), str(right))
    match = LAST_LINE.fullmatch(last)
    assert match
    assert match.groups() == (str(trace.episodes + 1), str(trace.lengths.sum() + 100), "1")


def test_a_broken_file_is_refused_before_any_replay(tmp_path: Path, capsys: Capture) -> None:
    shutil.copy(MAIN_SLEEP, tmp_path / "a.npz")
    (tmp_path / "b.npz").write_bytes(MAIN_SLEEP.read_bytes()[:9000])
    assert "b.npz is not a " in refusal(["parity", str(tmp_path)], capsys, tmp_path)


def some_policy(path: Path, observation: ObservationName) -> Path:
    """Writes a policy that has learnt nothing."""
    return policy_file(path, new_policy(observation, order=0, conditioned=True))


@pytest.mark.cyborg
def test_live_play_reports_like_recordings_do(tmp_path: Path) -> None:
    rules = installed_rules()
    seen: tuple[ObservationName, ...] = ("challenge", "cardiff")
    blues = [some_policy(tmp_path / f"{name}.safetensors", name) for name in seen]
    result = run(
        *("parity", "--live", "--episodes", "2", "--episode-length", "20", "30"),
        *("--rules", rules, "--red-agent", "meander", "--blue", "busy", *map(str, blues)),
    )
    assert result.returncode == 0
    assert "gym" not in result.stderr.casefold()  # neither its notice nor its warnings
    *shown, compared, last = result.stdout.splitlines()
    lines = [line for line in shown if not re.fullmatch(r"episodes \d+/12: \S+", line)]
    matches = [FILE_LINE.fullmatch(line) for line in lines]
    assert [match.groups() if match else None for match in matches] == [
        (f"meander-{blue}-{length}", "meander", rules, "2", str(2 * length), "0")
        for blue in ("busy", "challenge.safetensors", "cardiff.safetensors")
        for length in (20, 30)
    ]
    assert compared.startswith("compared: obs, ")
    assert last == "parity: 12 episodes, 300 steps, 0 mismatches"


@pytest.mark.cyborg
def test_a_mismatch_in_live_play_is_reported_and_fails(capsys: Capture, monkeypatch: Patch) -> None:
    truth = replay.FIELDS["malware"]
    monkeypatch.setitem(replay.FIELDS, "malware", lambda state: truth(state) * 0)
    flags = ["--live", "--episodes", "3", "--red-agent", "bline", "--rules", installed_rules()]
    assert main(["parity", *flags, "--blue", "random"]) == 1
    line, divergence, _, last = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"bline-random-100: .* [1-9]\d* mismatches", line)
    assert "field malware, " in divergence
    assert re.fullmatch(r"parity: 3 episodes, \d+ steps, [1-9]\d* mismatches", last)


def test_ctrl_c_ends_a_replay_without_a_traceback(tmp_path: Path) -> None:
    for number in range(80):
        os.symlink(MAIN_BLINE, tmp_path / f"{number:02}.npz")
    with subprocess.Popen(
        [*COMMAND, "parity", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline().startswith(b"00.npz: ")
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read().decode()
        errors = process.stderr.read().decode()
    assert process.returncode == 130
    assert errors.endswith("workflow-rl: interrupted\n")
    assert "Traceback" not in errors
    assert "parity:" not in rest
