"""exp, log, power, tanh, sin, cos, arctan2, sqrt: the same bits on every machine, in Python and compiled, for one cell and for many.

A library's functions differ between machines and stop a loop from becoming vector code. These are written once, without branches,
from operations that IEEE 754 defines to the last bit (`primitives.py`); `compiling.py` inlines them into kernels. Called from Python
they take and return NumPy scalars of either precision; a Python number is computed in double and stays a Python number.

Greatest error in ULP over the whole range, measured by `verification/vecmath` and held by the tests:

    | function | float32 | float64 | domain; outside it                                                |
    |----------|---------|---------|-------------------------------------------------------------------|
    | exp      | 1.0     | 1.0     | all; below the smallest normal number the result is 0             |
    | log      | 0.9     | 0.9     | x > 0; -inf at 0, NaN below                                       |
    | power    | 1.3     | 1.3     | x >= 0; NaN below; x**0 is 1, 1**inf is NaN; tiny results are 0   |
    | tanh     | 1.5     | 1.5     | all                                                               |
    | sin, cos | 1.9     | 1.9     | abs(x) <= 8192 (float32), 2**26 (float64); NaN outside            |
    | arctan2  | 1.7     | 1.7     | all; a zero x counts as 0, not -0; NaN if both are infinite       |
    | sqrt     | 0.5     | 0.5     | x >= 0; NaN below                                                 |
"""

# The formulas are typed for their callers; inside they hold NumPy scalars.
# mypy: disable-error-code="no-any-return"

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from steppe.kernels.primitives import bits, either, fma, left, minus, number, plus, polynomial, real, right, square_root, where

__all__ = ["arctan2", "cos", "exp", "log", "power", "sin", "sin_near", "sqrt", "tanh", "where"]

Formula = Callable[..., Any]
F = TypeVar("F", bound=Formula)
INFINITY, NOTHING = float("inf"), float("nan")
FORMULAS: dict[Any, Formula] = {}  # function called from Python -> formula that kernels inline


class MathConstants(NamedTuple):
    """What differs between the precisions. Splits into high and low parts make a multiple by a whole number exact."""

    shift: Any  # 1.5 * 2**mantissa: adding it rounds to the nearest whole number and leaves that in the low bits
    log2_e: Any
    ln2_high: Any
    ln2_low: Any
    one_over_pi: Any
    pi_high: Any
    pi_middle: Any
    pi_low: Any
    two_thirds_high: Any
    two_thirds_low: Any
    exp_lowest: Any  # below, exp is less than the smallest normal number
    exp_highest: Any  # above, exp is infinite
    angle: Any  # greatest angle that is reduced
    tiny: Any  # smallest normal number
    scale: Any  # 2**(mantissa + 1): makes every number normal
    scale_exponent: Any
    mantissa: Any  # bits of the mantissa, as a whole number
    top: Any  # place of the sign bit
    root_half: Any  # the bits of sqrt(1/2)
    exp: tuple[Any, ...]  # exp(r) = 1 + r + r**2 E(r)
    log: tuple[Any, ...]  # log(m) = s (2 + z L(z)), s = (m-1)/(m+1), z = s*s
    log_pair: tuple[Any, ...]  # log(m) = s (2 + z (2/3 + z Q(z)))
    tanh: tuple[Any, ...]  # tanh(x) = x + x z T(z), z = x*x < 0.55**2
    sine: tuple[Any, ...]  # sin(x) = x + x z S(z), z = x*x <= (pi/2)**2
    arctangent: tuple[Any, ...]  # arctan(t) = t + t z A(z), z = t*t <= 1


def _constants(
    to: Any, whole: Any, mantissa: int, splits: tuple[float, ...], limits: tuple[float, ...], tables: tuple[tuple[float, ...], ...]
) -> MathConstants:
    """Everything rounded to one precision, once."""
    return MathConstants(
        *map(to, (1.5 * 2.0**mantissa, np.log2(np.e), *splits, *limits, np.finfo(to).tiny, 2.0 ** (mantissa + 1), mantissa + 1)),
        *map(whole, (mantissa, 8 * np.dtype(to).itemsize - 1, bits(to(np.sqrt(0.5))))),
        *(tuple(map(to, table)) for table in tables),
    )


