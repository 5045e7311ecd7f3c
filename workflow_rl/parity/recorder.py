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
    RED_SERVER,
    Fields,
    Truth,
    is_privileged,
    is_removable,
    live_decoys,
    reward_parts,
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
from workflow_rl.scenario.network import Network
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
_ONLY_ON_SCENARIO2: Final = "obs_cw2"


def record(name: str, env: CyborgEnv, seeds: Sequence[int], begin: Begin) -> Trace:
    """Plays an episode of each seed and returns them as one trace.

    An episode ends early, before the step in which CybORG gives a process an id that Blue has
    marked as suspicious before: Remove would then kill the wrong process. The simulator has no
    process ids. It ends before the step in which Red raises an exception, too.

    Args:
        name: of the trace.
        env: of one red agent, not mixed.
        seeds: one of each episode, for CybORG and for Blue.
        begin: begins an episode of Blue's; the observations are those of the environment.
    """
    network = env.config.network
    optional = optional_outputs_of(network)
    if network != SCENARIO2:
        del optional[_ONLY_ON_SCENARIO2]
    shapes = dict.fromkeys(inputs_of(network), ()) | outputs_of(network) | optional
    shape = len(seeds), env.config.episode_length
    arrays: dict[str, NDArray[Any]] = {
        key: np.zeros((*shape, *trailing), _DTYPES.get(key, np.int16))
        for key, trailing in shapes.items()
    }
    lengths, errors = np.zeros(len(seeds), np.int64), [""] * len(seeds)
    for episode, seed in enumerate(seeds):
        for row in _episode(env, seed, begin(seed)):
            step = lengths[episode]
            if error := row.get("error"):
                errors[episode] = error
                arrays["blue_action"][episode, step] = row["blue_action"]
                break
            for key, values in arrays.items():
                values[episode, step] = row[key]
            lengths[episode] += 1
    arrays["n_steps"], arrays["error"] = lengths, np.array(errors)
    arrays["meta_red"] = np.array(env.config.red_agent)
    arrays["meta_rules"] = np.array(env.config.rules)
    return checked_trace(name, arrays, network)


def _episode(env: CyborgEnv, seed: int, act: Act) -> Iterator[Fields]:
    """Plays an episode; yields the arrays' values at each step.

    The last one may be a step in which Red raises: its `error`, and what Blue did.
    """
    observation, info = env.reset(seed=seed)
    truth = env.truth
    interface = env.controller.agent_interfaces["Red"]
    red = interface.agent = _RecordedRed(interface.agent, truth)
    ended, step = False, 0
    while not ended:
        action = act(observation, info["action_mask"], step)
        step += 1
        running, suspicious = _process_ids(truth.state)
        with _recorded_choices() as choices:
            observation, reward, _, ended, info = env.step(action)
        if info["red_raised"]:
            yield {"error": info["red_raised"], "blue_action": action}
            return
        if (_process_ids(truth.state)[0] - running) & suspicious:
            return
        confidentiality, availability, _ = reward_parts(env.controller)
        yield {
            "blue_action": action,
            "blue_success": _success(env.controller, "Blue"),
            "blue_valid": not _is_invalid(env.controller.action["Blue"]),
            **_observations(env, action, observation),
            "reward": reward,
            "conf_penalty": confidentiality,
            "avail_penalty": availability,
            **_green_fields(truth),
            **_red_fields(truth, red, choices),
            **truth.moment(),
            **red.plan(),
        }


def _is_invalid(action: Any) -> bool:
    return type(action).__name__ == "InvalidAction"


def _process_ids(state: Any) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """Returns the running processes, and all that Blue ever suspected, as (host, id)."""
    running = {(name, p.pid) for name, host in state.hosts.items() for p in host.processes}
    suspicious = {(name, p) for name, pids in suspicious_processes(state).items() for p in pids}
    return running, suspicious


