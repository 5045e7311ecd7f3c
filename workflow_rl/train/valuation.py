"""The value of a trained policy by its attackers, in fresh games against each of them."""

from dataclasses import replace
from typing import Final

from workflow_rl.agents.policy_agent import PolicyAgent
from workflow_rl.evaluation.playing import play_batch
from workflow_rl.evaluation.result import Result
from workflow_rl.nets.policy_file import Weights
from workflow_rl.train.job import TrainJob, TrainOutcome

_SEED: Final = 11  # of the games: the same for all trainings, so that their values compare


def valued(outcome: TrainOutcome, job: TrainJob, weights: Weights) -> TrainOutcome:
    """Returns the outcome of a training with the objective that its settings ask for.

    A policy for any order is no workflow: its outcome stays as it is.

    Args:
        outcome: whose objective is that of the last episodes.
        job: the training.
        weights: of the policy that it hands over.
    """
    train, game = job.train, job.game
    if train.objective == "episodes" or (train.conditioned and job.order is None):
        return outcome
    agent = PolicyAgent(job.policy(weights), "trained", job.workflow)
    found: list[Result] = []
    for red in game.reds:
        played = replace(game, red_agent=red.name, red_probabilities=None)
        games = play_batch(agent, played, _SEED, train.objective_games, agent.order)
        found.append(games.result)
    if train.objective == "worst":
        objective = min(found, key=lambda result: result.reward.mean)
    else:
        objective = Result.pooled(found, [1 / len(found)] * len(found), game.red_agent)
    complies = outcome.is_compliant
    if agent.order is not None:
        complies = all(r.compliance.mean >= train.compliance_threshold for r in found)
    return replace(outcome, objective=objective, is_compliant=complies, by_attacker=tuple(found))
