"""Records episodes of a running CybORG as a trace: what was done, how chance fell, what came out.

CybORG plays unchanged. How chance fell is derived from what came out; only the choice between
exploits is recorded as it is made, by wrapping `random.choices`.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.envs.cyborg import CyborgEnv
from workflow_rl.envs.cyborg_red import MirroredRed
from workflow_rl.envs.cyborg_state import (
    HOST_INDEX,
    RED_SERVER,
    Fields,
    addresses_of,
    is_privileged,
    is_removable,
    live_decoys,
    moment_fields,
    red_presence,
    reward_parts,
    script_plan,
    subnets_of,
    suspicious_processes,
)
from workflow_rl.parity.trace import (
    TRACE_EXPLOIT_NAMES,
    Trace,
    checked_trace,
    inputs_of,
    optional_outputs_of,
    outputs_of,
)
from workflow_rl.scenario.images import EXPLOITS, IMAGES
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import ACTION_HOST, CHALLENGE_SIZE, HOST_NAMES
from workflow_rl.scenario.tables import NOBODY
from workflow_rl.sim.red_given import RED_ACTION_CLASSES
from workflow_rl.sim.state import Access, Outcome, RedAction, Success

# What Blue does in an episode, given an observation, the action mask and the step.
Act = Callable[[NDArray[np.int8], NDArray[np.bool_], int], int]
Begin = Callable[[int], Act]  # begins an episode of a seed
_Choice = tuple[list[float], float]  # the weights chosen from, and the one taken

_DTYPES: Final = dict.fromkeys(("reward", "conf_penalty", "avail_penalty"), np.float64)
_EXPLOIT_OF_WEIGHT: Final = {  # CybORG names the candidates of a choice by their weights
    7.0: "FTPDirectoryTraversal",
    6.0: "HarakaRCE",
    5.0: "SQLInjection",
    4.0: "HTTPSRFI",
    3.0: "HTTPRFI",
    2.0: "EternalBlue",
    1.0: "BlueKeep",
    0.1: "SSHBruteForce",
}
_PORT_OF_EXPLOIT: Final = {exploit.name: exploit.port for exploit in EXPLOITS}
_FOOTHOLDS: Final = [SCENARIO2.number(host) for host in SCENARIO2.roles.pivots]


def record(name: str, env: CyborgEnv, seeds: Sequence[int], begin: Begin) -> Trace:
    """Plays an episode of each seed and returns them as one trace.

    An episode ends early, before the step in which CybORG gives a process an id that Blue has
    marked as suspicious before: Remove would then kill the wrong process. The simulator has no
    process ids.

    Args:
        name: of the trace.
        env: of one red agent, not mixed.
        seeds: one of each episode, for CybORG and for Blue.
        begin: begins an episode of Blue's; the observations are those of the environment.
    """
    episodes = [list(_episode(env, seed, begin(seed))) for seed in seeds]
    shape = len(seeds), env.config.episode_length
    network = env.config.network
    optional = optional_outputs_of(network)
    shapes = dict.fromkeys(inputs_of(network), ()) | outputs_of(network)
    shapes |= {key: optional[key] for key in ("obs_cw2", "red_legal")}
    shapes |= dict.fromkeys(("ot_down", "ot_stoppable"), ())
    arrays: dict[str, NDArray[Any]] = {
        key: np.zeros((*shape, *trailing), _DTYPES.get(key, np.int16))
        for key, trailing in shapes.items()
    }
    for episode, rows in enumerate(episodes):
        for key, values in arrays.items():
            values[episode, : len(rows)] = [row[key] for row in rows]
    arrays["n_steps"] = np.array([len(rows) for rows in episodes])
    arrays["meta_red"] = np.array(env.config.red_agent)
    return checked_trace(name, arrays)


def _episode(env: CyborgEnv, seed: int, act: Act) -> Iterator[Fields]:
    """Plays an episode; yields the arrays' values at each step."""
    observation, info = env.reset(seed=seed)
    controller = env.controller
    interface = controller.agent_interfaces["Red"]
    red = interface.agent = _RecordedRed(interface.agent, controller)
    ended, step = False, 0
    while not ended:
        action = act(observation, info["action_mask"], step)
        step += 1
        running, suspicious = _process_ids(controller.state)
        with _recorded_choices() as choices:
            observation, reward, _, ended, info = env.step(action)
        if (_process_ids(controller.state)[0] - running) & suspicious:
            return
        confidentiality, availability, _ = reward_parts(controller)
        yield {
            "blue_action": action,
            "blue_success": _success(controller, "Blue"),
            **_observations(env, action, observation),
            "reward": reward,
            "conf_penalty": confidentiality,
            "avail_penalty": availability,
            **_green_fields(controller.action["Green"]),
            **_red_fields(controller, red, choices),
            **moment_fields(controller),
            **red.plan(),
        }


