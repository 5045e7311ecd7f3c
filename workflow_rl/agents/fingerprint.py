"""One agent per red agent: the winner's way of telling, after three steps, who attacks.

Before each decision the first host, in the order of the table and Op hosts aside, that shows a
scan becomes the latest scanned one. B_line shows one scanned host in its first three steps, Meander
two and a sleeping Red none, whatever Blue does; so three steps always suffice.
"""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.agent import BlueAgent, TellingAgent
from workflow_rl.agents.simple import SleepAgent
from workflow_rl.config import GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.scenario.actions import NUM_ACTIONS
from workflow_rl.sim.observe import SCAN_SLOTS
from workflow_rl.sim.state import Activity
from workflow_rl.sim.table import packed_tables
from workflow_rl.workflow.orders import Order

DECIDES_AT: Final = 3  # steps played before it is known who attacks
_SCAN: Final = int(Activity.SCAN)


class ScanCount:
    """How many hosts have shown a scan as the first of their step, (n,)."""

    def __init__(self, num_envs: int) -> None:
        """Starts with none."""
        self._seen = np.zeros((num_envs, len(SCAN_SLOTS)), np.bool_)

    def add(self, observation: NDArray[np.int8]) -> NDArray[np.int64]:
        """Notes the observations (n, 52 or more) of a step and returns the counts so far."""
        shown = packed_tables(observation)[:, None] >> 4 * SCAN_SLOTS.astype(np.int64) & 0b11
        scanned = shown == _SCAN
        hit = np.flatnonzero(scanned.any(axis=1))
        self._seen[hit, scanned[hit].argmax(axis=1)] = True
        return np.asarray(self._seen.sum(axis=1))


class FingerprintAgent:
    """Hands each episode to the agent trained for the red agent it turns out to face.

    Until then the agent for B_line plays; both see every step, and an agent must take what was
    played in the first three steps for its own, as the winner's policies do with their fixed start.
    """

    def __init__(self, bline: BlueAgent, meander: BlueAgent, name: str = "fingerprint") -> None:
        """Makes the agent of two others; against a sleeping Red it sleeps.

        Raises:
            InvalidInputError: the two need different observations.
        """
        if bline.observation != meander.observation:
            raise InvalidInputError(
                f"the two policies see different things: the one for bline needs the observation "
                f"{bline.observation}, the one for meander {meander.observation}"
            )
        self._agents: tuple[BlueAgent, ...] = (SleepAgent(), bline, meander)  # by hosts scanned
        self.name = name
        self.observation = bline.observation
        self.order: Order | None = bline.order if bline.order == meander.order else None
        self.keeps_chances = False
        self.chances: NDArray[np.float64] | None = None  # (n, 145) at the last step, if kept
        known, other = (getattr(agent, "game", None) for agent in (bline, meander))
        alike = known and other and replace(known, red_agent=other.red_agent) == other
        self.game: GameConfig | None = known if alike else None  # in which they were trained

    def begin(self, num_envs: int, seed: int) -> None:
        """Begins new episodes."""
        self._scans = ScanCount(num_envs)
        self._chosen = np.full(num_envs, 1)
        for agent in self._agents:
            agent.begin(num_envs, seed)

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns each environment's action by the agent in charge of it."""
        if step <= DECIDES_AT:
            scanned = self._scans.add(observation)
            if step == DECIDES_AT:
                self._chosen = np.where(scanned <= 2, scanned, 0)
        for agent in self._agents:
            if isinstance(agent, TellingAgent):
                agent.keeps_chances = self.keeps_chances
        played = np.array([agent.act(observation, action_mask, step) for agent in self._agents])
        everybody = np.arange(len(observation))
        if self.keeps_chances:
            each = [_chances(a, p) for a, p in zip(self._agents, played, strict=True)]
            self.chances = np.array(each)[self._chosen, everybody]
        return np.asarray(played[self._chosen, everybody])


def _chances(agent: BlueAgent, played: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns (n, 145) an agent's probabilities; one that has none was certain of its action."""
    chances = agent.chances if isinstance(agent, TellingAgent) else None
    return np.eye(NUM_ACTIONS)[played] if chances is None else chances
