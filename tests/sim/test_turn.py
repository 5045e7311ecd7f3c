from typing import Any, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings

from tests.sim.board import Board, Match, host_index, host_mask
from tests.sim.games import ACTING, GAMES, SEEDS, STEPS, N, random_actions
from workflow_rl.config import RED_AGENTS, GameConfig
from workflow_rl.scenario.actions import ActionKind
from workflow_rl.scenario.images import DECOYS, IMAGES
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import ACTIONS
from workflow_rl.scenario.tables import NOBODY, tables_of
from workflow_rl.sim.batch import Batch, settings_of
from workflow_rl.sim.draws import WORDS
from workflow_rl.sim.memory import Memory
from workflow_rl.sim.state import Access, RedAgent, Success
from workflow_rl.sim.turn import draw_red


def test_an_episode_starts_with_red_on_user0_and_nothing_else() -> None:
    match = Match(red_agent="meander", observation="cardiff")
    match.batch.state.view(np.uint8)[:] = 1  # no field is left over from an earlier episode
    match.arrange(index=0).batch.reset(seed=3)
    user0 = host_mask("U0")
    given_value = {
        "privileged": user0,
        "blue_valid": True,
        "subnets_known": 0b001,
        "addresses_known": user0,
        "names_known": user0,
        "red_agent": int(RedAgent.MEANDER),
        "blue_success": int(Success.UNKNOWN),
        "red_success": int(Success.UNKNOWN),
        "red_options": -1,
    } | dict.fromkeys(
        (
            *("blue_action", "decoy_placed", "malware_found", "scan_latest"),
            *("red_target", "red_exploit", "red_decoy_hit", "bline_target"),
        ),
        NOBODY,
    )
    lists = (
        *("decoys", "event_count", "event_ports", "ports"),
        *("more_removable", "more_persistent", "more_vsftpd"),
    )
    per_host = dict.fromkeys(lists, [0] * 16) | {"path_hosts": [NOBODY] * 16}
    words = {f"memory.{name}": [0] for name in get_type_hints(Memory) if name != "step"}
    assert match.record() == {
        name: (given_value | per_host | words | {"table": [0]}).get(name, 0)
        for name in match.record()
    }


