import json
import math
from dataclasses import replace

import numpy as np
import pytest

from tests.runs.work import outcome
from tests.train.toys import MODERN, final, job, trained
from workflow_rl.config import TrainConfig
from workflow_rl.files import json_text
from workflow_rl.train.job import COMPLIANT, OUT_OF_BUDGET, TrainOutcome, stop_reason
from workflow_rl.workflow.orders import TYPES


def test_a_job_names_the_order_that_it_trains_by_its_own_units() -> None:
    some = job(order=7)
    assert str(some.workflow) == "defender > op_server > enterprise > user > op_host"
    assert replace(some, order=None).workflow is None
    groups = {"jewels": ("Op_Server0",), "laptops": ("User1", "User2")}
    own = replace(some, train=TrainConfig(units=groups), order=5)
    assert own.workflow == ("rest", "laptops", "jewels")


def test_its_policy_names_what_it_sees_does_and_follows() -> None:
    game = {"observation": "memory", "red_agent": "meander"}
    training = trained(job(MODERN, game=game, action_space="useful", max_episodes=2))
    policy = training.job.policy(final(training), update=2)
    assert (policy.observation.name, policy.action_space.name) == ("memory", "useful")
    assert (policy.config.game, policy.config.ppo) == (training.job.game, MODERN)
    assert (policy.order, policy.facts) == (TYPES[40], {"update": 2})
    assert policy.is_masked
    seen = training.player.world.observation
    encoding = policy.encoding
    assert encoding is not None
    bits = np.tile(encoding.order_bits(TYPES.host_ranks([40])), (len(seen), 1))
    actor, _ = training.learner.network.mlps()
    expected = actor.forward(np.hstack([seen, bits]))
    np.testing.assert_array_equal(policy.logits(seen), expected)
    anything = replace(training.job, order=None).policy(final(training))
    assert anything.order is None
    assert anything.is_conditioned


def test_an_outcome_is_shown_in_one_line_and_comes_back_from_its_plain_data() -> None:
    found = replace(outcome(7, -12.5, compliance=0.96), alignment_weights=(30.0,) * 120)
    assert "op_host: reward -12.50 ± 0.49 over 12 episodes, compliance 0.960 " in repr(found)
    assert repr(replace(found, workflow=None)).startswith("TrainOutcome(every order: ")
    stored = json.loads(json_text(found.as_json()))
    assert TrainOutcome.from_json(stored) == found
    assert (found.alignment_weight(3), outcome(7, -12.5).alignment_weight(3)) == (30.0, 30.0)
    for lost in ("best", "updates"):
        with pytest.raises(KeyError):
            TrainOutcome.from_json({name: stored[name] for name in stored if name != lost})


@pytest.mark.parametrize(
    ("updates", "compliance", "reason"),
    [
        (4, 1.0, None),  # too early
        (5, 1.0, COMPLIANT),
        (5, 0.95, COMPLIANT),  # the threshold itself is enough
        (5, 0.949, None),
        (49, 0.0, None),
        (50, 0.0, OUT_OF_BUDGET),
        (51, 0.0, OUT_OF_BUDGET),
        (50, 0.97, COMPLIANT),  # compliance in the last update is compliance
        (5, math.nan, None),  # no episode ended
        (50, math.nan, OUT_OF_BUDGET),
    ],
)
def test_training_ends_at_compliance_after_enough_updates_or_at_its_budget(
    updates: int, compliance: float, reason: str | None
) -> None:
    assert stop_reason(TrainConfig(), 50, updates, compliance) == reason
    at_budget = OUT_OF_BUDGET if updates >= 50 else None
    assert stop_reason(TrainConfig(stop_at="budget"), 50, updates, compliance) == at_budget


def test_a_budget_below_the_least_updates_ends_a_training_all_the_same() -> None:
    assert stop_reason(TrainConfig(), 2, 2, 1.0) == OUT_OF_BUDGET
