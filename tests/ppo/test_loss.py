import math
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.distributions import Categorical

from workflow_rl.ppo.loss import ChosenAndEntropy, LossTerms, clipped_surrogate, ppo_loss
from workflow_rl.ppo.network import ActorCritic


class Case(NamedTuple):
    inputs: Tensor  # (U, width)
    network: ActorCritic
    rows: Tensor  # (N,)
    actions: Tensor
    old_log_probability: Tensor
    returns: Tensor
    masks: Tensor | None


def make_case(seed: int, distinct: int, samples: int, actions: int, *, masked: bool) -> Case:
    torch.manual_seed(seed)
    network = ActorCritic(5, actions, (7,)).double()
    chosen = torch.randint(actions, (samples,))
    masks = None
    if masked:
        masks = torch.rand(samples, actions) < 0.5
        masks[torch.arange(samples), chosen] = True
    return Case(
        torch.randint(0, 2, (distinct, 5)).double(),
        network,
        torch.randint(distinct, (samples,)),
        chosen,
        torch.log(torch.rand(samples).double() * 0.6 + 0.05),
        torch.randn(samples).double(),
        masks,
    )


def weighted(terms: LossTerms) -> Tensor:
    return terms.policy + 0.5 * terms.value - 0.01 * terms.entropy


def on_distinct_inputs(case: Case) -> LossTerms:
    logits, values = case.network(case.inputs)
    return ppo_loss(
        logits,
        values,
        case.rows,
        case.actions,
        case.old_log_probability,
        case.returns,
        0.2,
        case.masks,
    )


def plainly(case: Case) -> LossTerms:
    """The textbook computation: every sample's own pass, one sample after the other."""
    policy, value_loss, entropy, kl, clipped = [], [], [], [], []
    for k in range(len(case.rows)):
        logits, value = case.network(case.inputs[case.rows[k]][None])
        allowed = torch.ones_like(logits[0]).bool() if case.masks is None else case.masks[k]
        places = torch.cumsum(allowed, 0) - 1
        distribution: Any = Categorical(logits=logits[0, allowed])
        log_ratio = distribution.log_prob(places[case.actions[k]]) - case.old_log_probability[k]
        ratio = log_ratio.exp()
        advantage = case.returns[k] - value[0].detach()
        policy.append(-torch.minimum(ratio * advantage, torch.clamp(ratio, 0.8, 1.2) * advantage))
        value_loss.append((value[0] - case.returns[k]) ** 2)
        entropy.append(distribution.entropy())
        kl.append((ratio - 1 - log_ratio).detach())
        clipped.append(((ratio - 1).abs() > 0.2).double().detach())
    means = [torch.stack(terms).mean() for terms in (policy, value_loss, entropy, kl, clipped)]
    return LossTerms(*means)


