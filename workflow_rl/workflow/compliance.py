"""Compliance: which fixes follow the order, and the compliance of an episode they add up to.

A *fix* is a Remove or a Restore. Let some hosts be *open*. A fix made while a host is open
*counts*, except a repeat; it is *compliant* if its target is itself open and no open host comes
before it. All that is needed of an order, whatever its units, is the rank of each host; hosts of
one unit share theirs.

Two views judge the same action. In the *observed* view a host is open if Blue's own table, before
the action, marks it (Unknown, User or Privileged), and a Remove of a host already marked Unknown is
a repeat. In the *true* view a host is open if Red has a session there, and a Remove that kills
nothing is a repeat. Red's permanent foothold, User0 on Scenario2, is never open.

The true rate is bounded: 5 % of the reverse shells are never shown, so no policy can know them;
they matter most where `user` comes early in the order.
"""

from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workflow_rl.arrays import checked_array, has_form, is_plain
from workflow_rl.config.checks import not_allowed
from workflow_rl.jit import kernel, rule
from workflow_rl.scenario.actions import ActionKind
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.records import HOSTS_IN_WORD, ONE, capacity_of
from workflow_rl.scenario.tables import NOBODY, Tables, tables_of
from workflow_rl.sim.batch import first_invalid
from workflow_rl.sim.checks import checked_actions, checked_mask
from workflow_rl.sim.state import Mark
from workflow_rl.sim.table import mark_at

NOT_A_FIX: Final = 0
REPEAT: Final = 1  # a fix that does not count, or one made while no host is open
VIOLATION: Final = 2
COMPLIANT: Final = 3

_REMOVE = int(ActionKind.REMOVE)
_RESTORE = int(ActionKind.RESTORE)
_UNKNOWN = int(Mark.UNKNOWN)


class Judgement(NamedTuple):
    """What a step's actions were, in one view; (n,) each."""

    any_open: NDArray[np.bool_]  # a host was open before the action
    verdict: NDArray[np.int8]  # NOT_A_FIX, REPEAT, VIOLATION or COMPLIANT

    @property
    def counted(self) -> NDArray[np.bool_]:
        """(n,) whether the action counts."""
        return self.verdict >= VIOLATION

    @property
    def compliant(self) -> NDArray[np.bool_]:
        """(n,) whether the action counts and complies."""
        return np.asarray(self.verdict == COMPLIANT)


@rule
def open_by_table(net: Tables, table: NDArray[np.int64]) -> int:
    """Returns the hosts that are open in the observed view: those that Blue's table marks."""
    marked = np.int64(0)
    for place in range(net.num_observed):
        if mark_at(table, place):
            marked |= ONE << net.observed_host[place]
    return marked & ~(ONE << net.foothold)  # type: ignore[return-value]


@rule
def is_due(host: int, open_hosts: int, ranks: NDArray[np.int8]) -> bool:
    """Returns whether a host is open and no open host comes before it."""
    if not open_hosts >> host & 1:
        return False
    for other in range(len(ranks)):
        if open_hosts >> other & 1 and ranks[other] < ranks[host]:
            return False
    return True


@rule
def verdict_of(
    kind: int, host: int, open_hosts: int, is_repeat: bool, ranks: NDArray[np.int8]
) -> int:
    """Judges one action against one order."""
    if kind not in (_REMOVE, _RESTORE):
        return NOT_A_FIX
    if is_repeat or not open_hosts:
        return REPEAT
    return COMPLIANT if is_due(host, open_hosts, ranks) else VIOLATION


@rule
def verdict_by_table(
    net: Tables, action: int, table: NDArray[np.int64], open_hosts: int, ranks: NDArray[np.int8]
) -> int:
    """Judges one action in the observed view, where a table leaves these hosts open."""
    kind, host = net.action_kind[action], net.action_host[action]
    is_repeat = False
    if kind == _REMOVE and net.slot[host] >= 0:
        is_repeat = mark_at(table, net.slot[host]) == _UNKNOWN
    return verdict_of(kind, host, open_hosts, is_repeat, ranks)


@kernel()
def _judge_observed(
    nets: NDArray[Any],
    tables: NDArray[Any],
    actions: NDArray[Any],
    ranks: NDArray[Any],
    any_open: NDArray[Any],
    verdicts: NDArray[Any],
) -> int:
    net: Tables = nets[0]
    invalid = first_invalid(actions, net.num_actions)
    if invalid != NOBODY:
        return invalid
    for k in range(len(actions)):
        open_hosts = open_by_table(net, tables[k])
        any_open[k] = open_hosts != 0
        verdicts[k] = verdict_by_table(net, actions[k], tables[k], open_hosts, ranks[k])
    return NOBODY


