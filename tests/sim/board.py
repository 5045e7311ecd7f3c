"""Boards to set up situations on: one environment each, in the notation of the rule tests.

`Board`: Red does what the test says. `Match`: the real red agent plays and the test says how
chance falls. Everything else is the game's own turn, `turn.play_turn`. Hosts of Scenario2 have
short names here; those of other networks go by their own.
"""

from collections.abc import Callable, Sequence
from inspect import unwrap
from types import FunctionType, SimpleNamespace
from typing import Any, Self

import numpy as np

from workflow_rl.config import GameConfig
from workflow_rl.jit import rule
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.images import DECOY_NAMES, EXPLOIT_NAMES, MISINFORM_DECOYS, port_set
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.records import HOSTS_IN_WORD, PADDING, record_dtype
from workflow_rl.scenario.tables import NOBODY, Tables, tables_of
from workflow_rl.sim import turn
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.draws import CHOSE_NOBODY, TOOK_FAVOURITE, Draws, first
from workflow_rl.sim.memory import Memory
from workflow_rl.sim.network import held_hosts
from workflow_rl.sim.red_actions import exploit_options
from workflow_rl.sim.red_given import NOT_GIVEN
from workflow_rl.sim.reward import reward_of
from workflow_rl.sim.state import (
    Access,
    Mark,
    Outcome,
    Raised,
    RedAction,
    RedAgent,
    State,
    Success,
)
from workflow_rl.sim.table import read_table

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
ALL_DECOYS = (*DECOY_NAMES, *(decoy.name for decoy in MISINFORM_DECOYS))  # by index
_TARGETS = 128  # more than there are hosts and zones, NOBODY included


def host_index(name: str, network: Network = SCENARIO2) -> int:
    return network.number(SHORT_NAMES.get(name, name))


def host_mask(*names: str, network: Network = SCENARIO2) -> int:
    """The set (bit h = host h) of the named hosts."""
    return sum(1 << host_index(name, network) for name in set(names))


def members(a_set: int, network: Network = SCENARIO2) -> set[str]:
    """The hosts of a set by their names here."""
    names = HOSTS if network == SCENARIO2 else network.host_names
    return {name for h, name in enumerate(names) if int(a_set) >> h & 1}


def blue_action(text: str, network: Network = SCENARIO2) -> int:
    """The index of a Blue action; its host may be short (`Restore Ent0`)."""
    words = " ".join(SHORT_NAMES.get(word, word) for word in text.split())
    return actions_of(network).parse(words)


