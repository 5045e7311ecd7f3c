import math
from typing import Any

import pytest
import torch

from workflow_rl.ppo.loss import ChosenAndEntropy, clipped_surrogate


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        (1.0, 2.0, -2.0, -2.0),
        (1.1, 2.0, -2.2, -2.0),
        (1.5, 2.0, -2.4, 0.0),  # a good action is not pushed further than the clip
        (0.5, 2.0, -1.0, -2.0),  # but is always brought back
        (0.9, -2.0, 1.8, 2.0),
        (0.5, -2.0, 1.6, 0.0),  # nor a bad one
        (1.5, -2.0, 3.0, 2.0),
    ],
)
def test_the_clipped_surrogate_by_hand(
    ratio: float, advantage: float, loss: float, slope: float
) -> None:
    tensor = torch.tensor([ratio], requires_grad=True)
    got = clipped_surrogate(tensor, torch.tensor([advantage]), 0.2)
    assert got.item() == pytest.approx(loss)
    (gradient,) = torch.autograd.grad(got, tensor)
    assert gradient.item() == pytest.approx(slope)


@pytest.mark.parametrize(
    ("logits", "entropy"),
    [([0.0, 0, 0, 0], math.log(4)), ([1000.0, 0, 0, 0], 0), ([0.0, 0, -90, -90], math.log(2))],
)
def test_entropy_is_log_n_when_uniform_and_0_when_certain(
    logits: list[float], entropy: float
) -> None:
    first = torch.zeros(1, dtype=torch.long)
    chosen_and_entropy: Any = ChosenAndEntropy.apply
    _, got = chosen_and_entropy(torch.tensor([logits]), first, first)
    assert got.item() == pytest.approx(entropy, abs=1e-6)
