"""Records episodes of a running CybORG as a trace: what was done, how chance fell, what came out.

Nothing is put in CybORG's way. How chance fell is read off from what came of it; only the choice
between exploits is listened to as it is made.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.envs.cyborg import CyborgEnv
from workflow_rl.envs.cyborg_state import (
    HOST_INDEX,
    red_presence,
    reward_parts,
    suspicious_processes,
)
from workflow_rl.parity.cyborg_fields import (
    Fields,
    addresses_of,
    fields_of,
    live_decoys,
    subnets_of,
)
from workflow_rl.parity.trace import INPUTS, OUTPUTS, TRACE_EXPLOIT_NAMES, Trace, checked_trace
from workflow_rl.scenario.actions import ACTION_HOST
from workflow_rl.scenario.tables import (
    ENTERPRISE_FOOTHOLDS,
    EXPLOITS,
    HOST_NAMES,
    HOSTS,
    OPERATIONAL_HOSTS,
)
from workflow_rl.sim.observe import CHALLENGE_SIZE
from workflow_rl.sim.state import NOBODY, Access, Outcome, RedAction, Success

# What Blue does, seeing an observation, with a generator to draw from.
Act = Callable[[NDArray[np.int8], np.random.Generator], int]

_RED_ACTIONS: Final = {
    "Sleep": RedAction.SLEEP,
    "DiscoverRemoteSystems": RedAction.DISCOVER_REMOTE_SYSTEMS,
    "DiscoverNetworkServices": RedAction.DISCOVER_NETWORK_SERVICES,
    "ExploitRemoteService": RedAction.EXPLOIT,
    "PrivilegeEscalate": RedAction.PRIVILEGE_ESCALATE,
    "Impact": RedAction.IMPACT,
}
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


def record(name: str, env: CyborgEnv, seeds: Sequence[int], act: Act) -> Trace:
    """Plays an episode of each seed and returns them as one trace.

    Args:
        name: of the trace.
        env: of one red agent, not mixed.
        seeds: one of each episode, for CybORG and for Blue.
        act: plays Blue; the observations are those of the environment.
    """
    episodes = [list(_episode(env, seed, act)) for seed in seeds]
    steps = env.config.episode_length
    arrays = {
        key: np.array([[row[key] for row in rows] for rows in episodes])
        for key in (*INPUTS, *OUTPUTS)
    }
    arrays = {key: a.astype(np.int8) if a.dtype == bool else a for key, a in arrays.items()}
    arrays["n_steps"] = np.full(len(seeds), steps)
    arrays["meta_red"] = np.array(env.config.red_agent)
    return checked_trace(name, arrays)


def _episode(env: CyborgEnv, seed: int, act: Act) -> Iterator[Fields]:
    observation, _ = env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    controller = env.controller
    interface = controller.agent_interfaces["Red"]
    watched = interface.agent = _WatchedRed(interface.agent, controller)
    ended = False
    while not ended:
        action = act(observation, rng)
        with _listening() as choices:
            observation, reward, _, ended, _ = env.step(action)
        confidentiality, availability, _ = reward_parts(controller)
        yield {
            "blue_action": action,
            "blue_success": _success(controller, "Blue"),
            **_observations(env, action, observation),
            "reward": reward,
            "conf_penalty": confidentiality,
            "avail_penalty": availability,
            **_green(controller.action["Green"]),
            **_red(controller, watched.before, choices),
            **fields_of(controller, watched.agent),
        }


@dataclass(frozen=True)
class _Before:
    """The moment after Blue and Green have acted and before Red does."""

    access: NDArray[np.int8]  # (13,) Red's
    scanned: frozenset[Any]  # addresses of which Red remembers ports
    noted: dict[str, int]  # host -> suspicious processes noted there so far


class _WatchedRed:
    """Red's agent, and a note of the moment at which it last chose."""

    def __init__(self, agent: Any, controller: Any) -> None:
        self.agent = agent
        self._controller = controller

    def get_action(self, observation: Any, action_space: Any) -> Any:
        """Lets the agent choose."""
        state = self._controller.state
        self.before = _Before(
            access=red_presence(state)[0],
            scanned=frozenset(state.sessions["Red"][0].ports),
            noted={host: len(noted) for host, noted in suspicious_processes(state).items()},
        )
        return self.agent.get_action(observation, action_space)

    def __getattr__(self, name: str) -> Any:
        """Passes on everything else."""
        return getattr(self.agent, name)


@contextmanager
def _listening() -> Iterator[list[tuple[list[float], float]]]:
    """Notes what `random.choices` chooses from and what it takes: the second-best exploits."""
    heard: list[tuple[list[float], float]] = []
    original = random.choices

    def choices(population: Any, *args: Any, **kwargs: Any) -> Any:
        taken = original(population, *args, **kwargs)
        heard.append((list(population), taken[0]))
        return taken

    random.choices = choices
    try:
        yield heard
    finally:
        random.choices = original


def _success(controller: Any, agent: str) -> int:
    return Success[controller.observation[agent].data["success"].name]


def _observations(env: CyborgEnv, action: int, observation: NDArray[np.int8]) -> Fields:
    official = observation[:CHALLENGE_SIZE].copy()
    cardiff = official.copy()
    if env.hides_scan(action):
        official[4 * ACTION_HOST[action]] = 0
        cardiff[4 * ACTION_HOST[action]] = 1
    return {"obs": official, "obs_cw2": cardiff}


