"""Whatever is asked for wrongly is answered in one sentence, with code 2, and writes nothing."""

import shlex
import sys
from pathlib import Path

import pytest

from tests.agents.policies import new_policy, policy_file
from tests.cli.run import Capture, Patch, refusal
from tests.parity.fixtures import MAIN_BLINE
from tests.playbook.runs import finished
from workflow_rl.cli import main

BESIDE = Path(__file__).parent.parent / "studies" / "data" / "bline.json"
TYPES = "'op_server > enterprise > op_host > user > defender'"
PLAYED = "landscape --policy universal --games 4 --max-steps 10"
LONG = "x" * 5_000
DEEP = "a/" * 2_000


COMBINED = {
    "search --n-envs 0": "n_envs must be a whole number from 1",
    "search --max-episodes 6 --min-episodes 7": "min_updates must be a whole number from 1 to 6",
    "search --update-steps 10": "update_steps must be a whole number from 200",
    "search --max-episodes 1 --update-steps 12000": "this would never finish an episode",
    "search --preset original": "one policy without a workflow: use `workflow-rl train`",
    "landscape --preset original": "one policy without a workflow: choose others",
    f"train --workflow {TYPES} --preset original": "train one policy without a workflow",
    "train --vector pipes --vector-mode async": "the vector mode async goes with",
    "train --vector-mode async --action-space cardiff": "goes with the vector mode sync only",
    "train --backend cyborg --cyborg-path .": "CybORG",
    "compare-updates --presets fast": "unknown preset 'fast'",
    "compare-updates --seeds 0": "--seeds must be a whole number from 1",
    "compare-updates --parallel-trainings 0": "--parallel-trainings must be a whole number from 1",
    "landscape --replays -1": "--replays must be a whole number from 0",
}
EXECUTION = {
    f"{command} {flags}": said
    for command in ("search", "landscape", "compare-updates")
    for flags, said in {
        "--executor cloud": "unknown executor 'cloud': choose one of serial, processes, ray",
        "--ray-address auto": "--ray-address only goes with --executor ray",
        "--resume nowhere": "nowhere is not a run directory",
        "--checkpoint-dir /proc/nowhere": "no run directory can be made in /proc/nowhere",
    }.items()
} | {
    "search --executor serial --parallel-workflows 2": "serial trains one workflow at a time",
    "search --time-limit 9": "a time limit needs trainings outside of this process",
    "train --resume nowhere": "nowhere is not a run directory",
}
ORDERS = {
    "train --workflow 'user > defender'": "user > defender is not a workflow: name each of",
    "compare-updates --workflow 'user > user'": "is not a workflow",
    "search --units any": "units any have no orders to name",
    **{f"{c} --units bad.toml": "bad.toml: 'b' must be" for c in ("search", "train", "landscape")},
    "search --require 'user > admin'": "'user > admin' requires nothing",
    "search --require 'user>op_host' --require 'op_host>user'": "is required contradicts itself: ",
    "train --units units.toml --workflow 'jewels > laptops'": "name each of jewels, laptops, rest",
    "train --units units.toml --require 'rest>jewels' --workflow jewels,rest,laptops": (
        "has jewels before rest, but rest > jewels is required"
    ),
    "train --units any --order-encoding onehot": "with the units any choose",
    "train --follow shielded": "needs masked actions: choose the form of PPO modern",
    "train --follow shielded --ppo modern --action-space cardiff": "choose the action space all or",
    "landscape --units hosts": "at most 5,040 of them, not 479,001,600",
    "search --units hosts --strategy exhaustive": "at most 5,040 orders",
    "evaluate greedy --units hosts": "units say what a workflow names",
    "evaluate sleep --units any --workflow x": "units any have no orders",
    "replay any --workflow 'user first'": "is not a workflow",
    "replay greedy --units hosts": "--units says what --workflow names",
}
PLAYING = {
    "landscape --games 5": "--games goes with --policy",
    f"{PLAYED} --n-envs 3": "with --policy nothing is trained: leave out --n-envs",
    f"{PLAYED} --preset hybrid --executor ray": "leave out --preset, --executor",
    f"{PLAYED} --units hosts": "play a --sample of them",
    f"{PLAYED} --sample 2 --seeds 2": "--seeds goes with all orders",
    f"{PLAYED} --sample 2 --beside {BESIDE}": "--beside goes with all orders",
    f"{PLAYED} --beside {BESIDE} --units subnets": "a landscape of other orders",
    f"{PLAYED} --beside list.json": "this is not a landscape of this version",
    "landscape --policy nowhere": "comes with the package: best, robust, universal do",
    "landscape --policy best": "cannot compare orders: the policy universal does",
    "evaluate bline=A,meander=B,bline=C": "does not name a policy per red agent",
    "evaluate sleep --output file": "nothing can be written to file",
    "evaluate file": "damaged or not a policy file",
    "evaluate truth --backend cyborg": "the observation 'truth' is the simulator's",
    "evaluate bline=table,meander=memory": "the two policies see different things",
    "train --red-agent given": "'given' does what it is told: name another for a training of Blue",
    "evaluate sleep --red-agent bline=1,given=1": "given is part of no mixture",
    "select nowhere": "holds no saved policies",
    "select nowhere --red-agent nobody": "bline, meander, sleep",
    "select nowhere --last -1": "from 0",
    "replay table --steps 5000": "steps of a replay",
    "replay table --episode 3": "goes with a recording",
    "replay any": "follows any workflow: say which one",
    "replay .": "there is no file policies/recommended.safetensors",
    "replay nowhere.npz": "no file",
    f"replay {MAIN_BLINE} --episode 999": "--episode",
    f"replay {MAIN_BLINE} --seed 7": "--seed goes with a policy",
    "parity": "give DIR, a folder of recordings, or --live",
    "parity x --live": "give either DIR or --live, not both",
    "parity x --episodes 3": "--episodes only goes with --live",
    f"parity {MAIN_BLINE} --rules official": "unknown rule set 'official'",
    "parity --live --episodes 0": "--episodes must be a whole number from 1 ",
    "parity --live --episode-length 0": "--episode-length must be a whole number from 1 ",
    "parity --live --red-agent mixed": "live play takes the red agents one by one: say all",
    "parity --live --blue x": "unknown Blue 'x': give random, busy, a policy file or a run",
    "parity --live --cyborg-path /nowhere": "there is no CybORG in /nowhere",
}
RUNS = (
    {
        "report nowhere": "no run directory",
        "report exp --landscape nowhere.json": "no file nowhere.json",
        "report exp --output exp/trials.json/report.html": "trials.json",
        "report empty": "empty is not a run directory",
        "watch nowhere": "nowhere",
        "watch exp --every 0": "--every must be a number above 0",
        "playbook": "name the directory of a finished run",
        "playbook exp --from foreign.json": "a run goes with writing one",
        "playbook --from foreign.json --output x": "--output goes with writing one",
        "playbook --from nowhere.json": "there is no file nowhere.json",
        "search --config plan.toml": "plan.toml: plan has no setting 'speed'",
        "train --config plan.toml": "plan.toml: plan has no setting 'speed'",
        f"evaluate sleep --output {DEEP}": "must be a path of at most 3,000 bytes",
        "export nowhere": "there is no file nowhere",
    }
    | {f"{command} {LONG}": "" for command in ("evaluate", "replay", "report", "watch", "select")}
    | {
        f"{command} {LONG}": ""
        for command in ("search --resume", "search --checkpoint-dir", "search --config", "parity")
    }
    | {
        f"{command} --config nowhere.toml": "there is no file nowhere.toml"
        for command in ("search", "train", "landscape", "compare-updates")
    }
    | {f"{command} --output {LONG}": "" for command in ("evaluate sleep", "report exp")}
)
CASES = COMBINED | EXECUTION | ORDERS | PLAYING | RUNS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a few files of each kind; no mistake changes it."""
    tmp_path = tmp_path_factory.mktemp("mistakes")
    (tmp_path / "units.toml").write_text('jewels = ["Op_Server0"]\nlaptops = ["User1"]\n')
    (tmp_path / "bad.toml").write_text('a = ["User1"]\nb = "User2"\n')
    (tmp_path / "file").write_text("no policy")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "foreign.json").write_text('{"type": "playbook", "spec_version": "cacao-2.0"}')
    (tmp_path / "plan.toml").write_text("[plan]\nspeed = 3")
    (tmp_path / "empty").mkdir()
    finished(tmp_path / "exp")
    policy_file(tmp_path / "table", new_policy())
    policy_file(tmp_path / "memory", new_policy("memory"))
    policy_file(tmp_path / "truth", new_policy("truth"))
    policy_file(tmp_path / "any", new_policy(conditioned=True))
    return tmp_path


@pytest.fixture
def here(folder: Path, monkeypatch: Patch) -> Path:
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("words", CASES, ids=lambda words: words[:60])
def test_a_mistake_is_one_sentence(words: str, here: Path, capsys: Capture) -> None:
    assert CASES[words] in refusal(shlex.split(words), capsys, here)


def test_where_no_ray_answers_that_is_said(here: Path, capsys: Capture) -> None:
    pytest.importorskip("ray", reason="needs Ray")
    flags = ["--executor", "ray", "--ray-address", "127.0.0.1:1"]
    assert "no Ray cluster answers at" in refusal(["search", *flags], capsys, here)


def test_live_play_without_cyborg_is_refused(
    capsys: Capture, monkeypatch: Patch, here: Path
) -> None:
    monkeypatch.delenv("CYBORG_PATH", raising=False)
    monkeypatch.setitem(sys.modules, "CybORG", None)
    assert "CybORG is not installed: get CAGE" in refusal(["parity", "--live"], capsys, here)


# --- what the parser itself refuses


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "required"),
        ("defend", "invalid choice"),
        ("train --n-workflows 3", "unrecognized arguments"),
        ("landscape --polish universal", "unrecognized arguments"),
        ("search --hidden ,", "write values with commas between, not ','"),
        ("search --hidden wide", "argument --hidden: invalid list of int value: 'wide'"),
    ],
)
def test_no_other_flag_is_taken(words: str, said: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words.split())
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: workflow-rl")
    assert err.count("\n") == 2
    assert said in err
