"""What can happen in a recorded step, as named features.

A feature function looks at a whole recording and says at which steps it applies, and with which
details: `exploit` applies to every exploit, with its host, technique and outcome as details. One
feature, e.g. `("exploit", 9, 8, 1)`, is a name with such details. The selection of the fixtures
and the test of their coverage share this list.

All codes are those of the trace format: see `docs/parity.md`.
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

SSH: Final = TRACE_EXPLOIT_NAMES.index("SSHBruteForce")
ENTERPRISE: Final = slice(1, 4)  # without the Defender
OPERATIONAL: Final = slice(4, 8)

# The four bits of a host in the observation
_ACTIVITY_SCAN = (1, 0)
_ACTIVITY_EXPLOIT = (1, 1)
_MARK_USER = (0, 1)
_MARK_PRIVILEGED = (1, 1)


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
        self.placed_decoy: Array = self.blue(ActionKind.FIRST_DECOY) & self.accepted
        sweeps = self.red(RedAction.DISCOVER_REMOTE_SYSTEMS)
        self.red_on_host: Array = np.where(sweeps, -1, self["red_target"])  # -1 for none
        self.meet: Array = (self.blue_host >= 0) & (self.blue_host == self.red_on_host)

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

    def red_outcome(self, outcome: Outcome) -> Array:
        return np.asarray(self["red_outcome"] == outcome)


def at(values: Array, hosts: Array) -> Array:
    """Picks, of (episodes, steps, hosts, ...), the entry of one host a step; -1 picks the last."""
    index = hosts.astype(np.intp).reshape(*hosts.shape, *([1] * (values.ndim - 2)))
    return np.take_along_axis(values, index % values.shape[2], axis=2)[:, :, 0]


def shows(observation: Array, hosts: Array, bits: tuple[int, int], offset: int) -> Array:
    """Says whether the observation has these two bits at one host a step."""
    table = observation.reshape(*observation.shape[:2], -1, 4)[..., offset : offset + 2]
    return np.asarray((at(table, hosts) == bits).all(axis=-1) & (hosts >= 0))


def activity(observation: Array, hosts: Array, bits: tuple[int, int]) -> Array:
    return shows(observation, hosts, bits, 0)


def marked(observation: Array, hosts: Array, bits: tuple[int, int]) -> Array:
    return shows(observation, hosts, bits, 2)


FEATURES: Final[dict[str, Callable[[Steps], Where]]] = {}


def feature(function: Callable[[Steps], Where]) -> Callable[[Steps], Where]:
    FEATURES[function.__name__] = function
    return function


def features_of(trace: Trace) -> list[set[Feature]]:
    """Returns the features of each episode."""
    steps = Steps(trace)
    found: list[set[Feature]] = [set() for _ in range(trace.episodes)]
    for name, function in FEATURES.items():
        applies, *details = function(steps)
        for episode, step in np.argwhere(applies & steps.valid):
            found[episode].add((name, *(int(detail[episode, step]) for detail in details)))
    return found


# --- the plain course of the game


@feature
def blue_action(s: Steps) -> Where:
    """Action, success: decoys occur both accepted and refused."""
    return s.valid, s["blue_action"], s["blue_success"]


@feature
def bline_transition(s: Steps) -> Where:
    """Place in the chain before and after; the first step goes from 0 to 0."""
    return s["bline_state"] >= 0, s.before("bline_state"), s["bline_state"]


@feature
def situation(s: Steps) -> Where:
    """Red agent (its place in RED_AGENTS), action, outcome, target."""
    agent = np.full(s.valid.shape, RED_AGENTS.index(s.red_agent))
    return s.valid, agent, s["red_type"], s["red_outcome"], s["red_target"]


@feature
def meeting(s: Steps) -> Where:
    """Blue's kind of action, whether accepted, Red's action and its outcome on the same host."""
    return s.meet, s.blue_kind, s.accepted, s["red_type"], s["red_outcome"]


@feature
def belief_change(s: Steps) -> Where:
    """Blue's kind of action on the host Red acts on, and its mark there before and after."""
    was, now = (
        at(obs.reshape(*s.valid.shape, -1, 4)[..., 2:], s.red_on_host) @ (1, 2)
        for obs in (s.before("obs"), s["obs"])
    )
    return s.red_on_host >= 0, np.where(s.meet, s.blue_kind, -1), was, now


