import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.ppo.reference import Batch, reference_loss, reference_terms
from workflow_rl.config import PPOConfig
from workflow_rl.ppo.loss import ChosenAndEntropy, LossTerms, clipped_surrogate, ppo_loss
from workflow_rl.ppo.network import ActorCritic
from workflow_rl.ppo.samples import Samples

CONFIG = PPOConfig()


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    distinct=st.integers(1, 6),
    n=st.integers(1, 20),
    actions=st.integers(2, 9),
    masked=st.booleans(),
    given_advantages=st.booleans(),
)
def test_loss_and_gradients_on_distinct_inputs_are_the_textbooks_on_all(
    seed: int, distinct: int, n: int, actions: int, masked: bool, given_advantages: bool
) -> None:
    torch.manual_seed(seed)
    network = ActorCritic(5, actions, (7,)).double()
    chosen, masks = torch.randint(actions, (n,)), torch.rand(n, actions) < 0.5
    masks[torch.arange(n), chosen] = True
    samples = Samples(
        inputs=torch.randint(0, 2, (distinct, 5)).double(),
        rows=torch.randint(distinct, (n,)),
        actions=chosen,
        old_log_probability=torch.log(torch.rand(n).double() * 0.6 + 0.05),
        returns=torch.randn(n).double(),
        advantages=torch.randn(n) if given_advantages else None,
        masks=masks if masked else None,
    )

    def found(terms: LossTerms) -> list[Tensor]:
        loss = reference_loss(terms, CONFIG, 0.01)
        return [*terms, *torch.autograd.grad(loss, list(network.parameters()))]

    logits, values = network(samples.inputs)
    ours = found(ppo_loss(logits, values, samples, CONFIG.clip))
    theirs = found(reference_terms(network, Batch.of(samples), CONFIG.clip))
    # Advantages are standardised in single precision.
    exactly: dict[str, Any] = (
        {"rtol": 1e-4, "atol": 1e-4} if given_advantages else {"rtol": 1e-8, "atol": 1e-9}
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, **exactly)


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