# All tables are own minimax fits (Remez); `scripts/data/fit_vecmath.py` prints those of sine, arctangent and log_pair.
SINGLE = _constants(
    np.float32,
    np.int32,
    23,
    (0.693359375, -2.12194440e-4, 1 / np.pi, 3.1415927410125732, -8.742277657347586e-08, -3.4302490200117637e-15,
     0.6666666865348816, -1.9868215517249155e-08),
    (-87.33654, 88.72283, 8192.0),
    (
        (0.0013814537105, 0.0083687450803, 0.0416683908339, 0.1666652039945, 0.4999999343198),
        (0.2358356837, 0.2853723836, 0.4000033622, 0.6666666564),
        (2.3420660565e-1, 2.8547052989e-1, 4.0000152892e-1),
        (-0.0062824731668, 0.0210777582976, -0.0538538579460, 0.1333260168603, -0.3333331804573),
        (2.6057059038e-6, -1.9809570954e-4, 8.3330658383e-3, -1.6666659536e-1),
        (-1.7935305319e-3, 1.0914170156e-2, -3.1176972677e-2, 5.7956641576e-2, -8.4033891831e-2, 1.0952162386e-1, -1.4264236567e-1,
         1.9998547714e-1, -3.3333299065e-1),
    ),
)  # fmt: skip
DOUBLE = _constants(
    np.float64,
    np.int64,
    52,
    (6.93147180369123816490e-01, 1.90821492927058770002e-10, 1 / np.pi, 3.141592653589793, 1.2246467991473532e-16, -2.9947698097183397e-33,
     0.6666666666666666, 3.700743415417188e-17),
    (-708.39641, 709.78271, 2.0**26),
    (
        (2.0826601339181996e-9, 2.5112084525655146e-8, 2.7557582219349227e-7, 2.75572347277462532e-6, 2.4801586925794818e-5,
         0.00019841269896515226, 0.0013888888889116319, 0.0083333333333169825, 0.041666666666666092, 0.16666666666666684, 0.5),
        (0.13252752180682016, 0.13249962333936961, 0.15387097636322675, 0.1818177550888298, 0.2222222264874562, 0.28571428569072999,
         0.40000000000006287, 0.66666666666666661),
        (1.319902185549166651e-1, 1.325653860234787362e-1, 1.538676881100085939e-1, 1.818178412978922345e-1, 2.222222252248854861e-1,
         2.857142857008609297e-1, 4.000000000000228215e-1),
        (5.1090229425617766e-05, -0.00021040579940474949, 0.00057920301380223366, -0.0014532400315810685, 0.0035917246427970764,
         -0.0088631951513473957, 0.021869486025963349, -0.053968253878366707, 0.13333333333173722, -0.33333333333332351),
        (2.721130392620597712e-15, -7.642987343666190467e-13, 1.605893955007177085e-10, -2.505210686977395217e-8, 2.755731921110500913e-6,
         -1.984126984120903574e-4, 8.333333333333193813e-3, -1.666666666666666557e-1),
        (1.322234049790813462e-5, -1.521308113815657013e-4, 8.311695708550633653e-4, -2.884446118791773138e-3, 7.195499122528358411e-3,
         -1.389900874750979838e-2, 2.198305055765633597e-2, -2.990225016330214900e-2, 3.664079647440874907e-2, -4.219118666329550869e-2,
         4.722296757466818205e-2, -5.253510203959976120e-2, 5.880525710448394824e-2, -6.666403656656785560e-2, 7.692279782921208210e-2,
         -9.090906997343929375e-2, 1.111111100664345236e-1, -1.428571428255893969e-1, 1.999999999995109124e-1, -3.333333333333306478e-1),
    ),
)  # fmt: skip


def constants(x: Any) -> MathConstants:
    """The constants of the precision of x."""
    return SINGLE if type(x) is np.float32 else DOUBLE


def _callable(formula: F) -> F:
    """`formula` as Python calls it: any scalar, no warnings (IEEE 754 says what overflows and NaN do)."""

    @wraps(formula)
    def function(*arguments: Any) -> Any:
        to = np.float32 if any(type(a) is np.float32 for a in arguments) else np.float64
        with np.errstate(all="ignore"):
            y = to(formula(*map(to, arguments)))
        return y if any(isinstance(a, np.generic) for a in arguments) else float(y)

    FORMULAS[function] = formula
    return cast(F, function)


# --- exp and log --------------------------------------------------------------------------------------------------------------------
def _reduced(x: Any) -> Any:
    """The (k, r) of x = n ln 2 + r, abs(r) <= ln 2 / 2; n stands in the low bits of k."""
    c = constants(x)
    k = fma(x, c.log2_e, c.shift)
    n = k - c.shift
    return k, fma(n, -c.ln2_low, fma(n, -c.ln2_high, x))


def _raised(x: Any, k: Any, r: Any) -> Any:
    """e**r 2**n, or what e**x is where that leaves the range of normal numbers."""
    c = constants(x)
    p = fma(r * r, polynomial(c.exp, r), r) + 1.0
    y = number(plus(bits(p), left(bits(k), c.mantissa)))  # adds n to the exponent: the bits of the shift are moved out at the top
    y = where(x < c.exp_lowest, 0.0, y)
    return where(x > c.exp_highest, INFINITY, y)  # NaN passes both


@_callable
def exp(x: float) -> float:
    """e**x."""
    k, r = _reduced(x)
    return _raised(x, k, r)


def _split(x: Any) -> Any:
    """The (e, m) of x = 2**e m, m in [sqrt(1/2), sqrt(2)), for a positive number."""
    c = constants(x)
    small = x < c.tiny
    i = minus(bits(where(small, x * c.scale, x)), c.root_half)
    e = right(i, c.mantissa)
    m = number(plus(minus(i, left(e, c.mantissa)), c.root_half))
    return real(e) - where(small, c.scale_exponent, 0.0), m