@feature
def exploit(s: Steps) -> Where:
    """Host, technique, outcome."""
    return s.red(RedAction.EXPLOIT), s["red_target"], s["red_concrete"], s["red_outcome"]


@feature
def decoy_hit(s: Steps) -> Where:
    """Host, technique, decoy."""
    hit = s["red_decoy_hit"] >= 0
    return hit, s["red_target"], s["red_concrete"], s["red_decoy_hit"]


@feature
def outcome(s: Steps) -> Where:
    return s.valid, s["red_outcome"]


@feature
def restore_of_held_host(s: Steps) -> Where:
    """Host from which Restore drives Red out."""
    held = at(s.before("red_access"), s.blue_host) > Access.NONE
    gone = at(s["red_access"], s.blue_host) == Access.NONE
    return s.blue(ActionKind.RESTORE) & held & gone, s.blue_host


@feature
def green_scan(s: Steps) -> Where:
    """Host that Green scans."""
    return s["green_type"] == 1, s["green_target"]


# --- Red's exploits


@feature
def undetected_shell(s: Steps) -> Where:
    """Host, technique."""
    return s["exploit_detected"] == 0, s["red_target"], s["red_concrete"]


@feature
def undetected_shell_masked_by_decoy(s: Steps) -> Where:
    """A decoy placed on the host in the same step hides even the scan it would look like."""
    seen = activity(s["obs"], s.red_on_host, _ACTIVITY_SCAN)
    return ((s["exploit_detected"] == 0) & s.placed_decoy & s.meet & ~seen,)


@feature
def stale_port(s: Steps) -> Where:
    """Host on which an exploit goes for a remembered port that nobody listens on any more."""
    port = EXPLOIT_PORT[EXPLOIT_OF_CODE[s["red_concrete"]]]
    there = at(s["open_ports"], s.red_on_host) & port
    absent = s.red_outcome(Outcome.SERVICE_ABSENT) & (there == 0)
    return s.red(RedAction.EXPLOIT) & absent, s["red_target"]


@feature
def impossible_exploit(s: Steps) -> Where:
    """Host and technique where the port is open, but by a service the technique does not fit."""
    stale = stale_port(s)[0]
    absent = s.red(RedAction.EXPLOIT) & s.red_outcome(Outcome.SERVICE_ABSENT)
    return absent & ~stale, s["red_target"], s["red_concrete"]


@feature
def unroutable(s: Steps) -> Where:
    """Red's action (sweep, scan or exploit) that does not get to the Operational subnet."""
    return s.red_outcome(Outcome.NO_ROUTE), s["red_type"]


@feature
def false_alarm(s: Steps) -> Where:
    """Host and technique of a failed exploit that Blue is shown as a success."""
    failed = s.red(RedAction.EXPLOIT) & (s["red_success"] == Success.FALSE)
    shown = activity(s["obs"], s.red_on_host, _ACTIVITY_EXPLOIT)
    return failed & shown, s["red_target"], s["red_concrete"]


@feature
def decoy_hit_beside_new_decoy(s: Steps) -> Where:
    """A hit on an older decoy, in the step a further one is placed, looks like an exploit."""
    hit = (s["red_decoy_hit"] >= 0) & (s["red_concrete"] != SSH)
    shown = activity(s["obs"], s.red_on_host, _ACTIVITY_EXPLOIT)
    return (s.placed_decoy & s.meet & hit & shown,)


@feature
def unseen_decoy(s: Steps) -> Where:
    """An exploit succeeds on a host with a decoy that came after Red's last scan of it."""
    remembered = at(s.before("red_ports"), s.red_on_host)
    unseen = at(s["open_ports"], s.red_on_host) & ~remembered
    succeeded = s.red(RedAction.EXPLOIT) & s.red_outcome(Outcome.SUCCESS)
    return (succeeded & (unseen > 0),)


