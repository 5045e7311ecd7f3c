"""How best responses are trained: attackers that answer one fixed defender."""

from collections.abc import Mapping
from typing import Any

from workflow_rl.config.experiment import ExperimentConfig
from workflow_rl.errors import InvalidInputError


def best_response(
    against: str,
    transitions: int,
    *,
    game: Mapping[str, Any],
    seed: int,
    called: str = "transitions",
    **train: Any,
) -> ExperimentConfig:
    """Returns the configuration of the trainings of best responses.

    Args:
        against: the defender, as `workflow-rl evaluate` names agents.
        transitions: of each training; whole episodes are played, so it may be a few more.
        game: changes to its settings.
        seed: of the run.
        called: how a sentence about too few transitions names them.
        **train: further changes to the settings of a training.

    Raises:
        InvalidInputError: the transitions are fewer than an episode of every environment.
    """
    changes = {"against": against} | train
    usual = ExperimentConfig.preset("best-response", train=changes, game=game)
    episode = usual.train.n_envs * usual.game.episode_length
    if transitions < episode:
        raise InvalidInputError(
            f"{called} must be at least {episode}, one episode of every environment, not "
            f"{transitions}"
        )
    changes["max_episodes"] = -(-transitions // episode)
    return ExperimentConfig.preset("best-response", train=changes, game=game, seed=seed)


def responses_of(config: ExperimentConfig, against: str) -> ExperimentConfig:
    """Returns the configuration of the best responses that a search trains; raises likewise.

    Args:
        config: of the search.
        against: what the policy that it hands over is called.
    """
    game = config.game
    return best_response(
        against,
        config.search.response_transitions,
        game={
            "rules": game.rules,
            "episode_length": game.episode_length,
            "green_agent": game.green_agent,
            "network": game.network,
        },
        seed=config.seed,
        called="response_transitions",
        units=config.train.units,
        require=config.train.require,
    )
