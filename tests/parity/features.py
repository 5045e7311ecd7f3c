"""What can happen in a recorded step, as named features.

A feature looks at a whole recording and says at which steps it applies, and with which details:
`exploit` applies to every exploit, with its host, technique and outcome as details. The tests say
which features the stored recordings show. All codes are those of the trace format (docs/parity.md).
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import RED_AGENTS
from workflow_rl.parity.trace import EXPLOIT_OF_CODE, TRACE_EXPLOIT_NAMES, Trace
from workflow_rl.scenario.actions import ACTION_HOST, ACTION_KIND, ActionKind
from workflow_rl.scenario.tables import EXPLOIT_PORT, USER0
from workflow_rl.sim.state import Access, Outcome, RedAction, Success

Array = NDArray[Any]
Feature = tuple[Any, ...]  # name, then its details
Where = tuple[Array, ...]  # (episodes, steps) whether it applies, then its details

SSH, HTTP, HARAKA = map(TRACE_EXPLOIT_NAMES.index, ("SSHBruteForce", "HTTPRFI", "HarakaRCE"))
ENTERPRISE: Final = slice(1, 4)  # without the Defender
OPERATIONAL: Final = slice(4, 8)
SCAN, EXPLOIT = (1, 0), (1, 1)  # activity, as bits of the observation
USER, PRIVILEGED = (0, 1), (1, 1)  # mark


class Steps:
    """The steps of a recording: what was so before and after each, and what was done."""

    def __init__(self, trace: Trace) -> None:
        self.red_agent = trace.red_agent
        self.valid = np.arange(trace.steps) < trace.lengths[:, None]
        self._arrays = trace.arrays
        action = self["blue_action"]
        self.blue_kind: Array = np.minimum(ACTION_KIND[action], ActionKind.FIRST_DECOY)
        self.blue_host: Array = ACTION_HOST[action]  # -1 for none
        self.accepted: Array = self["blue_success"] == Success.TRUE
        sweeps = self.red(RedAction.DISCOVER_REMOTE_SYSTEMS)
        self.red_host: Array = np.where(sweeps, -1, self["red_target"])  # -1 for none
        self.meet: Array = (self.blue_host >= 0) & (self.blue_host == self.red_host)
        self.placed: Array = self.blue(ActionKind.FIRST_DECOY) & self.accepted
        self.analysed = self.blue(ActionKind.ANALYSE)
        self.removed = self.blue(ActionKind.REMOVE)
        self.restored = self.blue(ActionKind.RESTORE)
        self.exploited = self.red(RedAction.EXPLOIT)
        self.succeeded = self.ended(Outcome.SUCCESS)
        self.green_scans: Array = self["green_type"] == 1
        # Red on the host that Blue acts on, before and after
        self.held: Array = at(self.before("red_access"), self.blue_host) > Access.NONE
        self.holds: Array = at(self["red_access"], self.blue_host) > Access.NONE

    def __getitem__(self, name: str) -> Array:
        """Returns an array as it is after each step."""
        return self._arrays[name]

    def before(self, name: str) -> Array:
        """Returns an array as it was before each step."""
        return np.concatenate([self._arrays[f"init_{name}"][:, None], self[name][:, :-1]], axis=1)

    def blue(self, kind: ActionKind) -> Array:
        return np.asarray(self.blue_kind == kind)

    def red(self, action: RedAction) -> Array:
        return np.asarray(self["red_type"] == action)

    def ended(self, outcome: Outcome) -> Array:
        return np.asarray(self["red_outcome"] == outcome)

    def on_target(self, name: str) -> Array:
        """Returns what is so, after each step, on the host that Red acts on."""
        return at(self[name], self.red_host)

    def remembered(self) -> Array:
        """Returns the ports of the host that Red remembered before."""
        return at(self.before("red_ports"), self.red_host)

    def shown(self, activity: tuple[int, int], hosts: Array | None = None) -> Array:
        return shows(self["obs"], self.red_host if hosts is None else hosts, activity, 0)

    def stale_port(self) -> Array:
        """Where an exploit goes for a remembered port that nobody listens on any more."""
        there = self.on_target("open_ports") & EXPLOIT_PORT[EXPLOIT_OF_CODE[self["red_concrete"]]]
        return np.asarray(self.exploited & self.ended(Outcome.SERVICE_ABSENT) & (there == 0))

    def rescan(self, *, forgets: bool) -> Array:
        """Where Red scans a host of which it remembered a port that is closed now."""
        is_open = self.on_target("open_ports")
        scanned = self.red(RedAction.DISCOVER_NETWORK_SERVICES) & self.succeeded
        forgot = self.on_target("red_ports") == is_open
        stale = (self.remembered() & ~is_open) != 0
        return np.asarray(scanned & stale & (forgot == forgets))

    def lost_by_meander(self, hosts: slice) -> Array:
        """Where Meander takes one of these hosts off its list."""
        lost = (self.before("meander_escalated") > 0) & (self["meander_escalated"] == 0)
        return np.asarray(lost[..., hosts].any(axis=-1))

    def ever_restored(self) -> Array:
        """Whether the host that Red acts on was restored so far."""
        hosts = np.arange(self["red_access"].shape[2])
        here = self.restored[..., None] & (self.blue_host[..., None] == hosts)
        return at(np.cumsum(here, axis=1) > 0, self.red_host)


def at(values: Array, hosts: Array) -> Array:
    """Picks, of (episodes, steps, hosts, ...), the entry of one host a step; -1 picks the last."""
    index = hosts.astype(np.intp).reshape(*hosts.shape, *([1] * (values.ndim - 2)))
    return np.take_along_axis(values, index % values.shape[2], axis=2)[:, :, 0]


def shows(observation: Array, hosts: Array, bits: tuple[int, int], offset: int) -> Array:
    """Says whether the observation has these two bits at one host a step."""
    table = observation.reshape(*observation.shape[:2], -1, 4)[..., offset : offset + 2]
    return np.asarray((at(table, hosts) == bits).all(axis=-1) & (hosts >= 0))


def _empty_scan_restarts_chain(s: Steps) -> Where:
    """B_line's scan of Op_Server0 found no way, and the chain starts again."""
    no_route = np.zeros_like(s.valid)
    no_route[:, 1:] = s.ended(Outcome.NO_ROUTE)[:, :-1]
    return ((s.before("bline_state") == 11) & no_route & (s["bline_state"] == 1),)


