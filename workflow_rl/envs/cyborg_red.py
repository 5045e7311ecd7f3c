"""Red agents of ours on the real CybORG: our rules or a policy choose by what CybORG tells Red."""

import random
from typing import Any, Final

import numpy as np

from workflow_rl.config import GameConfig
from workflow_rl.config.reds import GIVEN
from workflow_rl.envs.cyborg_import import Cyborg
from workflow_rl.envs.cyborg_state import (
    RED_SERVER,
    Fields,
    addresses_of,
    red_knowledge,
    subnets_of,
)
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.reds import PlayedBatch
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.images import EXPLOIT_NAMES
from workflow_rl.scenario.scenario2 import HOST_NAMES, NUM_HOSTS
from workflow_rl.scenario.tables import NOBODY
from workflow_rl.sim.red_given import (
    NOT_GIVEN,
    RED_ACTION_CLASSES,
    red_actions_of,
)
from workflow_rl.sim.red_mirror import RedMirror
from workflow_rl.sim.state import Outcome, RedAction, RedAgent, Success

_SETS: Final = {  # fields of State that are sets, and what tells them
    "subnets_known": "red_subnet_known",
    "addresses_known": "red_ip_known",
    "names_known": "red_host_known",
    "ports_known": "red_scanned",
}
_PLANS: Final = ("meander_scanned", "meander_exploited", "meander_escalated")


class MirroredRed:
    """A red agent, as CybORG calls it, that takes its choice from a `RedMirror`.

    It draws from Python's global generator, as CybORG does.
    """

    def __init__(self, cyborg: Cyborg, controller: Any, game: GameConfig) -> None:
        """Makes the agent.

        Args:
            cyborg: whose actions it takes.
            controller: of the CybORG it plays in.
            game: with this one red agent.

        Raises:
            InvalidInputError: nobody chooses for the red agent, or its file is no policy for this
                game.
        """
        if game.red_agent == GIVEN:
            raise InvalidInputError(f"the red agent {GIVEN!r} does not play on the real CybORG")
        self._batch = make_batch(1, game.changed(observation="challenge"), red_view=True)
        self.mirror = RedMirror(self._batch)
        self._classes = [cyborg.red_actions[name] for name in RED_ACTION_CLASSES]
        self._controller = controller
        self._last: Any = None  # its last action in this episode

    def get_action(self, observation: Any, action_space: Any) -> Any:
        """Returns the next action, given what the last one gave."""
        if self._last is not None:
            self.mirror.take_in(self._told(observation))
        batch = self._batch
        given = int(batch.chosen()[0]) if isinstance(batch, PlayedBatch) else NOT_GIVEN
        self._last = self._action(self.mirror.choose(random.getrandbits(32), given))
        return self._last

    def _told(self, observation: Any) -> Fields:
        """Returns what Red was told after its last action, by the names of `red_mirror.TOLD`."""
        knows = red_knowledge(self._controller)
        sets = {
            name: sum(flag << i for i, flag in enumerate(knows[by])) for name, by in _SETS.items()
        }
        is_scan = type(self._last).__name__ == "DiscoverNetworkServices"
        exploit = type(getattr(self._last, "sub_action", None)).__name__
        return sets | {
            "ports": knows["red_ports"],
            "ot_known": knows["ot_known"],
            "red_success": Success[observation["success"].name],
            "red_outcome": Outcome.NO_ROUTE
            if is_scan and len(observation) == 1
            else Outcome.NOTHING,
            "red_exploit": EXPLOIT_NAMES.index(exploit) if exploit in EXPLOIT_NAMES else NOBODY,
        }

    def _action(self, number: int) -> Any:
        """Returns CybORG's action of a number of ours."""
        actions = red_actions_of(self._batch.network)
        kind, target = actions.kinds[number], int(actions.targets[number])
        make, state = self._classes[kind], self._controller.state
        if kind == RedAction.SLEEP:
            return make()
        if kind in (RedAction.PRIVILEGE_ESCALATE, RedAction.IMPACT):
            return make(session=RED_SERVER, agent="Red", hostname=HOST_NAMES[target])
        is_sweep = kind == RedAction.DISCOVER_REMOTE_SYSTEMS
        known = subnets_of(state) if is_sweep else addresses_of(state)
        where = next(value for value, index in known.items() if index == target)
        return make(
            session=RED_SERVER, agent="Red", **{"subnet" if is_sweep else "ip_address": where}
        )

    def plan(self) -> Fields:
        """Returns what the script plans, by the names of a trace's arrays."""
        state = self._batch.state[0]
        is_meander = state["red_agent"] == RedAgent.MEANDER
        flags = {
            name: (int(state[name]) * is_meander >> np.arange(NUM_HOSTS)) & 1 for name in _PLANS
        }
        bline = int(state["bline_index"]) if state["red_agent"] == RedAgent.BLINE else -1
        return {"bline_state": bline, **flags}

    def train(self, results: Any) -> None:
        """Learns nothing."""

    def end_episode(self) -> None:
        """Begins the next episode: CybORG calls it at every reset."""
        self._last = None
        self.mirror.begin(random.getrandbits(63))

    def set_initial_values(self, action_space: Any, observation: Any) -> None:
        """Needs none."""
