"""Fits the polynomials of `steppe.kernels.vecmath` that are our own minimax fits: prints their coefficients, highest power first.

Remez exchange in 60-digit decimals on the relative error of the whole function, so that the last digits are right.
Run as: python scripts/data/fit_vecmath.py
"""

from collections.abc import Callable
from decimal import Decimal, getcontext

getcontext().prec = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
Function = Callable[[Decimal], Decimal]


def sine_tail(z: Decimal) -> Decimal:
    """The S of sin(x) = x + x z S(z), z = x*x, from its Taylor series."""
    term, total = Decimal(-1) / 6, Decimal(0)
    for n in range(5, 80, 2):
        total += term
        term *= -z / (n * (n - 1))
    return total


def sine_weight(z: Decimal) -> Decimal:
    """What an error of S does to sin(x), relatively."""
    return z / (1 + z * sine_tail(z))


def arctangent_tail(z: Decimal) -> Decimal:
    """The A of arctan(t) = t + t z A(z), z = t*t, from the Taylor series at an angle 32 times smaller."""
    t = u = z.sqrt()
    for _ in range(5):
        u /= 1 + (1 + u * u).sqrt()
    total, term = Decimal(0), u
    for n in range(1, 80, 2):
        total += term / n
        term *= -u * u
    return (32 * total / t - 1) / z


def arctangent_weight(z: Decimal) -> Decimal:
    """What an error of A does to arctan(t), relatively."""
    return z / (1 + z * arctangent_tail(z))


def logarithm_tail(z: Decimal) -> Decimal:
    """The Q of log(m) = s (2 + z (2/3 + z Q(z))), s = (m-1)/(m+1), z = s*s."""
    return sum((2 * z**k / (2 * k + 5) for k in range(1, 60)), Decimal(2) / 5)


def logarithm_weight(z: Decimal) -> Decimal:
    """What an error of Q does to log(m), relatively."""
    return z * z / (2 + z * (Decimal(2) / 3 + z * logarithm_tail(z)))


def solve(rows: list[list[Decimal]]) -> list[Decimal]:
    """The solution of a linear system given as rows with the right-hand side last (Gauss, partial pivots)."""
    size = len(rows)
    for k in range(size):
        pivot = max(range(k, size), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(k + 1, size):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    found = [Decimal(0)] * size
    for k in reversed(range(size)):
        found[k] = (rows[k][size] - sum(rows[k][j] * found[j] for j in range(k + 1, size))) / rows[k][k]
    return found


def remez(function: Function, weight: Function, low: Decimal, high: Decimal, degree: int, grid: int = 600) -> tuple[list[Decimal], Decimal]:
    """Coefficients (lowest power first) with the least greatest weighted error, and that error."""
    at = [low + (high - low) * Decimal(k) / grid for k in range(grid + 1)]
    values, weights = [function(z) for z in at], [weight(z) for z in at]
    chosen = [1 + (grid - 1) * k // (degree + 1) for k in range(degree + 2)]
    for _ in range(30):
        rows = [[*(at[i] ** k for k in range(degree + 1)), (-1) ** n / weights[i], values[i]] for n, i in enumerate(chosen)]
        *coefficients, level = solve(rows)
        errors = [w * (sum(c * z**k for k, c in enumerate(coefficients)) - v) for z, v, w in zip(at, values, weights, strict=True)]
        extremes: list[int] = []
        for i, error in enumerate(errors):
            if extremes and (errors[extremes[-1]] > 0) == (error > 0):
                if abs(error) > abs(errors[extremes[-1]]):
                    extremes[-1] = i
            elif error != 0:
                extremes.append(i)
        while len(extremes) > degree + 2:
            extremes.pop(0 if abs(errors[extremes[0]]) < abs(errors[extremes[-1]]) else -1)
        if extremes == chosen or len(extremes) < degree + 2:
            break
        chosen = extremes
    return coefficients, abs(level)


def main() -> None:
    """Prints every table."""
    half_pi_squared = (PI / 2) ** 2 * Decimal("1.0005")
    greatest_s = Decimal("0.02944") * Decimal("1.002")  # ((sqrt 2 - 1) / (sqrt 2 + 1)) ** 2
    cases: list[tuple[str, Function, Function, Decimal, int, int]] = [
        ("sine single", sine_tail, sine_weight, half_pi_squared, 3, 10),
        ("sine double", sine_tail, sine_weight, half_pi_squared, 7, 18),
        ("arctangent single", arctangent_tail, arctangent_weight, Decimal(1), 8, 10),
        ("arctangent double", arctangent_tail, arctangent_weight, Decimal(1), 19, 18),
        ("logarithm_pair single", logarithm_tail, logarithm_weight, greatest_s, 2, 10),
        ("logarithm_pair double", logarithm_tail, logarithm_weight, greatest_s, 6, 18),
    ]
    for name, function, weight, high, degree, digits in cases:
        coefficients, level = remez(function, weight, high / 10_000, high, degree)  # at 0 the weight is 0
        print(f"{name}, relative error {level:.2e}")
        print("   ", ", ".join(f"{c:.{digits}e}" for c in reversed(coefficients)))


if __name__ == "__main__":
    main()
