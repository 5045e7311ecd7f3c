"""The loop over environments that advances their states by a step, and the marginals."""

from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.belief.hypotheses import Hypotheses, Workspace, add_state
from workflow_rl.belief.outcomes import MOST_OUTCOMES, list_outcomes
from workflow_rl.belief.settling import settle
from workflow_rl.belief.thinning import thin
from workflow_rl.config import RED_AGENTS
from workflow_rl.jit import kernel, rule
from workflow_rl.scenario.actions import ACTION_HOST, NO_HOST
from workflow_rl.scenario.tables import BLINE_FIRST_TARGETS, NUM_HOSTS
from workflow_rl.sim.draws import WORDS, Draws, count, first, philox
from workflow_rl.sim.network import red_hosts
from workflow_rl.sim.red_given import NOT_GIVEN
from workflow_rl.sim.state import INITIAL_STATE, Access, RedAgent, Settings, State
from workflow_rl.sim.table import activity_in
from workflow_rl.sim.turn import play_turn

# How far a kernel came.
DONE: Final = 0
IMPOSSIBLE: Final = 1  # no state explains what was seen in the environment it stopped at
TOO_SMALL: Final = 2  # the workspace or the rows for that environment's states
_BLINE = int(RedAgent.BLINE)
_NUM_ACCESS = len(Access)
_FIRST_ROWS: Final = 8  # an episode can start in six states


class Marginals(NamedTuple):
    """Marginals of the posterior, one row per environment."""

    access: NDArray[np.float64]  # (n, 13, 3) probability of each Access
    ot_stopped: NDArray[np.float64]  # (n,)
    red_agent: NDArray[np.float64]  # (n, 3) by RedAgent
    effective_particles: NDArray[np.float64]  # (n,) 1 over the sum of squared probabilities

    @classmethod
    def empty(cls, num_envs: int) -> Self:
        """Allocates the marginals of `num_envs` environments."""
        return cls(
            access=np.zeros((num_envs, NUM_HOSTS, _NUM_ACCESS)),
            ot_stopped=np.zeros(num_envs),
            red_agent=np.zeros((num_envs, len(RED_AGENTS))),
            effective_particles=np.zeros(num_envs),
        )


@rule
def begin(kept: Hypotheses, k: int, prior: NDArray[np.float64]) -> None:
    """Brings environment k to the start of an episode: the states it can start in.

    B_line samples the user host it goes through in its second step, uniformly and independently of
    everything else: here it has been sampled already.
    """
    row = 0
    for agent in range(len(prior)):
        targets = 1
        if agent == _BLINE:
            targets = BLINE_FIRST_TARGETS
        share = prior[agent] / count(targets)
        while targets and share > 0.0:
            kept.states[k, row] = INITIAL_STATE[0]
            env: State = kept.states[k, row]
            env.red_agent = agent
            if agent == _BLINE:
                env.bline_target = first(targets)
            targets &= targets - 1
            kept.weights[k, row] = share
            row += 1
    kept.number[k] = row
    kept.is_exact[k] = True


@kernel()
def _begin(kept: Hypotheses, prior: NDArray[np.float64], over: NDArray[np.bool_]) -> None:
    """Brings some environments to the start of an episode."""
    for k in range(len(over)):
        if over[k]:
            begin(kept, k, prior)


@rule
def shown_hosts(table: int) -> int:
    """Returns the hosts on which a table shows activity."""
    hosts = 0
    for host in range(NUM_HOSTS):
        if activity_in(table, host):
            hosts |= 1 << host
    return hosts


@kernel()
def _advance(
    before: Hypotheses,
    after: Hypotheses,
    space: Workspace,
    settings: NDArray[np.void],
    prior: NDArray[np.float64],
    tables: NDArray[np.int64],
    actions: NDArray[np.int64],
    ended: NDArray[np.bool_],
    indices: NDArray[np.int64],
    limit: int,
    start: int,
) -> tuple[int, int]:
    """Advances environments by a step, from `start` to the last or to one that cannot go on.

    Args:
        before: the states before the step.
        after: where those after the step go.
        space: to work in.
        settings: (1,) the rules, and the key of chance.
        prior: (3,) the probability of each red agent.
        tables: (n,) what Blue sees after the step.
        actions: (n,) what Blue did.
        ended: (n,) environments that begin an episode instead.
        indices: (n,) which environment of the run each is.
        limit: the most states to keep of an environment.
        start: the first environment to advance.

    Returns:
        The environment it stopped at, and why.
    """
    # Taken apart once: inside the loop every access would count references.
    env, env_words, draws, chances, states, words, weights, slots, slot_of = space
    tried: State = env[0]
    child: State = env[1]
    rules: Settings = settings[0]
    for k in range(start, len(tables)):
        if ended[k]:
            begin(after, k, prior)
            continue
        table, action = tables[k], actions[k]
        shown = shown_hosts(table)
        host = ACTION_HOST[action]
        maybe_hidden = 1 << host if host != NO_HOST else 0  # a decoy placed there may hide a scan
        number = 0
        is_too_small = False
        for row in range(before.number[k]):
            if len(states) - number < MOST_OUTCOMES:
                is_too_small = True
                break
            env[0] = before.states[k, row]
            outcomes = list_outcomes(tried, rules.green_active, shown, maybe_hidden, draws, chances)
            for i in range(outcomes):
                env[1] = before.states[k, row]
                chance = Draws(draws[i, 0], draws[i, 1], draws[i, 2], draws[i, 3])
                play_turn(child, rules, action, NOT_GIVEN, chance)
                if child.table == table:
                    settle(child)
                    weight = before.weights[k, row] * chances[i]
                    number = add_state(env_words[1], weight, words, weights, slots, slot_of, number)
        for i in range(number):
            slots[slot_of[i]] = 0
        if is_too_small or min(number, limit) > after.states.shape[1]:
            return k, TOO_SMALL
        if number == 0:
            return k, IMPOSSIBLE
        after.is_exact[k] = before.is_exact[k] and number <= limit
        if number > limit:
            uniform = philox(tried.step, limit, indices[k], rules.key[0], rules.key[1]).target
            thin(weights, number, limit, (uniform + 0.5) / WORDS)
        keep(after, k, states, weights, number)
    return len(tables), DONE


