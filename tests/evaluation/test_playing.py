import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.agents.policies import ORDER, new_policy
from tests.evaluation.slow import play_slowly
from workflow_rl import Cage2Env
from workflow_rl.agents.agent import BlueAgent
from workflow_rl.agents.greedy import GreedyAgent
from workflow_rl.agents.policy_agent import FingerprintAgent, PolicyAgent
from workflow_rl.agents.scripts import RandomAgent, SleepAgent
from workflow_rl.config import VIEWS, GameConfig, red_agent_name
from workflow_rl.evaluation import playing
from workflow_rl.evaluation.playing import (
    UNKNOWN_ACTION,
    Play,
    agent_seed,
    game_seed,
    play_batch,
)
from workflow_rl.workflow.orders import ORDERS

SEED = 4
FOLLOWED = ORDERS[ORDER]


def cardiff() -> BlueAgent:
    return FingerprintAgent(
        PolicyAgent(new_policy("cardiff", "cardiff"), "a"),
        PolicyAgent(new_policy("cardiff", "cardiff", seed=1), "b"),
    )


def conditioned() -> BlueAgent:
    return PolicyAgent(new_policy(order=ORDER, conditioned=True), "it")


def game(red_agent: str = "meander", steps: int = 40, **changes: Any) -> GameConfig:
    return GameConfig(red_agent=red_agent_name(red_agent), episode_length=steps, **changes)


@pytest.mark.parametrize("new_agent", [GreedyAgent, conditioned, cardiff])
@pytest.mark.parametrize(
    "what",
    [
        game("bline", rules="competition"),
        game("meander"),
        game("bline", green_agent="active"),
        game("mixed", red_probabilities={"bline": 1, "sleep": 2}),
    ],
    ids=["competition", "meander", "green", "mixed"],
)
def test_a_batch_is_what_single_environments_play(new_agent: Any, what: Any) -> None:
    cell = play_batch(new_agent(), what, SEED, 8, FOLLOWED)
    returns, observed, true, fixes = play_slowly(new_agent, what, SEED, 8, FOLLOWED)
    assert cell.returns.tolist() == returns
    np.testing.assert_allclose(cell.compliance["observed"], observed)
    np.testing.assert_allclose(cell.compliance["true"], true)
    assert list(zip(*(cell.fixes[view].tolist() for view in VIEWS), strict=True)) == fixes
    means = np.mean(fixes, axis=0)
    assert (cell.result.fixes, cell.result.fixes_true) == pytest.approx(means)


@pytest.mark.parametrize("new_agent", [GreedyAgent, RandomAgent, cardiff])
def test_one_by_one_is_the_plain_loop(new_agent: Callable[[], BlueAgent]) -> None:
    what = game("bline", 30)
    play = Play(new_agent(), what, SEED, 5, FOLLOWED, logged=2)
    assert list(play.episodes_on(Cage2Env)) == [1] * 5
    cell = play.cell()
    returns, observed, *_ = play_slowly(new_agent, what, SEED, 5, FOLLOWED, same_env=True)
    assert cell.returns.tolist() == returns
    np.testing.assert_allclose(cell.compliance["observed"], observed)
    assert set(cell.compliance) == {"observed"}
    assert cell.log.blue.shape == (30, 2)
    assert cell.log.red_names == (UNKNOWN_ACTION,)


@pytest.mark.parametrize("new_agent", [GreedyAgent, conditioned, cardiff])
def test_in_parts_the_same_is_played(new_agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = play_batch(new_agent(), game("mixed"), SEED, 20, FOLLOWED, logged=9)
    monkeypatch.setattr(playing, "EPISODES_AT_ONCE", 8)
    play = Play(new_agent(), game("mixed"), SEED, 20, FOLLOWED, logged=9)
    assert list(play.episodes()) == [8, 8, 4]
    parts = play.cell()
    np.testing.assert_array_equal(parts.returns, whole.returns)
    for view, rates in whole.compliance.items():
        np.testing.assert_array_equal(parts.compliance[view], rates)
    np.testing.assert_array_equal(parts.log.blue, whole.log.blue)
    np.testing.assert_array_equal(parts.log.red, whole.log.red)


def test_in_parts_no_sample_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "EPISODES_AT_ONCE", 8)
    few, many = (play_batch(RandomAgent(), game(), SEED, n, logged=n) for n in (12, 20))
    np.testing.assert_array_equal(few.log.blue, many.log.blue[:, :12])
    assert len(np.unique(many.log.blue, axis=1).T) == 20


def test_memory_does_not_grow_with_the_length_of_episodes() -> None:
    tracemalloc.start()
    try:
        Play(GreedyAgent(), game(steps=1_000_000), SEED, 1_000, FOLLOWED)
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()


def test_cells_and_seeds_play_different_games_and_agents_meet_the_same() -> None:
    told = ((game(), SEED), (game(steps=41), SEED), (game("bline"), SEED), (game(), 5))
    seeds = {derive(*one) for one in told for derive in (game_seed, agent_seed)}
    assert len(seeds) == 8
    one, other = (
        play_batch(agent, game(), SEED, 5, logged=5) for agent in (SleepAgent(), GreedyAgent())
    )
    assert one.seed == other.seed
    assert (one.log.red[:6] == other.log.red[:6]).all()  # Meander's first scans
    # As of earlier versions, so that an evaluation can be repeated.
    assert game_seed(game("mixed", 30), 7) == 2_570_793_199_775_647_008
    assert agent_seed(game("bline", 100), 7) == 9_995_290_619_138_001_183


def test_what_both_sides_did_is_kept_of_the_first_episodes() -> None:
    cell = play_batch(SleepAgent(), game("bline", 20), SEED, 5, logged=2)
    assert cell.log.blue.shape == cell.log.red.shape == (20, 2)
    for episode in (0, 1):
        done = [cell.log.red_names[code] for code in cell.log.red[:, episode]]
        assert done[0] == "DiscoverRemoteSystems User"
        assert done[1].startswith("DiscoverNetworkServices User")
        assert done[2] == f"ExploitRemoteService {done[1].split()[1]}"
        assert "Impact Op_Server0" in done or "ExploitRemoteService" in done[-1]
    assert cell.compliance == {}  # without a workflow nothing is judged
    asleep = play_batch(SleepAgent(), game("sleep", 3), SEED, 2, logged=2)
    assert [asleep.log.red_names[code] for code in asleep.log.red[:, 0]] == ["Sleep"] * 3