def _remove_misses(s: Steps) -> Where:
    """Kind of user session that outlives Remove: 1 undetected shell, 2 SSH."""
    kinds = at(s.before("red_session_kinds"), s.blue_host)
    missed = s.removed & (kinds[..., 3] == 0) & s.holds & (kinds[..., 1:3] > 0).any(axis=-1)
    return missed, np.where(kinds[..., 1] > 0, 1, 2)


def _remove_on_privileged(s: Steps) -> Where:
    both = (at(access, s.blue_host) for access in (s.before("red_access"), s["red_access"]))
    was, still = (access == Access.PRIVILEGED for access in both)
    return (s.removed & was & still & (s.blue_host != USER0),)


FEATURES: Final[dict[str, Callable[[Steps], Where]]] = {
    # --- the plain course of the game
    "blue_action": lambda s: (s.valid, s["blue_action"], s["blue_success"]),
    "bline_transition": lambda s: (
        s["bline_state"] >= 0,
        s.before("bline_state"),
        s["bline_state"],
    ),
    "situation": lambda s: (
        *(s.valid, np.full(s.valid.shape, RED_AGENTS.index(s.red_agent))),
        *(s["red_type"], s["red_outcome"], s["red_target"]),
    ),
    "exploit": lambda s: (s.exploited, s["red_target"], s["red_concrete"], s["red_outcome"]),
    "decoy_hit": lambda s: (
        s["red_decoy_hit"] >= 0,
        s["red_target"],
        s["red_concrete"],
        s["red_decoy_hit"],
    ),
    "outcome": lambda s: (s.valid, s["red_outcome"]),
    "restore_of_held_host": lambda s: (s.restored & s.held & ~s.holds, s.blue_host),
    "green_scan": lambda s: (s.green_scans, s["green_target"]),
    # --- Red's exploits
    "undetected_shell": lambda s: (s["exploit_detected"] == 0,),
    "undetected_shell_masked_by_decoy": lambda s: (
        (s["exploit_detected"] == 0) & s.placed & s.meet & ~s.shown(SCAN),
    ),
    "stale_port": lambda s: (s.stale_port(),),
    "impossible_exploit": lambda s: (  # the port is open, by a service that does not fit
        s.exploited & s.ended(Outcome.SERVICE_ABSENT) & ~s.stale_port(),
        *(s["red_target"], s["red_concrete"]),
    ),
    "unroutable": lambda s: (s.ended(Outcome.NO_ROUTE), s["red_type"]),
    "false_alarm": lambda s: (
        s.exploited & (s["red_success"] == Success.FALSE) & s.shown(EXPLOIT),
    ),
    "decoy_hit_beside_new_decoy": lambda s: (  # looks like an exploit
        s.placed
        & s.meet
        & (s["red_decoy_hit"] >= 0)
        & (s["red_concrete"] != SSH)
        & s.shown(EXPLOIT),
    ),
    "unseen_decoy": lambda s: (  # that came after Red's last scan
        s.exploited & s.succeeded & ((s.on_target("open_ports") & ~s.remembered()) > 0),
    ),
    "useless_decoy": lambda s: (  # a Vsftpd on the port of a real web server
        (s["red_concrete"] == HTTP) & (s.on_target("decoys") >> 7 & 1 > 0) & s.succeeded,
    ),
    # --- Red's plans
    "empty_scan_restarts_chain": _empty_scan_restarts_chain,
    "meander_forgets_operational_host": lambda s: (s.lost_by_meander(OPERATIONAL),),
    "meander_forgets_enterprise_host": lambda s: (s.lost_by_meander(ENTERPRISE),),
    "meander_blind_host": lambda s: (  # whose one scan found no way
        np.full(s.valid.shape, s.red_agent == "meander") & s.ended(Outcome.NOT_SCANNED),
    ),
    # --- Impact
    "impact_stops_service": lambda s: ((s.before("ot_down") == 0) & (s["ot_down"] == 1),),
    "restore_brings_service_back": lambda s: ((s.before("ot_down") == 1) & (s["ot_down"] == 0),),
    "impact_on_immune_service": lambda s: (
        s.red(RedAction.IMPACT)
        & (s["red_success"] == Success.TRUE)
        & (s["ot_stoppable"] == 0)
        & (s["ot_down"] == 0),
    ),
    # --- what Blue sees and what its actions do
    "decoy_masks_activity": lambda s: ((s["obs"] != s["obs_cw2"]).any(axis=-1),),
    "belief_lowered": lambda s: (  # from Privileged to User, by a further exploit
        shows(s.before("obs"), s.red_host, PRIVILEGED, 2) & shows(s["obs"], s.red_host, USER, 2),
    ),
    "analyse_finds_leftover": lambda s: (  # a file on a host that Red has lost
        s.analysed
        & ~s.held
        & (at(s.before("malware"), s.blue_host) == 1)
        & shows(s["obs"], s.blue_host, PRIVILEGED, 2),
    ),
    "analyse_misses_session": lambda s: (
        s.analysed & s.held & (at(s.before("malware"), s.blue_host) == 0) & (s.blue_host != USER0),
    ),
    "remove_kills": lambda s: (s.removed & s.held & ~s.holds, s.blue_host),
    "remove_misses": _remove_misses,
    "remove_on_privileged": _remove_on_privileged,
    "restore_of_foothold": lambda s: (  # further red sessions on User0 go, the first one stays
        s.restored
        & (s.blue_host == USER0)
        & (s.before("red_sessions")[..., USER0] > s["red_sessions"][..., USER0]),
    ),
    "repeated_vsftpd": lambda s: (s.placed & (at(s["vsftpd_count"], s.blue_host) > 1),),
    "restore_removes_decoys": lambda s: (s.restored & (at(s.before("decoys"), s.blue_host) > 0),),
    "green_scan_hides_exploit": lambda s: (
        s.green_scans
        & (s["green_target"] == s.red_host)
        & s.exploited
        & (s["exploit_detected"] == 1)
        & s.shown(SCAN),
    ),
    "green_scan_masked_by_decoy": lambda s: (
        s.green_scans & s.placed & (s["green_target"] == s.blue_host) & ~s.shown(SCAN, s.blue_host),
    ),
    # --- where the rule sets part
    "rescan_forgets": lambda s: (s.rescan(forgets=True),),
    "rescan_remembers": lambda s: (s.rescan(forgets=False), s["red_target"]),
    "haraka_broken": lambda s: (s.ended(Outcome.BROKEN_SERVICE), s["red_target"]),
    "haraka_after_restore": lambda s: (
        (s["red_concrete"] == HARAKA) & s.succeeded & s.ever_restored(),
        s["red_target"],
    ),
}


def features_of(trace: Trace) -> set[Feature]:
    steps = Steps(trace)
    found: set[Feature] = set()
    for name, function in FEATURES.items():
        applies, *details = function(steps)
        for step in np.argwhere(applies & steps.valid):
            found.add((name, *(int(detail[*step]) for detail in details)))
    return found
