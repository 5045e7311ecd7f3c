"""Trainings without some entries of the memory."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.train.toys import MODERN, assert_is, final, job, trained
from workflow_rl.agents.policy import Policy
from workflow_rl.config import PPO_FORMS, MemoryEntryName, ObservationName, PPOConfig
from workflow_rl.runs.training import describe_trained
from workflow_rl.sim.memory import columns_of
from workflow_rl.train.loop import Training

FORGOTTEN: tuple[MemoryEntryName, ...] = ("scans", "fixes", "scanned_decoys")
FORMS = {"documented": PPO_FORMS["documented"], "modern": MODERN}


def remembering(
    ppo: PPOConfig = MODERN, *, observation: ObservationName = "memory", **over: Any
) -> Training:
    game = {"observation": observation, "red_agent": "meander"}
    return trained(job(ppo, game=game, **({"order": None} | over)))


def policy_of(training: Training) -> Policy:
    return Policy(final(training), describe_trained(training.job, training.result()))


def rows(policy: Policy, count: int = 20) -> NDArray[np.int8]:
    return np.random.default_rng(0).integers(0, 2, (count, policy.observation_size), np.int8)


def turned(observation: NDArray[np.int8], *entries: MemoryEntryName) -> NDArray[np.int8]:
    """Returns observations in which each bit of some entries is the other one."""
    other = observation.copy()
    for columns in columns_of(entries):
        other[:, columns] ^= 1
    return other


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("observation", ["memory", "belief"])
def test_a_policy_trained_without_entries_does_not_look_at_them(
    form: str, observation: ObservationName
) -> None:
    policy = policy_of(remembering(FORMS[form], observation=observation, forget=FORGOTTEN))
    order = "user > defender > op_host > enterprise > op_server"
    seen = rows(policy)
    told = policy.probabilities(seen, order)
    np.testing.assert_array_equal(policy.probabilities(turned(seen, *FORGOTTEN), order), told)
    for entry in ("table", "exploits", "decoys", "clock"):  # it does at the others
        assert (policy.probabilities(turned(seen, entry), order) != told).any(axis=1).all()
    assert policy.description["forget"] == list(FORGOTTEN)


def test_neither_does_its_critic_nor_one_that_began_with_weights_that_did() -> None:
    base = final(remembering())
    training = remembering(forget=FORGOTTEN, base=base)
    for name, weight in final(training).items():
        if name in ("actor.0.weight", "critic.0.weight"):
            for columns in columns_of(FORGOTTEN):
                assert base[name][:, columns].all()
                assert not weight[:, columns].any()


def test_without_an_entry_another_policy_is_learned_and_without_none_the_same() -> None:
    whole, blind = final(remembering()), final(remembering(forget=("table",)))
    assert_is(final(remembering(forget=())), whole)
    (table,) = columns_of(["table"])
    for name in whole:  # they began alike but for what was forgotten
        rest = (..., slice(table.stop, None)) if name.endswith(".0.weight") else ...
        assert (blind[name][rest] != whole[name][rest]).any(), name