def _green(action: Any) -> Fields:
    scans = type(action).__name__ == "GreenPortScan"
    return {
        "green_type": int(scans),
        "green_target": HOST_INDEX[action.hostname] if scans else NOBODY,
    }


def _red(controller: Any, before: _Before, choices: list[tuple[list[float], float]]) -> Fields:
    """Returns what Red did, what it drew and how it ended."""
    action = controller.action["Red"]
    kind = _RED_ACTIONS[type(action).__name__]
    target = _target(controller.state, kind, action)
    success = _success(controller, "Red")
    exploit = None
    if kind is RedAction.EXPLOIT and action.ip_address in before.scanned:
        exploit = type(action.sub_action).__name__
    decoy = NOBODY
    saw_something = len(controller.observation["Red"].data) > 1
    if exploit and success == Success.FALSE and saw_something:
        decoy = _decoy_on(controller.state, target, _PORT_OF_EXPLOIT[exploit])
    outcome = _outcome(kind, target, success, exploit, decoy, saw_something, before)
    return {
        "red_type": kind,
        "red_target": target,
        "red_success": success,
        "red_outcome": outcome,
        "red_decoy_hit": decoy,
        "red_concrete": TRACE_EXPLOIT_NAMES.index(_technique(kind, target, outcome, exploit)),
        **_exploit_draws(kind, exploit, choices),
        "exploit_detected": _detection(controller.state, target, exploit, outcome, before),
    }


def _target(state: Any, kind: RedAction, action: Any) -> int:
    if kind is RedAction.SLEEP:
        return NOBODY
    if kind is RedAction.DISCOVER_REMOTE_SYSTEMS:
        return subnets_of(state)[action.subnet]
    if kind in (RedAction.PRIVILEGE_ESCALATE, RedAction.IMPACT):
        return HOST_INDEX[action.hostname]
    return addresses_of(state)[action.ip_address]


def _decoy_on(state: Any, host: int, port: int) -> int:
    """Returns the decoy that Red meets on a port, or NOBODY."""
    decoys = live_decoys(state.hosts[HOST_NAMES[host]])
    return next((decoy for decoy, ports in decoys if port in ports), NOBODY)


def _outcome(
    kind: RedAction,
    target: int,
    success: int,
    exploit: str | None,
    decoy: int,
    saw_something: bool,
    before: _Before,
) -> Outcome:
    """Names why Red's action ended as it did."""
    if kind is RedAction.SLEEP:
        return Outcome.NOTHING
    if kind is RedAction.DISCOVER_NETWORK_SERVICES:  # it reports success in any case
        return Outcome.SUCCESS if saw_something else Outcome.NO_ROUTE
    if success == Success.TRUE:
        already = (
            kind is RedAction.PRIVILEGE_ESCALATE and before.access[target] == Access.PRIVILEGED
        )
        return Outcome.ALREADY_PRIVILEGED if already else Outcome.SUCCESS
    if kind is RedAction.DISCOVER_REMOTE_SYSTEMS:
        return Outcome.NO_ROUTE
    if kind in (RedAction.PRIVILEGE_ESCALATE, RedAction.IMPACT):
        return Outcome.OT_UNKNOWN if before.access[target] else Outcome.NO_SESSION
    if exploit is None:
        return Outcome.NOT_SCANNED
    footholds = [h for h in range(len(HOSTS)) if ENTERPRISE_FOOTHOLDS >> h & 1]
    if OPERATIONAL_HOSTS >> target & 1 and not before.access[footholds].any():
        return Outcome.NO_ROUTE
    if not saw_something:
        return Outcome.SERVICE_ABSENT
    if decoy != NOBODY:
        return Outcome.HIT_DECOY
    return Outcome.NO_ACCOUNT if exploit == "SSHBruteForce" else Outcome.BROKEN_SERVICE


def _technique(kind: RedAction, target: int, outcome: Outcome, exploit: str | None) -> str | None:
    if kind is RedAction.PRIVILEGE_ESCALATE and outcome is Outcome.SUCCESS:
        return "JuicyPotato" if HOSTS[target].windows else "V4L2KernelExploit"
    return exploit


def _exploit_draws(
    kind: RedAction, exploit: str | None, choices: list[tuple[list[float], float]]
) -> Fields:
    """Returns how the choice between exploits fell; with fewer than two there is none."""
    options, top, other = -1, -1, -1
    if kind is RedAction.EXPLOIT and exploit:
        options = 1
    if choices:
        others, weight = choices[0]
        options = len(others) + 1
        second = _EXPLOIT_OF_WEIGHT[weight]
        top = int(exploit != second)
        other = TRACE_EXPLOIT_NAMES.index(second)
    return {"exploit_n_options": options, "exploit_took_top": top, "exploit_other": other}


def _detection(
    state: Any, target: int, exploit: str | None, outcome: Outcome, before: _Before
) -> int:
    """Says whether Blue's monitor has seen a new reverse shell: it then has noted its process."""
    if exploit in (None, "SSHBruteForce") or outcome is not Outcome.SUCCESS:
        return -1
    host = HOST_NAMES[target]
    noted = len(suspicious_processes(state).get(host, ()))
    return int(noted > before.noted.get(host, 0))