def _process_ids(state: Any) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """Returns the running processes, and all that Blue ever suspected, as (host, id)."""
    running = {(name, p.pid) for name, host in state.hosts.items() for p in host.processes}
    suspicious = {(name, p) for name, pids in suspicious_processes(state).items() for p in pids}
    return running, suspicious


class _RecordedRed:
    """Red's agent, and what was true when it last chose: after Blue and Green had acted."""

    access: NDArray[np.int8]  # (13,) Red's
    scanned: frozenset[Any]  # addresses of which Red remembered ports
    ot_known: bool  # Red knew the OT service
    sessions: dict[Any, bool]  # Red's, and whether Remove would kill each
    suspicious: dict[str, int]  # host -> how many suspicious processes Blue's monitor knew

    def __init__(self, agent: Any, controller: Any) -> None:
        self.agent = agent
        self._controller = controller

    def get_action(self, observation: Any, action_space: Any) -> Any:
        """Records the moment and returns the agent's choice."""
        state = self._controller.state
        self.access = red_presence(state)[0]
        memory = state.sessions["Red"][RED_SERVER]
        self.scanned = frozenset(memory.ports)
        self.ot_known = memory.ot_service is not None
        mine = state.sessions["Red"].items()
        self.sessions = {ident: is_removable(state, session) for ident, session in mine}
        self.suspicious = {host: len(pids) for host, pids in suspicious_processes(state).items()}
        return self.agent.get_action(observation, action_space)

    def plan(self) -> Fields:
        """Returns what the agent plans."""
        if isinstance(self.agent, MirroredRed):
            return self.agent.plan()
        return script_plan(self._controller.state, self.agent)

    def __getattr__(self, name: str) -> Any:
        """Returns the agent's own attribute."""
        return getattr(self.agent, name)


@contextmanager
def _recorded_choices() -> Iterator[list[_Choice]]:
    """Yields a list of what `random.choices` chooses from and takes: exploits but the favourite."""
    recorded: list[_Choice] = []
    original = random.choices

    def choices(population: Any, *args: Any, **kwargs: Any) -> Any:
        taken = original(population, *args, **kwargs)
        recorded.append((list(population), taken[0]))
        return taken

    random.choices = choices
    try:
        yield recorded
    finally:
        random.choices = original


def _success(controller: Any, agent: str) -> int:
    """Returns the Success of an agent's last action."""
    return Success[controller.observation[agent].data["success"].name]


def _observations(env: CyborgEnv, action: int, observation: NDArray[np.int8]) -> Fields:
    official = observation[:CHALLENGE_SIZE].copy()
    cardiff = official.copy()
    if env.hides_scan(action):
        official[4 * ACTION_HOST[action]] = 0
        cardiff[4 * ACTION_HOST[action]] = 1
    return {"obs": official, "obs_cw2": cardiff}


def _green_fields(action: Any) -> Fields:
    scans = type(action).__name__ == "GreenPortScan"
    return {
        "green_type": int(scans),
        "green_target": HOST_INDEX[action.hostname] if scans else NOBODY,
    }


# --- what Red did, what it drew and how it ended


