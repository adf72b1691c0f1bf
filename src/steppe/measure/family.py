"""Families of laws in the number of ranks p, and the fits of all of them to the same points at once.

    const        a                    log         a + b ln p                quadratic   a + b p + c p^2
    linear       a + b p              log2        a + b ln p + c ln^2 p     cubic       a + b p + c p^2 + d p^3
    root         a + b p^0.5          p log p     a + b p ln p              power       a + b p^e
    1/log        a + b / ln p, for rates alone

All are linear in their coefficients but e, which is looked for on a grid: no start values, nothing that does not converge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EXPONENTS = np.round(np.arange(-3.0, 4.0001, 0.004), 3)
EXPONENTS = EXPONENTS[np.abs(EXPONENTS) > 0.02]  # at 0 the power is the constant once more


@dataclass(frozen=True)
class Family:
    """Sums of these terms. `terms`: powers of p and of ln p of each column, ("e", 0) for the exponent that is looked for."""

    name: str
    terms: tuple[tuple[float | str, float], ...]

    @property
    def parameters(self) -> int:
        """How many numbers a fit is free to choose."""
        return len(self.terms) + self.has_exponent

    @property
    def has_exponent(self) -> bool:
        """Whether one of them is the exponent."""
        return any(power == "e" for power, _ in self.terms)

    def columns(self, p: Floats, exponents: Floats | None = None) -> Floats:
        """The terms at p (n,): (exponents, n, terms); of a family without exponent as of one."""
        found = np.arange(1) if exponents is None else exponents
        log = np.log(p)
        each = []
        for power, of_log in self.terms:
            by_power = p ** (found[:, None] if power == "e" else float(power)) * np.ones((found.size, 1))
            each.append(by_power * log**of_log)
        return np.stack(each, axis=2)

    def names(self, exponent: float = np.nan) -> list[str]:
        """The terms as people write them."""
        return [_term(exponent if power == "e" else float(power), of_log) for power, of_log in self.terms]


def _term(power: float, of_log: float) -> str:
    p = {0.0: "", 0.5: "sqrt p", 1.0: "p"}.get(power, f"p^{power:.4g}")
    log = {0.0: "", 1.0: "ln p", -1.0: "1/ln p"}.get(of_log, f"ln^{of_log:.4g} p")
    return " ".join(part for part in (p, log) if part) or "1"


_ONE: tuple[float | str, float] = (0.0, 0.0)
FAMILIES = (
    Family("const", (_ONE,)),
    Family("linear", (_ONE, (1.0, 0.0))),
    Family("log", (_ONE, (0.0, 1.0))),
    Family("root", (_ONE, (0.5, 0.0))),
    Family("p log p", (_ONE, (1.0, 1.0))),
    Family("log2", (_ONE, (0.0, 1.0), (0.0, 2.0))),
    Family("quadratic", (_ONE, (1.0, 0.0), (2.0, 0.0))),
    Family("cubic", (_ONE, (1.0, 0.0), (2.0, 0.0), (3.0, 0.0))),
    Family("power", (_ONE, ("e", 0.0))),
)
RATE_FAMILIES = (*FAMILIES, Family("1/log", (_ONE, (0.0, -1.0))))


@dataclass(frozen=True)
class Curve:
    """One law: a family with its coefficients, `exponent` NaN where it has none."""

    family: Family
    coefficients: tuple[float, ...]
    exponent: float = np.nan

    def __call__(self, p: Floats | Sequence[float] | float) -> Floats:
        """Its values at p (n,), in the units of the points that it was fitted to."""
        at = np.atleast_1d(np.asarray(p, float))
        return np.asarray(self.family.columns(at, np.array([self.exponent]))[0] @ np.array(self.coefficients))

    def formula(self, scale: float = 1.0) -> str:
        """As text, with coefficients in units of `scale`."""
        text = ""
        for value, term in zip(self.coefficients, self.family.names(self.exponent), strict=True):
            sign = ("- " if value < 0 else "+ ") if text else ("-" if value < 0 else "")
            number = f"{abs(value) / scale:.4g}"
            text += f"{sign}{number}{'' if term == '1' else f' {term}' if not term.startswith('1/') else term[1:]} "
        return text.strip()


@dataclass(frozen=True)
class Fits:
    """A family fitted to many sets of points alike: `misfit` (sets,) chi-square, `coefficients` (sets, terms), `exponent` (sets,)."""

    family: Family
    misfit: Floats
    coefficients: Floats
    exponent: Floats

    def curve(self, number: int = 0) -> Curve:
        """The law of one set."""
        return Curve(self.family, tuple(self.coefficients[number].tolist()), float(self.exponent[number]))


def fit_family(family: Family, p: Floats, values: Floats, sigma: Floats) -> Fits:
    """Least squares with weights: p (n,), values (sets, n), sigma (n,) standard deviation of each point."""
    basis, triangle, exponents = _basis(family, tuple(p.tolist()), tuple(sigma.tolist()))
    scaled = values / sigma
    on_basis = np.einsum("enk,sn->esk", basis, scaled, optimize=True)
    explained = (on_basis**2).sum(axis=2)
    best = explained.argmax(axis=0)
    sets = np.arange(len(values))
    coefficients = np.linalg.solve(triangle[best], on_basis[best, sets][..., None])[..., 0]
    misfit = np.maximum(0.0, (scaled**2).sum(axis=1) - explained[best, sets])
    return Fits(family, misfit, coefficients, exponents[best])


@lru_cache(maxsize=64)
def _basis(family: Family, p: tuple[float, ...], sigma: tuple[float, ...]) -> tuple[Floats, Floats, Floats]:
    """Orthonormal columns (exponents, n, terms), and what makes the weighted ones of them; by Gram and Schmidt, all exponents at once."""
    exponents = EXPONENTS if family.has_exponent else np.array([np.nan])
    basis = _columns(family, p) / np.array(sigma)[None, :, None]
    triangle = np.zeros((exponents.size, basis.shape[2], basis.shape[2]))
    for i in range(basis.shape[2]):
        triangle[:, i, i] = np.sqrt((basis[..., i] ** 2).sum(axis=1))
        basis[..., i] /= triangle[:, i, i, None]
        for j in range(i + 1, basis.shape[2]):
            triangle[:, i, j] = (basis[..., i] * basis[..., j]).sum(axis=1)
            basis[..., j] -= triangle[:, i, j, None] * basis[..., i]
    return basis, triangle, exponents


def _columns(family: Family, p: tuple[float, ...]) -> Floats:
    return np.concatenate([_at(family, one) for one in p], axis=1)


@lru_cache(maxsize=4096)
def _at(family: Family, p: float) -> Floats:
    return family.columns(np.array([p]), EXPONENTS if family.has_exponent else None)
