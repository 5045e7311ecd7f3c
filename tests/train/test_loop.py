import math
from collections.abc import Callable
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from workflow_rl.config import (
    PPO_FORMS,
    PRESETS,
    GameConfig,
    PPOConfig,
    Preset,
    PresetName,
    TrainConfig,
)
from workflow_rl.errors import InvalidInputError
from workflow_rl.train.episodes import Episodes
from workflow_rl.train.job import TrainJob, TrainResult, Weights
from workflow_rl.train.loop import Training, UpdateRecord, removal_bonus, weights_of
from workflow_rl.train.stopping import COMPLIANT, OUT_OF_BUDGET

TOY: dict[str, Any] = {
    "n_envs": 6,
    "max_episodes": 6,
    "min_updates": 2,
    "hidden": (16, 16),
    "stop_at": "budget",
}
MODERN = replace(PPO_FORMS["modern"], minibatch_size=20)


def job(
    ppo: PPOConfig = PPO_FORMS["documented"],
    *,
    seed: int = 0,
    order: int | None = 40,
    base: Any = None,
    game: dict[str, Any] | None = None,
    **over: Any,
) -> TrainJob:
    """A training of a fraction of a second."""
    defaults: dict[str, Any] = {"red_agent": "bline", "episode_length": 10}
    rules = GameConfig(**(defaults | (game or {})))
    return TrainJob(rules, ppo, TrainConfig(**(TOY | over)), seed, order, base)


JOBS: dict[str, Callable[[], TrainJob]] = {
    "documented": job,
    "modern on drawn orders": lambda: job(MODERN, order=None, alignment="adaptive"),
    "updates that cut episodes": lambda: job(MODERN, order=None, update_steps=42),
    "true view, no order shown": lambda: job(
        compliance_view="true",
        conditioned=False,
        game={"red_agent": "mixed", "observation": "cardiff", "green_agent": "active"},
    ),
    "fixed weight": lambda: job(alignment="fixed", game={"red_agent": "meander"}),
    "until compliant": lambda: job(stop_at="compliance", compliance_threshold=0.1),
    "replayed rollouts": lambda: job(replay_rollouts=1),
    "bonus for removals": lambda: job(removal_bonus=1.0),
    "replayed masked rollouts": lambda: job(MODERN, order=None, replay_rollouts=2),
}


def trained(some: TrainJob) -> Training:
    """A training at its end."""
    training = Training(some)
    for _ in training.updates():
        pass
    return training


def train(some: TrainJob) -> TrainResult:
    return trained(some).result()


def final(training: Training) -> Weights:
    return weights_of(training.learner.network)


def assert_is(weights: Weights, expected: Weights) -> None:
    assert weights.keys() == expected.keys()
    for name in expected:
        assert weights[name].tobytes() == expected[name].tobytes(), name


def assert_same(a: Training, b: Training) -> None:
    """Two trainings found the same, and ended with the same policies."""
    for f in fields(TrainResult):
        one, other = getattr(a.result(), f.name), getattr(b.result(), f.name)
        assert one == other or (math.isnan(one) and math.isnan(other)), f.name
    assert_is(a.best, b.best)
    assert_is(final(a), final(b))


def logged(some: TrainJob) -> tuple[TrainResult, list[UpdateRecord], list[Episodes]]:
    """A training, its log, and its episodes by update."""
    training = Training(some)
    updates = list(training.updates())
    return (
        training.result(),
        [record for record, _ in updates],
        [episodes for _, episodes in updates],
    )


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


# --- going on from a checkpoint


