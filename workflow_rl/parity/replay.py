"""Replays recordings through the simulator and compares every step."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.config import GameConfig, ObservationName, RuleSetName
from workflow_rl.config.reds import GIVEN, reds_of
from workflow_rl.parity.trace import CODE_OF_EXPLOIT, EXPLOIT_OF_CODE, TRACE_EXPLOIT_NAMES, Trace
from workflow_rl.scenario.tables import (
    HOST_PORTS,
    HOSTS,
    NUM_HOSTS,
    NUM_SUBNETS,
    OP_SERVER0,
    PORTS_OF_DECOYS,
)
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.draws import CHOSE_NOBODY, TOOK_FAVOURITE
from workflow_rl.sim.network import held_hosts
from workflow_rl.sim.observe import CHALLENGE_SIZE
from workflow_rl.sim.red_given import (
    NUM_RED_ACTIONS,
    RED_SLEEP,
    legal_red_actions,
    red_action_numbers,
)
from workflow_rl.sim.state import Access, Outcome, RedAction, RedAgent

_Array = NDArray[Any]
_SHOWN: Final[dict[str, ObservationName]] = {"obs": "challenge", "obs_cw2": "cardiff"}
_WINDOWS = np.array([host.windows for host in HOSTS])
_JUICY_POTATO = TRACE_EXPLOIT_NAMES.index("JuicyPotato")
_V4L2 = TRACE_EXPLOIT_NAMES.index("V4L2KernelExploit")


def recorded_draws(trace: Trace) -> NDArray[np.int64]:
    """Returns the recording's outcomes of chance as draws, (episodes, steps, 4)."""
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
    return ~np.stack([target, exploit, detection, green], axis=-1).astype(np.int64)


def _members(sets: _Array, size: int = NUM_HOSTS) -> _Array:
    """Turns sets (...) into flags (..., size)."""
    return (sets[..., None] >> np.arange(size)) & 1


def _concrete(s: _Array) -> _Array:
    """Returns the technique by the traces' numbers; a successful escalation has one too."""
    exploit = np.where(s["red_exploit"] >= 0, CODE_OF_EXPLOIT[s["red_exploit"]], 0)
    escalated = (s["red_action"] == RedAction.PRIVILEGE_ESCALATE) & (
        s["red_outcome"] == Outcome.SUCCESS
    )
    return np.where(escalated, np.where(_WINDOWS[s["red_target"]], _JUICY_POTATO, _V4L2), exploit)


def _access(s: _Array) -> _Array:
    return _members(held_hosts(s)) + _members(s["privileged"])


def _kinds(removable: _Array, persistent: _Array, access: _Array) -> _Array:
    """Returns (..., 13, 2) whether a host holds a session that Remove kills, and one it misses.

    One that it misses counts only while the host is not privileged.
    """
    return np.stack([removable, np.where(access == Access.USER, persistent, 0)], axis=-1)


def _legal(s: _Array) -> _Array:
    """Returns (...) the actions that Red may take now, bit a = action a."""
    sets = [legal_red_actions(env) for env in s.reshape(-1)]
    return np.array(sets, np.int64).reshape(s.shape)


def _only_of(agent: RedAgent, field: str) -> Callable[[_Array], _Array]:
    return lambda s: np.where((s["red_agent"] == agent)[..., None], _members(s[field]), 0)


