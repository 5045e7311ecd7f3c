"""Boards to set up situations on: one environment each, in the notation of the rule tests.

`Board`: Red does what the test says. `Match`: the real red agent plays and the test says how
chance falls. Everything else is the game's own turn, `turn.play_turn`.
"""

from collections.abc import Callable, Sequence
from inspect import unwrap
from types import FunctionType, SimpleNamespace
from typing import Any, Self

import numpy as np

from workflow_rl.config import GameConfig
from workflow_rl.jit import rule
from workflow_rl.scenario.actions import parse_action
from workflow_rl.scenario.tables import EXPLOIT_NAMES, HOST_NAMES, Subnet, port_set
from workflow_rl.sim import turn
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.draws import CHOSE_NOBODY, TOOK_FAVOURITE, Draws, first
from workflow_rl.sim.memory import MEMORY_DTYPE
from workflow_rl.sim.records import PADDING
from workflow_rl.sim.red_actions import exploit_options
from workflow_rl.sim.red_given import NOT_GIVEN
from workflow_rl.sim.reward import reward_of
from workflow_rl.sim.state import (
    NOBODY,
    STATE_DTYPE,
    Access,
    Mark,
    Outcome,
    RedAction,
    State,
    Success,
)

SHORT_NAMES = {
    "Def": "Defender",
    **{f"Ent{i}": f"Enterprise{i}" for i in range(3)},
    **{f"OpH{i}": f"Op_Host{i}" for i in range(3)},
    "OpS": "Op_Server0",
    **{f"U{i}": f"User{i}" for i in range(5)},
}
HOSTS = tuple(SHORT_NAMES)  # by index, as in the observation
SHORT_ACTIONS = {
    "DRS": RedAction.DISCOVER_REMOTE_SYSTEMS,
    "DNS": RedAction.DISCOVER_NETWORK_SERVICES,
    "EXP": RedAction.EXPLOIT,
    "PE": RedAction.PRIVILEGE_ESCALATE,
    "IMP": RedAction.IMPACT,
}
EXPLOITS = ("FTP", "Haraka", "SQL", "HTTPS", "HTTP", "EternalBlue", "BlueKeep", "SSH")  # by index
_SSH = {"SSH": "persistent"}
_WEB = {"HTTPS": "removable", "HTTP": "removable"}
_SERVER = _SSH | _WEB | {"BlueKeep": "privileged"}
GAINED: dict[str, dict[str, str]] = {  # the session by a detected exploit of an original service
    "Def": {},
    **dict.fromkeys(("Ent0", "OpH0", "OpH1", "OpH2", "OpS"), _SSH),
    **dict.fromkeys(("Ent1", "Ent2"), _SERVER),
    **dict.fromkeys(("U0", "U1"), _SSH | {"FTP": "privileged"}),
    "U2": {"EternalBlue": "privileged", "BlueKeep": "removable"},
    "U3": _WEB | {"Haraka": "privileged"},
    "U4": _WEB | _SSH | {"Haraka": "privileged", "SQL": "privileged"},
}
_TARGETS = 32  # more than there are hosts and subnets, NOBODY included


def host_index(name: str) -> int:
    return HOST_NAMES.index(SHORT_NAMES.get(name, name))


def host_mask(*names: str) -> int:
    """The set (bit h = host h) of the named hosts."""
    return sum(1 << host_index(name) for name in set(names))


def blue_action(text: str) -> int:
    """The index of a Blue action; its host may be short (`Restore Ent0`)."""
    return parse_action(" ".join(SHORT_NAMES.get(word, word) for word in text.split()))


@rule
def take_given_action(env: State, given: int, draw: int) -> None:
    """Stands in for Red's agent: the draw names the action and its target."""
    env.red_action = ~draw // _TARGETS
    env.red_target = ~draw % _TARGETS + NOBODY


def given_action(action: int, target: int) -> int:
    """The draw with which `take_given_action` takes this action."""
    return ~(action * _TARGETS + target - NOBODY)


