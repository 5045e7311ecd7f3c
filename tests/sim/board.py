"""A board to set up situations on: one environment whose Red does what the test says.

Everything but Red's choice is the game's own code, in the game's own order.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from workflow_rl.config import GameConfig
from workflow_rl.scenario.actions import parse_action
from workflow_rl.scenario.tables import EXPLOIT_NAMES, HOST_NAMES, Subnet
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.blue import blue_acts
from workflow_rl.sim.draws import CHOSE_NOBODY, Draws
from workflow_rl.sim.green import green_acts
from workflow_rl.sim.jit import rule
from workflow_rl.sim.observe import monitor, note_scans
from workflow_rl.sim.red_actions import red_acts
from workflow_rl.sim.reward import reward_of, score
from workflow_rl.sim.state import NOBODY, Access, Outcome, RedAction, Success

SHORT_NAMES = {
    "Def": "Defender",
    **{f"Ent{i}": f"Enterprise{i}" for i in range(3)},
    **{f"OpH{i}": f"Op_Host{i}" for i in range(3)},
    "OpS": "Op_Server0",
    **{f"U{i}": f"User{i}" for i in range(5)},
}
SHORT_ACTIONS = {
    "DRS": RedAction.DISCOVER_REMOTE_SYSTEMS,
    "DNS": RedAction.DISCOVER_NETWORK_SERVICES,
    "EXP": RedAction.EXPLOIT,
    "PE": RedAction.PRIVILEGE_ESCALATE,
    "IMP": RedAction.IMPACT,
}
SHORT_EXPLOITS = {
    "FTP": "FTPDirectoryTraversal",
    "Haraka": "HarakaRCE",
    "SQL": "SQLInjection",
    "HTTPS": "HTTPSRFI",
    "HTTP": "HTTPRFI",
    "EternalBlue": "EternalBlue",
    "BlueKeep": "BlueKeep",
    "SSH": "SSHBruteForce",
}


def host_index(name: str) -> int:
    return HOST_NAMES.index(SHORT_NAMES.get(name, name))


@rule
def scripted_turn(env, settings, action, red_action, red_target, draws):  # type: ignore[no-untyped-def]
    blue_acts(env, action)
    green_acts(env, settings.green_active, draws.green)
    env.red_action = red_action
    env.red_target = red_target
    red_acts(env, settings, draws)
    score(env)
    monitor(env, settings.cardiff)
    if settings.cardiff:
        note_scans(env)
    env.step += 1
    return reward_of(env)


class Board:
    """One environment; `turn("Restore Ent0", "EXP OpS by SSH")` plays a step."""

    def __init__(self, **game: Any) -> None:
        self.batch = Batch(1, GameConfig(**game), autoreset=False)
        self.batch.reset(seed=0)
        self.reward = 0.0

    @property
    def state(self) -> Any:
        return self.batch.state[0]

    def turn(
        self, blue: str = "Sleep", red: str = "", *, detected: bool = True, green: str = ""
    ) -> "Board":
        """Plays a step.

        Args:
            blue: an action name; hosts may be short (`Restore Ent0`).
            red: nothing (sleep), `DRS Operational`, `DNS Ent0`, `EXP Ent0 by SSH`, `PE Ent0`,
                `IMP OpS`. `EXP` without `by` takes the favourite.
            detected: whether a reverse shell is detected.
            green: a host that the active Green scans.
        """
        words = [SHORT_NAMES.get(word, word) for word in blue.split()]
        action = parse_action(" ".join(words))
        red_action, target, exploit = _parse_red(red)
        outcomes = (
            CHOSE_NOBODY,
            self._exploit_outcome(exploit, target),
            int(detected),
            host_index(green) if green else CHOSE_NOBODY,
        )
        draws = Draws(*(~outcome for outcome in outcomes))
        settings = self.batch._settings[0]
        self.reward = scripted_turn(self.state, settings, action, red_action, target, draws)
        return self

    def _exploit_outcome(self, exploit: int, target: int) -> int:
        """Returns the recorded outcome that leads to the exploit, which may be the favourite."""
        from workflow_rl.sim.draws import TOOK_FAVOURITE, first
        from workflow_rl.sim.red_actions import exploit_options

        if exploit == NOBODY:
            return TOOK_FAVOURITE
        options = exploit_options(int(self.state["ports"][target]))
        if options and first(options) == exploit:
            return TOOK_FAVOURITE
        return exploit

    def bits(self, host: str) -> str:
        """The host's four bits as shown in the observation: activity, then belief."""
        nibble = int(self.state["table"]) >> 4 * host_index(host) & 0b1111
        return "".join(str(nibble >> bit & 1) for bit in range(4))

    def shown(self) -> dict[str, str]:
        """The bits of every host that has any set."""
        return {name: self.bits(name) for name in SHORT_NAMES if self.bits(name) != "0000"}

    def access(self, host: str) -> Access:
        h = host_index(host)
        held = int(self.state["privileged"] | self.state["removable"] | self.state["persistent"])
        return Access((held >> h & 1) + (int(self.state["privileged"]) >> h & 1))

    def has(self, field: str, host: str) -> bool:
        """Whether the host is in one of the state's host sets."""
        return bool(int(self.state[field]) >> host_index(host) & 1)

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
    def blue_success(self) -> Success:
        return Success(self.state["blue_success"])

    @property
    def ot_running(self) -> bool:
        return bool(self.state["ot_running"])


def _parse_red(text: str) -> tuple[int, int, int]:
    if not text:
        return int(RedAction.SLEEP), NOBODY, NOBODY
    words = text.split()
    action = SHORT_ACTIONS[words[0]]
    if action is RedAction.DISCOVER_REMOTE_SYSTEMS:
        return int(action), int(Subnet[words[1].upper()]), NOBODY
    exploit = EXPLOIT_NAMES.index(SHORT_EXPLOITS[words[3]]) if "by" in words else NOBODY
    return int(action), host_index(words[1]), exploit