@kernel()
def _judge_true(
    nets: NDArray[Any],
    held: NDArray[Any],
    removable: NDArray[Any],
    actions: NDArray[Any],
    ranks: NDArray[Any],
    any_open: NDArray[Any],
    verdicts: NDArray[Any],
) -> int:
    net: Tables = nets[0]
    invalid = first_invalid(actions, net.num_actions)
    if invalid != NOBODY:
        return invalid
    for k in range(len(actions)):
        kind, host = net.action_kind[actions[k]], net.action_host[actions[k]]
        open_hosts = held[k] & ~(ONE << net.foothold)
        is_repeat = kind == _REMOVE and not (removable[k] >> host & 1)
        any_open[k] = open_hosts != 0
        verdicts[k] = verdict_of(kind, host, open_hosts, is_repeat, ranks[k])
    return NOBODY


def judge_observed(
    tables: ArrayLike, actions: ArrayLike, ranks: ArrayLike, network: Network = SCENARIO2
) -> Judgement:
    """Judges a step's actions by what Blue's table showed.

    Args:
        tables: (n, words) Blue's table before the action, packed as `State.table`.
        actions: (n,) Blue's actions.
        ranks: (n, hosts) each environment's order, as `orders.Orders.host_ranks` gives it.
        network: what is played on.

    Raises:
        InvalidInputError: they are no such arrays.
    """
    ranks = checked_ranks(ranks, network)
    n = len(ranks)
    tables = checked_tables(tables, n, network)
    if not has_form(actions, (n,), np.int64):
        actions = checked_actions(network, actions, (n,))
    judgement = _empty(n)
    if _judge_observed(tables_of(network), tables, actions, ranks, *judgement) != NOBODY:
        checked_actions(network, actions, (n,))
    return judgement


def judge_true(
    held: ArrayLike,
    removable: ArrayLike,
    actions: ArrayLike,
    ranks: ArrayLike,
    network: Network = SCENARIO2,
) -> Judgement:
    """Judges a step's actions by where Red really is.

    Args:
        held: (n,) set of hosts with a red session before the action.
        removable: (n,) set of hosts with a session that Remove would kill.
        actions: (n,) Blue's actions.
        ranks: (n, hosts) each environment's order, as `orders.Orders.host_ranks` gives it.
        network: what is played on.

    Raises:
        InvalidInputError: they are no such arrays.
    """
    ranks = checked_ranks(ranks, network)
    n = len(ranks)
    held, removable = _hosts("held", held, n), _hosts("removable", removable, n)
    if not has_form(actions, (n,), np.int64):
        actions = checked_actions(network, actions, (n,))
    judgement = _empty(n)
    if _judge_true(tables_of(network), held, removable, actions, ranks, *judgement) != NOBODY:
        checked_actions(network, actions, (n,))
    return judgement


def _hosts(what: str, value: object, n: int) -> NDArray[np.int64]:
    if has_form(value, (n,), np.int64):
        return value
    return checked_array(f"{what} hosts", value, (n,), np.int64)


@kernel()
def _forbid(
    nets: NDArray[Any], tables: NDArray[Any], ranks: NDArray[Any], allowed: NDArray[Any]
) -> None:
    net: Tables = nets[0]
    for k in range(len(tables)):
        open_hosts = open_by_table(net, tables[k])
        if open_hosts:
            for action in range(net.num_actions):
                kind = net.action_kind[action]
                if (
                    kind in (_REMOVE, _RESTORE)
                    and verdict_by_table(net, action, tables[k], open_hosts, ranks[k]) == VIOLATION
                ):
                    allowed[k, action] = False


def without_violations(
    action_mask: ArrayLike, tables: ArrayLike, ranks: ArrayLike, network: Network = SCENARIO2
) -> NDArray[np.bool_]:
    """Returns (n, actions) a mask without those that would violate the order, by Blue's table.

    Args:
        action_mask: (n, actions) what is allowed otherwise.
        tables: (n, words) Blue's table before the action, packed as `State.table`.
        ranks: (n, hosts) each environment's order.
        network: what is played on.

    Raises:
        InvalidInputError: they are no such arrays.
    """
    ranks = checked_ranks(ranks, network)
    allowed = checked_mask(network, action_mask, len(ranks)).copy()
    _forbid(tables_of(network), checked_tables(tables, len(ranks), network), ranks, allowed)
    return allowed