# What is compared, in this order: the trace's array -> the same quantity of our state.
FIELDS: Final[dict[str, Callable[[_Array], _Array]]] = {
    "red_type": lambda s: s["red_action"],
    "red_target": lambda s: s["red_target"],
    "red_concrete": _concrete,
    "exploit_n_options": lambda s: s["red_options"],
    "red_success": lambda s: s["red_success"],
    "red_outcome": lambda s: s["red_outcome"],
    "red_decoy_hit": lambda s: s["red_decoy_hit"],
    "blue_success": lambda s: s["blue_success"],
    "red_access": _access,
    "malware": lambda s: _members(s["malware"]),
    "decoys": lambda s: s["decoys"],
    "open_ports": lambda s: HOST_PORTS | PORTS_OF_DECOYS[s["decoys"]],
    "ot_down": lambda s: ~s["ot_running"],
    "ot_stoppable": lambda s: (
        s["ot_running"] & ~_members(s["restored"]).astype(bool)[..., OP_SERVER0]
    ),
    "ot_known": lambda s: s["ot_known"],
    "red_ip_known": lambda s: _members(s["addresses_known"]),
    "red_host_known": lambda s: _members(s["names_known"]),
    "red_subnet_known": lambda s: _members(s["subnets_known"], NUM_SUBNETS),
    "red_scanned": lambda s: _members(s["ports_known"]),
    "red_ports": lambda s: s["ports"],
    "bline_state": lambda s: np.where(s["red_agent"] == RedAgent.BLINE, s["bline_index"], -1),
    "meander_scanned": _only_of(RedAgent.MEANDER, "meander_scanned"),
    "meander_exploited": _only_of(RedAgent.MEANDER, "meander_exploited"),
    "meander_escalated": _only_of(RedAgent.MEANDER, "meander_escalated"),
    "conf_penalty": lambda s: s["confidentiality"] / 10.0,
    "avail_penalty": lambda s: s["availability"] / 10.0,
    "red_session_kinds": lambda s: _kinds(
        _members(s["removable"]), _members(s["persistent"]), _access(s)
    ),
    "red_legal": lambda s: _members(_legal(s), NUM_RED_ACTIONS + 1),  # the last: anything else
}


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
            cut=self.cut + later.cut,
        )


def play(trace: Trace, rules: RuleSetName) -> dict[str, _Array]:
    """Plays the recorded episodes and returns every compared quantity, (episodes, steps, ...)."""
    draws = recorded_draws(trace)
    actions = trace.arrays["blue_action"].astype(np.int64)
    # A draw names a host; which of all legal actions the random Red took is given as that action.
    is_given = reds_of(trace.red_agent)[0].agent in (GIVEN, "random")
    given = red_action_numbers(trace.arrays["red_type"], trace.arrays["red_target"])
    collected: dict[str, list[_Array]] = {name: [] for name in (*_SHOWN, "reward")}
    states = []
    for name, observation in _SHOWN.items():
        config = GameConfig(
            red_agent=GIVEN if is_given else trace.red_agent,
            rules=rules,
            observation=observation,
            green_agent="active",  # its recorded draws say when it really acts
            episode_length=trace.steps,
        )
        batch = Batch(trace.episodes, config, autoreset=False)
        batch.reset(seed=0)
        for t in range(trace.steps):
            # What our rules do not allow cannot be followed: Red sleeps, which is a mismatch.
            legal = _legal(batch.state) >> given[:, t] & 1
            red_actions = np.where(legal, given[:, t], RED_SLEEP)
            batch.step(actions[:, t].copy(), draws[:, t].copy(), red_actions)
            collected[name].append(batch.observation[:, :CHALLENGE_SIZE].copy())
            if name == "obs":
                collected["reward"].append(batch.out.reward.copy())
                states.append(batch.state.copy())
    played = {name: np.stack(values, axis=1) for name, values in collected.items()}
    state = np.stack(states, axis=1)
    return played | {name: of(state) for name, of in FIELDS.items() if name in trace.arrays}


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
    played = play(trace, rules)
    valid = np.arange(trace.steps) < trace.lengths[:, None]
    mismatches = 0
    first: Divergence | None = None
    for name, got in played.items():
        expected = _expected(trace, name)
        differs = (got != expected).reshape(*valid.shape, -1).any(axis=-1) & valid
        mismatches += int(differs.sum())
        if differs.any():
            episode, step = (int(i) for i in np.argwhere(differs)[0])
            if first is None or (episode, step) < (first.episode, first.step):
                values = (array[episode, step].tolist() for array in (expected, got))
                first = Divergence(trace.name, episode, step, name, *values)
    steps = int(trace.lengths.sum())
    return Comparison(trace.name, trace.episodes, steps, tuple(played), mismatches, first)
