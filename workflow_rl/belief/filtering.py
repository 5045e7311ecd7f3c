"""The loop over environments that advances their states by a step, and the marginals."""

from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from workflow_rl.belief.hypotheses import Hypotheses, Workspace, add_state
from workflow_rl.belief.outcomes import always_found, decoys_drawn, list_outcomes
from workflow_rl.belief.settling import settle
from workflow_rl.belief.thinning import thin
from workflow_rl.config import RED_AGENTS
from workflow_rl.jit import kernel, rule
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.tables import NOBODY, Tables, tables_of
from workflow_rl.sim.batch import Params
from workflow_rl.sim.draws import WORDS, Draws, count, first, philox, recorded
from workflow_rl.sim.network import red_hosts
from workflow_rl.sim.red_given import NOT_GIVEN
from workflow_rl.sim.state import Access, RedAgent, Settings, State, initial_state, state_dtype
from workflow_rl.sim.table import activity_at
from workflow_rl.sim.turn import play_turn

# How far a kernel came.
DONE: Final = 0
IMPOSSIBLE: Final = 1  # no state explains what was seen in the environment it stopped at
TOO_SMALL: Final = 2  # the workspace or the rows for that environment's states
_BLINE = int(RedAgent.BLINE)
_NUM_ACCESS = len(Access)
_FIRST_SPACE: Final = 4096  # states that there is room for before any step needs more
_ONE: Any = np.int64(1)


class Marginals(NamedTuple):
    """Marginals of the posterior, one row per environment."""

    access: NDArray[np.float64]  # (n, hosts, 3) probability of each Access
    ot_stopped: NDArray[np.float64]  # (n,) that an OT service is
    red_agent: NDArray[np.float64]  # (n, 3) by RedAgent
    effective_particles: NDArray[np.float64]  # (n,) 1 over the sum of squared probabilities

    @classmethod
    def empty(cls, network: Network, num_envs: int) -> Self:
        """Allocates the marginals of `num_envs` environments."""
        return cls(
            access=np.zeros((num_envs, len(network.hosts), _NUM_ACCESS)),
            ot_stopped=np.zeros(num_envs),
            red_agent=np.zeros((num_envs, len(RED_AGENTS))),
            effective_particles=np.zeros(num_envs),
        )


@rule
def begin(kept: Hypotheses, k: int, params: Params, prior: NDArray[np.float64]) -> None:
    """Brings environment k to the start of an episode: the states it can start in.

    B_line samples the host it goes through in its second step, uniformly and independently of
    everything else: here it has been sampled already.
    """
    net: Tables = params.net[0]
    row = 0
    for agent in range(len(prior)):
        if prior[agent] <= 0.0:
            continue
        targets = net.bline_first if agent == _BLINE else 0
        share = prior[agent] / max(count(targets), 1)
        while True:
            kept.states[k, row] = params.initial[0]
            env: State = kept.states[k, row]
            env.red_agent = agent
            if targets:
                env.bline_target = first(targets)
                targets &= targets - 1
            kept.weights[k, row] = share
            row += 1
            if not targets:
                break
    kept.number[k] = row
    kept.is_exact[k] = True


def first_rows(network: Network) -> int:
    """Returns how many states an episode on a network can start in."""
    net: Any = tables_of(network)[0]
    return max(int(net["bline_first"]).bit_count(), 1) + len(RED_AGENTS) - 1


@kernel()
def _begin(
    kept: Hypotheses, params: Params, prior: NDArray[np.float64], over: NDArray[np.bool_]
) -> None:
    """Brings some environments to the start of an episode."""
    for k in range(len(over)):
        if over[k]:
            begin(kept, k, params, prior)


@rule
def shown_hosts(net: Tables, table: NDArray[np.int64]) -> int:
    """Returns the hosts on which a table shows activity."""
    hosts = 0
    for place in range(net.num_observed):
        if activity_at(table, place):
            hosts |= _ONE << net.observed_host[place]
    return hosts


