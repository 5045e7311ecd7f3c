"""Green: asleep by default; the active Green scans hosts, which looks to Blue like Red's scans."""

from workflow_rl.jit import rule
from workflow_rl.scenario.images import ALL_PORTS
from workflow_rl.scenario.tables import NOBODY, Tables
from workflow_rl.sim.draws import CHOSE_NOBODY, WORDS
from workflow_rl.sim.network import record_scan
from workflow_rl.sim.state import State

_HALF = WORDS // 2


@rule
def green_acts(env: State, net: Tables, active: bool, draw: int) -> None:
    """Scans a host of its list in half of the steps, if active; no rule keeps it from any port.

    Reference quirk: names that are not on the network stay in the list, and nothing happens.
    """
    if not active or not net.num_green or ~draw == CHOSE_NOBODY or 0 <= draw < _HALF:
        return
    host = ~draw if draw < 0 else net.green[(draw - _HALF) * 2 * net.num_green >> 32]
    if host != NOBODY and host < net.num_hosts:
        record_scan(env, net, host, ALL_PORTS)
