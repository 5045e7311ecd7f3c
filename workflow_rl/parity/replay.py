"""Replays recordings through the simulator and compares every step."""

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import GameConfig, ObservationName, RuleSetName
from workflow_rl.config.reds import GIVEN, reds_of
from workflow_rl.parity.trace import CODE_OF_EXPLOIT, EXPLOIT_OF_CODE, TRACE_EXPLOIT_NAMES, Trace
from workflow_rl.scenario.images import DECOY_NAMES, IMAGES, PORTS_OF_DECOYS
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.tables import tables_of
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.draws import CHOSE_NOBODY, TOOK_FAVOURITE
from workflow_rl.sim.network import held_hosts
from workflow_rl.sim.red_given import RED_SLEEP, legal_actions, red_actions_of
from workflow_rl.sim.state import Access, Outcome, RedAction, RedAgent

_Array = NDArray[Any]
_SHOWN: Final[dict[str, ObservationName]] = {"obs": "challenge", "obs_cw2": "cardiff"}
# Red agents whose actions are given: a draw names a host, but the random Red draws among all legal
# actions, and path draws its host in the step of a sweep, which does not show it.
_NOT_BY_DRAWS: Final = (GIVEN, "random", "path")
_JUICY_POTATO = TRACE_EXPLOIT_NAMES.index("JuicyPotato")
_VSFTPD = DECOY_NAMES.index("DecoyVsftpd")
_V4L2 = TRACE_EXPLOIT_NAMES.index("V4L2KernelExploit")


def recorded_draws(trace: Trace) -> NDArray[np.int64]:
    """Returns the recording's outcomes of chance as draws, (episodes, steps, 5)."""
    a = trace.arrays
    has_host = np.isin(
        a["red_type"],
        (
            RedAction.DISCOVER_NETWORK_SERVICES,
            RedAction.EXPLOIT,
            RedAction.PRIVILEGE_ESCALATE,
            RedAction.IMPACT,
        ),
    )
    target = np.where(has_host & (a["red_target"] >= 0), a["red_target"], CHOSE_NOBODY)
    other = EXPLOIT_OF_CODE[a["exploit_other"]]
    exploit = np.where(
        a["exploit_took_top"] == 1, TOOK_FAVOURITE, np.where(other >= 0, other, CHOSE_NOBODY)
    )
    detection = np.where(a["exploit_detected"] >= 0, a["exploit_detected"], CHOSE_NOBODY)
    green = np.where(a["green_type"] == 1, a["green_target"], CHOSE_NOBODY)
    draws = [target, exploit, detection, green, _decoys_placed(a["decoys"])]
    return ~np.stack(draws, axis=-1).astype(np.int64)


def _decoys_placed(decoys: _Array) -> _Array:
    """Returns (episodes, steps) the new decoy of each step: what Misinform has placed."""
    before = np.concatenate([np.zeros_like(decoys[:, :1]), decoys[:, :-1]], axis=1)
    new = np.bitwise_or.reduce(decoys & ~before, axis=-1).astype(np.int64)
    return np.where(new, np.log2(np.maximum(new & -new, 1)).astype(np.int64), CHOSE_NOBODY)


def _members(sets: _Array, size: int) -> _Array:
    """Turns sets (...) into flags (..., size)."""
    return (sets[..., None] >> np.arange(size)) & 1


def _kinds(removable: _Array, persistent: _Array, access: _Array) -> _Array:
    """Returns (..., hosts, 2) whether a host holds a session that Remove kills, and one it misses.

    One that it misses counts only while the host is not privileged.
    """
    return np.stack([removable, np.where(access == Access.USER, persistent, 0)], axis=-1)