# The game's own turn, phase by phase as play_turn is written; only who chooses for Red is another.
scripted_turn = rule(
    FunctionType(
        unwrap(getattr(turn.play_turn, "py_func", turn.play_turn)).__code__,
        vars(turn) | {"red_chooses": take_given_action},
    )
)


class View:
    """Reads and arranges the one environment of a batch."""

    def __init__(self, **game: Any) -> None:
        self.batch = Batch(1, GameConfig(**game), autoreset=False)
        self.batch.reset(seed=0)
        self.reward = 0.0

    @property
    def state(self) -> Any:
        return self.batch.state[0]

    def bits(self, host: str) -> str:
        """The host's four bits as shown in the observation: activity, then mark."""
        nibble = int(self.state["table"]) >> 4 * host_index(host) & 0b1111
        return "".join(str(nibble >> bit & 1) for bit in range(4))

    def shown(self) -> dict[str, str]:
        """The bits of every host that has any set."""
        return {name: self.bits(name) for name in HOSTS if self.bits(name) != "0000"}

    def access(self, host: str) -> Access:
        h = host_index(host)
        held = int(self.state["privileged"] | self.state["removable"] | self.state["persistent"])
        return Access((held >> h & 1) + (int(self.state["privileged"]) >> h & 1))

    def sessions(self, host: str) -> set[str]:
        return {kind for kind in ("privileged", "removable", "persistent") if self.has(kind, host)}

    def has(self, field: str, host: str) -> bool:
        return bool(int(self.state[field]) >> host_index(host) & 1)

    def hosts(self, field: str) -> set[str]:
        """The members of one of the state's host sets."""
        return {name for name in HOSTS if self.has(field, name)}

    def record(self) -> dict[str, Any]:
        """Every field of the state, and of Blue's memory."""
        names = [name for name in STATE_DTYPE.names or () if not name.startswith(PADDING)]
        fields = {name: self.state[name].tolist() for name in names if name != "memory"}
        memory = self.state["memory"]
        return fields | {f"memory.{name}": int(memory[name]) for name in MEMORY_DTYPE.names or ()}

    def changed_since(self, before: dict[str, Any]) -> set[str]:
        """The fields that differ from an earlier record, the step counter aside."""
        now = self.record()
        return {name for name in now if now[name] != before[name]} - {"step"}

    @property
    def red(self) -> SimpleNamespace:
        """How Red's action ended."""
        exploit = int(self.state["red_exploit"])
        return SimpleNamespace(
            success=Success(self.state["red_success"]),
            outcome=Outcome(self.state["red_outcome"]),
            exploit=EXPLOIT_NAMES[exploit] if exploit != NOBODY else None,
            options=int(self.state["red_options"]),
        )

    @property
    def did(self) -> str:
        """Red's action in the notation of `Board.turn`; an exploit names its technique if any."""
        action = RedAction(self.state["red_action"])
        target = int(self.state["red_target"])
        if action is RedAction.SLEEP:
            return ""
        short = next(name for name, value in SHORT_ACTIONS.items() if value is action)
        if action is RedAction.DISCOVER_REMOTE_SYSTEMS:
            return f"{short} {Subnet(target).name.capitalize()}"
        exploit = int(self.state["red_exploit"])
        return f"{short} {HOSTS[target]}" + (f" by {EXPLOITS[exploit]}" if exploit >= 0 else "")

    @property
    def blue_success(self) -> Success:
        return Success(self.state["blue_success"])

    @property
    def ot_running(self) -> bool:
        return bool(self.state["ot_running"])

    def put(self, field: str, *names: str) -> Self:
        """Makes one of the state's host sets consist of the named hosts."""
        self.batch.state[field] = host_mask(*names)
        return self

    def arrange(self, **fields: Any) -> Self:
        for name, value in fields.items():
            self.batch.state[name] = value
        return self

    def marked(self, host: str, mark: Mark) -> Self:
        shift = 4 * host_index(host) + 2
        self.batch.state["table"] &= ~(0b11 << shift)
        self.batch.state["table"] |= int(mark) << shift
        return self

    def remember(self, host: str, *ports: int) -> Self:
        """Makes Red remember exactly these ports of the host."""
        self.batch.state["ports_known"] |= host_mask(host)
        self.batch.state["ports"][:, host_index(host)] = port_set(ports)
        return self


