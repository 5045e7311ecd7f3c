"""The official protocol: 30, 50 and 100 steps against each red agent, raw environment reward."""

import importlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from workflow_rl.agents.agent import BlueAgent
from workflow_rl.agents.named import make_agent
from workflow_rl.agents.policy import Policy
from workflow_rl.agents.simple import RandomAgent
from workflow_rl.config import (
    MAX_EPISODE_LENGTH,
    RED_AGENTS,
    RULE_SETS,
    one_of,
    red_agent_name,
    whole_number,
)
from workflow_rl.errors import InvalidInputError, MissingDependencyError
from workflow_rl.evaluation.playing import EnvFactory, Game, play_batch, play_one_by_one
from workflow_rl.evaluation.results import (
    OFFICIAL_EPISODES,
    OFFICIAL_STEPS,
    Cell,
    Evaluation,
)
from workflow_rl.workflow.orders import ORDERS, order_index, parse_order

BACKENDS: Final = ("cage2", "cyborg")
LOGGED_EPISODES: Final = 100  # of each cell, whose actions the text file lists
_MAX_EPISODES: Final = 1_000_000

_Value = TypeVar("_Value", int, str)
OnCell = Callable[[Cell], None]
OnEpisodes = Callable[[int], None]


def evaluate(
    what: str | Path | Policy | BlueAgent,
    *,
    episodes: int = OFFICIAL_EPISODES,
    rules: str = "main",
    steps: Sequence[int] = OFFICIAL_STEPS,
    red_agents: Sequence[str] = RED_AGENTS,
    workflow: str | Sequence[str] | None = None,
    sampled: bool = False,
    seed: int = 0,
    backend: str = "cage2",
    cyborg_path: str | Path | None = None,
    make_env: EnvFactory | None = None,
    logged_episodes: int = LOGGED_EPISODES,
    on_cell: OnCell | None = None,
    on_episodes: OnEpisodes | None = None,
) -> Evaluation:
    """Evaluates an agent by the challenge's protocol, as `workflow-rl evaluate` does.

    Args:
        what: a baseline's name (sleep, random, react-restore, greedy, cardiff, ppo); a run
            directory, whose recommended policy plays; a policy file; a model of SB3's PPO (`.zip`);
            `bline=PATH,meander=PATH`, a policy for each red agent; a policy or an agent.
        episodes: of each cell.
        rules: main (the official repository today) or competition (the 2022 leaderboard).
        steps: the lengths of episodes.
        red_agents: who attacks.
        workflow: the order to follow, and by which compliance is judged; by default the
            policy's own.
        sampled: whether policies draw their actions; by default they take the most probable.
        seed: of everything; agents evaluated with the same seed meet the same games.
        backend: cage2 (our simulator) or cyborg (the original, which has its own rules: `rules`
            is then only what the result is labelled with).
        cyborg_path: with cyborg, where the original is.
        make_env: makes another single environment to play on, by the keywords red_agent,
            episode_length, observation and seed.
        logged_episodes: of how many episodes of each cell the actions are kept.
        on_cell: told of each cell as it is done.
        on_episodes: told how many more episodes were played.

    Returns:
        Every cell with the return and the compliance of each episode.

    Raises:
        InvalidInputError: an argument is not allowed; nothing was played.
    """
    started = time.perf_counter()
    one_of("rule set", rules, RULE_SETS)
    one_of("backend", backend, BACKENDS)
    episodes = whole_number("episodes", episodes, 2, _MAX_EPISODES)
    logged = whole_number("logged_episodes", logged_episodes, 0, _MAX_EPISODES)
    seed = whole_number("seed", seed, 0, 2**63 - 1)
    lengths = _distinct("steps", [whole_number("steps", n, 1, MAX_EPISODE_LENGTH) for n in steps])
    reds = _distinct(
        "red agents",
        [one_of("red agent", red_agent_name(name), RED_AGENTS) for name in red_agents],
    )
    order = None
    if workflow is not None:
        words = parse_order(workflow) if isinstance(workflow, str) else workflow
        order = ORDERS[order_index(words)]
    agent = (
        make_agent(what, order, sampled=sampled, rules=rules)
        if isinstance(what, (str, Path, Policy))
        else what
    )
    judged_by = order or agent.order
    if backend == "cyborg" and make_env is None:
        make_env = _cyborg_factory(cyborg_path)
    cells = []
    for length in lengths:
        for red in reds:
            game = Game(length, red, rules, seed, judged_by)
            if make_env is None:
                cell = play_batch(agent, game, episodes, logged)
                _tell(on_episodes, episodes)
            else:
                tell = partial(_tell, on_episodes)
                cell = play_one_by_one(agent, game, episodes, logged, make_env, tell)
            cells.append(cell)
            if on_cell is not None:
                on_cell(cell)
    return Evaluation(
        agent=agent.name,
        observation=agent.observation,
        order=judged_by,
        rules=rules,
        backend=backend,
        episodes=episodes,
        seed=seed,
        is_sampled=sampled or isinstance(agent, RandomAgent),
        cells=tuple(cells),
        seconds=time.perf_counter() - started,
    )


def _distinct(what: str, values: list[_Value]) -> list[_Value]:
    if not values or len(set(values)) != len(values):
        raise InvalidInputError(f"{what} must be one or more, each named once, not {values}")
    return values


def _tell(listener: OnEpisodes | None, episodes: int) -> None:
    if listener is not None:
        listener(episodes)


def _cyborg_factory(cyborg_path: str | Path | None) -> EnvFactory:
    """Returns what makes environments of the original, whose adapter may not be there."""
    try:
        module = importlib.import_module("workflow_rl.envs.cyborg")
    except MissingDependencyError:
        raise
    except ImportError as error:
        raise MissingDependencyError(
            "the backend cyborg is not available in this installation: use --backend cage2"
        ) from error
    factory: EnvFactory = partial(module.CyborgEnv, cyborg_path=cyborg_path)
    return factory
