"""What chance may have done in a step, given the state before it, with the probabilities.

The rules take their draws as arguments, so any outcome of chance can be enforced
(`draws.recorded`). What Red chooses, and from which targets, depends on its own memory and not on
what Blue does in the same step.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import rule
from workflow_rl.scenario.actions import ActionKind
from workflow_rl.scenario.images import (
    FAVOURITE_EXPLOIT_PROBABILITY,
    NUM_EXPLOITS,
    SHELL_DETECTION_PROBABILITY,
    ServiceYield,
)
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.tables import NOBODY, Tables
from workflow_rl.sim.blue import misinform_options
from workflow_rl.sim.draws import CHOSE_NOBODY, TOOK_FAVOURITE, count, first, recorded
from workflow_rl.sim.network import open_ports
from workflow_rl.sim.red_actions import exploit_options
from workflow_rl.sim.red_given import NOT_GIVEN
from workflow_rl.sim.red_meander import next_action
from workflow_rl.sim.state import Raised, RedAction, RedAgent, State
from workflow_rl.sim.turn import red_chooses

_MEANDER, _HAS_NOT_RAISED = int(RedAgent.MEANDER), int(Raised.NOTHING)
_MISINFORM = int(ActionKind.MISINFORM)
_SCAN, _EXPLOIT = int(RedAction.DISCOVER_NETWORK_SERVICES), int(RedAction.EXPLOIT)
_NO_SERVICE = int(ServiceYield.NO_SERVICE)
_USER_SHELL, _PRIVILEGED_SHELL = int(ServiceYield.USER_SHELL), int(ServiceYield.PRIVILEGED_SHELL)
_GREEN_SLEEPS = 0.5
_ONE: Any = np.int64(1)
_NO_DRAW = 1  # a set of one member: nothing is drawn


def most_outcomes(network: Network) -> int:
    """Returns how many outcomes a step can have: what Green does, whom Red exploits, and how.

    A shell may be detected or not.
    """
    return (1 + len(network.roles.green)) * len(network.hosts) * NUM_EXPLOITS * 2


@rule
def always_found(net: Tables) -> int:
    """Returns the hosts of which a scan by Red always finds something.

    They are always reached, and no port list hides all that listens on them.
    """
    hosts = 0
    for host in range(net.num_hosts):
        is_reached = net.opened_by[net.zone[host]] >> net.foothold & 1
        if is_reached and net.ports[host] & net.passing[host]:
            hosts |= _ONE << host
    return hosts


@rule
def decoys_drawn(env: State, net: Tables, action: int) -> int:
    """Returns the set of decoys that Blue's action draws one from, which it is not shown."""
    host = net.action_host[action]
    if net.action_kind[action] != _MISINFORM or not net.observed & net.agents >> host & 1:
        return _NO_DRAW
    options = misinform_options(open_ports(env, net, host))
    return options if options else _NO_DRAW


@rule
def list_outcomes(
    env: State,
    net: Tables,
    green_is_active: bool,
    shown: int,
    always: int,
    draws: NDArray[np.int64],
    chances: NDArray[np.float64],
) -> int:
    """Lists every outcome that can explain on which hosts Blue saw activity.

    Args:
        env: the state before the step; Red chooses in it.
        net: the network.
        green_is_active: whether Green may scan.
        shown: the hosts on which Blue saw activity.
        always: the hosts on which it sees all activity in this step.
        draws: (`most_outcomes`, 4) where the outcomes go, as recorded draws.
        chances: (`most_outcomes`,) where their probabilities go.

    Returns:
        How many there are. Other outcomes are possible, but would have shown something else.
    """
    action, targets = red_choice(env, net)
    number_of_green = net.num_green if green_is_active else 0
    chance = (1.0 - _GREEN_SLEEPS) / max(number_of_green, 1)  # of each entry of Green's list
    idle = _GREEN_SLEEPS if number_of_green else 1.0
    for i in range(number_of_green):
        if not is_seen(net, net.green[i]):
            idle += chance
    number = list_targets(
        env, net, action, targets, idle, shown, ~always, CHOSE_NOBODY, draws, chances, 0
    )
    for i in range(number_of_green):
        green = net.green[i]
        if is_seen(net, green) and (shown | ~always) >> green & 1:
            here = _ONE << green
            left, silent = shown & ~here, ~always | here
            number = list_targets(
                env, net, action, targets, chance, left, silent, green, draws, chances, number
            )
    return number


@rule
def is_seen(net: Tables, green: int) -> bool:
    """Says whether a scan by Green, of a host or NOBODY, can be seen: else nothing comes of it."""
    return green != NOBODY and net.watched >> green & 1 != 0


@rule
def red_choice(env: State, net: Tables) -> tuple[int, int]:
    """Returns Red's next action and the set of targets it samples from, which may be zones.

    B_line's host is known in every state here (`filtering.begin`), so it samples none.
    """
    if env.red_agent == _MEANDER and env.red_raised == _HAS_NOT_RAISED:
        action, targets = next_action(env, net)
        if targets:
            return action, targets
    red_chooses(env, net, NOT_GIVEN, recorded(CHOSE_NOBODY))
    return env.red_action, _ONE << max(env.red_target, 0)


@rule
def list_targets(
    env: State,
    net: Tables,
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
        options = 0
        if action == _EXPLOIT and env.ports_known >> target & 1:
            options = exploit_options(env.ports[target])
        if options:
            number = list_exploits(
                net, target, options, has_connected, chance, green, draws, chances, number
            )
        elif action != _SCAN or has_connected:
            number = note(target, TOOK_FAVOURITE, 1, green, chance, draws, chances, number)
    return number


@rule
def list_exploits(
    net: Tables,
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
        service = net.yields[target, exploit]
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
