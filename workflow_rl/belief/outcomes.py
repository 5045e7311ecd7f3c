"""What chance may have done in a step, given the state before it, with the probabilities.

The rules take their draws as arguments, so any outcome of chance can be enforced
(`draws.recorded`). What Red chooses, and from which targets, depends on its own memory and not on
what Blue does in the same step.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import (
    FAVOURITE_EXPLOIT_PROBABILITY,
    GREEN_SCAN_TARGETS,
    NUM_EXPLOITS,
    NUM_HOSTS,
    OPERATIONAL_HOSTS,
    SERVICE_YIELD,
    SHELL_DETECTION_PROBABILITY,
    ServiceYield,
)
from workflow_rl.sim.draws import CHOSE_NOBODY, TOOK_FAVOURITE, count, first, recorded
from workflow_rl.sim.red_actions import exploit_options
from workflow_rl.sim.red_given import NOT_GIVEN
from workflow_rl.sim.red_meander import digest_result, next_action
from workflow_rl.sim.state import RedAction, RedAgent, State
from workflow_rl.sim.turn import red_chooses

_MEANDER = int(RedAgent.MEANDER)
_SCAN, _EXPLOIT = int(RedAction.DISCOVER_NETWORK_SERVICES), int(RedAction.EXPLOIT)
_NO_SERVICE = int(ServiceYield.NO_SERVICE)
_USER_SHELL, _PRIVILEGED_SHELL = int(ServiceYield.USER_SHELL), int(ServiceYield.PRIVILEGED_SHELL)
_GREEN_SLEEPS = 0.5
_GREEN_SCANS = (1 - _GREEN_SLEEPS) / count(GREEN_SCAN_TARGETS)  # a given one of its hosts

# What Green does, whom Red exploits, how, and whether that is detected.
MOST_OUTCOMES: Final = (1 + count(GREEN_SCAN_TARGETS)) * NUM_HOSTS * NUM_EXPLOITS * 2


@rule
def list_outcomes(
    env: State,
    green_is_active: bool,
    shown: int,
    maybe_hidden: int,
    draws: NDArray[np.int64],
    chances: NDArray[np.float64],
) -> int:
    """Lists every outcome that can explain on which hosts Blue saw activity.

    Args:
        env: the state before the step; Red chooses in it.
        green_is_active: whether Green may scan.
        shown: the hosts on which Blue saw activity.
        maybe_hidden: the hosts on which a scan may not have been seen.
        draws: (MOST_OUTCOMES, 4) where the outcomes go, as recorded draws.
        chances: (MOST_OUTCOMES,) where their probabilities go.

    Returns:
        How many there are. Other outcomes are possible, but would have shown something else.
    """
    action, targets = red_choice(env)
    scans = GREEN_SCAN_TARGETS & (shown | maybe_hidden) if green_is_active else 0
    chance = _GREEN_SLEEPS if green_is_active else 1.0
    green, left = CHOSE_NOBODY, shown
    number = 0
    while True:
        silent = OPERATIONAL_HOSTS | maybe_hidden | 1 << green
        number = list_targets(
            env, action, targets, chance, left, silent, green, draws, chances, number
        )
        if not scans:
            return number
        green, chance = first(scans), _GREEN_SCANS
        left = shown & ~(1 << green)
        scans &= scans - 1


@rule
def red_choice(env: State) -> tuple[int, int]:
    """Returns Red's next action and the set of targets it samples from, which may be subnets.

    B_line's host is known in every state here (`filtering.begin`), so it samples none.
    """
    if env.red_agent == _MEANDER:
        digest_result(env)
        return next_action(env)
    red_chooses(env, NOT_GIVEN, recorded(CHOSE_NOBODY))
    return env.red_action, 1 << max(env.red_target, 0)


@rule
def list_targets(
    env: State,
    action: int,
    targets: int,
    chance: float,
    shown: int,
    silent: int,
    green: int,
    draws: NDArray[np.int64],
    chances: NDArray[np.float64],
    number: int,
) -> int:
    """Lists whom Red may have chosen, if it showed itself on exactly the hosts `shown`.

    On the hosts `silent` it may have connected without being shown; elsewhere it is always shown.
    """
    chance /= count(targets)
    if shown:  # one action shows itself on one host at most, and only these do
        is_one = not (shown & (shown - 1))
        targets = targets & shown if is_one and action in (_SCAN, _EXPLOIT) else 0
    while targets:
        target = first(targets)
        targets &= targets - 1
        has_connected = shown != 0 or (silent >> target & 1) != 0  # or may have
        if action == _EXPLOIT and env.ports_known >> target & 1:
            options = exploit_options(env.ports[target])
            number = list_exploits(
                target, options, has_connected, chance, green, draws, chances, number
            )
        elif action != _SCAN or has_connected:
            number = note(target, TOOK_FAVOURITE, 1, green, chance, draws, chances, number)
    return number


@rule
def list_exploits(
    target: int,
    options: int,
    has_connected: bool,
    chance: float,
    green: int,
    draws: NDArray[np.int64],
    chances: NDArray[np.float64],
    number: int,
) -> int:
    """Lists which exploit Red may have taken, and whether a shell it opened was detected."""
    favourite = first(options)
    others = count(options) - 1
    while options:
        exploit = first(options)
        options &= options - 1
        outcome, share = exploit, chance
        if exploit == favourite:
            outcome = TOOK_FAVOURITE
            if others:
                share *= FAVOURITE_EXPLOIT_PROBABILITY
        else:
            share *= (1.0 - FAVOURITE_EXPLOIT_PROBABILITY) / others
        service = SERVICE_YIELD[target, exploit]
        if service != _NO_SERVICE and not has_connected:
            continue
        if service in (_USER_SHELL, _PRIVILEGED_SHELL):
            unseen = share * (1.0 - SHELL_DETECTION_PROBABILITY)
            number = note(target, outcome, 0, green, unseen, draws, chances, number)
            share *= SHELL_DETECTION_PROBABILITY
        number = note(target, outcome, 1, green, share, draws, chances, number)
    return number


@rule
def note(
    target: int,
    exploit: int,
    detected: int,
    green: int,
    chance: float,
    draws: NDArray[np.int64],
    chances: NDArray[np.float64],
    number: int,
) -> int:
    """Adds an outcome to the list and returns how many there are."""
    draws[number, 0] = recorded(target)
    draws[number, 1] = recorded(exploit)
    draws[number, 2] = recorded(detected)
    draws[number, 3] = recorded(green)
    chances[number] = chance
    return number + 1
