"""Playing without a terminal: one action a line, and what is said of mistakes."""

import io
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.cli.run import Capture, Patch, run
from workflow_rl.agents.named import make_agent
from workflow_rl.cli import main
from workflow_rl.config import GameConfig
from workflow_rl.pages.replay import play_agent
from workflow_rl.scenario.scenario2 import ACTION_NAMES, HOST_NAMES

WORKFLOW = "op_server,enterprise,op_host,user,defender"
Play = Callable[..., tuple[int, str, str]]


@pytest.fixture
def play(monkeypatch: Patch, capsys: Capture) -> Play:
    """Plays lines with flags, here; the exit code and what is printed."""

    def played(lines: str, *flags: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(lines))
        return main(["play", *flags]), *capsys.readouterr()

    return played


def test_piped_actions_are_played_and_shown() -> None:
    result = run("play", "--seed", "3", actions="DecoyFemitter User2\n\n  restore user1 \n139\n")
    assert result.returncode == 0
    assert "Traceback" not in result.stderr
    start, first, second, third = result.stdout.split("\n\n")
    assert start.startswith("step 0 of 100 | red bline | rules main | OT service running\n")
    assert "Blue: nothing yet" in start
    assert first.startswith("step 1 of 100")
    assert "Blue: DecoyFemitter User2" in first
    assert "Blue: Restore User1" in second
    assert "reward -1.0 (confidentiality 0.0, availability 0.0, action -1.0)" in second
    assert "Blue: Restore Op_Server0" in third
    assert "return so far -2.0" in third
    for moment in (start, first, second, third):
        assert [line.split()[0] for line in moment.splitlines()[-13:]] == list(HOST_NAMES)
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("action", ["Restore", "Restore User9", "145", "-1", "9" * 30, "\x1b[C"])
def test_an_unknown_action_is_answered_with_the_known_ones(action: str, play: Play) -> None:
    code, out, err = play(f"Sleep\n{action}\nSleep\n")
    assert code == 2
    assert out.count("step ") == 2  # the start and the one good action
    assert err.startswith(f"workflow-rl: error: unknown action {action!r}: ")
    assert err.count("\n") == 1
    for word in ("0 to 144", "Sleep", "Monitor", "DecoyVsftpd", "Restore", *HOST_NAMES):
        assert word in err


def test_bytes_that_are_no_text_are_refused(monkeypatch: Patch, capsys: Capture) -> None:
    lines = io.TextIOWrapper(io.BytesIO(b"Sleep\n\xff\xfe\n"), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", lines)
    assert main(["play"]) == 2
    assert "not text" in capsys.readouterr().err


def test_actions_behind_the_end_are_not_played(play: Play) -> None:
    code, out, _ = play("Sleep\n" * 5, "--episode-length", "2")
    assert code == 0
    assert out.count("Blue: ") == 3
    assert "step 2 of 2" in out


def test_flags_reach_the_game(play: Play) -> None:
    game = "--red-agent RedMeanderAgent --rules competition --episode-length 30 "
    game += "--green-agent active --observation cardiff"
    code, out, _ = play("Sleep\n" * 2, *game.split())
    assert code == 0
    assert "step 2 of 30 | red meander | rules competition" in out


def test_piped_help_and_quitting(play: Play) -> None:
    code, out, _ = play("Sleep\n?\nMonitor\nq\nRestore User1\n")
    assert code == 0
    assert "what Blue believes of the host" in out
    assert "Blue: Monitor" in out
    assert "Restore User1\n" not in out.split("Blue: Monitor")[1]


# --- with a policy


def test_a_policy_s_advice_is_what_it_plays_when_it_is_taken(play: Play) -> None:
    game = replace(GameConfig(), episode_length=12)
    agent = make_agent("universal", WORKFLOW, sampled=False)  # advice is what is most probable
    played = play_agent(agent, game, 3, who="it").episode.moments
    actions = [ACTION_NAMES[int(moment.state["blue_action"])] for moment in played[1:]]
    flags = f"--policy universal --workflow {WORKFLOW} --seed 3 --episode-length 12".split()
    _, out, _ = play("\n".join(actions), *flags)
    *moments, end, _ = out.split("\n\n")
    assert len(moments) == len(actions)
    for moment, action in zip(moments, actions, strict=True):
        assert re.search(rf"^universal would play {action} \(\d+ %\)", moment, re.MULTILINE)
        assert re.search(r"^(no fix|compliant|does not count): ", moment, re.MULTILINE)
    assert "would play" not in end


def test_advice_names_the_unit_that_is_first_among_the_marked(play: Play) -> None:
    flags = f"--policy react-restore --workflow {WORKFLOW} --seed 3".split()
    _, out, _ = play("Sleep\n" * 3, *flags)
    start, *_, marked = out.split("\n\n")
    assert start.endswith("first in the order of those marked: none")
    (host,) = re.findall(r"^(User\d) .* user ", marked, re.MULTILINE)
    assert "\nreact-restore would play Restore " in marked
    assert f"violation: Enterprise1 is not marked in Blue's table, and {host} would have" in marked
    assert marked.endswith(f"first in the order of those marked: user: {host}\n")


def test_blind_shows_neither_red_nor_rewards_before_the_end(play: Play) -> None:
    _, out, _ = play("Sleep\n" * 3, "--blind", "--episode-length", "3")
    *moments, end, _ = out.split("\n\n")
    for moment in moments:
        for hidden in ("bline", "Red:", "reward", "return", "true access", "malware", "OT service"):
            assert hidden not in moment
        assert "Blue sees" in moment
    assert "true access" in end
    assert "return so far" in end


def test_flags_of_a_policy_need_one(play: Play) -> None:
    code, _, err = play("", "--workflow", WORKFLOW)
    assert (code, "go with --policy" in err) == (2, True)
    code, _, err = play("", "--policy", "nobody")
    assert (code, "baselines are sleep, random" in err) == (2, True)