@_callable
def log(x: float) -> float:
    """Natural logarithm."""
    c = constants(x)
    e, m = _split(x)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    h = 0.5 * f * f
    tail = fma(s, fma(z, polynomial(c.log, z), h), e * c.ln2_low)  # log m = f - (h - s (h + z L)): the large terms are exact
    y = fma(e, c.ln2_high, f - (h - tail))
    y = where(x == INFINITY, INFINITY, y)
    y = where(x > 0.0, y, NOTHING)
    return where(x == 0.0, -INFINITY, y)


# --- power --------------------------------------------------------------------------------------------------------------------------
def _log_pair(x: Any) -> Any:
    """The logarithm of a positive number as a sum of two (high, low), good to 1/1000 ULP, so that y log(x) is good to one."""
    c = constants(x)
    e, m = _split(x)
    f = m - 1.0
    d = 2.0 + f
    d_low = f - (d - 2.0)
    inverse = 1.0 / d
    s = f * inverse
    s_low = fma(-s, d_low, fma(-s, d, f)) * inverse
    z = s * s
    z_low = fma(s, s, -z) + 2.0 * s * s_low
    q = z * polynomial(c.log_pair, z)
    a = c.two_thirds_high + q
    a_low = (c.two_thirds_high - a) + q + c.two_thirds_low
    w = z * a
    w_low = fma(z, a, -w) + (z * a_low + z_low * a)
    b = 2.0 + w
    b_low = (2.0 - b) + w + w_low
    u = s * b
    u_low = fma(s, b, -u) + (s * b_low + s_low * b)
    whole = e * c.ln2_high
    high = whole + u
    return high, (whole - high) + u + (u_low + e * c.ln2_low)


@_callable
def power(x: float, y: float) -> float:
    """x**y for x >= 0."""
    high, low = _log_pair(x)
    high = where(x == INFINITY, INFINITY, where(x == 0.0, -INFINITY, high))
    product = y * high
    k, r = _reduced(product)
    z = _raised(product, k, r + (fma(y, high, -product) + y * low))
    return where(y == 0.0, 1.0, where(x >= 0.0, z, NOTHING))


@_callable
def tanh(x: float) -> float:
    """Hyperbolic tangent."""
    c = constants(x)
    z = x * x
    near = fma(x * z, polynomial(c.tanh, z), x)
    far = 1.0 - 2.0 / (exp(2.0 * abs(x)) + 1.0)
    far = where(x < 0.0, -far, far)
    return where(abs(x) < 0.55, near, far)


# --- sin and cos --------------------------------------------------------------------------------------------------------------------
def _turned(x: Any, k: Any, n: Any) -> Any:
    """sin(x - n pi), with the sign of (-1)**(low bit of k)."""
    c = constants(x)
    r = fma(-n, c.pi_low, fma(-n, c.pi_middle, fma(-n, c.pi_high, x)))
    z = r * r
    y = fma(r * z, polynomial(c.sine, z), r)
    y = number(either(bits(y), left(bits(k), c.top)))
    return where(abs(x) <= c.angle, y, NOTHING)


@_callable
def sin(x: float) -> float:
    """Sine of an angle in radians."""
    c = constants(x)
    k = fma(x, c.one_over_pi, c.shift)
    return _turned(x, k, k - c.shift)


@_callable
def sin_near(x: float) -> float:
    """Sine of an angle between -pi/2 and pi/2, half the work of `sin`; outside it is no sine."""
    c = constants(x)
    z = x * x
    return fma(x * z, polynomial(c.sine, z), x)


@_callable
def cos(x: float) -> float:
    """Cosine of an angle in radians: the sine of x + pi/2."""
    c = constants(x)
    k = fma(x, c.one_over_pi, 0.5) + c.shift
    return _turned(x, k, (k - c.shift) - 0.5)


# --- arctan2 and sqrt ---------------------------------------------------------------------------------------------------------------
@_callable
def arctan2(y: float, x: float) -> float:
    """Angle of the point (x, y) in radians, from -pi to pi; it has the sign of y."""
    c = constants(x)
    steep, behind = abs(x) < abs(y), x < 0.0
    short, long = where(steep, abs(x), abs(y)), where(steep, abs(y), abs(x))
    t = short / where(long == 0.0, 1.0, long)
    t = where(steep != behind, -t, t)
    z = t * t
    axis = where(steep, 0.5, where(behind, 1.0, 0.0))  # the angle of the axis next to (x, abs(y)), in units of pi
    r = (axis * c.pi_high + t) + fma(t * z, polynomial(c.arctangent, z), axis * c.pi_middle)  # the first is exact where t is large
    return number(either(bits(r), left(right(bits(y), c.top), c.top)))


@_callable
def sqrt(x: float) -> float:
    """Square root."""
    return square_root(x)
