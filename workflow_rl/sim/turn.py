"""An episode's start and one turn of the game, as the ordered list of its phases."""

import numpy as np
from numpy.typing import NDArray

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import Tables
from workflow_rl.sim.blue import blue_acts
from workflow_rl.sim.draws import WORDS, Draws
from workflow_rl.sim.green import green_acts
from workflow_rl.sim.observe import monitor, note_scans
from workflow_rl.sim.red_actions import red_acts
from workflow_rl.sim.red_bait import bait_chooses
from workflow_rl.sim.red_bline import bline_chooses
from workflow_rl.sim.red_given import take_action
from workflow_rl.sim.red_meander import meander_chooses
from workflow_rl.sim.red_path import path_chooses
from workflow_rl.sim.red_random import random_chooses
from workflow_rl.sim.red_sleep import sleep_chooses
from workflow_rl.sim.reward import score
from workflow_rl.sim.state import Raised, RedAgent, Settings, State

_BLINE, _MEANDER = int(RedAgent.BLINE), int(RedAgent.MEANDER)
_PATH, _HAS_NOT_RAISED = int(RedAgent.PATH), int(Raised.NOTHING)
_BAIT, _RANDOM, _GIVEN = int(RedAgent.BAIT), int(RedAgent.RANDOM), int(RedAgent.GIVEN)


@rule
def play_turn(
    env: State, net: Tables, settings: Settings, action: int, given: int, draws: Draws
) -> None:
    """Plays one step: strictly one after the other, nothing is simultaneous.

    Args:
        env: the environment.
        net: the network.
        settings: of the batch.
        action: Blue's.
        given: Red's, if its choice comes from outside, else NOT_GIVEN.
        draws: of this step.
    """
    blue_acts(env, net, action, draws.decoy)
    green_acts(env, net, settings.green_active, draws.green)
    red_chooses(env, net, given, draws.target)
    red_acts(env, net, settings, draws)
    score(env, net)
    monitor(env, net, settings.cardiff)
    if settings.cardiff:
        note_scans(env)
    env.step += 1


@rule
def red_chooses(env: State, net: Tables, given: int, draw: int) -> None:
    """Lets the episode's red agent name its action, knowing the result of its last one."""
    agent = env.red_agent
    if env.step < env.red_wait or env.red_raised != _HAS_NOT_RAISED:
        sleep_chooses(env)
    elif agent == _BLINE:
        bline_chooses(env, net, draw)
    elif agent == _MEANDER:
        meander_chooses(env, net, draw)
    elif agent == _GIVEN:
        take_action(env, net, given)
    elif agent == _BAIT:
        bait_chooses(env, net, draw)
    elif agent == _RANDOM:
        random_chooses(env, net, draw)
    elif agent == _PATH:
        path_chooses(env, net, draw)
    else:
        sleep_chooses(env)


@rule
def start_episode(
    states: NDArray[np.void], k: int, initial: NDArray[np.void], settings: Settings, draw: int
) -> None:
    """Brings environment k to the start of an episode: its initial state, Red sampled.

    Everything but `index` and `episode` is new: nothing of an earlier episode can stay behind.
    """
    env: State = states[k]
    index, episode = env.index, env.episode
    states[k] = initial[0]
    env.index = index
    env.episode = episode
    number = draw_red(settings, draw)
    env.red_number = number
    env.red_agent = settings.red_agents[number]
    env.red_wait = settings.red_waits[number]


@rule
def draw_red(settings: Settings, draw: int) -> int:
    """Samples which of the game's reds plays this episode, by the given probabilities."""
    number = 0
    while draw >= settings.red_up_to[number] * WORDS:
        number += 1
    return number
