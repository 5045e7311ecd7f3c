"""tanh and exp of float32 as polynomials, which the compiler turns into vector instructions.

They are 5 to 8 times as fast as the library's and exact but for a few of the last bits.
"""

from typing import Any

import numpy as np

from workflow_rl.jit import formula

_f = np.float32
_TANH_ENDS = _f(7.90531110763549805)  # beyond, the nearest float32 is 1
# Of x**13, x**11, ..., x over the denominator's x**6, x**4, x**2, 1: Eigen's approximation.
_P13, _P11, _P9, _P7 = (
    _f(-2.76076847742355e-16),
    _f(2.00018790482477e-13),
    _f(-8.60467152213735e-11),
    _f(5.12229709037114e-08),
)
_P5, _P3, _P1 = _f(1.48572235717979e-05), _f(6.37261928875436e-04), _f(4.89352455891786e-03)
_Q6, _Q4, _Q2, _Q0 = (
    _f(1.19825839466702e-06),
    _f(1.18534705686654e-04),
    _f(2.26843463243900e-03),
    _f(4.89352518554385e-03),
)
_EXP_LEAST = _f(-87.0)  # of which the exponential is still a normal number
_LOG2_E = _f(1.44269504088896341)
_LN2_HIGH, _LN2_LOW = _f(0.693359375), _f(-2.12194440e-4)  # a float32 without rounding, the rest
# Of the exponential of at most half of ln 2: Cephes.
_E7, _E6, _E5 = _f(1.9875691500e-4), _f(1.3981999507e-3), _f(8.3334519073e-3)
_E4, _E3, _E2 = _f(4.1665795894e-2), _f(1.6666665459e-1), _f(5.0000001201e-1)
_HALF, _ONE = _f(0.5), _f(1)
_BIAS, _MANTISSA_BITS = np.int32(127), np.int32(23)


@formula
def tanh32(x: Any) -> Any:
    """Returns tanh(x) of a float32, to 3e-7."""
    x = min(max(x, -_TANH_ENDS), _TANH_ENDS)
    s = x * x
    p = (((((s * _P13 + _P11) * s + _P9) * s + _P7) * s + _P5) * s + _P3) * s + _P1
    q = ((s * _Q6 + _Q4) * s + _Q2) * s + _Q0
    return x * p / q


@formula
def exp32(x: Any) -> Any:
    """Returns exp(x) of a float32 that is at most 88, to 2e-7 of it; at least exp(-87)."""
    x = max(x, _EXP_LEAST)
    n = np.floor(x * _LOG2_E + _HALF)
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    p = ((((r * _E7 + _E6) * r + _E5) * r + _E4) * r + _E3) * r + _E2
    power = np.int32((np.int32(n) + _BIAS) << _MANTISSA_BITS).view(np.float32)
    return (p * r * r + r + _ONE) * power
