from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.ppo.reference import reference_loss
from workflow_rl.config import PPO_FORMS
from workflow_rl.ppo.loss_gradient import TERMS, LossSums, LossWeights, Taken, loss_gradient

CONFIG = replace(PPO_FORMS["modern"], clip=0.2, value_weight=0.7)
ENTROPY_WEIGHT = 0.3
N, ACTIONS = 60, 9


class Outputs(torch.nn.Module):
    """A network whose outputs are its parameters."""

    def __init__(self, logits: Any, values: Any) -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(torch.from_numpy(logits).double())
        self.values = torch.nn.Parameter(torch.from_numpy(values).double())

    def forward(self, _: Tensor) -> tuple[Tensor, Tensor]:
        return self.logits, self.values


def case(seed: int, *, masked: bool, scale: float = 1.0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    masks = rng.random((N, ACTIONS)) < 0.5
    masks[np.arange(N), rng.integers(0, ACTIONS, N)] = True
    weights = masks if masked else np.ones((N, ACTIONS))
    actions = np.array([rng.choice(ACTIONS, p=row / row.sum()) for row in weights])
    advantages = rng.normal(size=N).astype(np.float32)
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-5)
    return {
        "logits": (rng.normal(size=(N, ACTIONS)) * scale).astype(np.float32),
        "values": rng.normal(size=N).astype(np.float32),
        "masks": masks if masked else None,
        "actions": actions,
        "old_log_probability": np.log(rng.random(N) * 0.6 + 0.05).astype(np.float32),
        "returns": rng.normal(size=N).astype(np.float32),
        "advantages": advantages,
    }


def ours(given: dict[str, Any], chosen: Any, starts: Any = None) -> tuple[Any, Any, Any]:
    if starts is None:  # an input for each sample
        starts = np.arange(len(chosen) + 1)
    first = chosen[starts[:-1]]
    logits = given["logits"][first]
    gradient, of_values, terms = np.empty_like(logits), np.empty(len(first), "f4"), np.zeros(TERMS)
    masks = np.empty((0, 0), np.bool_) if given["masks"] is None else given["masks"]
    loss_gradient(
        logits,
        given["values"][first],
        starts,
        chosen,
        given["advantages"][chosen],
        Taken(masks, given["actions"], given["old_log_probability"], given["returns"]),
        LossWeights(CONFIG.clip, CONFIG.value_weight, ENTROPY_WEIGHT),
        LossSums(gradient, of_values, terms),
    )
    return gradient, of_values, terms / len(chosen)


@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("masked", [False, True])
def test_terms_and_gradients_are_autograds_of_the_textbook_loss(masked: bool, scale: float) -> None:
    given = case(0, masked=masked, scale=scale)
    outputs: Any = Outputs(given["logits"], given["values"])
    tensors = {
        name: torch.from_numpy(given[name]).double()
        for name in ("old_log_probability", "returns", "advantages")
    }
    loss, told = reference_loss(
        outputs,
        torch.empty(0),
        torch.from_numpy(given["actions"]),
        **tensors,
        masks=torch.from_numpy(given["masks"]) if masked else None,
        config=CONFIG,
        entropy_weight=ENTROPY_WEIGHT,
    )
    loss.backward()  # type: ignore[no-untyped-call]
    assert told["clipfrac"] > 0.05
    gradient, of_values, terms = ours(given, np.arange(N))
    np.testing.assert_allclose(gradient, outputs.logits.grad.numpy(), atol=1e-6, rtol=1e-4)
    np.testing.assert_allclose(of_values, outputs.values.grad.numpy(), atol=1e-6)
    np.testing.assert_allclose(terms, list(told.values()), atol=1e-5, rtol=1e-5)


def test_what_is_not_allowed_is_not_pulled_at_all() -> None:
    given = case(1, masked=True)
    gradient, _, _ = ours(given, np.arange(N))
    assert (gradient[~given["masks"]] == 0).all()
    assert (gradient[given["masks"]] != 0).mean() > 0.5
    np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-7)


def test_samples_are_told_apart_by_their_number() -> None:
    given = case(2, masked=True)
    every, chosen = np.arange(N), np.tile([40, 3, 3, 59], N // 4)
    for whole, part in zip(ours(given, every)[:2], ours(given, chosen)[:2], strict=True):
        np.testing.assert_array_equal(whole[chosen], part)


@pytest.mark.parametrize("masked", [False, True])
def test_samples_of_one_input_add_up(masked: bool) -> None:
    given = case(3, masked=masked)
    shared = np.repeat(np.arange(0, N, 4), 4)  # four samples each
    given["logits"], given["values"] = given["logits"][shared], given["values"][shared]
    alone = ours(given, np.arange(N))
    together = ours(given, np.arange(N), np.arange(0, N + 1, 4))
    for one, other in zip(alone[:2], together[:2], strict=True):
        summed = one.reshape(N // 4, 4, *one.shape[1:]).sum(axis=1)
        np.testing.assert_allclose(other, summed, atol=1e-7)
    np.testing.assert_allclose(alone[2], together[2])


@pytest.mark.parametrize(
    ("ratio", "advantage", "is_pulled"),
    [(1.3, 1.0, False), (1.3, -1.0, True), (0.7, 1.0, True), (0.7, -1.0, False), (1.1, 1.0, True)],
)
def test_a_ratio_that_went_far_enough_is_not_pulled_further(
    ratio: float, advantage: float, is_pulled: bool
) -> None:
    gradient, of_values, terms = np.empty((1, 2), "f4"), np.empty(1, "f4"), np.zeros(TERMS)
    one = np.zeros(1, np.int64)
    loss_gradient(
        np.zeros((1, 2), np.float32),
        np.zeros(1, np.float32),
        np.arange(2),
        one,
        np.array([advantage], "f4"),
        Taken(
            masks=np.empty((0, 0), np.bool_),
            actions=one,
            old_log_probability=np.array([np.log(0.5 / ratio)], "f4"),
            returns=np.zeros(1, "f4"),
        ),
        LossWeights(clip=0.2, value=0.5, entropy=0.0),
        LossSums(gradient, of_values, terms),
    )
    expected = -ratio * advantage * 0.5 if is_pulled else 0.0
    np.testing.assert_allclose(gradient[0], [expected, -expected], atol=1e-6)
    assert terms[4] == (abs(ratio - 1) > 0.2)