@rule
def take_given_action(env: State, net: Tables, given: int, draw: int) -> None:
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

    def __init__(self, *, network: Network = SCENARIO2, **game: Any) -> None:
        self.network = network
        self.net: Any = tables_of(network)[0]
        self.batch = Batch(1, GameConfig(network=network, **game), autoreset=False)
        self.batch.reset(seed=0)
        self.reward = 0.0

    @property
    def state(self) -> Any:
        return self.batch.state[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The hosts as they are called here."""
        return HOSTS if self.network == SCENARIO2 else self.network.host_names

    def index(self, host: str) -> int:
        return host_index(host, self.network)

    def bits(self, host: str) -> str:
        """The host's four bits as shown in the observation: activity, then mark."""
        activity, mark = read_table(self.network, self.state["table"])[self.index(host)]
        return f"{activity & 1}{activity >> 1}{mark & 1}{mark >> 1}"

    def shown(self) -> dict[str, str]:
        """The bits of every host that has any set."""
        return {name: self.bits(name) for name in self.names if self.bits(name) != "0000"}

    def access(self, host: str) -> Access:
        h = self.index(host)
        held = int(held_hosts(self.batch.state)[0])
        return Access((held >> h & 1) + (int(self.state["privileged"]) >> h & 1))

    def sessions(self, host: str) -> set[str]:
        return {kind for kind in ("privileged", "removable", "persistent") if self.has(kind, host)}

    def has(self, field: str, host: str) -> bool:
        return bool(int(self.state[field]) >> self.index(host) & 1)

    def hosts(self, field: str) -> set[str]:
        """The members of one of the state's host sets."""
        return members(self.state[field], self.network)

    def zones(self, field: str) -> set[str]:
        """The members of one of the state's sets of zones."""
        known = int(self.state[field])
        return {name for z, name in enumerate(self.network.zone_names) if known >> z & 1}

    def decoys(self, host: str) -> set[str]:
        """The decoys that stand on a host."""
        standing = int(self.state["decoys"][self.index(host)])
        return {name for d, name in enumerate(ALL_DECOYS) if standing >> d & 1}

    def record(self) -> dict[str, Any]:
        """Every field of the state, and of Blue's memory."""
        names = [name for name in self.state.dtype.names if not name.startswith(PADDING)]
        fields = {name: self.state[name].tolist() for name in names if name != "memory"}
        memory = self.state["memory"]
        remembered = record_dtype(Memory).names or ()
        return fields | {f"memory.{name}": memory[name].tolist() for name in remembered}

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
            return f"{short} {self.network.zone_names[target]}"
        exploit = int(self.state["red_exploit"])
        return f"{short} {self.names[target]}" + (
            f" by {EXPLOITS[exploit]}" if exploit >= 0 else ""
        )

    @property
    def blue_success(self) -> Success:
        return Success(self.state["blue_success"])

    @property
    def ot_running(self) -> bool:
        """Whether every OT service runs."""
        return not self.state["ot_down"]

    @property
    def raised(self) -> Raised:
        return Raised(self.state["red_raised"])

    def parse_red(self, text: str) -> tuple[int, int, int]:
        """The action, target and exploit that a text names."""
        if not text:
            return int(RedAction.SLEEP), NOBODY, NOBODY
        words = text.split()
        action = SHORT_ACTIONS[words[0]]
        if action is RedAction.DISCOVER_REMOTE_SYSTEMS:
            return int(action), self.network.zone_names.index(words[1]), NOBODY
        exploit = EXPLOITS.index(words[3]) if "by" in words else NOBODY
        return int(action), self.index(words[1]), exploit

    def put(self, field: str, *names: str) -> Self:
        """Makes one of the state's host sets consist of the named hosts."""
        self.batch.state[field] = host_mask(*names, network=self.network)
        return self

    def arrange(self, **fields: Any) -> Self:
        for name, value in fields.items():
            self.batch.state[name] = value
        return self

    def marked(self, host: str, mark: Mark) -> Self:
        word, place = divmod(int(self.net["slot"][self.index(host)]), HOSTS_IN_WORD)
        shift = 4 * place + 2
        self.batch.state["table"][0, word] &= ~(0b11 << shift)
        self.batch.state["table"][0, word] |= int(mark) << shift
        return self

    def remember(self, host: str, *ports: int) -> Self:
        """Makes Red remember exactly these ports of the host."""
        self.batch.state["ports_known"] |= host_mask(host, network=self.network)
        self.batch.state["ports"][:, self.index(host)] = port_set(ports)
        return self


class Board(View):
    """Red is scripted; `turn("Restore Ent0", "EXP OpS by SSH")` plays a step."""

    def turn(
        self,
        blue: str = "Sleep",
        red: str = "",
        *,
        detected: bool = True,
        green: str = "",
        placed: str = "",
    ) -> Self:
        """Plays a step, in which Green, if active, scans the given host.

        Red does nothing, or `DRS Operational`, `DNS Ent0`, `EXP Ent0 by SSH`, `PE Ent0`, `IMP OpS`;
        `EXP` without `by` takes the favourite. Its reverse shell is detected or not. A Misinform
        places the given decoy.
        """
        red_action, target, exploit = self.parse_red(red)
        draws = Draws(
            target=given_action(red_action, target),
            exploit=~self._exploit_outcome(exploit, target),
            detection=~int(detected),
            green=~(self.index(green) if green else CHOSE_NOBODY),
            decoy=~(ALL_DECOYS.index(placed) if placed else CHOSE_NOBODY),
        )
        settings, action = self.batch._settings[0], blue_action(blue, self.network)
        scripted_turn(self.state, self.net, settings, action, NOT_GIVEN, draws)
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

    def by(self, agent: RedAgent) -> Self:
        """Lets another of the rules' red agents play."""
        return self.arrange(red_agent=agent)

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
            self.index(target) if target else CHOSE_NOBODY,
            EXPLOITS.index(other) if other else TOOK_FAVOURITE,
            int(detected),
            self.index(green) if green else CHOSE_NOBODY,
            CHOSE_NOBODY,
        )
        action = blue_action(blue, self.network)
        self.batch.step(np.array([action]), np.array([[~outcome for outcome in outcomes]]))
        self.reward = float(self.batch.out.reward[0])
        return self

    def last(self, action: str, success: Success, outcome: Outcome = Outcome.NOTHING) -> Self:
        """Arranges what Red did last and how it ended."""
        red_action, target, _ = self.parse_red(action)
        return self.arrange(
            red_action=red_action, red_target=target, red_success=success, red_outcome=outcome
        )


def scanned(host: str, *decoys: str, **game: Any) -> Board:
    """A board on which Red has just scanned the host with its decoys in place."""
    board = Board(**game).put("persistent", "Ent2" if host != "Ent2" else "Ent1")
    for decoy in decoys:
        board.turn(f"Decoy{decoy} {host}")
    return board.turn(red=f"DNS {host}")