class _RecordedRed:
    """Red's agent, and what was true when it last chose: after Blue and Green had acted."""

    access: NDArray[np.int8]  # (hosts,) Red's
    scanned: frozenset[Any]  # addresses of which Red remembered ports
    ot_known: bool  # Red knew the OT service
    sessions: dict[Any, bool]  # Red's, and whether Remove would kill each
    suspicious: dict[str, int]  # host -> how many suspicious processes Blue's monitor knew

    def __init__(self, agent: Any, truth: Truth) -> None:
        self.agent = agent
        self._truth = truth

    def get_action(self, observation: Any, action_space: Any) -> Any:
        """Records the moment and returns the agent's choice."""
        state = self._truth.state
        self.access = self._truth.red_presence()[0]
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
        return self._truth.script_plan(self.agent)

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
    official = observation[: 4 * len(env.config.network.observed)].copy()
    cardiff = official.copy()
    if env.hides_scan(action):
        official[4 * env.place_of(action)] = 0
        cardiff[4 * env.place_of(action)] = 1
    return {"obs": official, _ONLY_ON_SCENARIO2: cardiff}


def _green_fields(truth: Truth) -> Fields:
    action = truth.controller.action.get("Green")
    is_invalid = _is_invalid(action)
    scans = type(action.action if is_invalid else action).__name__ == "GreenPortScan"
    hears = scans and not is_invalid
    target = truth.host_index[action.hostname] if hears else NOBODY
    return {"green_type": int(scans), "green_target": target}


# --- what Red did, what it drew and how it ended


def _red_fields(truth: Truth, before: _RecordedRed, choices: list[_Choice]) -> Fields:
    controller, network = truth.controller, truth.network
    action = controller.action["Red"]
    kind = RedAction(RED_ACTION_CLASSES.index(type(action).__name__))
    target = _target(truth, kind, action)
    success = _success(controller, "Red")
    exploit = None
    if kind is RedAction.EXPLOIT and action.ip_address in before.scanned:
        exploit = type(action.sub_action).__name__
    saw_something = len(controller.observation["Red"].data) > 1
    decoy = NOBODY
    if exploit and success == Success.FALSE and saw_something:
        decoys = live_decoys(truth.machine(target))
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
        outcome = _failed_exploit(network, target, exploit, decoy, saw_something, before)
    elif kind is RedAction.DISCOVER_REMOTE_SYSTEMS:
        outcome = Outcome.NO_ROUTE
    elif kind is RedAction.IMPACT and before.access[target]:
        outcome = Outcome.NO_OT_SERVICE if before.ot_known else Outcome.OT_UNKNOWN
    else:
        outcome = Outcome.NO_SESSION
    technique = exploit
    if kind is RedAction.PRIVILEGE_ESCALATE and outcome is Outcome.SUCCESS:
        technique = (
            "JuicyPotato" if IMAGES[network.hosts[target].image].windows else "V4L2KernelExploit"
        )
    return {
        "red_type": kind,
        "red_target": target,
        "red_success": success,
        "red_outcome": outcome,
        "red_decoy_hit": decoy,
        "red_concrete": TRACE_EXPLOIT_NAMES.index(technique),
        **_exploit_draws(exploit, choices),
        "exploit_detected": _detection(truth, kind, target, exploit, outcome, before),
    }


def _target(truth: Truth, kind: RedAction, action: Any) -> int:
    if kind is RedAction.SLEEP:
        return NOBODY
    if kind is RedAction.DISCOVER_REMOTE_SYSTEMS:
        return truth.zones()[action.subnet]
    if kind in (RedAction.PRIVILEGE_ESCALATE, RedAction.IMPACT):
        return truth.host_index[action.hostname]
    return truth.addresses()[action.ip_address]


def _failed_exploit(
    network: Network,
    target: int,
    exploit: str | None,
    decoy: int,
    saw_something: bool,
    before: _RecordedRed,
) -> Outcome:
    """Names why an exploit failed."""
    if exploit is None:
        return Outcome.NOT_SCANNED
    zone = next(zone for zone in network.zones if network.host_names[target] in zone.hosts)
    if not any(before.access[network.number(host)] for host in network.openers(zone)):
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
    truth: Truth,
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
            for ident, session in truth.state.sessions["Red"].items()
            if session.host == truth.network.host_names[target]
        }
        if len({before.sessions[ident] for ident in there}) == 1:
            return -1
        return next(int(before.sessions[ident]) for ident, taken in there.items() if taken)
    if exploit in (None, "SSHBruteForce") or outcome is not Outcome.SUCCESS:
        return -1
    host = truth.network.host_names[target]
    known = len(suspicious_processes(truth.state).get(host, ()))
    return int(known > before.suspicious.get(host, 0))
