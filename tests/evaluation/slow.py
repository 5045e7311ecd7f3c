"""A cell by a plain loop over single environments, judged by the definition of compliance."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tests.workflow.reference import (
    TYPE_OF,
    Judged,
    episode_compliance,
    judge_by_marks,
    judge_by_truth,
)
from workflow_rl import Cage2Env
from workflow_rl.agents.agent import BlueAgent
from workflow_rl.config import GameConfig
from workflow_rl.evaluation.playing import agent_seed, game_seed
from workflow_rl.scenario.scenario2 import ACTION_NAMES

MARKS = {(0, 0): "No", (1, 0): "Unknown", (0, 1): "User", (1, 1): "Privileged"}


def play_slowly(
    new_agent: Callable[[], BlueAgent],
    game: GameConfig,
    seed: int,
    episodes: int,
    order: tuple[str, ...],
    *,
    same_env: bool = False,
) -> tuple[list[float], list[float], list[float], list[tuple[int, int]]]:
    """Each episode's return, its compliance, observed and true, and the fixes of both.

    They are the episodes of one environment, or the first of several.
    """
    returns, observed, true, fixes = [], [], [], []
    env: Any = None
    for k in range(episodes):
        agent = new_agent()
        if env is None or not same_env:
            env = Cage2Env(game=replace(game, observation=agent.observation))
            env.batch.state["index"] = k
            observation, info = env.reset(seed=game_seed(game, seed))
        else:
            observation, info = env.reset()
        agent.begin(1, agent_seed(game, seed) + k)
        total, seen, held = 0.0, [], []
        ended, step = False, 0
        while not ended:
            action = int(agent.act(observation[None], info["action_mask"][None], step)[0])
            seen.append(_by_marks(observation, action, order))
            held.append(_by_truth(env, info["red_access"], action, order))
            observation, reward, _, ended, info = env.step(action)
            total += reward
            step += 1
        returns.append(round(total, 1))
        observed.append(float(episode_compliance(seen)))
        true.append(float(episode_compliance(held)))
        fixes.append((sum(j.counts for j in seen), sum(j.counts for j in held)))
    return returns, observed, true, fixes


def _by_marks(observation: Any, action: int, order: tuple[str, ...]) -> Judged:
    bits = np.asarray(observation[:52]).reshape(13, 4)[:, 2:].tolist()
    marks = {host: MARKS[tuple(pair)] for host, pair in zip(TYPE_OF, bits, strict=True)}
    return judge_by_marks(marks, ACTION_NAMES[action], order)


def _by_truth(env: Any, access: Any, action: int, order: tuple[str, ...]) -> Judged:
    removable = int(env.batch.state["removable"][0])
    killable = {host for h, host in enumerate(TYPE_OF) if removable >> h & 1}
    levels = dict(zip(TYPE_OF, access.tolist(), strict=True))
    return judge_by_truth(levels, killable, ACTION_NAMES[action], order)
