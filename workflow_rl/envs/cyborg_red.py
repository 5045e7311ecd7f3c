"""Red agents of ours on the real CybORG: our rules or a policy choose by what CybORG tells Red."""

import random
from typing import Any, Final

import numpy as np

from workflow_rl.config import GameConfig
from workflow_rl.config.reds import GIVEN
from workflow_rl.envs.cyborg_import import Cyborg
from workflow_rl.envs.cyborg_state import RED_SERVER, Fields, Truth
from workflow_rl.envs.observations import make_batch
from workflow_rl.envs.reds import PlayedBatch
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.images import EXPLOIT_NAMES
from workflow_rl.scenario.tables import NOBODY, signed
from workflow_rl.sim.red_given import (
    NOT_GIVEN,
    RED_ACTION_CLASSES,
    red_actions_of,
)
from workflow_rl.sim.red_mirror import RedMirror
from workflow_rl.sim.state import EXCEPTIONS, Outcome, RedAction, RedAgent, Success

_SETS: Final = {  # fields of State that are sets, and what tells them
    "subnets_known": "red_subnet_known",
    "addresses_known": "red_ip_known",
    "names_known": "red_host_known",
    "ports_known": "red_scanned",
}
_PLANS: Final = (
    *("meander_scanned", "meander_exploited", "meander_escalated", "meander_mapped"),
    "meander_swept",
)


class GuardedRed:
    """A red agent, as CybORG calls it, that sleeps once its choice has raised an exception."""

    raised: str | None = None  # the exception's name

    def __init__(self, agent: Any, sleep: Any) -> None:
        """Takes the agent and CybORG's class of the action Sleep."""
        self.agent = agent
        self._sleep = sleep

    def get_action(self, observation: Any, action_space: Any) -> Any:
        """Returns the agent's choice, or Sleep."""
        if self.raised is None:
            try:
                return self.agent.get_action(observation, action_space)
            except (KeyError, IndexError, NotImplementedError) as error:
                self.raised = type(error).__name__
        return self._sleep()

    def end_episode(self) -> None:
        """Begins the next episode."""
        self.raised = None
        self.agent.end_episode()

    def __getattr__(self, name: str) -> Any:
        """Returns the agent's own attribute."""
        return getattr(self.agent, name)


class MirroredRed:
    """A red agent, as CybORG calls it, that takes its choice from a `RedMirror`.

    It draws from Python's global generator, as CybORG does.
    """

    def __init__(self, cyborg: Cyborg, truth: Truth, game: GameConfig) -> None:
        """Makes the agent.

        Args:
            cyborg: whose actions it takes.
            truth: of the CybORG it plays in.
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
        self._truth = truth
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
        knows = self._truth.red_knowledge()
        sets = {
            name: signed(sum(flag << i for i, flag in enumerate(knows[by])))
            for name, by in _SETS.items()
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
        make, network = self._classes[kind], self._batch.network
        if kind == RedAction.SLEEP:
            return make()
        if kind in (RedAction.PRIVILEGE_ESCALATE, RedAction.IMPACT):
            return make(session=RED_SERVER, agent="Red", hostname=network.host_names[target])
        is_sweep = kind == RedAction.DISCOVER_REMOTE_SYSTEMS
        known = self._truth.zones() if is_sweep else self._truth.addresses()
        where = next(value for value, index in known.items() if index == target)
        return make(
            session=RED_SERVER, agent="Red", **{"subnet" if is_sweep else "ip_address": where}
        )

    @property
    def raised(self) -> str | None:
        """The exception's name that CybORG's agent would have raised, and that it sleeps after."""
        return EXCEPTIONS[self._batch.state["red_raised"][0]]

    def plan(self) -> Fields:
        """Returns what the script plans, by the names of a trace's arrays."""
        state = self._batch.state[0]
        is_meander = state["red_agent"] == RedAgent.MEANDER
        network = self._batch.network
        bits = np.arange(len(network.hosts))
        plans = {name: (int(state[name]) * is_meander >> bits) & 1 for name in _PLANS}
        zones = plans.pop("meander_swept")[: len(network.zones)]
        bline = int(state["bline_index"]) if state["red_agent"] == RedAgent.BLINE else -1
        return {"bline_state": bline, "meander_subnets": zones, **plans}

    def train(self, results: Any) -> None:
        """Learns nothing."""

    def end_episode(self) -> None:
        """Begins the next episode: CybORG calls it at every reset."""
        self._last = None
        self.mirror.begin(random.getrandbits(63))

    def set_initial_values(self, action_space: Any, observation: Any) -> None:
        """Needs none."""