@pytest.mark.parametrize("name", JOBS)
def test_a_training_resumed_at_any_update_ends_as_if_never_interrupted(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint"
    whole = trained(JOBS[name]())
    assert whole.updates_made >= 2
    going = Training(JOBS[name]())
    for update in range(whole.updates_made):
        going.save(path)
        resumed = Training.load(path, JOBS[name]())
        assert resumed.updates_made == update
        for _ in resumed.updates():
            pass
        assert_same(resumed, whole)
        going.update()


@pytest.mark.parametrize("killed_at", [1, 3, 6])
def test_a_reader_that_stops_in_an_update_loses_no_other(killed_at: int, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    training = Training(job())
    training.save(path)
    for record, _ in training.updates():
        if record.update == killed_at:
            break
        training.save(path)
    again = Training.load(path, job())
    updates = [record.update for record, _ in again.updates()]
    assert updates == list(range(killed_at, 7))
    assert_same(again, trained(job()))


def test_a_finished_training_is_not_trained_again(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    first = trained(job())
    first.save(path)
    again = Training.load(path, job())
    assert list(again.updates()) == []
    assert_same(again, first)


OTHER_JOBS: dict[str, Callable[[dict[str, Any]], TrainJob]] = {
    "seed": lambda base: job(seed=1, base=base),
    "order": lambda base: job(order=41, base=base),
    "drawn orders": lambda base: job(order=None, base=base),
    "game": lambda base: job(base=base, game={"episode_length": 11}),
    "ppo": lambda base: job(PPOConfig(clip=0.3), base=base),
    "train": lambda base: job(base=base, alignment_lambda=29.0),
    "no base": lambda base: job(),
    "base": lambda base: job(base={name: 2 * array for name, array in base.items()}),
    "mirrored base": lambda base: job(base={name: -array for name, array in base.items()}),
}


@pytest.mark.parametrize(
    "what",
    list(OTHER_JOBS),
)
def test_a_checkpoint_of_another_configuration_is_refused(what: str, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    base = final(Training(job()))
    training = Training(job(base=base))
    training.update()
    training.save(path)
    with pytest.raises(InvalidInputError) as caught:
        Training.load(path, OTHER_JOBS[what](base))
    assert str(path) in str(caught.value)
    assert "another configuration" in str(caught.value)
    assert Training.load(path, job(base=base)).updates_made == 1  # and nothing was destroyed


def test_a_damaged_checkpoint_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    trained(job(max_episodes=2)).save(path)
    damaged = path.read_bytes()[:-100]
    path.write_bytes(damaged)
    with pytest.raises(InvalidInputError, match="damaged"):
        Training.load(path, job(max_episodes=2))
    assert path.read_bytes() == damaged


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


# --- what is found


def test_the_objective_is_the_mean_of_the_last_3_episodes_of_every_environment() -> None:
    result, _, episodes = logged(job(n_envs=5, max_episodes=7))
    last = np.array(
        [np.concatenate([e.env_reward[e.env == env] for e in episodes])[-3:] for env in range(5)]
    ).astype(np.float64)
    assert result.objective_episodes == last.size == 15
    assert result.env_reward == pytest.approx(last.mean())
    assert result.env_reward_error == pytest.approx(last.std(ddof=1) / math.sqrt(15))


def test_the_objective_of_a_short_training_takes_the_episodes_there_are() -> None:
    result, _, episodes = logged(job(n_envs=5, max_episodes=2))
    rewards = np.concatenate([e.env_reward for e in episodes])
    assert result.objective_episodes == 10
    assert result.env_reward == pytest.approx(rewards.mean())


def test_the_last_episodes_are_found_when_updates_cut_them() -> None:
    result, _, episodes = logged(job(n_envs=4, max_episodes=9, update_steps=4 * 7))
    per_env = [np.concatenate([e.env_reward[e.env == env] for e in episodes]) for env in range(4)]
    assert result.episodes_per_env == min(map(len, per_env)) == 12 * 7 // 10
    expected = np.concatenate([rewards[-3:] for rewards in per_env])
    assert result.env_reward == pytest.approx(expected.mean())


def every_policy(some: TrainJob) -> tuple[Training, list[UpdateRecord], list[Weights]]:
    """A training at its end, its log, and the weights that played each update."""
    training, records = Training(some), []
    players = [final(training)]
    for record, _ in training.updates():
        records.append(record)
        players.append(final(training))
    return training, records, players


MANY: dict[str, Any] = {
    "n_envs": 12,
    "max_episodes": 12,
    "alignment": "fixed",
    "game": {"episode_length": 20},
}


def test_below_the_threshold_the_policy_of_highest_compliance_is_kept() -> None:
    training, records, players = every_policy(job(compliance_threshold=1.0, **MANY))
    result = training.result()
    best = max(range(12), key=lambda k: (records[k].compliance_observed, records[k].env_reward))
    assert best < 11  # so that a later policy could have replaced it
    assert max(r.env_reward for r in records) > records[best].env_reward
    assert result.best_compliance == records[best].compliance_observed
    assert result.best_env_reward == records[best].env_reward
    assert_is(training.best, players[best])


def test_a_policy_that_meets_the_threshold_beats_one_with_more_reward_below_it() -> None:
    _, records, _ = every_policy(job(**MANY))
    richest = max(records, key=lambda record: record.env_reward)
    # With a fixed weight the threshold changes nothing of the play: choose a telling one.
    threshold = richest.compliance_observed + 1e-6
    training, again, players = every_policy(job(compliance_threshold=threshold, **MANY))
    result = training.result()
    assert [r.env_reward for r in again] == [r.env_reward for r in records]
    meets = [k for k, r in enumerate(records) if r.compliance_observed >= threshold]
    assert len(meets) >= 2
    best = max(meets, key=lambda k: records[k].env_reward)
    assert result.best_env_reward == records[best].env_reward < richest.env_reward
    assert result.best_compliance == records[best].compliance_observed
    assert_is(training.best, players[best])


def test_of_a_policy_that_is_shown_no_order_only_the_reward_counts() -> None:
    some = job(conditioned=False, compliance_threshold=1.0, **MANY)
    training, records, players = every_policy(some)
    result = training.result()
    best = max(range(12), key=lambda k: records[k].env_reward)
    assert max(r.compliance_observed for r in records) > records[best].compliance_observed
    assert result.best_env_reward == records[best].env_reward
    assert_is(training.best, players[best])


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


@pytest.mark.parametrize(
    ("name", "envs", "transitions", "epochs", "minibatch"),
    [
        ("episode", 1, 100, 4, None),
        ("hybrid", 1, 500, 4, None),
        ("minibatch", 1, 1_000, 4, None),
        ("standard", 8, 2_048, 4, 64),
        ("parallel25", 25, 2_500, 4, None),
        ("parallel200", 200, 20_000, 4, None),
        ("original", 200, 20_000, 6, None),
    ],
)
def test_every_rollout_strategy_of_the_documents_is_a_preset(
    name: PresetName, envs: int, transitions: int, epochs: int, minibatch: int | None
) -> None:
    preset = PRESETS[name]
    config, ppo = TrainConfig(**preset.train), PPOConfig(**preset.ppo)
    assert config.n_envs == envs
    assert config.rollout_steps(100) * envs == transitions
    assert (ppo.epochs, ppo.minibatch_size) == (epochs, minibatch)
    assert config.max_updates(100) >= config.min_updates


def test_there_are_no_other_presets_and_the_default_is_parallel200() -> None:
    assert set(PRESETS) == {
        *("episode", "hybrid", "minibatch", "standard", "parallel25", "parallel200", "original"),
        "strongest",
    }
    assert PRESETS["parallel200"] == Preset()
    assert TrainConfig(**PRESETS["parallel25"].train).max_episodes == 400
    assert TrainConfig(**PRESETS["parallel25"].train).min_updates == 10
    original = TrainConfig(**PRESETS["original"].train)
    assert original.max_episodes * original.n_envs == 100_000
    assert not original.conditioned
    assert original.action_space == "cardiff"
    assert PRESETS["original"].game == {"observation": "cardiff"}
    assert PRESETS["original"].form == "documented"


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_runs_at_toy_size_with_what_is_given_explicitly(name: PresetName) -> None:
    preset = PRESETS[name]
    envs = min(TrainConfig(**preset.train).n_envs, 4)
    explicit: dict[str, Any] = {"n_envs": envs, "update_steps": 20 * envs, "max_episodes": 4}
    explicit |= {"min_updates": 1, "stop_at": "budget"}
    config = TrainConfig(**(dict(preset.train) | explicit))
    game = GameConfig(episode_length=10, **preset.game)
    training = trained(TrainJob(game, PPOConfig(**preset.ppo), config, 0, 7))
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
