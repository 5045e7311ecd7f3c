from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ppo.rollouts import made_up, new_network
from tests.workflow.reference import Judged, episode_compliance
from workflow_rl.config import PPO_FORMS, VIEWS, ViewName
from workflow_rl.ppo.rollout import Rollout
from workflow_rl.train.episodes import Episodes, Scorekeeper
from workflow_rl.workflow.compliance import COMPLIANT, NOT_A_FIX, REPEAT, VIOLATION
from workflow_rl.workflow.orders import NUM_ORDERS


def rollout_with(verdict: Any, any_open: Any, ends: Any, env_reward: Any, order: int) -> Rollout:
    """A made-up rollout of which only what the scorekeeper reads matters."""
    return made_up(
        new_network(3),
        np.eye(3, dtype=np.int8),
        ends.shape,
        verdict=np.asarray(verdict, np.int8),
        any_open=np.asarray(any_open, np.bool_),
        ends=np.asarray(ends, np.bool_),
        env_reward=np.asarray(env_reward, np.float32),
        orders=np.full(ends.shape, order, np.int64),
    )


def random_rollout(rng: np.random.Generator, steps: int, envs: int) -> Rollout:
    any_open = rng.random((steps, envs, 2)) < 0.7
    is_fix = rng.random((steps, envs, 1)) < 0.6
    verdict = np.where(is_fix, rng.integers(REPEAT, COMPLIANT + 1, (steps, envs, 2)), NOT_A_FIX)
    verdict = np.where(any_open, verdict, np.minimum(verdict, REPEAT))
    ends = rng.random((steps, envs)) < 0.2
    rewards = -rng.integers(0, 20, (steps, envs)) / 10
    return rollout_with(verdict, any_open, ends, rewards, int(rng.integers(120)))


def assert_same_episodes(a: Episodes, b: Episodes) -> None:
    for f in fields(Episodes):
        np.testing.assert_array_equal(getattr(a, f.name), getattr(b, f.name), f.name)


def scored(rollout: Rollout, weight: Any = 30.0, **how: Any) -> tuple[Any, Episodes]:
    return Scorekeeper(rollout.actions.shape[1]).score(rollout, weight, "observed", **how)


def test_bonus_and_baseline_change_what_is_trained_on_and_nothing_that_is_told() -> None:
    rollout = random_rollout(np.random.default_rng(0), 30, 4)
    removed = np.random.default_rng(1).random((30, 4)) < 0.3
    plain, told = scored(rollout)
    rewarded, same = scored(replace(rollout, removed=removed), removal_bonus=0.5)
    np.testing.assert_array_equal(rewarded, plain + np.float32(0.5) * removed)
    assert_same_episodes(told, same)
    shaped, same = scored(rollout, ppo=PPO_FORMS["tuned"])
    assert (plain != shaped).any()
    assert_same_episodes(told, same)


def test_each_order_may_have_its_own_weight() -> None:
    rollout = random_rollout(np.random.default_rng(0), 30, 4)
    weights = np.linspace(1, 50, NUM_ORDERS)
    shares = scored(rollout, 1.0)[0] - rollout.env_reward
    trained, episodes = scored(rollout, weights[rollout.orders])
    expected = weights[rollout.orders] * shares
    np.testing.assert_allclose(trained - rollout.env_reward, expected, rtol=1e-4, atol=1e-4)
    expected = weights[episodes.order] * episodes.compliance("observed")
    np.testing.assert_allclose(episodes.alignment, expected, rtol=1e-5)


def test_a_baseline_looks_beyond_the_batch_where_returns_do() -> None:
    rollout = random_rollout(np.random.default_rng(0), 30, 4)
    cut = replace(PPO_FORMS["modern"], gae_lambda=None)
    going_on, cut_off = (
        Scorekeeper(4).score(rollout, 30.0, "observed", ppo=ppo)[0]
        for ppo in (PPO_FORMS["modern"], cut)
    )
    differs = going_on != cut_off
    assert differs[-1].any()
    assert not differs[:-1].any()
    assert not differs[rollout.ends].any()


def test_episodes_come_in_the_order_in_which_they_end() -> None:
    nothing, ends = np.zeros((3, 3, 2)), np.zeros((3, 3), np.bool_)
    assert len(scored(rollout_with(nothing, nothing, ends, nothing[..., 0], 0))[1]) == 0
    ends[[0, 1, 2, 2], [1, 0, 1, 2]] = True
    _, episodes = scored(rollout_with(nothing, nothing, ends, nothing[..., 0], 0))
    assert episodes.env.tolist() == [1, 0, 1, 2]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.sampled_from(VIEWS))
def test_episodes_over_several_rollouts_agree_with_the_reference(seed: int, view: ViewName) -> None:
    rng = np.random.default_rng(seed)
    rollouts = [random_rollout(rng, int(rng.integers(1, 15)), 2) for _ in range(4)]
    keeper = Scorekeeper(2)
    scored = [keeper.score(rollout, 10.0, view) for rollout in rollouts]
    # The same by the definition, environment by environment.
    joined = {
        name: np.concatenate([getattr(rollout, name) for rollout in rollouts])
        for name in ("verdict", "any_open", "ends", "env_reward")
    }
    extra = np.concatenate([reward for reward, _ in scored]) - joined["env_reward"]
    for env in range(2):
        got = [
            (e.env_reward[i], e.compliance_observed[i], e.compliance_true[i], e.alignment[i])
            for _, e in scored
            for i in np.flatnonzero(e.env == env)
        ]
        fixes = [
            list(each)
            for _, e in scored
            for each in zip(e.fixes, e.judged_observed, e.judged_true, e.env, strict=True)
            if each[-1] == env
        ]
        start, number = 0, 0
        for stop in (np.flatnonzero(joined["ends"][:, env]) + 1).tolist():
            span = slice(start, stop)
            rates = {
                name: float(
                    episode_compliance(
                        Judged(bool(o), v != NOT_A_FIX, v >= VIOLATION, v == COMPLIANT)
                        for o, v in zip(
                            joined["any_open"][span, env, i],
                            joined["verdict"][span, env, i],
                            strict=True,
                        )
                    )
                )
                for i, name in enumerate(("observed", "true"))
            }
            expected = (joined["env_reward"][span, env].sum(), *rates.values(), 10 * rates[view])
            assert got[number] == pytest.approx(expected, abs=1e-4)
            assert extra[span, env].sum() == pytest.approx(10 * rates[view], abs=1e-4)
            verdict = joined["verdict"][span, env]
            counted = (verdict >= VIOLATION).sum(axis=0)
            assert fixes[number] == [(verdict[:, 0] != NOT_A_FIX).sum(), *counted, env]
            start, number = stop, number + 1
        assert number == len(got)