@rule
def is_table(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Says whether two tables show the same."""
    differ = 0
    for word in range(len(one)):
        differ |= one[word] ^ other[word]
    return differ == 0


@kernel()
def _advance(
    before: Hypotheses,
    after: Hypotheses,
    space: Workspace,
    params: Params,
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
        params: the network, the rules and the key of chance.
        prior: (3,) the probability of each red agent.
        tables: (n, words) what Blue sees after the step.
        actions: (n,) what Blue did.
        ended: (n,) environments that begin an episode instead.
        indices: (n,) which environment of the run each is.
        limit: the most states to keep of an environment.
        start: the first environment to advance.

    Returns:
        The environment it stopped at, and why.
    """
    # Taken apart once: inside the loop every access would count references.
    env, env_words, hidden, draws, chances, states, words, weights, slots, slot_of = space
    tried: State = env[0]
    child: State = env[1]
    net: Tables = params.net[0]
    rules: Settings = params.settings[0]
    found = always_found(net)
    watched = found & net.watched  # where Blue sees each of Red's connections
    for k in range(start, len(tables)):
        if ended[k]:
            begin(after, k, params, prior)
            continue
        table, action = tables[k], actions[k]
        shown = shown_hosts(net, table)
        host = net.action_host[action]
        always = (
            watched & ~(_ONE << host) if host != NOBODY else watched
        )  # a new decoy may hide a scan
        number = 0
        is_too_small = False
        for row in range(before.number[k]):
            env[0] = before.states[k, row]
            decoys = decoys_drawn(tried, net, action)
            ways = count(decoys)
            outcomes = list_outcomes(tried, net, rules.green_active, shown, always, draws, chances)
            if len(states) - number < ways * outcomes:
                is_too_small = True
                break
            while decoys:
                decoy = recorded(first(decoys))
                decoys &= decoys - 1
                for i in range(outcomes):
                    env[1] = before.states[k, row]
                    chance = Draws(draws[i, 0], draws[i, 1], draws[i, 2], draws[i, 3], decoy)
                    play_turn(child, net, rules, action, NOT_GIVEN, chance)
                    if is_table(child.table, table):
                        settle(child, net, found)
                        weight = before.weights[k, row] * chances[i] / ways
                        number = add_state(
                            env_words[1], weight, hidden, words, weights, slots, slot_of, number
                        )
        for i in range(number):
            slots[slot_of[i]] = 0
        if is_too_small or min(number, limit) > after.states.shape[1]:
            return k, TOO_SMALL
        if number == 0:
            return k, IMPOSSIBLE
        after.is_exact[k] = before.is_exact[k] and number <= limit
        if number > limit:
            uniform = philox(tried.step, limit, indices[k], rules.key[0], rules.key[1]).first
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
            if env.ot_down:
                out.ot_stopped[k] += weight
            held, privileged = red_hosts(env), env.privileged
            for host in range(out.access.shape[1]):
                out.access[k, host, (held >> host & 1) + (privileged >> host & 1)] += weight
        out.effective_particles[k] = 1.0 / squares


class Filter:
    """The states of `n` environments, advanced step by step."""

    def __init__(
        self,
        network: Network,
        indices: NDArray[np.int64],
        settings: NDArray[np.void],
        prior: NDArray[np.float64],
        limit: int,
    ) -> None:
        """Begins an episode in every environment.

        Args:
            network: what is played on.
            indices: (n,) which environment of the run each is.
            settings: (1,) the rules, and the key of chance.
            prior: (3,) the probability of each red agent.
            limit: the most states to keep of an environment.
        """
        self._network, self._indices, self._prior = network, indices, prior
        self._params = Params(tables_of(network), initial_state(network), settings)
        self.limit = limit
        rows = first_rows(network)
        self.now = Hypotheses.empty(state_dtype(network), len(indices), rows)
        self._next = Hypotheses.empty(state_dtype(network), len(indices), rows)
        self._space = Workspace.empty(network, _FIRST_SPACE)
        _begin(self.now, self._params, prior, np.ones(len(indices), np.bool_))

    def __getstate__(self) -> dict[str, Any]:
        """Returns everything but the room to work in, which is made of views of itself."""
        return self.__dict__ | {"_space": len(self._space.states)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes over what a copy is made of."""
        self.__dict__ |= state
        self._space = Workspace.empty(self._network, state["_space"])

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
                self._params,
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
        self._space = Workspace.empty(self._network, 2 * len(self._space.states))
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
        _begin(self.now, self._params, self._prior, over)

    def summarise(self, out: Marginals) -> None:
        """Returns the marginals of the current states."""
        _summarise(self.now, out)
