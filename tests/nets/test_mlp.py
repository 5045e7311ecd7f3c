"""The one inference pass, against torch; and which arrays are a network."""

from typing import Any, get_args

import numpy as np
import pytest
import torch

from tests.agents.policies import weights
from tests.ppo.rollouts import new_network
from tests.refused import refusal
from workflow_rl.config import ActivationName
from workflow_rl.errors import InvalidInputError
from workflow_rl.nets.mlp import read_mlp

ACTIVATIONS = get_args(ActivationName)
WIDTH, OUTPUTS = 23, 31


def some_rows(kind: str, n: int = 50) -> Any:
    """Rows of small integers or of any numbers, many of them 0; the first has nothing else."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(-1, 3, (n, WIDTH)) if kind == "int8" else rng.normal(0, 2, (n, WIDTH))
    rows = (numbers * (rng.random((n, WIDTH)) < 0.6)).astype(kind)
    rows[:1] = 0
    return rows


@pytest.mark.parametrize("kind", ["int8", "float32"])
@pytest.mark.parametrize("hidden", [(), (8,), (16, 12, 9)])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_pass_is_torchs(activation: ActivationName, hidden: tuple[int, ...], kind: str) -> None:
    network = new_network(WIDTH, OUTPUTS, hidden, activation=activation, scale=3)
    actor, critic = network.mlps()
    assert (actor.inputs, actor.outputs, actor.hidden) == (WIDTH, OUTPUTS, hidden)
    rows = some_rows(kind)
    with torch.no_grad():
        logits, values = network.double()(torch.from_numpy(rows).double())
    found = actor.forward(rows)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, logits.numpy(), atol=5e-5, rtol=1e-5)
    np.testing.assert_allclose(critic.forward(rows)[:, 0], values.numpy(), atol=5e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["int8", "float32"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_row_s_outputs_depend_on_no_other_row(activation: ActivationName, kind: str) -> None:
    mlp, _ = new_network(WIDTH, OUTPUTS, activation=activation).mlps()
    rows = some_rows(kind)
    together = mlp.forward(rows)
    for cuts in ([1], [7, 20], list(range(50))):
        parts = [mlp.forward(part) for part in np.split(rows, cuts)]
        assert np.concatenate(parts).tobytes() == together.tobytes()
    assert mlp.forward(rows[::-1]).tobytes() == together[::-1].tobytes()
    assert mlp.forward(rows[:0]).shape == (0, OUTPUTS)


# --- arrays by their names


def test_a_network_is_read_layer_by_layer_whatever_else_is_there() -> None:
    network = new_network(WIDTH, OUTPUTS, (8,))
    rows = some_rows("int8")
    arrays = dict(reversed(network.weights().items())) | {"other": np.ones(3)}
    for name, mlp in zip(("actor", "critic"), network.mlps(), strict=True):
        found = read_mlp(arrays, name, "relu").forward(rows)
        np.testing.assert_array_equal(found, mlp.forward(rows))


ZEROS = np.zeros((8, 77), np.float32)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"0.weight": np.zeros((2, 2, 2), np.float32)}, "actor.0 is not a layer: float32 of shape"),
        ({"0.weight": np.float32(3)}, "actor.0 is not a layer: float32, float32 of shape (16,)"),
        ({"0.weight": ZEROS.astype(np.int8)}, "actor.0 is not a layer: int8 of shape (8, 77)"),
        ({"7.weight": ZEROS}, "actor.7 is not a layer: float32 of shape (8, 77), nothing"),
        ({"0.bias": None}, "actor.0 is not a layer"),
        ({"0.weight": ZEROS, "0.bias": ZEROS[:, 0]}, "actor.2 does not fit the layer before it"),
        ({"0.weight": ZEROS[:0], "0.bias": ZEROS[:0, 0]}, "actor.0 does not fit"),
        ({"0.bias": np.full(16, np.nan, np.float32)}, "actor.0 gives no finite numbers: its tr"),
        ({"2.weight": np.full((145, 16), np.inf, np.float32)}, "actor.2 gives no finite numbers"),
        ({"0.weight": np.full((16, 77), 3e38, np.float32)}, "actor.0 gives no finite numbers"),
        ({"0.weight": np.full((16, 77), 1e308)}, "actor.0 gives no finite numbers"),
        ({"0.bias": np.full(16, 1e37), "2.weight": np.full((145, 16), 9.0)}, "actor.2 gives no "),
    ],
)
def test_arrays_that_are_no_network_are_refused(change: dict[str, Any], why: str) -> None:
    arrays = weights(77, 145) | {f"actor.{name}": value for name, value in change.items()}
    assert why in refusal(read_mlp, arrays, "actor", "relu")
    assert refusal(read_mlp, {}, "actor", "relu") == "a policy needs the weights of its actor"
    assert "needs its weights by their names" in refusal(read_mlp, None, "actor", "relu")


@pytest.mark.compiled  # interpreted, the exponential raises instead of overflowing
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_what_is_accepted_gives_finite_numbers_for_every_row(activation: ActivationName) -> None:
    rng = np.random.default_rng(0)
    rows = rng.choice(np.array([-128, -1, 0, 1, 127], np.int8), (50, WIDTH))
    accepted = 0
    for scale in 10.0 ** np.arange(0, 38):
        arrays = {k: v * np.float32(scale) for k, v in weights(WIDTH, OUTPUTS).items()}
        try:
            mlp = read_mlp(arrays, "actor", activation)
        except InvalidInputError as error:
            assert "gives no finite numbers" in str(error)  # noqa: PT017
            continue
        accepted += 1
        found = mlp.forward(rows)
        assert np.isfinite(found - found.max(axis=1, keepdims=True)).all()
    assert 15 < accepted < 38