@rule
def keep(
    after: Hypotheses,
    k: int,
    states: NDArray[np.void],
    weights: NDArray[np.float64],
    number: int,
) -> None:
    """Makes those of the given states that have a weight the states of environment k."""
    total = 0.0
    for i in range(number):
        total += weights[i]
    row = 0
    for i in range(number):
        if weights[i] > 0.0:
            after.states[k, row] = states[i]
            after.weights[k, row] = weights[i] / total
            row += 1
    after.number[k] = row


@kernel()
def _summarise(kept: Hypotheses, out: Marginals) -> None:
    """Computes every environment's marginals."""
    out.access[:] = 0.0
    out.ot_stopped[:] = 0.0
    out.red_agent[:] = 0.0
    for k in range(len(kept.number)):
        squares = 0.0
        for row in range(kept.number[k]):
            env: State = kept.states[k, row]
            weight = kept.weights[k, row]
            squares += weight * weight
            out.red_agent[k, env.red_agent] += weight
            if not env.ot_running:
                out.ot_stopped[k] += weight
            held, privileged = red_hosts(env), env.privileged
            for host in range(NUM_HOSTS):
                out.access[k, host, (held >> host & 1) + (privileged >> host & 1)] += weight
        out.effective_particles[k] = 1.0 / squares


class Filter:
    """The states of `n` environments, advanced step by step."""

    def __init__(
        self,
        indices: NDArray[np.int64],
        settings: NDArray[np.void],
        prior: NDArray[np.float64],
        limit: int,
    ) -> None:
        """Begins an episode in every environment.

        Args:
            indices: (n,) which environment of the run each is.
            settings: (1,) the rules, and the key of chance.
            prior: (3,) the probability of each red agent.
            limit: the most states to keep of an environment.
        """
        self._indices, self._settings, self._prior = indices, settings, prior
        self.limit = limit
        self.now = Hypotheses.empty(len(indices), _FIRST_ROWS)
        self._next = Hypotheses.empty(len(indices), _FIRST_ROWS)
        self._space = Workspace.empty(2 * MOST_OUTCOMES)
        _begin(self.now, prior, np.ones(len(indices), np.bool_))

    def __getstate__(self) -> dict[str, Any]:
        """Returns everything but the room to work in, which is made of views of itself."""
        return self.__dict__ | {"_space": len(self._space.states)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes over what a copy is made of."""
        self.__dict__ |= state | {"_space": Workspace.empty(state["_space"])}

    def advance(
        self,
        tables: NDArray[np.int64],
        actions: NDArray[np.int64],
        ended: NDArray[np.bool_],
        start: int = 0,
    ) -> int:
        """Computes the next states of the environments from `start` on.

        Returns:
            The first environment that no state explains, or n if there is none. Nothing holds
            before `commit`.
        """
        while True:
            start, reason = _advance(
                self.now,
                self._next,
                self._space,
                self._settings,
                self._prior,
                tables,
                actions,
                ended,
                self._indices,
                self.limit,
                start,
            )
            if reason != TOO_SMALL:
                return start
            self._enlarge()

    def _enlarge(self) -> None:
        """Doubles the room for children, and for states up to the limit."""
        self._space = Workspace.empty(2 * len(self._space.states))
        self._make_rows(min(2 * self._next.states.shape[1], self.limit))

    def _make_rows(self, rows: int) -> None:
        if rows > self._next.states.shape[1]:
            self._next = self._next.enlarged(rows)
            self.now = self.now.enlarged(rows)

    def put(self, k: int, other: "Filter") -> None:
        """Takes the next states of environment k from another filter, where it is the only one."""
        number = int(other.now.number[0])
        self._make_rows(number)
        self._next.states[k, :number] = other.now.states[0, :number]
        self._next.weights[k, :number] = other.now.weights[0, :number]
        self._next.number[k] = number
        self._next.is_exact[k] = other.now.is_exact[0]

    def commit(self) -> None:
        """Makes the computed states the current ones."""
        self.now, self._next = self._next, self.now

    def restart(self, over: NDArray[np.bool_]) -> None:
        """Begins an episode in some environments."""
        _begin(self.now, self._prior, over)

    def summarise(self, out: Marginals) -> None:
        """Returns the marginals of the current states."""
        _summarise(self.now, out)