@feature
def useless_decoy(s: Steps) -> Where:
    """Host where an HTTP exploit succeeds although a Vsftpd decoy is on its port too."""
    vsftpd = at(s["decoys"], s.red_on_host) >> 7 & 1
    http = s["red_concrete"] == TRACE_EXPLOIT_NAMES.index("HTTPRFI")
    return http & (vsftpd > 0) & s.red_outcome(Outcome.SUCCESS), s["red_target"]


# --- Red's plans


@feature
def empty_scan_restarts_chain(s: Steps) -> Where:
    """B_line's scan of Op_Server0 found no way, and the chain starts again."""
    no_route = np.zeros_like(s.valid)
    no_route[:, 1:] = s.red_outcome(Outcome.NO_ROUTE)[:, :-1]
    return ((s.before("bline_state") == 11) & no_route & (s["bline_state"] == 1),)


@feature
def meander_forgets(s: Steps) -> Where:
    """Whether Meander takes an Operational host (1) or an Enterprise host (0) off its list."""
    lost = (s.before("meander_escalated") > 0) & (s["meander_escalated"] == 0)
    operational = lost[..., OPERATIONAL].any(axis=-1)
    return operational | lost[..., ENTERPRISE].any(axis=-1), operational


@feature
def meander_blind_host(s: Steps) -> Where:
    """Meander exploits a host whose one scan found no way."""
    mine = np.full(s.valid.shape, s.red_agent == "meander")
    return (mine & s.red_outcome(Outcome.NOT_SCANNED),)


# --- Impact


@feature
def impact_stops_service(s: Steps) -> Where:
    return ((s.before("ot_down") == 0) & (s["ot_down"] == 1),)


@feature
def restore_brings_service_back(s: Steps) -> Where:
    return ((s.before("ot_down") == 1) & (s["ot_down"] == 0),)


@feature
def impact_on_immune_service(s: Steps) -> Where:
    """Impact reports success, and the service of the once restored host runs on."""
    worked = s.red(RedAction.IMPACT) & (s["red_success"] == Success.TRUE)
    return (worked & (s["ot_stoppable"] == 0) & (s["ot_down"] == 0),)


# --- what Blue sees and what its actions do


@feature
def decoy_masks_activity(s: Steps) -> Where:
    """The two observations differ: a decoy placed in the same step hides what happened."""
    return ((s["obs"] != s["obs_cw2"]).any(axis=-1),)


@feature
def belief_lowered(s: Steps) -> Where:
    """A further exploit turns the mark Privileged into User."""
    was = marked(s.before("obs"), s.red_on_host, _MARK_PRIVILEGED)
    return (was & marked(s["obs"], s.red_on_host, _MARK_USER),)


@feature
def analyse_finds_leftover(s: Steps) -> Where:
    """Analyse finds a file on a host that Red has lost."""
    clean = at(s.before("red_access"), s.blue_host) == Access.NONE
    file = at(s.before("malware"), s.blue_host) == 1
    found = marked(s["obs"], s.blue_host, _MARK_PRIVILEGED)
    return (s.blue(ActionKind.ANALYSE) & clean & file & found,)


@feature
def analyse_misses_session(s: Steps) -> Where:
    """Analyse finds nothing on a host that Red holds."""
    held = at(s.before("red_access"), s.blue_host) > Access.NONE
    nothing = at(s.before("malware"), s.blue_host) == 0
    return (s.blue(ActionKind.ANALYSE) & held & nothing & (s.blue_host != USER0),)


@feature
def remove_kills(s: Steps) -> Where:
    """Host that Red loses by Remove."""
    held = at(s.before("red_access"), s.blue_host) > Access.NONE
    gone = at(s["red_access"], s.blue_host) == Access.NONE
    return s.blue(ActionKind.REMOVE) & held & gone, s.blue_host