def checked_tables(tables: object, n: int, network: Network = SCENARIO2) -> NDArray[np.int64]:
    """Returns Blue's packed tables (n, words); InvalidInputError if they are none."""
    shape = n, capacity_of(network) // HOSTS_IN_WORD
    if has_form(tables, shape, np.int64):  # a column of the simulator's records is read as it is
        return tables
    return checked_array("tables", tables, shape, np.int64)


def checked_ranks(ranks: object, network: Network = SCENARIO2) -> NDArray[np.int8]:
    """Returns the ranks of hosts in orders, (any, hosts); InvalidInputError if they are none."""
    hosts = len(network.hosts)
    if has_form(ranks, (None, hosts), np.int8):
        return ranks
    return checked_array("ranks", ranks, (None, hosts), np.int8)


def _empty(n: int) -> Judgement:
    return Judgement(np.empty(n, np.bool_), np.empty(n, np.int8))


class Tally(NamedTuple):
    """Each environment's counts in its running episode, in one view."""

    compliant: NDArray[np.int32]  # (B,)
    counted: NDArray[np.int32]  # (B,)
    ever_open: NDArray[np.bool_]  # (B,)

    @classmethod
    def zeros(cls, num_envs: int) -> Self:
        """Returns the tally of environments whose episode has just begun."""
        compliant, counted = np.zeros((2, num_envs), np.int32)
        return cls(compliant, counted, np.zeros(num_envs, np.bool_))


class Shares(NamedTuple):
    """Episodes' compliance, spread over their steps; (T, B) each."""

    shares: NDArray[np.float32]  # they sum to the episode's compliance
    rates: NDArray[np.float64]  # the compliance of an episode where it ends, else NaN
    counted_before: NDArray[np.int32]  # its fixes that counted before the step
    rate_before: NDArray[np.float32]  # its running rate before the step, 0 if none counted


@kernel()
def _write_shares(
    verdict: NDArray[Any], any_open: NDArray[Any], ends: NDArray[Any], tally: Tally, out: Shares
) -> None:
    compliant, counted, ever_open = tally
    for b in range(verdict.shape[1]):
        for t in range(verdict.shape[0]):
            ever_open[b] |= any_open[t, b]
            share = 0.0
            before = compliant[b] / counted[b] if counted[b] else 0.0
            out.counted_before[t, b] = counted[b]
            out.rate_before[t, b] = before
            if verdict[t, b] >= VIOLATION:
                counted[b] += 1
                compliant[b] += verdict[t, b] == COMPLIANT
                share = compliant[b] / counted[b] - before
            if ends[t, b]:
                rate = compliant[b] / counted[b] if counted[b] else 0.0
                if counted[b] == 0 and not ever_open[b]:
                    rate = 1.0
                    share = 1.0
                out.rates[t, b] = rate
                compliant[b] = 0
                counted[b] = 0
                ever_open[b] = False
            out.shares[t, b] = share


def compliance_shares(
    verdict: NDArray[np.int8], any_open: NDArray[np.bool_], ends: NDArray[np.bool_], tally: Tally
) -> Shares:
    """Spreads each episode's compliance over its steps.

    An episode's compliance is its compliant fixes over its counted ones; 1 if no host was ever
    open; 0 if one was and no fix counted. At each counted fix the share is the change of the
    running rate; at the end of an episode in which no host was ever open it is the whole 1. The
    shares of an episode sum to its compliance.

    Args:
        verdict: (T, B) of each action, in one view.
        any_open: (T, B) whether a host was open, in that view.
        ends: (T, B) whether the step was its episode's last.
        tally: carried from batch to batch, for episodes that go on.

    Raises:
        InvalidInputError: they are no such arrays.
    """
    verdict = checked_array("verdicts", verdict, (None, None), np.int8)
    if not all(map(is_plain, tally, [verdict.shape[1:]] * 3, (np.int32, np.int32, np.bool_))):
        raise not_allowed("a tally", tally, f"as Tally.zeros({verdict.shape[1]}) gives it")
    shape = verdict.shape
    any_open = checked_array("what was open", any_open, shape, np.bool_)
    ends = checked_array("ends", ends, shape, np.bool_)
    shares = Shares(
        shares=np.zeros(shape, np.float32),
        rates=np.full(shape, np.nan),
        counted_before=np.zeros(shape, np.int32),
        rate_before=np.zeros(shape, np.float32),
    )
    _write_shares(verdict, any_open, ends, tally, shares)
    return shares