def test_mixed_red_agents_get_their_shares_of_the_words_to_the_last_one() -> None:
    def drawn(word: int, **weights: float) -> str:
        game = GameConfig(red_agent="mixed", red_probabilities=weights)
        return RED_AGENTS[draw_red(settings_of(game, autoreset=True)[0], word)]

    shares = {"bline": 0.25, "meander": 0.5, "sleep": 0.25}
    borders = [0, WORDS // 4, 3 * WORDS // 4, WORDS]
    for agent, first, end in zip(RED_AGENTS, borders[:-1], borders[1:], strict=True):
        assert drawn(first, **shares) == drawn(end - 1, **shares) == agent
    assert drawn(WORDS - 1, bline=0.1, meander=0.2) == "meander"  # a third is rounded
    assert drawn(0, sleep=1) == drawn(WORDS - 1, sleep=1) == "sleep"


def test_blues_restore_wipes_decoys_before_reds_exploit() -> None:
    board = Board().turn("DecoyHarakaSMPT Ent0").turn(red="DNS Ent0")
    board.turn("Restore Ent0", "EXP Ent0 by SSH")
    assert (board.red.success, board.access("Ent0")) == (Success.TRUE, Access.USER)


@pytest.mark.parametrize(
    ("kind", "blue", "success", "access"),
    [
        ("removable", "Remove U4", Success.FALSE, Access.NONE),
        ("persistent", "Remove U4", Success.TRUE, Access.PRIVILEGED),
        ("persistent", "Restore U4", Success.FALSE, Access.NONE),
    ],
)
def test_blues_remove_and_restore_come_before_reds_escalation(
    kind: str, blue: str, success: Success, access: Access
) -> None:
    board = Board().put(kind, "U4").turn(blue, "PE U4")
    assert (board.red.success, board.access("U4")) == (success, access)


def test_blues_remove_misses_the_shell_of_the_same_step() -> None:
    board = Board().turn(red="DNS U4").turn("Remove U4", "EXP U4 by HTTP")
    assert board.sessions("U4") == {"removable"}


def test_reds_scan_sees_the_decoy_of_the_same_step_and_its_exploit_does_not() -> None:
    board = Board().turn("DecoyHarakaSMPT Ent0", "DNS Ent0")
    board.turn("DecoyTomcat Ent0", "EXP Ent0 by SSH")
    assert board.red.options == 2  # Haraka and SSH: Tomcat's port is not in memory


def test_restoring_the_last_foothold_cuts_reds_route_in_the_same_step() -> None:
    for red in ("DNS OpS", "EXP OpS", "DRS Operational"):
        board = Board().put("persistent", "Ent0").remember("OpS", 22).turn("Restore Ent0", red)
        assert board.red.outcome.name == "NO_ROUTE"


def test_order_inside_a_step_on_user4() -> None:
    board = Board().turn(red="DNS U4")
    false, true, _ = Success
    story = [
        ("Sleep", "EXP U4 by HTTP", true, 0.0, "1101", Access.USER),
        ("Remove U4", "PE U4", false, 0.0, "0010", Access.NONE),
        ("Sleep", "EXP U4 by SSH", true, 0.0, "1101", Access.USER),
        ("Remove U4", "PE U4", true, -0.1, "0010", Access.PRIVILEGED),
        ("Restore U4", "PE U4", false, -1.0, "0000", Access.NONE),
        ("Restore U4", "EXP U4 by Haraka", true, -1.1, "1101", Access.PRIVILEGED),
    ]
    told = board.story(story, lambda b: (b.red.success, b.reward, b.bits("U4"), b.access("U4")))
    assert told == story


def test_a_patient_red_sleeps_first_and_then_plays_its_script_from_the_beginning() -> None:
    patient, bline = Match(red_agent="patient:2:bline"), Match(red_agent="bline")
    assert [patient.turn("Restore U1").did for _ in range(2)] == ["", ""]
    told = [[m.turn(target="U3").did for _ in range(16)] for m in (patient, bline)]
    assert told[0] == told[1]


def test_red_chooses_by_the_result_of_its_last_action() -> None:
    match = Match(red_agent="bline").turn().turn(target="U1").turn("DecoyApache U1")
    assert match.did == "EXP U1 by FTP"
    match.turn("Restore U1")  # the step in which Red escalates: too late for it to know
    assert (match.did, match.red.success) == ("PE U1", Success.FALSE)
    assert match.turn().did == "EXP U1 by FTP"


SCENARIO = [IMAGES[host.image] for host in SCENARIO2.hosts]
VALUES = np.array([round(10 * host.value) for host in SCENARIO2.hosts])
NET: Any = tables_of(SCENARIO2)[0]
POSSIBLE_DECOYS = np.array(  # per host, by its system and its original services
    [
        sum(
            1 << d
            for d, decoy in enumerate(DECOYS)
            if decoy.windows in (None, host.windows)
            and decoy.needs_free not in {service.port for service in host.services}
        )
        for host in SCENARIO
    ]
)


def members(sets: np.ndarray[Any, Any], size: int = 13) -> np.ndarray[Any, Any]:
    return sets[..., None] >> np.arange(size) & 1


@pytest.mark.compiled
@settings(deadline=None, max_examples=40)
@given(game=GAMES, seed=SEEDS, acting=ACTING)
def test_invariants_hold_under_random_play(game: dict[str, Any], seed: int, acting: float) -> None:
    batch = Batch(N, GameConfig(**game))
    batch.reset(seed=seed)
    u0, defender = host_index("U0"), host_index("Def")
    for actions in random_actions(seed, acting, N, STEPS):
        batch.step(actions)
        s, out = batch.state, batch.out
        privileged, removable, persistent, malware = (
            members(s[name]) for name in ("privileged", "removable", "persistent", "malware")
        )
        held = privileged | removable | persistent
        assert privileged[:, u0].all()
        assert not held[:, defender].any()
        assert not malware[:, defender].any()
        no_file = (privileged & ~malware).astype(bool)
        no_file[:, u0] = False
        assert not no_file.any()
        assert not (removable & ~malware & 1).any()
        assert (out.red_access == held + privileged).all()

        bits = members(s["table"][:, 0], 52)
        assert (batch.observation[:, :52] == bits).all()
        a1, a2 = bits[:, 0::4], bits[:, 1::4]
        assert (a1 >= a2).all()  # there is no activity 01
        for field in ("event_hosts", "event_count", "event_ports", "shell_events"):
            assert not s[field].any()
        if game["observation"] == "cardiff":
            scans = batch.observation[:, 52:]
            assert ((scans >= 0) & (scans <= 2)).all()
            assert ((scans == 2).sum(axis=1) == (scans.max(axis=1) > 0)).all()

        assert not (s["decoys"][:, :13] & ~POSSIBLE_DECOYS).any()
        for h in range(13):
            used = {service.port for service in SCENARIO[h].services}
            offered = out.action_mask[:, NET["decoy_action"][h]]
            for k in range(N):
                decoys = int(s["decoys"][k, h])
                ports = used | {y.opens for d, y in enumerate(DECOYS) if decoys >> d & 1}
                expected = [
                    POSSIBLE_DECOYS[h] >> d & 1 and y.needs_free not in ports
                    for d, y in enumerate(DECOYS)
                ]
                assert offered[k].tolist() == [bool(value) for value in expected]

        assert (out.reward == out.reward_tenths.sum(axis=1) / 10.0).all()
        assert (out.reward_tenths <= 0).all()
        assert (
            out.reward_tenths[:, 2]
            == np.where(ACTIONS.kinds[actions] == ActionKind.RESTORE, -10, 0)
        ).all()
        playing = ~out.truncated
        charged = -(privileged * VALUES).sum(axis=1)
        assert (out.reward_tenths[playing, 0] == charged[playing]).all()
        down = np.where(s["ot_down"], -100, 0)
        assert (out.reward_tenths[playing, 1] == down[playing]).all()
        assert not (s["ot_down"] & ~host_mask("OpS")).any()
        assert not (s["ot_down"] & s["restored"]).any()
