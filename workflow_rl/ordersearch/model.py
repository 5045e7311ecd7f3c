"""A Gaussian process over the 120 orders, with fitted lengthscales, scale and noise."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from workflow_rl.config import whole_number
from workflow_rl.errors import InvalidInputError
from workflow_rl.ordersearch.kernel import features, lengthscales_in_pairs, mallows_kernel
from workflow_rl.processes import one_thread
from workflow_rl.workflow.orders import NUM_ORDERS, PAIRS

with warnings.catch_warnings():  # their own imports use what torch calls deprecated
    warnings.simplefilter("ignore", DeprecationWarning)
    from botorch.exceptions.errors import ModelFittingError
    from botorch.exceptions.warnings import OptimizationWarning
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from gpytorch.constraints import Interval
    from gpytorch.kernels import ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from gpytorch.priors import GammaPrior, LogNormalPrior

_ROUNDING: Final = 1e-9  # a smaller spread, relative to the values, is none
# Where the fit starts and, should it fail, stays: typical of the priors, values standardised.
_LENGTHSCALE: Final = 5.0  # in pairs
_OUTPUT_SCALE: Final = 1.0
_NOISE: Final = 0.1


@dataclass(frozen=True)
class Hyperparameters:
    """What was fitted, in the units of the values."""

    lengthscales: NDArray[np.float64]  # (10,) of `PAIRS`, in pairs ordered differently
    mean: float  # of the values of all orders
    deviation: float  # standard deviation of the value of an order before it is observed
    noise: float  # standard deviation of an observation around the value

    @property
    def lengthscale(self) -> float:
        """Pairs ordered differently over which the covariance falls by a factor of e, on average.

        That is the harmonic mean: what adds up over pairs is the inverse of their lengthscales.
        """
        return float(1 / np.mean(1 / self.lengthscales))


@dataclass(frozen=True)
class Posterior:
    """What is believed of every order's value; (120,) each."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]  # of the value itself, without the noise of observing it
    noise: float  # standard deviation of an observation around the value
    lengthscale: float  # pairs ordered differently, on average over the pairs


class OrderGP:
    """A Gaussian process fitted to observed values of orders."""

    def __init__(self, orders: Sequence[int], values: Sequence[float]) -> None:
        """Fits lengthscales, scale and noise, the values standardised.

        Where there is nothing to fit (one value, or equal ones) or the fit fails, they stay
        at what the priors hold typical.

        Args:
            orders: indices of the orders observed, the same one perhaps several times.
            values: what was observed of each.

        Raises:
            InvalidInputError: there are none, or one of them cannot be.
        """
        observed = _checked(orders, values)
        smallest = _ROUNDING * max(1.0, abs(float(observed.mean())))
        varies = len(observed) > 1 and float(observed.std(ddof=1)) > smallest
        # Beside the model, not in it: in the units of small values the library takes the
        # uncertainty of a well-known order for rounding.
        self._standardize: Any = Standardize(1, min_stdv=smallest)
        targets, _ = self._standardize(torch.from_numpy(observed)[:, None])
        with one_thread():
            self._model: Any = _untrained(features(orders), targets)
            if varies:
                _fit(self._model)
            self._model.eval()

    @property
    def hyperparameters(self) -> Hyperparameters:
        """What was fitted."""
        model = self._model
        centre, scale = float(self._standardize.means), float(self._standardize.stdvs)
        return Hyperparameters(
            lengthscales=lengthscales_in_pairs(model.covar_module.base_kernel)[0].detach().numpy(),
            mean=centre + scale * float(model.mean_module.constant.detach()),
            deviation=scale * math.sqrt(float(model.covar_module.outputscale.detach())),
            noise=scale * math.sqrt(float(model.likelihood.noise.detach())),
        )

    def posterior(self, pending: Sequence[int] = ()) -> Posterior:
        """Returns the belief about all 120 orders.

        Args:
            pending: orders being tried now: they count as observed at their expected value,
                which leaves the mean as it is and takes away the uncertainty they will resolve.
        """
        everywhere = features(range(NUM_ORDERS))
        with torch.no_grad(), one_thread():
            believed = self._model.posterior(everywhere)
            mean, variance = believed.mean, believed.variance
            if len(pending):
                told = self._model.condition_on_observations(features(pending), mean[list(pending)])
                variance = told.posterior(everywhere).variance
            mean, variance = self._standardize.untransform(mean, variance)
        fitted = self.hyperparameters
        return Posterior(
            mean=mean[:, 0].numpy(),
            deviation=variance[:, 0].sqrt().numpy(),
            noise=fitted.noise,
            lengthscale=fitted.lengthscale,
        )


def _checked(orders: Sequence[int], values: Sequence[float]) -> NDArray[np.float64]:
    observed = np.asarray(values, np.float64)
    if not len(orders) or observed.shape != (len(orders),):
        raise InvalidInputError(
            f"a Gaussian process needs a value for each order and at least one, "
            f"not {observed.size} values for {len(orders)} orders"
        )
    for order in orders:
        whole_number("an observed order", order, 0, NUM_ORDERS - 1)
    for order, value in zip(orders, observed.tolist(), strict=True):
        if not math.isfinite(value):
            raise InvalidInputError(f"the value of order {order} must be a number, not {value}")
    return observed


def _untrained(inputs: torch.Tensor, targets: torch.Tensor) -> Any:
    """Returns the model with its priors, at their typical values."""
    kernel = ScaleKernel(mallows_kernel(), outputscale_prior=GammaPrior(2.0, 1.5))
    likelihood = GaussianLikelihood(
        noise_prior=LogNormalPrior(-2.0, 1.0), noise_constraint=Interval(1e-4, 2.0)
    )
    model = SingleTaskGP(
        inputs, targets, likelihood=likelihood, covar_module=kernel, outcome_transform=None
    )
    kernel.base_kernel.lengthscale = _LENGTHSCALE / len(PAIRS)
    kernel.outputscale = _OUTPUT_SCALE
    likelihood.noise = _NOISE
    return model


def _fit(model: Any) -> None:
    """Maximises the posterior of the hyper-parameters; if that fails they stay as they are."""
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimizationWarning)
            # A second attempt would start at random.
            fit_gpytorch_mll(likelihood, max_attempts=1)
        is_fitted = all(bool(tensor.isfinite().all()) for tensor in model.parameters())
    except (ModelFittingError, ArithmeticError, RuntimeError):
        is_fitted = False
    if not is_fitted:
        model.load_state_dict(before)