class Board(View):
    """Red is scripted; `turn("Restore Ent0", "EXP OpS by SSH")` plays a step."""

    def turn(
        self, blue: str = "Sleep", red: str = "", *, detected: bool = True, green: str = ""
    ) -> Self:
        """Plays a step, in which Green, if active, scans the given host.

        Red does nothing, or `DRS Operational`, `DNS Ent0`, `EXP Ent0 by SSH`, `PE Ent0`, `IMP OpS`;
        `EXP` without `by` takes the favourite. Its reverse shell is detected or not.
        """
        red_action, target, exploit = _parse_red(red)
        draws = Draws(
            target=given_action(red_action, target),
            exploit=~self._exploit_outcome(exploit, target),
            detection=~int(detected),
            green=~(host_index(green) if green else CHOSE_NOBODY),
        )
        scripted_turn(self.state, self.batch._settings[0], blue_action(blue), NOT_GIVEN, draws)
        self.reward = reward_of(self.state)
        return self

    def _exploit_outcome(self, exploit: int, target: int) -> int:
        """Returns the recorded outcome that leads to the exploit, which may be the favourite."""
        if exploit == NOBODY:
            return TOOK_FAVOURITE
        options = exploit_options(int(self.state["ports"][target]))
        if options and first(options) == exploit:
            return TOOK_FAVOURITE
        return exploit

    def story(self, rows: Sequence[tuple[Any, ...]], read: Callable[[Self], Any]) -> list[Any]:
        """Plays rows that begin with Blue's and Red's action; returns them with what is read."""
        return [(blue, red, *read(self.turn(blue, red))) for blue, red, *_ in rows]


class Match(View):
    """The game's own red agent plays."""

    def turn(
        self,
        blue: str = "Sleep",
        *,
        target: str = "",
        other: str = "",
        detected: bool = True,
        green: str = "",
    ) -> Self:
        """Plays a step: the host that Red's agent draws, the exploit if not the favourite."""
        outcomes = (
            host_index(target) if target else CHOSE_NOBODY,
            EXPLOITS.index(other) if other else TOOK_FAVOURITE,
            int(detected),
            host_index(green) if green else CHOSE_NOBODY,
        )
        self.batch.step(
            np.array([blue_action(blue)]), np.array([[~outcome for outcome in outcomes]])
        )
        self.reward = float(self.batch.out.reward[0])
        return self

    def last(self, action: str, success: Success, outcome: Outcome = Outcome.NOTHING) -> Self:
        """Arranges what Red did last and how it ended."""
        red_action, target, _ = _parse_red(action)
        return self.arrange(
            red_action=red_action, red_target=target, red_success=success, red_outcome=outcome
        )


def _parse_red(text: str) -> tuple[int, int, int]:
    if not text:
        return int(RedAction.SLEEP), NOBODY, NOBODY
    words = text.split()
    action = SHORT_ACTIONS[words[0]]
    if action is RedAction.DISCOVER_REMOTE_SYSTEMS:
        return int(action), int(Subnet[words[1].upper()]), NOBODY
    exploit = EXPLOITS.index(words[3]) if "by" in words else NOBODY
    return int(action), host_index(words[1]), exploit


def scanned(host: str, *decoys: str, **game: str) -> Board:
    """A board on which Red has just scanned the host with its decoys in place."""
    board = Board(**game).put("persistent", "Ent2" if host != "Ent2" else "Ent1")
    for decoy in decoys:
        board.turn(f"Decoy{decoy} {host}")
    return board.turn(red=f"DNS {host}")
