"""Green: asleep by default; the active Green scans hosts, which looks to Blue like Red's scans."""

from workflow_rl.jit import rule
from workflow_rl.scenario.tables import GREEN_SCAN_TARGETS
from workflow_rl.sim.draws import CHOSE_NOBODY, WORDS, choose
from workflow_rl.sim.network import record_scan
from workflow_rl.sim.state import State

_HALF = WORDS // 2


@rule
def green_acts(env: State, active: bool, draw: int) -> None:
    """Scans a user or Enterprise host in half of the steps, if active."""
    if not active or ~draw == CHOSE_NOBODY or 0 <= draw < _HALF:
        return
    record_scan(env, choose(draw if draw < 0 else (draw - _HALF) * 2, GREEN_SCAN_TARGETS))
