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
from workflow_rl.envs.cyborg_state import HOST_INDEX, reward_parts, suspicious_processes
from workflow_rl.parity.cyborg_fields import Fields, fields_of
from workflow_rl.parity.cyborg_red import Before, Choice, red_fields, success_of
from workflow_rl.parity.trace import INPUTS, OUTPUTS, Trace, checked_trace
from workflow_rl.scenario.actions import ACTION_HOST
from workflow_rl.sim.observe import CHALLENGE_SIZE
from workflow_rl.sim.state import NOBODY

# What Blue does in an episode, given an observation, the action mask and the step.
Act = Callable[[NDArray[np.int8], NDArray[np.bool_], int], int]
Begin = Callable[[int], Act]  # begins an episode of a seed

_DTYPES: Final = dict.fromkeys(("reward", "conf_penalty", "avail_penalty"), np.float64)


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
    arrays: dict[str, NDArray[Any]] = {
        key: np.zeros((*shape, *OUTPUTS.get(key, ())), _DTYPES.get(key, np.int16))
        for key in (*INPUTS, *OUTPUTS)
    }
    for episode, rows in enumerate(episodes):
        for key, values in arrays.items():
            values[episode, : len(rows)] = [row[key] for row in rows]
    arrays["n_steps"] = np.array([len(rows) for rows in episodes])
    arrays["meta_red"] = np.array(env.config.red_agent)
    return checked_trace(name, arrays)


def _episode(env: CyborgEnv, seed: int, act: Act) -> Iterator[Fields]:
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
            "blue_success": success_of(controller, "Blue"),
            **_observations(env, action, observation),
            "reward": reward,
            "conf_penalty": confidentiality,
            "avail_penalty": availability,
            **_green(controller.action["Green"]),
            **red_fields(controller, red.before, choices),
            **fields_of(controller, red.agent),
        }


def _process_ids(state: Any) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """Returns the running processes, and all that Blue ever suspected, as (host, id)."""
    running = {(name, p.pid) for name, host in state.hosts.items() for p in host.processes}
    suspicious = {(name, p) for name, pids in suspicious_processes(state).items() for p in pids}
    return running, suspicious


class _RecordedRed:
    """Red's agent; `before` is the moment at which it last chose."""

    def __init__(self, agent: Any, controller: Any) -> None:
        self.agent = agent
        self._controller = controller

    def get_action(self, observation: Any, action_space: Any) -> Any:
        """Records the moment and returns the agent's choice."""
        self.before = Before.of(self._controller.state)
        return self.agent.get_action(observation, action_space)

    def __getattr__(self, name: str) -> Any:
        """Returns the agent's own attribute."""
        return getattr(self.agent, name)


@contextmanager
def _recorded_choices() -> Iterator[list[Choice]]:
    """Yields a list of what `random.choices` chooses from and takes: exploits but the favourite."""
    recorded: list[Choice] = []
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
