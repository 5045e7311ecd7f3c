"""Searches the standing orders of the agent `greedy` by simulated annealing.

python -m benchmarks.standing_orders
python -m benchmarks.standing_orders --evaluations 500 --rules competition --output FILE.json

Every candidate plays the same games against B_line and Meander. The objective is the mean of both
returns, plus half of the worse one, minus a small price for every word of the rules, so that what
makes no difference goes, and a large one for games that do not comply. The best candidate then
plays held-out games. `found.standing_orders` of the figures is the content of
`workflow_rl/agents/standing_orders.json`.
"""

import math
import sys
from dataclasses import replace
from typing import Final

import numpy as np

from benchmarks.measure import Benchmark, number
from workflow_rl.agents.greedy import DEFAULT_ORDER, GreedyAgent
from workflow_rl.agents.standing_orders import (
    MOST_RULES,
    STANDING_ORDERS,
    HostRule,
    Response,
    StandingOrders,
    Wait,
    sentences_of,
)
from workflow_rl.config import GameConfig, RuleSetName
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.result import Cell
from workflow_rl.scenario.images import DECOY_NAMES
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import HOST_NAMES
from workflow_rl.sim.memory import placeable_decoys
from workflow_rl.workflow.orders import TYPES, Order

Candidate = tuple[StandingOrders, Order]

_REDS: Final = ("bline", "meander")
_ENTERPRISE: Final = ("Enterprise0", "Enterprise1", "Enterprise2")
_USERS: Final = ("User1", "User2", "User3", "User4")
_PIVOTS: Final = (*_ENTERPRISE, "Op_Server0")
_GROUPS: Final = (  # hosts that share a rule
    *((name,) for name in (*_PIVOTS, *_USERS, "Defender")),
    ("Op_Host0", "Op_Host1", "Op_Host2"),
)
_SIGNS: Final = ((), _USERS, _ENTERPRISE[:2], _ENTERPRISE, _ENTERPRISE[2:], _PIVOTS, _PIVOTS[3:])
_DECOYS: Final = tuple(  # without Vsftpd, which can be placed again and again
    (HOST_NAMES[host], DECOY_NAMES[decoy])
    for host, decoy in placeable_decoys(SCENARIO2)
    if DECOY_NAMES[decoy] != "DecoyVsftpd"
)
_PRICE: Final = 0.01  # of a word, in points
_VIOLATION: Final = 50.0  # points for a compliance of 0 instead of 1
_HOTTEST, _COLDEST = 1.5, 0.02  # temperatures, in points
_HELD_OUT: Final = 10_000  # games


def cells(candidate: Candidate, rules: RuleSetName, games: int, seed: int) -> list[Cell]:
    """Plays a candidate against both scripts."""
    orders, order = candidate
    agent = GreedyAgent(order, orders)
    return [
        play_batch(agent, GameConfig(red_agent=red, rules=rules), seed, games, order)
        for red in _REDS
    ]


def objective(candidate: Candidate, rules: RuleSetName, games: int, seed: int) -> float:
    """Returns how good a candidate is, in points."""
    sentences = sentences_of(candidate[0])
    if len(sentences) > MOST_RULES:
        return -math.inf
    played = cells(candidate, rules, games, seed)
    means = [cell.mean - _VIOLATION * (1 - cell.result.compliance.mean) for cell in played]
    words = " ".join(sentences).split()
    return float(np.mean(means) + min(means) / 2 - _PRICE * len(words))


