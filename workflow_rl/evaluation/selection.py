"""Choosing among the policies a training kept: by games that no result is reported of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import GameConfig, whole_number
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.result import Result
from workflow_rl.workflow.orders import TYPES, Order, Orders
from workflow_rl.workflow.units import units_of

FIRST_EPISODES: Final = 200  # of each candidate in the first round
_KEPT: Final = 4  # one in so many goes on to a round of four times the episodes
DRAWN_ORDERS: Final = 20  # under which one that follows any order plays
# Games of the selection: no evaluation asked for by a user has this seed.
SELECTION_SEED: Final = 2**40 + 7


@dataclass(frozen=True)
class Candidate:
    """A kept policy, and how it did in the last round it played."""

    path: Path
    result: Result


def snapshots_of(run: Path) -> list[Path]:
    """Returns the policies that a run's trainings kept, in order of their updates.

    Raises:
        InvalidInputError: there are none.
    """
    paths = sorted(run.glob("**/snapshots/*.safetensors"))
    if not paths:
        raise InvalidInputError(
            f"{run} holds no kept policies: train with --snapshot-every N to keep some"
        )
    return paths


@dataclass(frozen=True)
class Ranking:
    """The candidates of the last round, best first."""

    candidates: tuple[Candidate, ...]


def select(
    paths: Sequence[Path],
    changes: Mapping[str, Any] = MappingProxyType({}),
    *,
    episodes: int = 6_400,
    threshold: float | None = None,
) -> Iterator[Candidate | Ranking]:
    """Plays rounds of ever more episodes, and yields what happens as it happens.

    Each policy plays the game that it was trained on. Each round leaves the best quarter, until one
    has been played with at least `episodes`. Policies that do not comply come last. One that
    follows any order plays under several, the same for all of them.

    Args:
        paths: policy files.
        changes: fields of `GameConfig` in which the game differs from that of the training.
        episodes: of each candidate in the last round, at least.
        threshold: compliance that a policy with a workflow must reach; by default that of its
            training.

    Yields:
        Each candidate as it has played a round; the ranking at last.
    """
    whole_number("episodes", episodes, 1, 10**7)
    policies = {path: load_policy(path) for path in paths}
    games = {path: policy.config.game.changed(**changes) for path, policy in policies.items()}
    needed = {path: _threshold(policy, threshold) for path, policy in policies.items()}
    left, number = list(paths), min(FIRST_EPISODES, episodes)
    while True:
        played = []
        for path in left:
            played.append(Candidate(path, _play(policies[path], games[path], number)))
            yield played[-1]
        played.sort(key=lambda c: _rank(c, needed[c.path]), reverse=True)
        if number >= episodes:
            yield Ranking(tuple(played))
            return
        left = [c.path for c in played[: max(1, len(played) // _KEPT)]]
        number = min(4 * number, episodes)


def orders_played(policy: Policy) -> list[Order | None]:
    """Returns the orders a policy is judged under: its own, or some of those it can follow."""
    if not policy.is_conditioned or policy.order is not None:
        return [policy.order]
    kinds = [TYPES, Orders(units_of("hosts"))] if policy.units is None else [Orders(policy.units)]
    rng = np.random.default_rng(SELECTION_SEED)
    return [
        orders[index]
        for orders in kinds
        for index in orders.draw(rng, DRAWN_ORDERS // len(kinds)).tolist()
    ]


def _threshold(policy: Policy, given: float | None) -> float:
    if given is not None:
        return given
    return policy.config.train.compliance_threshold


def _play(policy: Policy, game: GameConfig, episodes: int) -> Result:
    """Plays at least so many episodes, as many under each order."""
    orders = orders_played(policy)
    each = -(-episodes // len(orders))
    seed = SELECTION_SEED + episodes
    results = [
        play_batch(PolicyAgent(policy, "policy", order), game, seed, each, order).result
        for order in orders
    ]
    return Result.pooled(results, [1 / len(orders)] * len(orders), game.red_agent)


def _rank(candidate: Candidate, threshold: float) -> tuple[float, float]:
    compliance, reward = candidate.result.compliance.mean, candidate.result.reward.mean
    if np.isnan(compliance) or compliance >= threshold:
        return 1.0, reward
    return compliance - 1.0, reward
