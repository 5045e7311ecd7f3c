"""An episode's start and one turn of the game, as the ordered list of its phases."""

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import USER0, Subnet
from workflow_rl.sim.blue import blue_acts
from workflow_rl.sim.draws import WORDS, Draws
from workflow_rl.sim.green import green_acts
from workflow_rl.sim.observe import monitor, note_scans
from workflow_rl.sim.red_actions import red_acts
from workflow_rl.sim.red_bline import bline_chooses
from workflow_rl.sim.red_meander import meander_chooses
from workflow_rl.sim.red_sleep import sleep_chooses
from workflow_rl.sim.reward import score
from workflow_rl.sim.state import NOBODY, RedAction, RedAgent, Settings, State, Success

_USER_SUBNET = int(Subnet.USER)
_UNKNOWN = int(Success.UNKNOWN)
_RED_SLEEP = int(RedAction.SLEEP)
_BLINE, _MEANDER = int(RedAgent.BLINE), int(RedAgent.MEANDER)


@rule
def play_turn(env: State, settings: Settings, action: int, draws: Draws) -> None:
    """Plays one step: strictly one after the other, nothing is simultaneous."""
    blue_acts(env, action)
    green_acts(env, settings.green_active, draws.green)
    red_chooses(env, draws.target)
    red_acts(env, settings, draws)
    score(env)
    monitor(env, settings.cardiff)
    if settings.cardiff:
        note_scans(env)
    env.step += 1


@rule
def red_chooses(env: State, draw: int) -> None:
    """Lets the episode's red agent name its action, knowing the result of its last one."""
    if env.red_agent == _BLINE:
        bline_chooses(env, draw)
    elif env.red_agent == _MEANDER:
        meander_chooses(env, draw)
    else:
        sleep_chooses(env)


@rule
def start_episode(env: State, settings: Settings, draw: int) -> None:
    """Sets up the first moment of an episode: Red holds User0 and knows nothing else."""
    env.step = 0
    env.privileged = 1 << USER0
    env.removable = 0
    env.persistent = 0
    env.malware = 0
    env.decoys[:] = 0
    env.restored = 0
    env.ot_running = True
    env.event_hosts = 0
    env.event_count[:] = 0
    env.event_ports[:] = 0
    env.shell_events = 0
    env.table = 0
    env.blue_action = NOBODY
    env.blue_success = _UNKNOWN
    env.decoy_placed = NOBODY
    env.malware_found = NOBODY
    env.scans_seen = 0
    env.scan_latest = NOBODY
    env.subnets_known = 1 << _USER_SUBNET
    env.addresses_known = 1 << USER0
    env.names_known = 1 << USER0
    env.ports_known = 0
    env.ports[:] = 0
    env.ot_known = False
    env.red_agent = draw_red_agent(settings, draw)
    env.red_action = _RED_SLEEP
    env.red_target = NOBODY
    env.red_success = _UNKNOWN
    env.red_outcome = 0
    env.red_exploit = NOBODY
    env.red_options = -1
    env.red_decoy_hit = NOBODY
    env.bline_index = 0
    env.bline_target = NOBODY
    env.bline_passed_scan = False
    env.meander_swept = 0
    env.meander_scanned = 0
    env.meander_exploited = 0
    env.meander_escalated = 0
    env.meander_mapped = 0
    env.confidentiality = 0
    env.availability = 0
    env.action_cost = 0


@rule
def draw_red_agent(settings: Settings, draw: int) -> int:
    """Draws who plays Red in this episode, by the probabilities given."""
    agent = 0
    while draw >= settings.red_up_to[agent] * WORDS:
        agent += 1
    return agent
