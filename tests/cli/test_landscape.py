import json
from pathlib import Path

import pytest

from tests.agents.policies import new_policy, policy_file
from tests.cli.run import refusal, run_here
from tests.runs.toy import the_run
from workflow_rl.cli import main

QUICK: tuple[str, ...] = (
    "--n-envs",
    "2",
    "--max-steps",
    "5",
    "--max-episodes",
    "1",
    "--score-games",
    "5",
    "--base-updates",
    "1",
)
QUICK += ("--hidden", "4", "--compliance-threshold", "0", "--seeds", "1")
BESIDE = str(Path(__file__).parent.parent / "studies" / "landscape" / "data" / "bline.json")
PLAYED = ("--policy", "universal", "--games", "4", "--max-steps", "10")


@pytest.fixture(scope="module")
def landscape(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The directory of a finished landscape, and what was printed about it."""
    folder = tmp_path_factory.mktemp("logs")
    shown = run_here("landscape", *QUICK, "--replays", "0", "--seed", "3", cwd=folder)
    return the_run(folder / "logs"), shown


def test_the_command_trains_all_orders_and_tells_what_that_says(
    landscape: tuple[Path, str],
) -> None:
    path, shown = landscape
    lines = shown.splitlines()
    assert lines[0] == (
        f"red bline, rules main, seeds 3, trainings end at budget; directory logs/{path.name}"
    )
    assert "120 of 120 orders complied for every seed." in lines
    assert "One seed cannot tell orders from noise." in lines
    pairs = shown[shown.index("what matters: one unit") : shown.index("all orders, ranked")]
    assert pairs.count(" before ") == 11  # ten pairs and the heading
    assert "all orders, ranked: red bline, rules main" in shown
    assert any(line.startswith("enterprise > op_server > user ") for line in lines)
    assert lines[-1].startswith("written: ")
    data = json.loads((path / "landscape.json").read_text())
    assert len(data["orders"]) == 120
    assert data["config"]["train"]["stop_at"] == "budget"
    assert (path / "landscape.html").stat().st_size > 1_000_000
    assert "\x1b" not in shown


def test_a_finished_landscape_can_be_analysed_again(
    landscape: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["landscape", "--resume", str(landscape[0]), "--replays", "1"]) == 0
    shown = capsys.readouterr().out
    assert "regret of the order handed over" in shown
    assert "random minus gp-ucb" in shown
    data = json.loads((landscape[0] / "landscape.json").read_text())
    assert data["regret"]["replays"] == 1
    assert data["regret"]["checkpoints"] == [5, 10, 20, 40]


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--seeds", "2"), "--seeds"),
        (("--stop-at", "compliance"), "--stop-at"),
        (("--red-agent", "meander"), "--red-agent"),
    ],
)
def test_settings_that_resuming_would_ignore_are_refused(
    landscape: tuple[Path, str],
    flags: tuple[str, ...],
    named: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["landscape", "--resume", str(landscape[0]), *flags]) == 2
    assert named in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--seeds", "0"), "--seeds must be a whole number from 1"),
        (("--replays", "-1"), "--replays must be a whole number from 0"),
        (("--preset", "original"), "without a workflow"),
        (("--red-agent", "nobody"), "unknown red agent"),
        (("--resume", "nowhere"), "not a run directory"),
        # without training
        (("--games", "5"), "--games goes with --policy"),
        ((*PLAYED, "--n-envs", "3"), "with --policy nothing is trained: leave out --n-envs"),
        ((*PLAYED, "--observation", "memory"), "leave out --observation"),
        ((*PLAYED, "--units", "hosts"), "play a --sample of them"),
        ((*PLAYED, "--resume", "run"), "nothing is resumed"),
        (("--policy", "best"), "best does not follow any order it is told"),
        (("--policy", "nowhere"), "there is no file nowhere"),
        ((*PLAYED, "--sample", "0"), "--sample must be a whole number from 1"),
        ((*PLAYED, "--sample", "121"), "--sample must be a whole number from 1 to 120, not 121"),
        ((*PLAYED, "--sample", "2", "--seeds", "2"), "--seeds goes with all orders"),
        ((*PLAYED, "--sample", "2", "--beside", BESIDE), "--beside goes with all orders"),
        ((*PLAYED, "--preset", "hybrid", "--executor", "ray"), "leave out --preset, --executor"),
        ((*PLAYED, "--beside", "nowhere.json"), "nowhere.json"),
        ((*PLAYED, "--beside", BESIDE, "--units", "subnets"), "a landscape of other orders"),
        ((*PLAYED, "--beside", "list.json"), "this is not a landscape of this version"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing(
    tmp_path: Path,
    flags: tuple[str, ...],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.json").write_text("[]")
    assert words in refusal(["landscape", *flags], capsys, tmp_path)


def test_a_search_is_not_a_landscape(
    landscape: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["landscape", "--resume", str(landscape[0] / "seed_000")]) == 2
    assert "is not of a landscape, but of `workflow-rl search`" in capsys.readouterr().err


def test_what_the_command_decides_is_not_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("--strategy", "--n-workflows", "--polish-updates", "--polish"):
        with pytest.raises(SystemExit):
            main(["landscape", flag, "1"])
        assert "unrecognized arguments" in capsys.readouterr().err


# --- without training


def test_a_policy_that_follows_any_order_compares_all_without_training_any(tmp_path: Path) -> None:
    flags = ("--seeds", "2", "--seed", "7", "--beside", BESIDE)
    shown = run_here("landscape", *PLAYED, *flags, cwd=tmp_path)
    assert "played by universal, 4 games of each order and seed" in shown
    assert "all orders, ranked: red bline, rules main" in shown
    assert "least compliance of an order: " in shown
    assert "rank correlation (Spearman) with the orders trained, red bline" in shown
    run = the_run(tmp_path / "logs")
    data = json.loads((run / "landscape.json").read_text())
    assert (data["policy"], len(data["orders"]), data["seeds"]) == ("universal", 120, [7, 8])
    assert not (run / "trainings").exists()
    assert (run / "landscape.html").exists()


def test_of_more_orders_than_can_be_listed_a_sample_is_played_and_searched(tmp_path: Path) -> None:
    flags = ("--units", "hosts", "--sample", "8", "--initial-design", "2", "--red-agent", "mixed")
    shown = run_here("landscape", *PLAYED, *flags, cwd=tmp_path)
    assert "8 orders of 479,001,600, by mean reward" in shown
    assert "found: " in shown
    data = json.loads((the_run(tmp_path / "logs") / "landscape.json").read_text())
    assert len({row["workflow"] for row in data["orders"]}) == 8
    assert all(0 <= row["compliance"] <= 1 for row in data["orders"])


def test_a_policy_file_of_one_s_own_compares_what_is_required(tmp_path: Path) -> None:
    policy_file(tmp_path / "mine", new_policy(conditioned=True))  # of orders of the types
    flags = ("--policy", "mine", "--require", "op_server > user > enterprise > op_host")
    few = ("--games", "2", "--max-steps", "5", "--seeds", "1")
    shown = run_here("landscape", *flags, *few, cwd=tmp_path)
    assert "played by mine, 2 games" in shown
    run = the_run(tmp_path / "logs")
    assert len(json.loads((run / "landscape.json").read_text())["orders"]) == 5
    assert main(["landscape", "--resume", str(run)]) == 2