class _Read:
    """The quantities of a recording, read from our states on a network."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._net: Any = tables_of(network)[0]
        self._hosts, self._zones = len(network.hosts), len(network.zones)
        self._windows = np.array([IMAGES[host.image].windows for host in network.hosts])

    def sets(self, s: _Array, field: str) -> _Array:
        return _members(s[field], self._hosts)

    def concrete(self, s: _Array) -> _Array:
        """Returns the technique by the traces' numbers; a successful escalation has one too."""
        exploit = np.where(s["red_exploit"] >= 0, CODE_OF_EXPLOIT[s["red_exploit"]], 0)
        escalated = (s["red_action"] == RedAction.PRIVILEGE_ESCALATE) & (
            s["red_outcome"] == Outcome.SUCCESS
        )
        technique = np.where(self._windows[s["red_target"]], _JUICY_POTATO, _V4L2)
        return np.where(escalated, technique, exploit)

    def access(self, s: _Array) -> _Array:
        return _members(held_hosts(s), self._hosts) + self.sets(s, "privileged")

    def stoppable(self, s: _Array) -> _Array:
        return _members(self._net["runs_ot"] & ~s["ot_down"] & ~s["restored"], self._hosts)

    def legal(self, s: _Array) -> _Array:
        """Returns (..., actions + 1) what Red may do now; the last flag: anything else."""
        flags = [legal_actions(self._network, env) for env in s.reshape(-1)]
        rows = np.array(flags).reshape(*s.shape, -1)
        return np.concatenate([rows, np.zeros_like(rows[..., :1])], axis=-1)

    def only_of(self, agent: RedAgent, s: _Array, sets: _Array) -> _Array:
        return np.where((s["red_agent"] == agent)[..., None], sets, 0)

    def vsftpd(self, s: _Array) -> _Array:
        hosts = slice(0, self._hosts)
        more: _Array = s["more_vsftpd"][..., hosts]
        return (s["decoys"][..., hosts] >> _VSFTPD & 1) + more

    def all(self, s: _Array, wanted: Container[str]) -> dict[str, _Array]:
        """Returns what is wanted of FORMAT's arrays, in the order in which they are compared."""
        hosts, meander = slice(0, self._hosts), RedAgent.MEANDER
        fields: dict[str, Callable[[], _Array]] = {
            "red_type": lambda: s["red_action"],
            "red_target": lambda: s["red_target"],
            "red_concrete": lambda: self.concrete(s),
            "exploit_n_options": lambda: s["red_options"],
            "red_success": lambda: s["red_success"],
            "red_outcome": lambda: s["red_outcome"],
            "red_decoy_hit": lambda: s["red_decoy_hit"],
            "blue_success": lambda: s["blue_success"],
            "blue_valid": lambda: s["blue_valid"],
            "red_access": lambda: self.access(s),
            "malware": lambda: self.sets(s, "malware"),
            "decoys": lambda: s["decoys"][..., hosts],
            "vsftpd_count": lambda: self.vsftpd(s),
            "open_ports": lambda: (self._net["ports"] | PORTS_OF_DECOYS[s["decoys"]])[..., hosts],
            "ot_down": lambda: self.sets(s, "ot_down"),
            "ot_stoppable": lambda: self.stoppable(s),
            "ot_known": lambda: s["ot_known"],
            "red_ip_known": lambda: self.sets(s, "addresses_known"),
            "red_host_known": lambda: self.sets(s, "names_known"),
            "red_subnet_known": lambda: _members(s["subnets_known"], self._zones),
            "red_scanned": lambda: self.sets(s, "ports_known"),
            "red_ports": lambda: s["ports"][..., hosts],
            "bline_state": lambda: np.where(s["red_agent"] == RedAgent.BLINE, s["bline_index"], -1),
            "meander_scanned": lambda: self.only_of(meander, s, self.sets(s, "meander_scanned")),
            "meander_exploited": lambda: self.only_of(
                meander, s, self.sets(s, "meander_exploited")
            ),
            "meander_escalated": lambda: self.only_of(
                meander, s, self.sets(s, "meander_escalated")
            ),
            "meander_mapped": lambda: self.only_of(meander, s, self.sets(s, "meander_mapped")),
            "meander_subnets": lambda: self.only_of(
                meander, s, _members(s["meander_swept"], self._zones)
            ),
            "conf_penalty": lambda: s["confidentiality"] / 10.0,
            "avail_penalty": lambda: s["availability"] / 10.0,
            "red_session_kinds": lambda: _kinds(
                self.sets(s, "removable"), self.sets(s, "persistent"), self.access(s)
            ),
            "red_legal": lambda: self.legal(s),
        }
        return {name: read() for name, read in fields.items() if name in wanted}


@dataclass(frozen=True)
class Divergence:
    """The first step of a file on which simulator and recording differ."""

    file: str
    episode: int
    step: int
    field: str
    expected: object
    got: object

    def __str__(self) -> str:
        """Returns the divergence as one line."""
        return (
            f"first divergence: file {self.file}, episode {self.episode}, step {self.step}, "
            f"field {self.field}, expected {self.expected}, got {self.got}"
        )


