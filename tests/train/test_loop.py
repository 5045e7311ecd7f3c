"""A training from its start to its end: when that is, what it logs, that it learns."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from tests.train.toys import (
    JOBS,
    MODERN,
    assert_is,
    assert_same,
    every_policy,
    final,
    job,
    logged,
    train,
    trained,
)
from workflow_rl.config import (
    PPO_FORMS,
    PRESETS,
    GameConfig,
    PPOConfig,
    PresetName,
    TrainConfig,
)
from workflow_rl.errors import InvalidInputError
from workflow_rl.train.job import TrainJob
from workflow_rl.train.loop import Training, removal_bonus
from workflow_rl.train.stopping import COMPLIANT, OUT_OF_BUDGET

# --- seeds


@pytest.mark.parametrize("name", JOBS)
def test_the_same_seed_gives_the_same_result(name: str) -> None:
    torch.manual_seed(1)
    first = trained(JOBS[name]())
    torch.manual_seed(2)  # the global generator has no part in it
    before = torch.random.get_rng_state()
    assert_same(first, trained(JOBS[name]()))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_another_seed_gives_another_result() -> None:
    first, second = trained(job(seed=0)), trained(job(seed=1))
    assert first.result().env_reward != second.result().env_reward
    ours, theirs = final(first), final(second)
    assert any((ours[name] != theirs[name]).any() for name in ours)


def test_one_and_two_threads_give_the_same_result() -> None:
    game = {"red_agent": "meander", "episode_length": 50}
    some = job(n_envs=60, max_episodes=3, hidden=(64, 64), game=game)
    ends = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        ends.append(trained(some))
    assert_same(*ends)


# --- when it ends


def test_it_ends_as_soon_as_it_complies_but_not_before_the_least_updates() -> None:
    result = train(job(stop_at="compliance", compliance_threshold=0.0, min_updates=3))
    assert (result.stopped, result.updates, result.is_compliant) == (COMPLIANT, 3, True)


def test_with_stop_at_budget_it_goes_on_although_it_complies() -> None:
    result = train(job(compliance_threshold=0.0))
    assert (result.stopped, result.updates, result.is_compliant) == (OUT_OF_BUDGET, 6, True)


def test_it_ends_at_its_budget_if_it_never_complies() -> None:
    result = train(job(stop_at="compliance", compliance_threshold=1.0))
    assert (result.stopped, result.updates, result.is_compliant) == (OUT_OF_BUDGET, 6, False)
    assert (result.transitions, result.episodes_per_env) == (6 * 60, 6)


def test_compliance_is_judged_in_the_chosen_view() -> None:
    results = {view: train(job(n_envs=20, compliance_view=view)) for view in ("observed", "true")}
    for result in results.values():
        assert result.compliance_true >= 0
    assert results["true"].compliance == results["true"].compliance_true
    assert results["observed"].compliance != results["observed"].compliance_true


def test_a_training_that_is_not_over_says_so() -> None:
    training = Training(job())
    assert training.stop_reason is None
    assert math.isnan(training.result().env_reward)
    training.update()
    assert training.result().stopped == "interrupted"


def test_a_configuration_that_would_never_update_is_refused_with_that_explanation() -> None:
    config = TrainConfig(n_envs=1, update_steps=20_000, max_episodes=50)
    wrong = TrainJob(GameConfig(), PPO_FORMS["documented"], config, 0, 0)
    with pytest.raises(InvalidInputError, match="never update") as caught:
        train(wrong)
    assert all(number in str(caught.value) for number in ("50", "100", "20000"))


# --- what is logged


def test_every_update_is_logged_with_its_episodes() -> None:
    result, records, episodes = logged(job(MODERN, order=5))
    assert [record.update for record in records] == [1, 2, 3, 4, 5, 6]
    assert [record.transitions for record in records] == [60 * k for k in range(1, 7)]
    for record, ended in zip(records, episodes, strict=True):
        assert record.episodes == len(ended) == 6
        assert record.env_reward == pytest.approx(ended.env_reward.mean())
        assert record.compliance_observed == pytest.approx(ended.compliance_observed.mean())
        assert record.compliance_true == pytest.approx(ended.compliance_true.mean())
        assert record.fixes == pytest.approx(ended.fixes.mean())
        assert min(record.simulate_seconds, record.infer_seconds, record.update_seconds) > 0
        np.testing.assert_allclose(
            ended.alignment, record.alignment_weight * ended.compliance_observed, rtol=1e-6
        )
        assert record.stats.gradient_steps == 4 * 3
    # Ended by its budget: judged by the last three episodes of every environment.
    last = [record.compliance_observed for record in records[-3:]]
    assert result.compliance == pytest.approx(np.mean(last))


def test_what_ended_by_complying_is_judged_by_the_update_in_which_it_did() -> None:
    some = job(compliance_threshold=0.01, stop_at="compliance", n_envs=20, max_episodes=60)
    result, records, _ = logged(some)
    assert result.stopped == "compliant"
    assert result.compliance == records[-1].compliance_observed >= 0.01
    assert result.is_compliant


def test_the_weight_adapts_between_updates_only_if_asked_to() -> None:
    _, records, _ = logged(job(alignment="adaptive", compliance_threshold=0.95))
    weights = [record.alignment_weight for record in records]
    assert weights[0] == 30
    assert all(after > before for before, after in pairwise(weights))
    _, records, _ = logged(job(alignment="fixed"))
    assert {record.alignment_weight for record in records} == {30}


def test_the_bonus_for_removals_falls_to_nothing_over_the_first_half() -> None:
    config = TrainConfig(removal_bonus=2.0)
    shares = [0.0, 0.125, 0.25, 0.5, 0.75]
    assert [removal_bonus(config, progress) for progress in shares] == [2.0, 1.5, 1.0, 0.0, 0.0]


def test_a_bonus_for_removals_is_learned_from_and_not_logged() -> None:
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


# --- what it starts from


def test_a_training_starts_from_the_base_it_is_given() -> None:
    base = final(trained(job()))
    before = {name: array.copy() for name, array in base.items()}
    training, records, players = every_policy(job(base=base, seed=3))
    assert_is(players[0], base)
    assert_is(base, before)  # which it does not change
    assert any((final(training)[name] != base[name]).any() for name in base)
    assert len(records) == 6


@pytest.mark.parametrize("over", [{"hidden": (16, 8)}, {"hidden": (16,)}, {"conditioned": False}])
def test_a_base_of_another_shape_is_refused(over: dict[str, Any]) -> None:
    base = final(Training(job(**over)))
    with pytest.raises(InvalidInputError, match="another shape"):
        Training(job(base=base))


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
    envs = min(TrainConfig(**preset.train).n_envs, 4)
    explicit: dict[str, Any] = {"n_envs": envs, "update_steps": 20 * envs, "max_episodes": 4}
    explicit |= {"min_updates": 1, "stop_at": "budget"}
    config = TrainConfig(**(dict(preset.train) | explicit))
    game = GameConfig(episode_length=10, **preset.game)
    order = None if config.units == "any" else 7
    training = trained(TrainJob(game, PPOConfig(**preset.ppo), config, 0, order))
    result = training.result()
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