@feature
def remove_misses(s: Steps) -> Where:
    """Kind of user session that outlives Remove: 1 undetected shell, 2 SSH."""
    kinds = at(s.before("red_session_kinds"), s.blue_host)
    still = at(s["red_access"], s.blue_host) > Access.NONE
    missed = s.blue(ActionKind.REMOVE) & (kinds[..., 3] == 0) & still
    return missed & (kinds[..., 1:3] > 0).any(axis=-1), np.where(kinds[..., 1] > 0, 1, 2)


@feature
def remove_on_privileged(s: Steps) -> Where:
    held = at(s.before("red_access"), s.blue_host) == Access.PRIVILEGED
    still = at(s["red_access"], s.blue_host) == Access.PRIVILEGED
    return (s.blue(ActionKind.REMOVE) & held & still & (s.blue_host != USER0),)


@feature
def restore_of_foothold(s: Steps) -> Where:
    """Restore of User0, where further red sessions go and the first one stays."""
    more = s.before("red_sessions")[..., USER0] > s["red_sessions"][..., USER0]
    return (s.blue(ActionKind.RESTORE) & (s.blue_host == USER0) & more,)


@feature
def repeated_vsftpd(s: Steps) -> Where:
    return (s.placed_decoy & (at(s["vsftpd_count"], s.blue_host) > 1),)


@feature
def restore_removes_decoys(s: Steps) -> Where:
    had = at(s.before("decoys"), s.blue_host) > 0
    return (s.blue(ActionKind.RESTORE) & had,)


@feature
def green_scan_hides_exploit(s: Steps) -> Where:
    """A detected exploit looks like a scan, as Green scans the same host in the same step."""
    same = (s["green_type"] == 1) & (s["green_target"] == s.red_on_host)
    worked = s.red(RedAction.EXPLOIT) & (s["exploit_detected"] == 1)
    return (same & worked & activity(s["obs"], s.red_on_host, _ACTIVITY_SCAN),)


@feature
def green_scan_masked_by_decoy(s: Steps) -> Where:
    same = (s["green_type"] == 1) & s.placed_decoy & (s["green_target"] == s.blue_host)
    return (same & ~activity(s["obs"], s.blue_host, _ACTIVITY_SCAN),)


# --- where the rule sets part


def _rescan(s: Steps) -> tuple[Array, Array, Array]:
    """Rescans of hosts of which Red remembered a port that is closed now; ports then and now."""
    old = at(s.before("red_ports"), s.red_on_host)
    new = at(s["red_ports"], s.red_on_host)
    is_open = at(s["open_ports"], s.red_on_host)
    scanned = s.red(RedAction.DISCOVER_NETWORK_SERVICES) & s.red_outcome(Outcome.SUCCESS)
    return scanned & ((old & ~is_open) != 0), new, is_open


@feature
def rescan_forgets(s: Steps) -> Where:
    """Main rules: a scan replaces what Red remembers of the host."""
    rescan, new, is_open = _rescan(s)
    return rescan & (new == is_open), s["red_target"]


@feature
def rescan_remembers(s: Steps) -> Where:
    """Competition rules: a scan adds to what Red remembers of the host."""
    rescan, new, is_open = _rescan(s)
    return rescan & (new != is_open), s["red_target"]


@feature
def haraka_broken(s: Steps) -> Where:
    """Competition rules: host whose mail service a Restore has made unbreakable."""
    return s.red_outcome(Outcome.BROKEN_SERVICE), s["red_target"]


@feature
def haraka_after_restore(s: Steps) -> Where:
    """Main rules: host whose mail service falls after a Restore as before."""
    restores = s.blue(ActionKind.RESTORE)
    hosts = np.arange(s["red_access"].shape[2])
    ever = np.cumsum(restores[..., None] & (s.blue_host[..., None] == hosts), axis=1) > 0
    haraka = s["red_concrete"] == TRACE_EXPLOIT_NAMES.index("HarakaRCE")
    worked = haraka & s.red_outcome(Outcome.SUCCESS)
    return worked & at(ever, s.red_on_host), s["red_target"]
