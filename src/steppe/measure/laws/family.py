"""Families of laws in the number of ranks p, and the fits of all of them to the same points at once.

    const        a                    log         a + b ln p                quadratic   a + b p + c p^2
    linear       a + b p              log2        a + b ln p + c ln^2 p     cubic       a + b p + c p^2 + d p^3
    root         a + b p^0.5          p log p     a + b p ln p              power       a + b p^e
    rounds       a + b ceil(log2 p): the steps of a tree

    for rates alone:  1/log  a + b / ln p    1/linear  1 / (a + b p): one rank serves all    1/rounds  1 / (a + b ceil(log2 p))

All of them, or their inverses, are linear in the coefficients, except for e, which is searched on a grid. So a fit needs no start values
and always converges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats

EXPONENTS = np.round(np.arange(-3.0, 4.0001, 0.004), 3)
EXPONENTS = EXPONENTS[np.abs(EXPONENTS) > 0.02]  # at 0 the power equals the constant


def rounds(p: Floats) -> Floats:
    """ceil(log2 p): the steps of a binomial tree that brings the data of one rank to p ranks."""
    return np.asarray(np.ceil(np.log2(p) - 1e-9))  # a power of two is not rounded up


class Term(NamedTuple):
    """A product of powers: of p ("e" is the fitted exponent), of ln p, and of ceil(log2 p)."""

    power: float | str = 0.0
    log: float = 0.0
    rounds: float = 0.0

    def __call__(self, p: Floats, exponents: Floats) -> Floats:
        """Its values at p (n,): (exponents, n)."""
        power = exponents[:, None] if self.power == "e" else np.full((exponents.size, 1), float(self.power))
        return np.asarray(p**power * np.log(p) ** self.log * rounds(p) ** self.rounds)

    def text(self, exponent: float) -> str:
        """The usual notation."""
        power = exponent if self.power == "e" else float(self.power)
        p = {0.0: "", 0.5: "sqrt p", 1.0: "p"}.get(power, f"p^{power:.4g}")
        log = {0.0: "", 1.0: "ln p", -1.0: "1/ln p"}.get(self.log, f"ln^{self.log:.4g} p")
        steps = "ceil(log2 p)" if self.rounds else ""
        return " ".join(part for part in (p, log, steps) if part) or "1"


@dataclass(frozen=True)
class Family:
    """Sums of these terms, or 1 by such a sum (inverse)."""

    name: str
    terms: tuple[Term, ...]
    inverse: bool = False

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        return len(self.terms) + self.has_exponent

    @property
    def has_exponent(self) -> bool:
        """True if one of them is the exponent."""
        return any(term.power == "e" for term in self.terms)

    def is_told_by(self, p: Floats, beyond: int = 1) -> bool:
        """True if values at p (n,) determine the coefficients, with `beyond` values more than there are parameters."""
        alike = any(term.rounds for term in self.terms) and np.ptp(rounds(p)) == 0.0
        return not alike and p.size >= self.parameters + beyond

    def columns(self, p: Floats, exponents: Floats | None = None) -> Floats:
        """The terms at p (n,): (exponents, n, terms); a family without exponent has one."""
        found = np.arange(1.0) if exponents is None else exponents
        return np.stack([term(p, found) for term in self.terms], axis=2)

    def names(self, exponent: float = np.nan) -> list[str]:
        """The usual notation of the terms."""
        return [term.text(exponent) for term in self.terms]


_ONE, _P, _LOG, _ROUNDS = Term(), Term(power=1.0), Term(log=1.0), Term(rounds=1.0)
FAMILIES = (
    Family("const", (_ONE,)),
    Family("linear", (_ONE, _P)),
    Family("log", (_ONE, _LOG)),
    Family("rounds", (_ONE, _ROUNDS)),
    Family("root", (_ONE, Term(power=0.5))),
    Family("p log p", (_ONE, Term(power=1.0, log=1.0))),
    Family("log2", (_ONE, _LOG, Term(log=2.0))),
    Family("quadratic", (_ONE, _P, Term(power=2.0))),
    Family("cubic", (_ONE, _P, Term(power=2.0), Term(power=3.0))),
    Family("power", (_ONE, Term(power="e"))),
)
RATE_FAMILIES = (
    *FAMILIES,
    Family("1/linear", (_ONE, _P), inverse=True),
    Family("1/rounds", (_ONE, _ROUNDS), inverse=True),
    Family("1/log", (_ONE, Term(log=-1.0))),  # must be the last one: it is undefined at p = 1
)


@dataclass(frozen=True)
class Curve:
    """A family with its coefficients as a function of p; `exponent` is NaN where the family has none."""

    family: Family
    coefficients: tuple[float, ...]
    exponent: float = np.nan

    def __call__(self, p: Floats | Sequence[float] | float) -> Floats:
        """Its values at p (n,), in the units of the points that it was fitted to."""
        at = np.atleast_1d(np.asarray(p, float))
        total = np.asarray(self.family.columns(at, np.array([self.exponent]))[0] @ np.array(self.coefficients))
        return 1.0 / total if self.family.inverse else total

    def formula(self, scale: float = 1.0) -> str:
        """Its text, with values in units of `scale`."""
        by, text = self.unit(scale), ""
        for value, term in zip(self.coefficients, self.family.names(self.exponent), strict=True):
            sign = ("- " if value < 0 else "+ ") if text else ("-" if value < 0 else "")
            number = f"{abs(value) / by:.4g}"
            text += f"{sign}{number}{'' if term == '1' else f' {term}' if not term.startswith('1/') else term[1:]} "
        return f"1 / ({text.strip()})" if self.family.inverse else text.strip()

    def unit(self, scale: float) -> float:
        """The unit of the coefficients, if that of the values is `scale`."""
        return 1.0 / scale if self.family.inverse else scale


@dataclass(frozen=True)
class Fits:
    """A family fitted to many sets of points: `misfit` (sets,) chi-square, `coefficients` (sets, terms), `exponent` (sets,)."""

    family: Family
    misfit: Floats
    coefficients: Floats
    exponent: Floats

    def freedom(self, n: int) -> int:
        """Degrees of freedom of a misfit at n points, 1 at least."""
        return max(1, n - self.family.parameters)

    def curve(self, number: int = 0) -> Curve:
        """The law of one set."""
        return Curve(self.family, tuple(self.coefficients[number].tolist()), float(self.exponent[number]))


def fit_family(family: Family, p: Floats, values: Floats, sigma: Floats) -> Fits:
    """Least squares with weights: p (n,), values (sets, n), sigma (n,) standard deviation of each point."""
    if family.inverse:
        values, sigma = 1.0 / values, sigma / values.mean(axis=0) ** 2
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
    """Orthonormal columns (exponents, n, terms), their triangular factors and the exponents; Gram-Schmidt for all exponents at once."""
    exponents = EXPONENTS if family.has_exponent else np.array([np.nan])
    basis = np.concatenate([_at(family, one) for one in p], axis=1) / np.array(sigma)[None, :, None]
    triangle = np.zeros((exponents.size, basis.shape[2], basis.shape[2]))
    for i in range(basis.shape[2]):
        triangle[:, i, i] = np.sqrt((basis[..., i] ** 2).sum(axis=1))
        basis[..., i] /= triangle[:, i, i, None]
        for j in range(i + 1, basis.shape[2]):
            triangle[:, i, j] = (basis[..., i] * basis[..., j]).sum(axis=1)
            basis[..., j] -= triangle[:, i, j, None] * basis[..., i]
    return basis, triangle, exponents


@lru_cache(maxsize=4096)
def _at(family: Family, p: float) -> Floats:
    return family.columns(np.array([p]), EXPONENTS if family.has_exponent else None)