def _red_fields(controller: Any, before: _RecordedRed, choices: list[_Choice]) -> Fields:
    action, state = controller.action["Red"], controller.state
    kind = RedAction(RED_ACTION_CLASSES.index(type(action).__name__))
    target = _target(state, kind, action)
    success = _success(controller, "Red")
    exploit = None
    if kind is RedAction.EXPLOIT and action.ip_address in before.scanned:
        exploit = type(action.sub_action).__name__
    saw_something = len(controller.observation["Red"].data) > 1
    decoy = NOBODY
    if exploit and success == Success.FALSE and saw_something:
        decoys = live_decoys(state.hosts[HOST_NAMES[target]])
        port = _PORT_OF_EXPLOIT[exploit]
        decoy = next((decoy for decoy, ports in decoys if port in ports), NOBODY)
    if kind is RedAction.SLEEP:
        outcome = Outcome.NOTHING
    elif kind is RedAction.DISCOVER_NETWORK_SERVICES:  # it reports success in any case
        outcome = Outcome.SUCCESS if saw_something else Outcome.NO_ROUTE
    elif success == Success.TRUE:
        held = before.access[target] == Access.PRIVILEGED
        escalated_before = kind is RedAction.PRIVILEGE_ESCALATE and held
        outcome = Outcome.ALREADY_PRIVILEGED if escalated_before else Outcome.SUCCESS
    elif kind is RedAction.EXPLOIT:
        outcome = _failed_exploit(target, exploit, decoy, saw_something, before)
    elif kind is RedAction.DISCOVER_REMOTE_SYSTEMS:
        outcome = Outcome.NO_ROUTE
    elif kind is RedAction.IMPACT and before.access[target]:
        outcome = Outcome.NO_OT_SERVICE if before.ot_known else Outcome.OT_UNKNOWN
    else:
        outcome = Outcome.NO_SESSION
    technique = exploit
    if kind is RedAction.PRIVILEGE_ESCALATE and outcome is Outcome.SUCCESS:
        technique = (
            "JuicyPotato" if IMAGES[SCENARIO2.hosts[target].image].windows else "V4L2KernelExploit"
        )
    return {
        "red_type": kind,
        "red_target": target,
        "red_success": success,
        "red_outcome": outcome,
        "red_decoy_hit": decoy,
        "red_concrete": TRACE_EXPLOIT_NAMES.index(technique),
        **_exploit_draws(exploit, choices),
        "exploit_detected": _detection(state, kind, target, exploit, outcome, before),
    }


def _target(state: Any, kind: RedAction, action: Any) -> int:
    if kind is RedAction.SLEEP:
        return NOBODY
    if kind is RedAction.DISCOVER_REMOTE_SYSTEMS:
        return subnets_of(state)[action.subnet]
    if kind in (RedAction.PRIVILEGE_ESCALATE, RedAction.IMPACT):
        return HOST_INDEX[action.hostname]
    return addresses_of(state)[action.ip_address]


def _failed_exploit(
    target: int, exploit: str | None, decoy: int, saw_something: bool, before: _RecordedRed
) -> Outcome:
    """Names why an exploit failed."""
    if exploit is None:
        return Outcome.NOT_SCANNED
    gated = SCENARIO2.zone_of[HOST_NAMES[target]] == "Operational"
    if gated and not before.access[_FOOTHOLDS].any():
        return Outcome.NO_ROUTE
    if not saw_something:
        return Outcome.SERVICE_ABSENT
    if decoy != NOBODY:
        return Outcome.HIT_DECOY
    return Outcome.NO_ACCOUNT if exploit == "SSHBruteForce" else Outcome.BROKEN_SERVICE


def _exploit_draws(exploit: str | None, choices: list[_Choice]) -> Fields:
    """Returns how the choice between exploits fell; with fewer than two there is none."""
    options, top, other = 1 if exploit else -1, -1, -1
    if choices:
        others, weight = choices[0]
        options = len(others) + 1
        second = _EXPLOIT_OF_WEIGHT[weight]
        top = int(exploit != second)
        other = TRACE_EXPLOIT_NAMES.index(second)
    return {"exploit_n_options": options, "exploit_took_top": top, "exploit_other": other}


def _detection(
    state: Any,
    kind: RedAction,
    target: int,
    exploit: str | None,
    outcome: Outcome,
    before: _RecordedRed,
) -> int:
    """Returns 1 if Blue's monitor has seen the new reverse shell, 0 if not, -1 without a shell.

    A shell that was seen is one suspicious process more. Where an escalation chose between sessions
    that Remove kills and others: whether it took one of the former, else -1.
    """
    if kind is RedAction.PRIVILEGE_ESCALATE and outcome is Outcome.SUCCESS:
        there = {
            ident: is_privileged(session)
            for ident, session in state.sessions["Red"].items()
            if session.host == HOST_NAMES[target]
        }
        if len({before.sessions[ident] for ident in there}) == 1:
            return -1
        return next(int(before.sessions[ident]) for ident, taken in there.items() if taken)
    if exploit in (None, "SSHBruteForce") or outcome is not Outcome.SUCCESS:
        return -1
    host = HOST_NAMES[target]
    known = len(suspicious_processes(state).get(host, ()))
    return int(known > before.suspicious.get(host, 0))
