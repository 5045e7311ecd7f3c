"""Selection of a policy on a validation set of games, and its score on a held-out test set.

A training's own numbers are means over its last updates, while the weights changed, and the best of
many such numbers is biased upwards. So a policy is selected on validation games (`choose` among a
few, `select` among the many that a training kept) and scored on games that nothing else uses.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

import numpy as np

from workflow_rl.agents.greedy import GreedyAgent
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.config import GameConfig, whole_number
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.behaviour import Behaviour
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.result import Cell, Result
from workflow_rl.files import check_manifest
from workflow_rl.scenario.network import Network, check_network
from workflow_rl.workflow.orders import Order, Orders
from workflow_rl.workflow.units import MOST, fixable, units_of

# No evaluation that a user asks for has these seeds.
SELECTION_SEED: Final = 2**40 + 7
CHOOSING_SEED: Final = 2**41 + 7
SCORING_SEED: Final = 2**42 + 7
FIRST_EPISODES: Final = 200  # of each candidate in the first round of a selection
_SCORED: Final = 3  # who plays for a score: deterministic, stochastic, greedy
CHOOSING: Final = "choosing"  # what games are for
SCORING: Final = "scoring"
DRAWN_ORDERS: Final = 20  # that a policy for any order is judged under
_KEPT: Final = 4  # one in so many goes on to a round of four times the episodes


@dataclass(frozen=True)
class Score:
    """A policy's results in held-out games against one red agent."""

    deterministic: Result  # the deterministic policy: the most probable action
    sampled: Result  # the stochastic policy, as in training
    greedy: Result  # of the untrained greedy agent under the same order, in the same games
    behaviour: Behaviour | None = None  # in the deterministic games; None in older runs

    @property
    def red_agent(self) -> str:
        """Who attacked."""
        return self.deterministic.red_agent

    @property
    def is_unfit(self) -> bool:
        """Whether it is worse than the untrained greedy agent, beyond both intervals."""
        return self.deterministic.reward.high < self.greedy.reward.low

    def as_json(self) -> dict[str, Any]:
        """Returns the score as plain data."""
        return {
            "red_agent": self.red_agent,
            "deterministic": self.deterministic.as_json(),
            "sampled": self.sampled.as_json(),
            "greedy": self.greedy.as_json(),
            "is_unfit": self.is_unfit,
            "actions": self.behaviour and self.behaviour.as_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns the score that `as_json` gave; raises as `Result.from_json`."""
        actions = dict(data).get("actions")
        return cls(
            deterministic=Result.from_json(data["deterministic"]),
            sampled=Result.from_json(data["sampled"]),
            greedy=Result.from_json(data["greedy"]),
            behaviour=None if actions is None else Behaviour.from_json(actions),
        )


def choose(
    policies: Sequence[Policy],
    game: GameConfig,
    threshold: float,
    games: int,
    *,
    by_worst: bool = False,
) -> int:
    """Returns the index of the best policy: compliant ones first, then by reward.

    All play the same validation games. Of equals the first is taken.

    Args:
        policies: to choose from.
        game: what they play.
        threshold: the least compliance.
        games: how many each plays.
        by_worst: whether the reward is that against the worst attacker of the game.
    """
    against = [game.changed(red_agent=red.name) for red in game.reds] if by_worst else [game]
    ranks = []
    for policy in policies:
        results = [_pooled(_cells(policy, one, CHOOSING_SEED, games)) for one in against]
        found = min(results, key=lambda result: result.reward.mean)
        followed = min(result.compliance.mean for result in results)
        complies = policy.order is None or followed >= threshold
        ranks.append((complies, found.reward.mean if complies else followed))
    return max(range(len(policies)), key=lambda i: ranks[i])


def games_to_score(games: int, game: GameConfig) -> int:
    """Returns how many games `score_policy` plays, so many of each kind against each red agent."""
    return games * _SCORED * len(game.scored_reds)


def score_policy(policy: Policy, game: GameConfig, games: int) -> Iterator[Score]:
    """Yields a policy's score against each red agent, in so many held-out games each."""
    greedy = GreedyAgent(policy.order, network=game.network)
    for red_agent in game.scored_reds:
        against = game.changed(red_agent=red_agent)
        cells = _cells(policy, against, SCORING_SEED, games)
        yield Score(
            deterministic=_pooled(cells),
            sampled=_pooled(_cells(policy, against, SCORING_SEED, games, sampled=True)),
            greedy=play_batch(greedy, against, SCORING_SEED, games, policy.order).result,
            behaviour=Behaviour.mean([cell.behaviour for cell in cells if cell.behaviour]),
        )


@dataclass(frozen=True)
class Games:
    """How many of the games for some purpose have been played."""

    purpose: str  # CHOOSING or SCORING
    done: int
    total: int


@dataclass(frozen=True)
class Candidate:
    """A snapshot, and its result in the last round it played."""

    path: Path
    result: Result


def snapshots_of(run: Path) -> list[Path]:
    """Returns the policies that a run's trainings kept, in order of their updates.

    Raises:
        InvalidInputError: there are none.
    """
    check_manifest(run, "*/snapshots/*.safetensors")
    paths = sorted(run.glob("**/snapshots/*.safetensors"))
    if not paths:
        raise InvalidInputError(
            f"{run} holds no saved policies: train with --snapshot-every N to keep some"
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
) -> Iterator[Candidate | Games | Ranking]:
    """Selects by rounds of ever more episodes, as successive halving, and yields each result.

    Each policy plays the game that it was trained on. Each round keeps the best quarter, until one
    has been played with at least `episodes`. Policies below the compliance threshold of their
    training come last. A policy that follows any order plays under several, the same for all.

    Args:
        paths: policy files.
        changes: fields of `GameConfig` in which the game differs from that of the training. All
            policies are of one network.
        episodes: of each candidate in the last round, at least.

    Yields:
        The games so far and each candidate after each of its rounds; the ranking at the end.
    """
    episodes = whole_number("episodes", episodes, 1, 10**7)
    policies = {path: load_policy(path) for path in paths}
    games = {path: policy.config.game.changed(**changes) for path, policy in policies.items()}
    for path, policy in policies.items():
        check_network(path.stem, policy.network, games[paths[0]].network)
    left, rounds, done = list(paths), _rounds(len(paths), episodes), 0
    total = sum(size * number for size, number in rounds)
    for size, number in rounds:
        played = []
        for path in left[:size]:
            cells = _cells(policies[path], games[path], SELECTION_SEED + number, number)
            played.append(Candidate(path, _pooled(cells)))
            done += number
            yield Games(CHOOSING, done, total)
            yield played[-1]
        played.sort(key=lambda c: _rank(c.result, policies[c.path]), reverse=True)
        left = [candidate.path for candidate in played]
    yield Ranking(tuple(played))


def _rounds(size: int, episodes: int) -> list[tuple[int, int]]:
    """Returns how many policies play each round of a selection, and how many games each."""
    number = min(FIRST_EPISODES, episodes)
    rounds = [(size, number)]
    while number < episodes:
        size, number = max(1, size // _KEPT), min(4 * number, episodes)
        rounds.append((size, number))
    return rounds


def _rank(result: Result, policy: Policy) -> tuple[float, float]:
    compliance, reward = result.compliance.mean, result.reward.mean
    if np.isnan(compliance) or compliance >= policy.config.train.compliance_threshold:
        return 1.0, reward
    return compliance - 1.0, reward


def _kinds_played(network: Network) -> list[Orders]:
    """Returns of which units a policy for any is judged: types, and hosts if they are few."""
    kinds = ("types", "hosts") if len(fixable(network)) <= MOST else ("types",)
    return [Orders(units_of(kind, network)) for kind in kinds]


def orders_played(policy: Policy) -> list[Order | None]:
    """Returns the orders a policy is judged under: its own, or some of those it can follow."""
    if not policy.is_conditioned or policy.order is not None:
        return [policy.order]
    kinds = _kinds_played(policy.network) if policy.units is None else [Orders(policy.units)]
    rng = np.random.default_rng(SELECTION_SEED)
    return [
        orders[index]
        for orders in kinds
        for index in orders.draw(rng, DRAWN_ORDERS // len(kinds)).tolist()
    ]


def _cells(
    policy: Policy, game: GameConfig, seed: int, games: int, *, sampled: bool = False
) -> list[Cell]:
    """Plays at least so many games, as many under each order; returns those of each order."""
    orders = orders_played(policy)
    each = -(-games // len(orders))
    return [
        play_batch(PolicyAgent(policy, "policy", order, sampled=sampled), game, seed, each, order)
        for order in orders
    ]


def _pooled(cells: Sequence[Cell]) -> Result:
    """Returns the result of the games under all orders together."""
    weights = [1 / len(cells)] * len(cells)
    return Result.pooled([cell.result for cell in cells], weights, cells[0].red_agent)
