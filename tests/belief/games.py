"""Games to follow: what Blue did and saw, and the truth."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.named import make_agent
from workflow_rl.belief.belief import Belief
from workflow_rl.belief.hypotheses import HIDDEN
from workflow_rl.belief.settling import settle
from workflow_rl.config import GameConfig, ObservationName
from workflow_rl.jit import rule
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.state import NOBODY


class Games(NamedTuple):
    """Episodes that were played side by side; the first axis is the step."""

    observation_name: ObservationName
    actions: NDArray[np.int64]  # (T, n)
    observations: NDArray[np.int8]  # (T, n, 52 or 62)
    states: NDArray[np.void]  # (T, n) after the step
    access: NDArray[np.int8]  # (T, n, 13)


def play(agent_name: str, num_envs: int, steps: int, seed: int = 0, **game: Any) -> Games:
    """Lets a Blue agent play."""
    agent = make_agent(agent_name, rules=game.get("rules", "main"))
    config = GameConfig(episode_length=steps, observation=agent.observation, **game)
    batch = Batch(num_envs, config, autoreset=False)
    batch.reset(seed)
    agent.begin(num_envs, seed)
    rows = []
    for step in range(steps):
        actions = agent.act(batch.observation, batch.out.action_mask, step).astype(np.int64)
        batch.step(actions)
        seen = batch.observation.copy(), batch.state.copy(), batch.out.red_access.copy()
        rows.append((actions, *seen))
    return Games(agent.observation, *(np.stack(column) for column in zip(*rows, strict=True)))


@rule
def settle_all(states: NDArray[np.void]) -> None:
    for k in range(len(states)):
        settle(states[k])


def probability_of(states: NDArray[np.void], belief: Belief) -> NDArray[np.float64]:
    """(n,) the probability that the belief gives to one whole state per environment."""
    settled = states.copy()
    settle_all(settled)
    kept = belief._filter.now
    same = np.arange(kept.states.shape[1]) < kept.number[:, None]
    for name in HIDDEN:
        truth = settled[name][:, None]
        equal = kept.states[name] == truth
        if name == "bline_target":  # the belief draws it before B_line does
            equal |= truth == NOBODY
        same &= equal.reshape(*same.shape, -1).all(axis=-1)
    probability: NDArray[np.float64] = (kept.weights * same).sum(axis=1)
    return probability
