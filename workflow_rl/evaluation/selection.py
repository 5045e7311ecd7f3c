"""Choosing among the policies a training kept: by games that no result is reported of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from workflow_rl.agents.agent import BlueAgent
from workflow_rl.agents.policy import Policy, load_policy
from workflow_rl.agents.policy_agent import policy_agent
from workflow_rl.config import whole_number
from workflow_rl.errors import InvalidInputError
from workflow_rl.evaluation.playing import Game, play_batch

FIRST_EPISODES: Final = 200  # of each candidate in the first round
_KEPT: Final = 4  # one in so many goes on to a round of four times the episodes
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
    that do not comply come last. Episodes of policies trained on mixed red agents are mixed too.

    Args:
        paths: policy files.
        steps: of an episode.
        red_agent: who attacks; by default whom the policy was trained against.
        rules: by default those it was trained on.
        episodes: of each candidate in the last round.
        threshold: compliance that a policy with a workflow must reach; by default that of its
            training.

    Yields:
        Each candidate as it has played a round; the ranking at last.
    """
    whole_number("episodes", episodes, 1, 10**7)
    agents = {path: _agent(path) for path in paths}
    needed = {path: _threshold(policy, threshold) for path, (policy, _) in agents.items()}
    left, number = list(paths), min(FIRST_EPISODES, episodes)
    while True:
        played = []
        for path in left:
            policy, agent = agents[path]
            game = Game(
                steps=steps,
                red_agent=red_agent or str(policy.description["red_agent"]),
                rules=rules or str(policy.description["rules"]),
                seed=SELECTION_SEED + number,
                order=agent.order,
            )
            played.append(_score(path, agent, game, number))
            yield played[-1]
        played.sort(key=lambda c: _rank(c, needed[c.path]), reverse=True)
        if number >= episodes:
            yield Ranking(tuple(played))
            return
        left = [c.path for c in played[: max(1, len(played) // _KEPT)]]
        number = min(4 * number, episodes)


def _agent(path: Path) -> tuple[Policy, BlueAgent]:
    policy = load_policy(path)
    return policy, policy_agent(policy, path.stem)


def _threshold(policy: Policy, given: float | None) -> float:
    if given is not None:
        return given
    return float(policy.description.get("compliance_threshold", 0.0))


def _score(path: Path, agent: BlueAgent, game: Game, episodes: int) -> Candidate:
    cell = play_batch(agent, game, episodes, logged=0)
    rates = cell.compliance.get("observed")
    compliance = float("nan") if rates is None else float(np.mean(rates))
    return Candidate(path, cell.mean, compliance, episodes)


def _rank(candidate: Candidate, threshold: float) -> tuple[float, float]:
    if np.isnan(candidate.compliance) or candidate.compliance >= threshold:
        return 1.0, candidate.env_reward
    return candidate.compliance - 1.0, candidate.env_reward