def gradients(case: Case, terms: LossTerms) -> list[Tensor]:
    return list(torch.autograd.grad(weighted(terms), list(case.network.parameters())))


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    distinct=st.integers(1, 6),
    samples=st.integers(1, 20),
    actions=st.integers(2, 9),
    masked=st.booleans(),
)
def test_loss_and_gradients_on_distinct_inputs_equal_the_plain_computation(
    seed: int, distinct: int, samples: int, actions: int, masked: bool
) -> None:
    case = make_case(seed, distinct, samples, actions, masked=masked)
    ours, plain = on_distinct_inputs(case), plainly(case)
    for name, got, expected in zip(LossTerms._fields, ours, plain, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9, msg=name)
    for got, expected in zip(gradients(case, ours), gradients(case, plain), strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("masked", [False, True])
def test_an_input_of_its_own_for_every_sample_changes_nothing(masked: bool) -> None:
    case = make_case(3, distinct=4, samples=50, actions=6, masked=masked)
    expanded = case._replace(inputs=case.inputs[case.rows], rows=torch.arange(50))
    ours, plain = on_distinct_inputs(case), on_distinct_inputs(expanded)
    for got, expected in zip(ours, plain, strict=True):
        torch.testing.assert_close(got, expected)
    for got, expected in zip(gradients(case, ours), gradients(case, plain), strict=True):
        torch.testing.assert_close(got, expected)


def test_a_mask_that_allows_everything_changes_nothing() -> None:
    case = make_case(5, distinct=4, samples=30, actions=6, masked=False)
    everything = case._replace(masks=torch.ones(30, 6, dtype=torch.bool))
    for got, expected in zip(on_distinct_inputs(everything), on_distinct_inputs(case), strict=True):
        torch.testing.assert_close(got, expected)


def test_actions_that_were_not_allowed_get_no_gradient() -> None:
    logits = torch.zeros(1, 4, requires_grad=True)
    masks = torch.tensor([[True, False, True, False]])
    zero = torch.zeros(1)
    terms = ppo_loss(logits, zero, zero.long(), zero.long(), zero, torch.ones(1), 10.0, masks)
    (gradient,) = torch.autograd.grad(terms.policy + terms.entropy, logits)
    assert gradient[0, [1, 3]].tolist() == [0, 0]
    assert gradient[0, 0] < 0 < gradient[0, 2]
    assert terms.entropy.item() == pytest.approx(math.log(2))


def test_the_advantage_against_the_present_critic_does_not_teach_the_critic() -> None:
    values = torch.tensor([3.0], requires_grad=True)
    rows = actions = torch.zeros(1, dtype=torch.long)
    terms = ppo_loss(torch.zeros(1, 2), values, rows, actions, torch.zeros(1), torch.ones(1), 0.2)
    # The ratio is 1/2 and the advantage 1 - 3 = -2: the pessimistic surrogate is 0.8 * -2.
    assert terms.policy.item() == pytest.approx(1.6)
    (gradient,) = torch.autograd.grad(terms.policy + terms.value, values)
    assert gradient.item() == pytest.approx(2 * (3 - 1))  # of the value term alone


# --- the clipped surrogate, by hand


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


def test_the_surrogate_is_a_mean_over_samples() -> None:
    ratio, advantage = torch.tensor([1.0, 1.5, 0.5]), torch.tensor([1.0, 1.0, -1.0])
    assert clipped_surrogate(ratio, advantage, 0.2).item() == pytest.approx(-(1 + 1.2 - 0.8) / 3)


# --- entropy


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


def test_the_gradient_written_as_a_formula_is_the_numeric_one() -> None:
    torch.manual_seed(0)
    logits = torch.randn(3, 5, dtype=torch.double, requires_grad=True)
    rows, actions = torch.tensor([0, 2, 2, 0, 0, 2]), torch.tensor([1, 0, 4, 1, 3, 0])
    assert torch.autograd.gradcheck(ChosenAndEntropy.apply, (logits, rows, actions))


def test_the_entropy_is_averaged_over_samples_and_not_over_distinct_inputs() -> None:
    logits = torch.tensor([[0.0, 0.0], [1000.0, 0.0]])
    rows = torch.tensor([0, 0, 0, 1])
    zero = torch.zeros(4)
    terms = ppo_loss(logits, torch.zeros(2), rows, rows * 0, zero, zero, 0.2)
    assert terms.entropy.item() == pytest.approx(0.75 * math.log(2))


# --- what is logged beside


def test_an_unchanged_policy_has_no_divergence_and_clips_nothing() -> None:
    torch.manual_seed(0)
    logits, rows, actions = (
        torch.randn(3, 4),
        torch.tensor([0, 2, 1, 0]),
        torch.tensor([1, 0, 3, 1]),
    )
    old = torch.log_softmax(logits, -1)[rows, actions]
    terms = ppo_loss(logits, torch.zeros(3), rows, actions, old, torch.ones(4), 0.2)
    assert terms.policy.item() == pytest.approx(-1)
    assert terms.approx_kl.item() == pytest.approx(0, abs=1e-6)
    assert terms.clipfrac.item() == 0


def test_clipfrac_is_the_share_of_ratios_outside_the_clip() -> None:
    ratios = torch.tensor([1.0, 1.1, 1.3, 0.7, 0.9])
    old = math.log(0.5) - torch.log(ratios)
    rows = torch.zeros(5, dtype=torch.long)
    terms = ppo_loss(torch.zeros(1, 2), torch.zeros(1), rows, rows, old, torch.zeros(5), 0.2)
    assert terms.clipfrac.item() == pytest.approx(2 / 5)
    assert terms.approx_kl.item() == pytest.approx((ratios - 1 - ratios.log()).mean().item())
