"""Trained policies as agents: one policy, or one for each red agent."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.action_space import Acting
from workflow_rl.agents.agent import BlueAgent, TellingAgent, is_sampled, uniforms
from workflow_rl.agents.policy import Policy
from workflow_rl.agents.scripts import SleepAgent
from workflow_rl.arrays import checked_array
from workflow_rl.config import GameConfig
from workflow_rl.errors import InvalidInputError
from workflow_rl.nets.distinct import Lookup
from workflow_rl.nets.sampling import accumulated, sample, sample_masked, softmax
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network, check_network
from workflow_rl.sim.checks import checked_actions, checked_mask
from workflow_rl.sim.observe import SCAN_SLOTS
from workflow_rl.sim.state import Activity
from workflow_rl.sim.table import packed_tables
from workflow_rl.workflow.compliance import checked_tables
from workflow_rl.workflow.orders import Order
from workflow_rl.workflow.units import Units

SEES_THE_TRUTH: Final = "sees the truth"  # how tables name a policy that does
DECIDES_AT: Final = 3  # steps played before it is known who attacks
_SCAN: Final = int(Activity.SCAN)


class PolicyAgent:
    """Plays a policy, deterministic or stochastic, in the policy's action space.

    Where observations repeat, each distinct one is evaluated once.
    """

    def __init__(
        self,
        policy: Policy,
        name: str,
        order: Sequence[str] | str | None = None,
        *,
        units: Units | None = None,
        sampled: bool | None = None,
    ) -> None:
        """Makes an agent of a policy.

        Args:
            policy: the policy to play.
            name: of the agent.
            order: the workflow to follow; by default the one it was trained for.
            units: whose names those are; by default the policy's own.
            sampled: whether the policy is stochastic: outputs are sampled; by default as its
                training says.

        Raises:
            InvalidInputError: it needs an order and has none.
        """
        self.order = None
        if policy.is_conditioned:
            self.order = policy.order if order is None else policy.read_order(order, units)
            if self.order is None:
                raise InvalidInputError(
                    f"the policy {name} follows any workflow: say which one (--workflow, workflow=)"
                )
        self.name = f"{name} ({SEES_THE_TRUTH})" if policy.observation.is_privileged else name
        self.observation = policy.observation.name
        self.policy = policy
        self.network = policy.network
        self.game = policy.config.game  # in which it was trained
        self.keeps_chances = False
        self.chances: NDArray[np.float64] | None = None  # (n, actions) at the last step, if kept
        self.is_sampled = policy.is_sampled if sampled is None else sampled
        size = policy.observation.size
        self._table = Lookup(self._answers, size) if policy.observation.repeats else None
        self.begin(0, 0)

    def begin(self, num_envs: int, seed: int) -> None:
        """Begins new episodes."""
        self._seed = seed
        self._acting = self.policy.action_space.begin(num_envs)

    def act(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.bool_], step: int
    ) -> NDArray[np.int64]:
        """Returns the actions of the policy's choices."""
        shape = None, self.policy.observation.size
        observation = checked_array("observations", observation, shape, np.int8)
        n = len(observation)
        if self._acting.is_fixed and not self.keeps_chances:  # no forward pass is needed
            return self._acting.actions(np.zeros(n, np.int64))
        if self._table is not None:
            ids = self._table.number(observation)
            rows = self._table.results[0]
        else:
            ids, rows = np.arange(n, dtype=np.int32), self._ask(observation)
        allowed = None
        if self.policy.is_masked:
            action_mask = checked_mask(self.policy.network, action_mask, n)
            if self.policy.is_shielded:
                action_mask = self.policy.shield(action_mask, observation, self.order)
            allowed = self._acting.allowed(action_mask)
        if self.keeps_chances:
            found = rows[ids]
            self.chances = _by_action(
                found if allowed is None else found * allowed, self._acting, action_mask.shape[1]
            )
        if self.is_sampled:
            draws = uniforms(self._seed, step, n)
            if allowed is None:
                chosen = sample(np.arange(n), accumulated(rows[ids]), draws)
            else:
                chosen, _ = sample_masked(ids, rows, draws, allowed)
            return self._acting.actions(chosen)
        scores = rows[ids] if allowed is None else np.where(allowed, rows[ids], -1.0)
        return self._acting.best_actions(scores.argmax(axis=1), rows, ids)

    def _ask(self, observation: NDArray[np.int8]) -> NDArray[np.float64]:
        return softmax(self.policy.logits(observation, self.order))

    def _answers(self, observation: NDArray[np.int8]) -> list[NDArray[np.float64]]:
        return [self._ask(observation)]  # a method: a copy of the agent uses its own policy


