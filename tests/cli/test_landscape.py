import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.agents.policies import new_policy, policy_file
from tests.cli.run import Capture, Made, flags, run_here
from tests.runs.processes import running, wait_until
from tests.runs.toy import the_run
from workflow_rl.cli import main

QUICK = flags(
    "--n-envs 2 --max-steps 5 --max-episodes 1 --score-games 5 --base-updates 1 --hidden 4 "
    "--compliance-threshold 0 --seeds 1"
)
BESIDE = str(Path(__file__).parent.parent / "studies" / "data" / "bline.json")
PLAYED = flags("--policy universal --games 4 --max-steps 10")


@pytest.fixture(scope="module")
def landscape(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The directory of a finished landscape, and what was printed about it."""
    folder = tmp_path_factory.mktemp("logs")
    shown = run_here("landscape", *QUICK, "--replays", "0", "--seed", "3", cwd=folder)
    return the_run(folder / "logs"), shown


def test_the_command_trains_all_orders_and_tells(landscape: Made) -> None:
    path, shown = landscape
    lines = shown.splitlines()
    assert lines[0].endswith(f"seeds 3, trainings end at budget; directory logs/{path.name}")
    assert "120 of 120 orders complied for every seed." in lines
    data = json.loads((path / "landscape.json").read_text())
    assert len(data["orders"]) == 120
    assert data["config"]["train"]["stop_at"] == "budget"
    assert (path / "landscape.html").stat().st_size > 1_000_000
    assert "\x1b" not in shown


def test_a_finished_landscape_is_analysed_again(landscape: Made, capsys: Capture) -> None:
    assert main(["landscape", "--resume", str(landscape[0]), "--replays", "1"]) == 0
    assert "random minus gp-ucb" in capsys.readouterr().out
    data = json.loads((landscape[0] / "landscape.json").read_text())
    assert data["regret"]["replays"] == 1
    assert data["regret"]["checkpoints"] == [5, 10, 20, 40]


def test_settings_that_resuming_would_ignore_are_refused(landscape: Made, capsys: Capture) -> None:
    for words in ("--seeds 2", "--stop-at compliance", "--red-agent meander", "--policy universal"):
        assert main(["landscape", "--resume", str(landscape[0]), *flags(words)]) == 2
        assert words.split()[0] in capsys.readouterr().err
    assert main(["landscape", "--resume", str(landscape[0] / "seed_000")]) == 2
    assert "is not of a landscape, but of `workflow-rl search`" in capsys.readouterr().err


# --- without training


def played(path: Path) -> list[str]:
    """The sets of games that are kept, each by its line."""
    log = path / "played.jsonl"
    return log.read_text().splitlines() if log.exists() else []


def found(path: Path) -> dict[str, Any]:
    """What a landscape says, but for how it came about."""
    data: dict[str, Any] = json.loads((path / "landscape.json").read_text())
    for name in ("created", "command"):
        del data[name]
    return data


def test_an_interrupted_landscape_by_playing_plays_nothing_twice(tmp_path: Path) -> None:
    words = flags("--policy universal --games 10 --max-steps 20 --seeds 2")
    whole, ours = tmp_path / "whole", tmp_path / "ours"
    assert main(["landscape", *words, "--checkpoint-dir", str(whole)]) == 0
    with running(*words, "--checkpoint-dir", str(ours), command="landscape") as process:
        wait_until(lambda: len(list(ours.glob("exp_*/played.jsonl"))) > 0, process)
        wait_until(lambda: len(played(the_run(ours))) >= 5, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    path = the_run(ours)
    assert process.returncode == 130
    assert f"go on with: workflow-rl landscape --resume {path}" in out
    assert "Traceback" not in err
    assert not (path / "landscape.json").exists()
    before = (path / "played.jsonl").read_bytes()
    (path / "played.jsonl").write_bytes(before + b'{"workflow": "us')  # died while it wrote
    for _ in range(2):  # the second time it is all there
        assert main(["landscape", "--resume", str(path)]) == 0
        assert (path / "played.jsonl").read_bytes().startswith(before)
        assert played(path) == played(the_run(whole))
        assert found(path) == found(the_run(whole))


def test_what_resuming_by_playing_would_ignore_is_refused(tmp_path: Path, capsys: Capture) -> None:
    file = policy_file(tmp_path / "any.safetensors", new_policy(conditioned=True))
    begun = flags(f"--policy {file} --games 2 --max-steps 3 --seeds 1")
    begun += ["--require", "op_server > user > enterprise > op_host"]
    assert main(["landscape", *begun, "--checkpoint-dir", str(tmp_path)]) == 0
    path = the_run(tmp_path)
    assert f"played by {file}, 2 games" in " ".join(capsys.readouterr().out.split())
    assert len(found(path)["orders"]) == 5
    assert main(["landscape", "--resume", str(path), *begun]) == 0  # as it was begun
    for other in ("policy universal", "games 3", "sample 3", "seeds 2", "red-agent meander"):
        assert main(["landscape", "--resume", str(path), *flags(f"--{other}")]) == 2
        assert f"leave out --{other.split()[0]}\n" in capsys.readouterr().err


def test_a_policy_that_follows_any_order_compares_all_without_training_any(tmp_path: Path) -> None:
    more = ("--seeds", "2", "--seed", "7", "--beside", BESIDE)
    shown = run_here("landscape", *PLAYED, *more, cwd=tmp_path)
    assert "played by universal, 4 games of each order and seed" in shown
    assert "rank correlation (Spearman) with the orders trained, red bline" in shown
    run = the_run(tmp_path / "logs")
    data = json.loads((run / "landscape.json").read_text())
    assert (data["policy"], len(data["orders"]), data["seeds"]) == ("universal", 120, [7, 8])
    assert not (run / "trainings").exists()


def test_of_more_orders_than_can_be_listed_a_sample_is_played_and_searched(tmp_path: Path) -> None:
    more = flags("--units hosts --sample 8 --initial-design 2 --red-agent mixed")
    shown = run_here("landscape", *PLAYED, *more, cwd=tmp_path)
    assert "8 orders of 479,001,600, by mean reward" in shown
    assert "found: " in shown
    data = json.loads((the_run(tmp_path / "logs") / "landscape.json").read_text())
    assert len({row["workflow"] for row in data["orders"]}) == 8
    assert all(0 <= row["compliance"] <= 1 for row in data["orders"])
