"""The commands of the main job on a network of one's own, which a run knows without its file."""

import json
import re
from pathlib import Path

import pytest

import workflow_rl
from tests.cli.run import TOY_SEARCH, TOY_TRAIN, Capture, Made, flags, refusal, run_here
from tests.runs.toy import the_run
from workflow_rl.agents.policy import load_policy
from workflow_rl.runs.store import stored_config
from workflow_rl.scenario.loading import network_of

# Red's desk and two more; behind them the books, and the till, whose service Red can stop.
SHOP = """
name = "shop"
foothold = "desk"

[zones]
front = {}
back = { from = ["front"] }

[hosts]
desk = { zone = "front", image = "windows_user_host1", value = 0 }
kiosk = { zone = "front", image = "windows_user_host2", reveals = ["books"] }
lamp = { zone = "front", image = "linux_user_host1", reveals = ["books"] }
books = { zone = "back", image = "Internal", value = 1, reveals = ["till"] }
till = { zone = "back", image = "OP_Server", value = 1, service_value = 10 }
"""
UNITS = ["front", "back"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A finished search on the network of a file that is gone."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.toml").write_text(SHOP, encoding="utf-8")
    out = run_here("search", "--network", "shop.toml", *TOY_SEARCH, cwd=folder)
    (folder / "shop.toml").unlink()
    return the_run(folder / "logs"), out


def test_a_search_there_trains_its_own_base_policy_and_says_what_it_is_played_on(
    made: Made,
) -> None:
    run, out = made
    assert "red meander, rules main" in out  # B_line cannot play there
    assert re.search(r"network shop: 5 hosts in 2 zones; Red goes on from what it holds", out)
    assert "B_line raises here, and then sleeps: " in out
    assert "base: 2 updates of one policy on all orders, against all attackers" in out
    assert "handed over: the base policy, " in out
    assert "universal" not in out.replace("--warm-start universal", "")
    summary = json.loads((run / "summary.json").read_text())
    assert (summary["network"], summary["reachability"]) == ("shop", "routes")
    assert (summary["red_agent"], summary["policy_kind"]) == ("meander", "common")
    assert sorted(summary["recommended"].split(" > ")) == sorted(UNITS)
    assert {score["red_agent"] for score in summary["policy_scores"]} == {
        "bline",
        "meander",
        "sleep",
    }


def test_a_run_knows_its_network_without_the_file(made: Made) -> None:
    run, _ = made
    network = network_of(SHOP)
    assert stored_config(run).game.network == network
    assert load_policy(run).network == network


def test_a_finished_search_is_resumed_without_the_file(made: Made, tmp_path: Path) -> None:
    run, _ = made
    out = run_here("search", "--resume", str(run), cwd=tmp_path)
    assert "network shop" in out


def test_the_report_names_the_network_and_compares_with_nothing_of_another_one(made: Made) -> None:
    page = (made[0] / "report.html").read_text("utf-8")
    assert "network shop, Red goes on from what it holds" in page
    for theirs in ("CardiffUni", "winner (Cardiff)", "leaderboard"):
        assert theirs not in page


def test_the_replay_has_every_host_in_its_zone(made: Made) -> None:
    page = (made[0] / "replay.html").read_text("utf-8")
    assert [page.count(f"<h2>{zone} subnet") for zone in UNITS] == [1, 1]
    assert page.count('class="host" data-host=') == 5
    assert page.count('data-part="ot"') == 1


def test_an_evaluation_plays_the_policy_s_own_network_and_shows_no_leaderboard(
    made: Made, tmp_path: Path
) -> None:
    words = flags("--episodes 4 --steps 5 --output found")
    out = run_here("evaluate", str(made[0]), *words, cwd=tmp_path)
    data = json.loads((tmp_path / "found" / "evaluation.json").read_text())
    assert (data["network"], data["reachability"]) == ("shop", "routes")
    assert [cell["red_agent"] for cell in data["cells"]] == ["bline", "meander", "sleep"]
    assert data["deviating"] == []
    assert "network shop: " in out
    assert "published scores" not in out


def test_the_nine_cells_there_are_not_the_official_ones(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(SHOP, encoding="utf-8")
    found = workflow_rl.evaluate("greedy", network=tmp_path / "shop.toml", episodes=2)
    assert (len(found.cells), found.is_official, found.deviating) == (9, False, ())
    assert workflow_rl.evaluate("sleep", episodes=2).is_official


def test_the_runbook_speaks_of_the_network_and_is_read_back(made: Made, tmp_path: Path) -> None:
    run, _ = made
    out = run_here("playbook", str(run), cwd=tmp_path)
    text = (run / "playbook.md").read_text("utf-8")
    assert "A stopped OT service on till costs 10" in text
    assert "The network is shop, simulated: 5 hosts, of which desk is Red's" in text
    for theirs in ("Op_Server0", "User0", "CAGE"):
        assert theirs not in text + out
    book = run / "playbook.json"
    read = run_here("playbook", "--from", str(book), cwd=tmp_path).splitlines()
    assert read[0] == json.loads((run / "summary.json").read_text())["recommended"]
    assert sorted(read[1:]) == ["back: books, till", "front: kiosk, lamp"]


@pytest.mark.parametrize(
    "words",
    [
        "evaluate best --network shop.toml",
        "evaluate cardiff --network shop.toml",
        "replay universal --workflow front,back --network shop.toml",
        "play --policy robust --network shop.toml",
        "exploit best --network shop.toml",
        "landscape --policy universal --network shop.toml",
        "evaluate RUN --network scenario2",
        "evaluate greedy --network shop.toml --red-agent vs-best",
    ],
)
def test_what_was_trained_on_another_network_is_refused(
    words: str, made: Made, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.toml").write_text(SHOP, encoding="utf-8")
    args = words.replace("RUN", str(made[0])).split()
    said = refusal(args, capsys, tmp_path)
    assert re.search(r"was trained on the network \S+, and the game is played on \S+: ", said)


@pytest.mark.parametrize("words", ["--warm-start universal", "--polish universal"])
def test_a_search_there_cannot_begin_with_universal(
    words: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = refusal(["search", "--network", "office", *words.split()], capsys, tmp_path)
    assert "the policy universal plays scenario2, and not office" in said


def test_a_training_for_any_order_there_plays_a_landscape(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(SHOP, encoding="utf-8")
    run_here("train", "--network", "shop.toml", *TOY_TRAIN, cwd=tmp_path)
    run = the_run(tmp_path / "logs")
    played = flags("--network shop.toml --games 4 --seeds 2 --checkpoint-dir played")
    run_here("landscape", "--policy", str(run), *played, cwd=tmp_path)
    found = json.loads((the_run(tmp_path / "played") / "landscape.json").read_text())
    assert sorted(row["workflow"] for row in found["orders"]) == ["back > front", "front > back"]
    assert network_of(found["network"]) == network_of(tmp_path / "shop.toml")