def changed(candidate: Candidate, rng: np.random.Generator) -> Candidate:
    """Returns a neighbour: one or more small changes."""
    orders, order = candidate
    for _ in range(rng.geometric(0.6)):
        kind = rng.random()
        if kind < 0.35:
            orders = replace(orders, decoys=_other_decoys(list(orders.decoys), rng))
        elif kind < 0.85:
            group = _GROUPS[rng.integers(len(_GROUPS))]
            other = _GROUPS[rng.integers(len(_GROUPS))][0]
            copied = rng.random() < 0.25
            rule = orders.hosts[other] if copied else _other_rule(orders.hosts[group[0]], rng)
            orders = replace(orders, hosts={**orders.hosts, **dict.fromkeys(group, rule)})
        elif kind < 0.9:
            orders = replace(orders, signs=_SIGNS[rng.integers(len(_SIGNS))])
        elif kind < 0.95:
            expected = dict(orders.expected)
            scanned = str(rng.choice((*_PIVOTS, *_USERS)))
            expected.pop(scanned, None)
            if rng.random() < 0.9:
                expected[scanned] = str(rng.choice(_PIVOTS))
            orders = replace(orders, expected=expected)
        else:
            names = list(order)
            i, j = rng.choice(len(names), 2, replace=False)
            names[i], names[j] = names[j], names[i]
            order = TYPES.read(tuple(names))
    return orders, order


def _other_decoys(
    decoys: list[tuple[str, str]], rng: np.random.Generator
) -> tuple[tuple[str, str], ...]:
    """Returns the list with one decoy less, more or elsewhere."""
    kind = rng.random()
    absent = [decoy for decoy in _DECOYS if decoy not in decoys]
    if kind < 0.7 and decoys:
        taken = decoys.pop(rng.integers(len(decoys)))
        if kind > 0.3:
            decoys.insert(rng.integers(len(decoys) + 1), taken)
    elif absent:
        decoys.insert(rng.integers(len(decoys) + 1), absent[rng.integers(len(absent))])
    return tuple(decoys)


def _other_rule(rule: HostRule, rng: np.random.Generator) -> HostRule:
    """Returns a rule with one field changed."""
    field = rng.integers(7)
    if field < 3:
        user = list(rule.user)
        user[field] = rng.choice((Response.LEAVE, Response.REMOVE, Response.RESTORE))
        first, second, later = map(Response, user)
        return replace(rule, user=(first, second, later))
    if field == 3:
        some = (Response.LEAVE, Response.ANALYSE, Response.RESTORE)
        return replace(rule, unknown=Response(rng.choice(some)))
    if field == 4:
        return replace(rule, privileged=Response(rng.choice((Response.LEAVE, Response.RESTORE))))
    if field == 5:
        return replace(rule, once=not rule.once)
    return replace(rule, wait=Wait(int(rng.integers(len(Wait)))))


def measure(bench: Benchmark) -> None:
    """Searches, then plays the best candidate in held-out games."""
    args = bench.args
    rng = np.random.default_rng(args.seed)
    current = best = (STANDING_ORDERS, DEFAULT_ORDER)
    value = best_value = objective(current, args.rules, args.games, args.seed)
    for step in range(args.evaluations):
        if step % 50 == 0:
            bench.tell(f"candidate {step} of {args.evaluations}, best {best_value:.2f}")
        candidate = changed(current, rng)
        new = objective(candidate, args.rules, args.games, args.seed)
        temperature = _HOTTEST * (1 - step / args.evaluations) ** 2 + _COLDEST
        if new > value or rng.random() < math.exp((new - value) / temperature):
            current, value = candidate, new
        if new > best_value:
            best, best_value = candidate, new
    bench.tables["held-out games"] = [
        {
            "red agent": cell.game.red_agent,
            "games": _HELD_OUT,
            "return": str(cell.result.reward),
            "compliance": cell.result.compliance.mean,
        }
        for cell in cells(best, args.rules, _HELD_OUT, args.seed + 1)
    ]
    bench.found["order"] = list(best[1])
    bench.found["standing_orders"] = best[0].as_json()


def main() -> int:
    """Runs the search."""
    bench = Benchmark(
        "standing_orders",
        "search the rules that the agent greedy plays",
        game_flags=("rules",),
        repeats=0,
    )
    bench.flag("--evaluations", type=number(0, 10_000_000), default=20_000, help="candidates")
    bench.flag("--games", type=number(1, 100_000), default=400, help="against each red agent")
    bench.flag("--seed", type=number(0, 2**31), default=0, help="of the games and the search")
    return bench.run(measure)


if __name__ == "__main__":
    sys.exit(main())
