"""Games to follow: what Blue did and saw, and the truth."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workflow_rl.agents.named import make_agent
from workflow_rl.belief.belief import Belief
from workflow_rl.belief.hypotheses import hidden_fields
from workflow_rl.belief.outcomes import always_found
from workflow_rl.belief.settling import settle
from workflow_rl.config import GameConfig, ObservationName
from workflow_rl.jit import rule
from workflow_rl.scenario.actions import actions_of
from workflow_rl.scenario.network import Network
from workflow_rl.scenario.tables import NOBODY, Tables, tables_of
from workflow_rl.sim.batch import Batch
from workflow_rl.sim.state import Raised, RedAgent


class Games(NamedTuple):
    """Episodes that were played side by side; the first axis is the step."""

    observation_name: ObservationName
    actions: NDArray[np.int64]  # (T, n)
    observations: NDArray[np.int8]  # (T, n, its size)
    states: NDArray[np.void]  # (T, n) after the step
    access: NDArray[np.int8]  # (T, n, hosts)


def play(agent_name: str, num_envs: int, steps: int, seed: int = 0, **game: Any) -> Games:
    """Lets a Blue agent play Scenario2."""
    agent = make_agent(agent_name, rules=game.get("rules", "main"))
    config = GameConfig(episode_length=steps, observation=agent.observation, **game)
    agent.begin(num_envs, seed)

    def act(batch: Batch, step: int) -> NDArray[np.int64]:
        return agent.act(batch.observation, batch.out.action_mask, step).astype(np.int64)

    return _games(config, num_envs, seed, act)


def play_at_random(
    network: Network, num_envs: int, steps: int, seed: int = 0, acting: float = 0.6, **game: Any
) -> Games:
    """Lets a Blue that acts at random, or sleeps, play a network."""
    config = GameConfig(network=network, episode_length=steps, **game)
    generator = np.random.default_rng(seed)

    def act(batch: Batch, step: int) -> NDArray[np.int64]:
        actions = generator.integers(0, actions_of(network).size, num_envs)
        return np.where(generator.random(num_envs) < acting, actions, 0)

    return _games(config, num_envs, seed, act)


def _games(
    config: GameConfig, num_envs: int, seed: int, act: Callable[[Batch, int], NDArray[np.int64]]
) -> Games:
    batch = Batch(num_envs, config, autoreset=False)
    batch.reset(seed)
    rows = []
    for step in range(config.episode_length):
        actions = act(batch, step)
        batch.step(actions)
        seen = batch.observation.copy(), batch.state.copy(), batch.out.red_access.copy()
        rows.append((actions, *seen))
    return Games(config.observation, *(np.stack(column) for column in zip(*rows, strict=True)))


@rule
def settle_all(states: NDArray[np.void], nets: NDArray[np.void]) -> None:
    net: Tables = nets[0]
    found = always_found(net)
    for k in range(len(states)):
        settle(states[k], net, found)


def probability_of(states: NDArray[np.void], belief: Belief) -> NDArray[np.float64]:
    """(n,) the probability that the belief gives to one whole state per environment."""
    settled = states.copy()
    settle_all(settled, tables_of(belief.network))
    undrawn = (
        (settled["red_agent"] == RedAgent.BLINE)
        & (settled["bline_target"] == NOBODY)
        & (settled["red_raised"] == Raised.NOTHING)
    )[:, None]
    kept = belief._filter.now
    same = np.arange(kept.states.shape[1]) < kept.number[:, None]
    for name in hidden_fields(belief.network):
        truth = settled[name][:, None]
        equal = kept.states[name] == truth
        equal = equal.reshape(*same.shape, -1).all(axis=-1)
        if name in ("bline_target", "bline_reached"):  # the belief draws it before B_line does
            equal |= undrawn
        same &= equal
    probability: NDArray[np.float64] = (kept.weights * same).sum(axis=1)
    return probability
