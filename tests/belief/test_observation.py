"""The belief as an observation: against the belief itself, and from saved and past moments."""

import numpy as np
import pytest
from numpy.typing import NDArray

from workflow_rl.belief.belief import Belief
from workflow_rl.belief.observation import LEVELS, BlueBelief, believed
from workflow_rl.config import RED_AGENTS, GameConfig, RuleSetName
from workflow_rl.envs.episode import Episode
from workflow_rl.envs.observations import make_batch
from workflow_rl.scenario.loading import SCENARIO2
from workflow_rl.scenario.scenario2 import NUM_ACTIONS, SLEEP
from workflow_rl.sim.memory import BEGIN
from workflow_rl.sim.observation import simulated

N = 60
BELIEF = believed(SCENARIO2)
MEMORY_SIZE = simulated("memory", SCENARIO2).size


def config(red_agent: str = "mixed", **more: object) -> GameConfig:
    return GameConfig(red_agent=red_agent, observation="belief", **more)  # type: ignore[arg-type]


def as_bits(belief: Belief) -> NDArray[np.bool_]:
    """A belief's probabilities, written out one by one."""
    rows = []
    for k in range(belief.num_envs):
        held = belief.access[k, :, 1:].sum(axis=1)
        known = [*held, *belief.access[k, :, 2], belief.ot_stopped[k], *belief.red_agent[k]]
        rows.append([p >= level for p in known for level in LEVELS])
    return np.array(rows)


def random_actions(steps: int, seed: int = 0, envs: int = N) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    played = rng.integers(0, NUM_ACTIONS, (steps, envs))
    return np.where(rng.random((steps, envs)) < 0.5, played, SLEEP)


@pytest.mark.parametrize("rules", ["main", "competition"])
def test_it_is_memory_and_what_the_belief_says(rules: RuleSetName) -> None:
    batch = make_batch(N, config(rules=rules, episode_length=40))
    memory = make_batch(
        N, GameConfig(red_agent="mixed", episode_length=40, rules=rules, observation="memory")
    )
    belief = Belief(N, rules=rules)
    batch.reset(2)
    memory.reset(2)
    uncertain = 0
    for actions in random_actions(90):
        assert (batch.observation[:, :MEMORY_SIZE] == memory.observation).all()
        assert (batch.observation[:, MEMORY_SIZE:] == as_bits(belief)).all()
        uncertain += int((belief.num_states > 1).sum())
        batch.step(actions)
        memory.step(actions)
        over = batch.out.truncated
        seen = np.where(over[:, None], batch.final_observation, batch.observation)
        belief.update(seen[:, :52], actions)
        if over.any():
            assert over.all()
            assert (batch.final_observation[:, MEMORY_SIZE:] == as_bits(belief)).all()
            belief.reset()
    assert uncertain > 100


def test_whoever_attacks_it_begins_with_all_red_agents_alike() -> None:
    assert BELIEF.columns("held").start == MEMORY_SIZE
    assert BELIEF.columns("red_agent").stop == BELIEF.size
    for red_agent in RED_AGENTS:
        batch = make_batch(3, config(red_agent))
        batch.reset(0)
        assert (batch.observation[:, MEMORY_SIZE:] == as_bits(Belief(3))).all()


def test_who_is_shown_the_tables_only_believes_the_same() -> None:
    batch = make_batch(N, config(), autoreset=False)
    batch.reset(7)
    blue = BlueBelief(N, config())
    for episode in range(2):
        assert (
            blue.update(np.zeros((N, 52), np.int8), np.full(N, BEGIN)) == batch.observation
        ).all()
        for actions in random_actions(30, seed=episode):
            batch.step(actions)
            known = blue.update(batch.observation[:, :52].copy(), actions)
            assert (known == batch.observation).all()
            assert (blue.action_mask == batch.out.action_mask).all()
        batch.reset(None)


def test_acting_from_the_past_believes_what_the_past_knew() -> None:
    episode, direct = (Episode(config("meander"), seed=3) for _ in range(2))
    past, dropped, instead = random_actions(24, envs=1)[:, 0].reshape(3, 8).tolist()
    for action in past + dropped:
        episode.act(action)
    episode.go_to(8)
    for action in instead:
        episode.act(action)
    for action in past + instead:
        direct.act(action)
    assert (episode.moment.observation == direct.moment.observation).all()