@dataclass(frozen=True)
class Comparison:
    """What was compared in one file, or in live play, and what differed."""

    file: str
    episodes: int
    steps: int
    fields: tuple[str, ...]
    mismatches: int  # (episode, step, field) that differ
    first: Divergence | None
    raised: int = 0  # episodes that end where Red raised an exception
    cut: int = 0  # episodes that were compared only up to a process id drawn twice: see `record`

    def __add__(self, later: "Comparison") -> "Comparison":
        """Returns both together; the episodes of the other one come after ours."""
        first = later.first and replace(later.first, episode=later.first.episode + self.episodes)
        return replace(
            self,
            episodes=self.episodes + later.episodes,
            steps=self.steps + later.steps,
            mismatches=self.mismatches + later.mismatches,
            first=self.first or first,
            raised=self.raised + later.raised,
            cut=self.cut + later.cut,
        )


def play(trace: Trace, rules: RuleSetName) -> tuple[dict[str, _Array], _Array]:
    """Plays the recorded episodes.

    Returns:
        Every compared quantity, (episodes, steps, ...), and (episodes, steps) what Red has raised.
    """
    network = trace.network
    red_actions_there = red_actions_of(network)
    draws = recorded_draws(trace)
    actions = trace.arrays["blue_action"].astype(np.int64)
    is_given = reds_of(trace.red_agent)[0].agent in _NOT_BY_DRAWS
    given = red_actions_there.numbers(trace.arrays["red_type"], trace.arrays["red_target"])
    shown = {name: seen for name, seen in _SHOWN.items() if name in trace.arrays}
    collected: dict[str, list[_Array]] = {name: [] for name in (*shown, "reward")}
    states = []
    for name, observation in shown.items():
        config = GameConfig(
            network=network,
            red_agent=GIVEN if is_given else trace.red_agent,
            rules=rules,
            observation=observation,
            green_agent="active",  # its recorded draws say when it really acts
            episode_length=trace.steps,
        )
        batch = Batch(trace.episodes, config, autoreset=False)
        batch.reset(seed=0)
        for t in range(trace.steps):
            red_actions = np.full(trace.episodes, RED_SLEEP)
            if is_given:  # what our rules do not allow cannot be followed: a mismatch
                for k, (env, action) in enumerate(zip(batch.state, given[:, t], strict=True)):
                    if legal_actions(network, env)[action]:
                        red_actions[k] = action
            batch.step(actions[:, t].copy(), draws[:, t].copy(), red_actions)
            size = 4 * len(network.observed)
            collected[name].append(batch.observation[:, :size].copy())
            if name == "obs":
                collected["reward"].append(batch.out.reward.copy())
                states.append(batch.state.copy())
    played = {name: np.stack(values, axis=1) for name, values in collected.items()}
    state = np.stack(states, axis=1)
    return played | _Read(network).all(state, trace.arrays), state["red_raised"]


def _expected(trace: Trace, name: str) -> _Array:
    values = trace.arrays[name]
    if name == "conf_penalty":  # a sum of floats: rounded as the reward rounds it
        return np.round(values, 1)
    if name == "red_session_kinds":
        persistent = (values[..., 1] > 0) | (values[..., 2] > 0)
        return _kinds(values[..., 0] > 0, persistent, trace.arrays["red_access"])
    return values


def compare(trace: Trace, rules: RuleSetName) -> Comparison:
    """Replays one file and compares every field of every step."""
    played, raised = play(trace, rules)
    valid = np.arange(trace.steps) < trace.lengths[:, None]
    # Where Red raised, it does so in the step after the last one; before, nowhere.
    ends = np.arange(trace.steps) == trace.lengths[:, None]
    told = {"red_raised": np.where(ends, trace.raised[:, None], 0)}
    trace = replace(trace, arrays=trace.arrays | told)
    played["red_raised"] = np.where(valid | ends, raised, 0)
    mismatches = 0
    first: Divergence | None = None
    for name, got in played.items():
        expected = _expected(trace, name)
        compared = valid | ends if name == "red_raised" else valid
        differs = (got != expected).reshape(*valid.shape, -1).any(axis=-1) & compared
        mismatches += int(differs.sum())
        if differs.any():
            episode, step = (int(i) for i in np.argwhere(differs)[0])
            if first is None or (episode, step) < (first.episode, first.step):
                values = (array[episode, step].tolist() for array in (expected, got))
                first = Divergence(trace.name, episode, step, name, *values)
    steps = int(trace.lengths.sum())
    ended = int((trace.raised > 0).sum())
    return Comparison(trace.name, trace.episodes, steps, tuple(played), mismatches, first, ended)
