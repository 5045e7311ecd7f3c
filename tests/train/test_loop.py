"""A training from its start to its end: when that is, what it logs, that it learns."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from tests.refused import refused
from tests.train.toys import (
    JOBS,
    assert_is,
    assert_same,
    every_policy,
    final,
    job,
    logged,
    train,
    trained,
)
from workflow_rl.config import PRESETS, GameConfig, PPOConfig, PresetName, TrainConfig
from workflow_rl.train.job import TrainJob
from workflow_rl.train.loop import Training, UpdateRecord, removal_bonus

# --- seeds


@pytest.mark.parametrize("name", JOBS)
def test_the_same_seed_gives_the_same_result(name: str) -> None:
    torch.manual_seed(1)
    first = trained(JOBS[name]())
    torch.manual_seed(2)  # the global generators have no part in it
    before, of_numpy = torch.random.get_rng_state(), np.random.get_state()[1].tolist()  # type: ignore[index]
    assert_same(first, trained(JOBS[name]()))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert np.random.get_state()[1].tolist() == of_numpy  # type: ignore[index]
    assert (
        train(replace(JOBS[name](), seed=1)).objective.reward.mean
        != first.outcome().objective.reward.mean
    )


# --- when it ends


def test_compliance_is_judged_in_the_chosen_view() -> None:
    for view in ("observed", "true"):
        result = train(job(n_envs=20, compliance_view=view))
        assert (result.objective.compliance == result.objective.compliance_true) == (view == "true")


def test_a_training_that_is_not_over_says_so() -> None:
    training = Training(job())
    assert training.stop_reason is None
    assert math.isnan(training.outcome().objective.reward.mean)
    training.update()
    assert training.outcome().stopped == "interrupted"


# --- what is logged


def test_what_ended_by_complying_is_judged_by_the_update_in_which_it_did() -> None:
    some = job(compliance_threshold=0.01, stop_at="compliance", n_envs=20, max_episodes=60)
    result, records, _ = logged(some)
    assert result.stopped == "compliant"
    assert result.objective.compliance.mean == records[-1].compliance_observed >= 0.01
    assert result.is_compliant


def test_the_weight_adapts_between_updates_only_if_asked_to() -> None:
    _, records, _ = logged(job(alignment="adaptive", compliance_threshold=0.95))
    weights = [record.alignment_weight for record in records]
    assert weights[0] == 30
    assert all(after > before for before, after in pairwise(weights))
    _, records, _ = logged(job(alignment="fixed"))
    assert {record.alignment_weight for record in records} == {30}


def test_a_bonus_for_removals_is_learned_from_not_logged_and_falls_to_nothing() -> None:
    shares = [0.0, 0.125, 0.25, 0.5, 0.75]
    found = [removal_bonus(TrainConfig(removal_bonus=2.0), progress) for progress in shares]
    assert found == [2.0, 1.5, 1.0, 0.0, 0.0]
    game = {"red_agent": "meander", "episode_length": 100}
    jobs = (job(game=game, removal_bonus=bonus, n_envs=100) for bonus in (0.0, 5.0))
    plain, rewarded = map(Training, jobs)
    (one, _), (other, _) = plain.update(), rewarded.update()
    assert one.env_reward == other.env_reward
    assert any((final(plain)[name] != value).any() for name, value in final(rewarded).items())


def test_an_update_in_which_no_episode_ends_is_logged_as_such() -> None:
    training = Training(job(update_steps=6 * 4))
    first, _ = training.update()
    assert first.episodes == 0
    assert math.isnan(first.env_reward)
    assert math.isnan(first.compliance_observed)
    assert training.stop_reason is None
    assert [training.update()[0].episodes for _ in range(4)] == [0, 6, 0, 6]


# --- its objective, and the best policy it met


@pytest.mark.parametrize(
    ("settings", "ended"),
    [
        ({"max_episodes": 7}, 7),
        ({"max_episodes": 2}, 2),  # as many as there are
        ({"max_episodes": 9, "update_steps": 5 * 7}, 12 * 7 // 10),  # updates cut episodes
    ],
)
def test_the_objective_is_the_mean_of_the_last_3_episodes_of_every_environment(
    settings: dict[str, Any], ended: int
) -> None:
    result, _, episodes = logged(job(n_envs=5, **settings))
    per_env = [np.concatenate([e.env_reward[e.env == env] for e in episodes]) for env in range(5)]
    assert result.episodes_per_env == min(map(len, per_env)) == ended
    last = np.array([rewards[-3:] for rewards in per_env]).astype(np.float64)
    assert result.objective.games == last.size
    assert result.objective.reward.mean == pytest.approx(last.mean())
    assert result.objective.reward.error == pytest.approx(last.std(ddof=1) / math.sqrt(last.size))


MANY: dict[str, Any] = {
    "n_envs": 12,
    "max_episodes": 12,
    "alignment": "fixed",
    "game": {"episode_length": 20},
}


@pytest.mark.parametrize(
    ("conditioned", "reachable"), [(True, False), (True, True), (False, False)]
)
def test_the_best_policy_met_is_kept(conditioned: bool, reachable: bool) -> None:
    _, records, _ = every_policy(job(conditioned=conditioned, **MANY))
    richest = max(records, key=lambda record: record.env_reward)
    # With a fixed weight the threshold changes nothing of the play.
    threshold = richest.compliance_observed + 1e-6 if reachable else 1.0
    some = job(conditioned=conditioned, compliance_threshold=threshold, **MANY)
    training, again, players = every_policy(some)
    assert [record.env_reward for record in again] == [record.env_reward for record in records]

    def rank(record: UpdateRecord) -> tuple[float, ...]:
        if not conditioned:
            return (record.env_reward,)
        if record.compliance_observed >= threshold:
            return (1, record.env_reward)
        return (0, record.compliance_observed, record.env_reward)

    best = max(range(12), key=lambda k: rank(records[k]))
    assert conditioned == (records[best].env_reward < richest.env_reward)
    assert reachable == (records[best].compliance_observed >= threshold)
    result = training.outcome().best
    assert result.reward.mean == records[best].env_reward
    assert result.compliance.mean == records[best].compliance_observed
    assert_is(training.best, players[best])


# --- what it starts from


def test_a_training_starts_from_the_base_it_is_given() -> None:
    base = final(trained(job()))
    before = {name: array.copy() for name, array in base.items()}
    training, records, players = every_policy(job(base=base, seed=3))
    assert_is(players[0], base)
    assert_is(base, before)  # which it does not change
    assert any((final(training)[name] != base[name]).any() for name in base)
    assert len(records) == 6


def test_a_base_of_another_shape_is_refused() -> None:
    base = final(Training(job(conditioned=False)))
    refused("another shape", Training, job(base=base))


def test_replayed_rollouts_enlarge_the_batch() -> None:
    _, records, _ = logged(job(replay_rollouts=2))
    _, alone, _ = logged(job())
    distinct = [record.stats.distinct_inputs for record in records]
    assert distinct[0] == alone[0].stats.distinct_inputs
    assert min(distinct[2:]) > 2 * distinct[0]
    assert max(distinct[2:]) < 4 * distinct[0]


# --- presets


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_runs_at_toy_size_with_what_is_given_explicitly(name: PresetName) -> None:
    preset = PRESETS[name]
    against: dict[str, Any] = {"against": "sleep"} if "side" in preset.train else {}
    envs = min(TrainConfig(**preset.train, **against).n_envs, 4)
    explicit: dict[str, Any] = {"n_envs": envs, "update_steps": 20 * envs, "max_episodes": 4}
    if against:
        explicit |= {"update_steps": None, "update_episodes": 2, **against}
    explicit |= {"min_updates": 1, "stop_at": "budget"}
    config = TrainConfig(**(dict(preset.train) | explicit))
    game = GameConfig(episode_length=10, **preset.game)
    order = None if config.units == "any" else 7
    ppo = PPOConfig(**preset.ppo, mask_actions=bool(against))
    training = trained(TrainJob(game, ppo, config, 0, order))
    result = training.outcome()
    assert (result.updates, result.transitions) == (2, 40 * envs)
    assert result.episodes_per_env == 4
    assert all(np.isfinite(array).all() for array in final(training).values())


# --- it learns


def test_training_teaches_to_follow_the_order() -> None:
    some = job(
        PPOConfig(learning_rate=0.005, gamma=0.9),
        n_envs=60,
        max_episodes=60,
        alignment="fixed",
        game={"red_agent": "bline", "episode_length": 20},
    )
    _, records, _ = logged(some)
    compliance = [record.compliance_observed for record in records]
    assert np.mean(compliance[-5:]) > np.mean(compliance[:5]) + 0.3