def _by_action(rows: NDArray[np.float64], acting: Acting, actions: int) -> NDArray[np.float64]:
    """Returns (n, actions) the probability of each action, from those of outputs (n, size)."""
    n = len(rows)
    chances = np.zeros((n, actions))
    meanings = np.broadcast_to(acting.meanings(), rows.shape)
    np.add.at(chances, (np.arange(n)[:, None], meanings), rows)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


class ScanCount:
    """How many hosts have shown a scan as the first of their step, (n,).

    The first host, in the order of the table and Op hosts aside, that shows a scan counts.
    """

    def __init__(self, num_envs: int) -> None:
        """Starts with none."""
        self._seen = np.zeros((num_envs, len(SCAN_SLOTS)), np.bool_)

    def add(self, observation: NDArray[np.int8]) -> NDArray[np.int64]:
        """Notes the observations (n, 52 or more) of a step and returns the counts so far."""
        tables = checked_tables(packed_tables(SCENARIO2, observation), len(self._seen))
        shown = tables >> 4 * SCAN_SLOTS.astype(np.int64) & 0b11
        scanned = shown == _SCAN
        hit = np.flatnonzero(scanned.any(axis=1))
        self._seen[hit, scanned[hit].argmax(axis=1)] = True
        return np.asarray(self._seen.sum(axis=1))


class FingerprintAgent:
    """Hands each episode to the agent trained for the red agent it turns out to face.

    It identifies the attacker as the winner did: B_line shows one scanned host in its first three
    steps, Meander two and a sleeping Red none, whatever Blue does. Until then the agent for B_line
    plays. Both see every step, and an agent must accept the actions of the first three steps as its
    own, as the winner's policies do with their fixed start.
    """

    def __init__(self, bline: BlueAgent, meander: BlueAgent, name: str = "fingerprint") -> None:
        """Makes the agent of two others; against a sleeping Red it sleeps.

        Raises:
            InvalidInputError: the two need different observations, or are of different networks.
        """
        if bline.observation != meander.observation:
            raise InvalidInputError(
                f"the two policies see different things: the one for bline needs the observation "
                f"{bline.observation}, the one for meander {meander.observation}"
            )
        mine, other = (getattr(agent, "network", SCENARIO2) for agent in (bline, meander))
        check_network("the policy for meander", other, mine)
        self.network: Network = mine
        self._agents: tuple[BlueAgent, ...] = (SleepAgent(mine), bline, meander)  # by hosts scanned
        self.name = name
        self.observation = bline.observation
        self.is_sampled = is_sampled(bline) or is_sampled(meander)
        self.order: Order | None = bline.order if bline.order == meander.order else None
        self.keeps_chances = False
        self.chances: NDArray[np.float64] | None = None  # (n, actions) at the last step, if kept
        known, theirs = (getattr(agent, "game", None) for agent in (bline, meander))
        alike = known and theirs and replace(known, red_agent=theirs.red_agent) == theirs
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
        everybody = np.arange(len(self._chosen))
        chosen = (agent.act(observation, action_mask, step) for agent in self._agents)
        played = np.array(
            [checked_actions(self.network, actions, everybody.shape) for actions in chosen]
        )
        if self.keeps_chances:
            each = [
                _chances(a, p, action_mask.shape[1])
                for a, p in zip(self._agents, played, strict=True)
            ]
            self.chances = np.array(each)[self._chosen, everybody]
        return np.asarray(played[self._chosen, everybody])


def _chances(agent: BlueAgent, played: NDArray[np.int64], actions: int) -> NDArray[np.float64]:
    """Returns (n, actions) an agent's probabilities; 1 for the action of an agent without any."""
    chances = agent.chances if isinstance(agent, TellingAgent) else None
    return np.eye(actions)[played] if chances is None else chances
