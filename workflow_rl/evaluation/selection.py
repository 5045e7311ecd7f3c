"""Choosing among the policies a training kept: by games that no result is reported of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.policy_agent import policy_agent
from workflow_rl.config import whole_number
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.playing import Game, play_batch
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
    env_reward: float
    compliance: float  # observed view; NaN without a workflow
    episodes: int


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
    *,
    steps: int = 100,
    red_agent: str | None = None,
    rules: str | None = None,
    episodes: int = 6_400,
    threshold: float | None = None,
) -> Iterator[Candidate | Ranking]:
    """Plays rounds of ever more episodes, and yields what happens as it happens.

    Each round leaves the best quarter, until one has been played with at least `episodes`. Policies
    that do not comply come last. Episodes of policies trained on mixed red agents are mixed too;
    one that follows any order plays under several, the same for all of them.

    Args:
        paths: policy files.
        steps: of an episode.
        red_agent: who attacks; by default whom the policy was trained against.
        rules: by default those it was trained on.
        episodes: of each candidate in the last round, at least.
        threshold: compliance that a policy with a workflow must reach; by default that of its
            training.

    Yields:
        Each candidate as it has played a round; the ranking at last.
    """
    whole_number("episodes", episodes, 1, 10**7)
    policies = {path: load_policy(path) for path in paths}
    needed = {path: _threshold(policy, threshold) for path, policy in policies.items()}
    left, number = list(paths), min(FIRST_EPISODES, episodes)
    while True:
        played = []
        for path in left:
            policy = policies[path]
            game = Game(
                steps=steps,
                red_agent=red_agent or str(policy.description["red_agent"]),
                rules=rules or str(policy.description["rules"]),
                seed=SELECTION_SEED + number,
                order=None,
            )
            played.append(_score(path, policy, game, number))
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
    return float(policy.description.get("compliance_threshold", 0.0))


def _score(path: Path, policy: Policy, game: Game, episodes: int) -> Candidate:
    """Plays at least so many episodes, as many under each order."""
    orders = orders_played(policy)
    each = -(-episodes // len(orders))
    cells = [
        play_batch(policy_agent(policy, path.stem, order), replace(game, order=order), each, 0)
        for order in orders
    ]
    rates = [np.mean(cell.compliance["observed"]) for cell in cells if cell.compliance]
    compliance = float(np.mean(rates)) if rates else float("nan")
    reward = float(np.mean([cell.mean for cell in cells]))
    return Candidate(path, reward, compliance, each * len(orders))


def _rank(candidate: Candidate, threshold: float) -> tuple[float, float]:
    if np.isnan(candidate.compliance) or candidate.compliance >= threshold:
        return 1.0, candidate.env_reward
    return candidate.compliance - 1.0, candidate.env_reward
