"""The law in p that points support: chosen by an information criterion, tested at points left out, with its uncertainty.

The repeats give each point its standard error (`sigma`). So a family is judged by chi-square + k ln n, and the simplest one within `NEAR`
of the best is taken. A criterion that estimates sigma from the residuals finds every law constant at five points.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from steppe.array_types import Floats
from steppe.measure.laws.family import FAMILIES, RATE_FAMILIES, Curve, Family, Fits, fit_family

NEAR = 6.0  # smaller differences of the criterion do not count
DRAWS = 500
BAND = 25  # numbers of ranks at which a file keeps the band of a law
SEED = 8_128
APART = 0.10  # relative: if families differ by more at twice the ranks, the choice between them is doubtful
POOR = 0.10  # relative: a law that misses a point by more does not describe it
UNLIKELY = 5.0  # times its expectation: a larger misfit is not chance


class Law(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A law in p with 95 % intervals, as a file keeps it.

    intervals: of each coefficient, then of the exponent. criterion: of each family. left_out: its worst relative error at a point that was
    left out. shares: how often each family is chosen when the points are drawn anew. leading_term: see the function of that name.
    local_exponent: d ln / d ln p at the largest p. change: the largest p that the law describes, where another mechanism follows.
    doubts: reasons against the law, in words.
    """

    family: str
    formula: str
    coefficients: list[float]
    exponent: float | None
    intervals: list[tuple[float, float]]
    criterion: dict[str, float]
    left_out: dict[str, float]
    shares: dict[str, float]
    leading_term: str
    local_exponent: float | None
    change: float | None
    doubts: list[str]
    band: Annotated[list[tuple[float, float, float]], Meta(description="p, and 95 % of the laws of points drawn anew, there")] = []

    def __post_init__(self) -> None:
        """Raises `ValueError` where a file holds no such law."""
        terms = {family.name: len(family.terms) for family in RATE_FAMILIES}
        if terms.get(self.family) != len(self.coefficients):
            raise ValueError(f'a law of the family "{self.family}" with {len(self.coefficients)} coefficients is not known')

    @property
    def curve(self) -> Curve:
        """The law as a function of p."""
        family = next(family for family in RATE_FAMILIES if family.name == self.family)
        return Curve(family, tuple(self.coefficients), np.nan if self.exponent is None else self.exponent)


class FittedLaw(Law, kw_only=True, frozen=True):
    """A law with what it was fitted to: p, values (n,), and the laws of points drawn anew."""

    p: Floats
    values: Floats
    drawn: list[Curve]

    def kept(self) -> Law:
        """The law without its points, with its band."""
        p = np.linspace(self.described[0], self.described[-1], BAND)
        low, high = np.quantile([curve(p) for curve in self.drawn], (0.025, 0.975), axis=0)
        held = {name: getattr(self, name) for name in Law.__struct_fields__}
        return Law(**{**held, "band": list(zip(p.tolist(), low.tolist(), high.tolist(), strict=True))})

    def draws(self, p: float) -> Floats:
        """The quantity at p, of each set of points drawn anew (draws,)."""
        return np.array([float(curve(p)[0]) for curve in self.drawn])

    @property
    def described(self) -> Floats:
        """The p that the law is fitted to."""
        return self.p if self.change is None else self.p[self.p <= self.change]

    @property
    def worst(self) -> float:
        """Largest relative distance of a point from the law."""
        p = self.described
        return float(np.abs(self.curve(p) / self.values[: p.size] - 1.0).max())


def local_exponent(curve: Curve, p: Floats) -> float | None:
    """d ln / d ln p between the least of p (n,) from half the largest on, and the largest; None where the curve is not above zero."""
    high = float(p[-1])
    inner = p[(p >= high / 2.0) & (p < high)]
    low = float(inner[0]) if inner.size else float(p[-2])
    at = curve([low, high])
    return float(np.log(at[1] / at[0]) / np.log(high / low)) if (at > 0.0).all() else None


def leading_term(curve: Curve, p: float) -> str:
    """The highest term of a law that moves it by more than 5 % at p."""
    names, columns = curve.family.names(curve.exponent), curve.family.columns(np.array([p]), np.array([curve.exponent]))[0, 0]
    whole = abs(float(columns @ np.array(curve.coefficients)))
    terms = zip(names, columns, curve.coefficients, strict=True)
    heavy = ["1", *(name for name, column, value in terms if name != "1" and abs(column * value) > 0.05 * whole)]
    return f"1/{heavy[-1]}" if curve.family.inverse and heavy[-1] != "1" else heavy[-1]


def choose_law(
    p: Floats, values: Floats, sigma: Floats, families: Sequence[Family] = FAMILIES, draws: Floats | None = None
) -> tuple[FittedLaw | None, list[str]]:
    """Returns the law that the points support; or None, with the reasons.

    p (n,) ascending; values, sigma (n,) in one unit; draws (draws, n): the points drawn anew, by default from their own sigma.
    """
    if p.size < 3:
        return None, [f"{p.size} value{'s' if p.size != 1 else ''} of p: a law in p needs at least 3."]
    if draws is None:
        draws = values + sigma * np.random.default_rng(SEED).standard_normal((DRAWS, p.size))
    change = _change(p, values, sigma, families)
    n = p.size if change is None else int((p <= change).sum())
    inner, given, doubt = p[:n], values[:n], sigma[:n]
    fits = _fit_all(families, inner, given[None], doubt)
    criterion = {fit.family.name: float(_criterion(fit, n)[0]) for fit in fits}
    left_out = _left_out(families, inner, given, doubt)
    taken = fits[_chosen(fits, n)[0]]
    tested = [fit for fit in fits if fit.family.name in left_out]
    rival = min(tested, key=lambda fit: left_out[fit.family.name], default=taken)
    overruled = left_out.get(taken.family.name, 0.0) > max(2.0 * left_out.get(rival.family.name, 0.0), POOR)
    if overruled and rival.misfit[0] <= UNLIKELY * rival.freedom(n):  # else its misfit is not chance
        taken = rival
    # a misfit beyond the scatter of the points widens the intervals of the law
    wide = float(np.sqrt(max(1.0, taken.misfit[0] / taken.freedom(n))))
    anew = given + wide * (draws[:, :n] - given)
    drawn, shares = _drawn(families, inner, anew, wide * doubt)
    curve = taken.curve()
    law = FittedLaw(
        family=taken.family.name,
        formula=curve.formula(),
        coefficients=list(curve.coefficients),
        exponent=curve.exponent if taken.family.has_exponent else None,
        intervals=_intervals(taken.family, inner, anew, wide * doubt),
        criterion=criterion,
        left_out=left_out,
        shares=shares,
        leading_term=leading_term(curve, float(inner[-1])),
        local_exponent=local_exponent(curve, inner),
        change=change,
        doubts=[],
        p=p,
        values=values,
        drawn=drawn,
    )
    law.doubts.extend(_doubts(law, fits, wide))
    return law, []


def _fit_all(families: Sequence[Family], p: Floats, values: Floats, sigma: Floats) -> list[Fits]:
    return [fit_family(family, p, values, sigma) for family in families if family.is_told_by(p)]


def _criterion(fit: Fits, n: int) -> Floats:
    return np.asarray(fit.misfit + fit.family.parameters * np.log(n))


def _chosen(fits: list[Fits], n: int) -> list[int]:
    """The number of the simplest family near the best, for each set of points."""
    criterion = np.stack([_criterion(fit, n) for fit in fits])
    size = np.array([fit.family.parameters for fit in fits])[:, None]
    near = criterion <= criterion.min(axis=0) + NEAR
    return list(np.where(near, size * 1e12 + criterion, np.inf).argmin(axis=0))


def _drawn(families: Sequence[Family], p: Floats, draws: Floats, sigma: Floats) -> tuple[list[Curve], dict[str, float]]:
    fits = _fit_all(families, p, draws, sigma)
    curves = [fits[which].curve(number) for number, which in enumerate(_chosen(fits, p.size))]
    names = [curve.family.name for curve in curves]
    shares = {name: names.count(name) / len(names) for name in sorted(dict.fromkeys(names), key=names.count, reverse=True)}
    return curves, shares


def _intervals(family: Family, p: Floats, draws: Floats, sigma: Floats) -> list[tuple[float, float]]:
    fit = fit_family(family, p, draws, sigma)
    columns = [*fit.coefficients.T, *([fit.exponent] if family.has_exponent else [])]
    return [(float(low), float(high)) for low, high in (np.quantile(column, (0.025, 0.975)) for column in columns)]


def _left_out(families: Sequence[Family], p: Floats, values: Floats, sigma: Floats) -> dict[str, float]:
    """Worst relative error of each family at points that it was not fitted to."""
    worst, kept = {}, [np.arange(p.size) != out for out in range(p.size)]
    for family in families:
        if all(family.is_told_by(p[keep], 0) for keep in kept):
            laws = [fit_family(family, p[keep], values[None, keep], sigma[keep]).curve() for keep in kept]
            worst[family.name] = max(abs(float(law(p[out])[0]) / values[out] - 1.0) for out, law in enumerate(laws))
    return worst


def _change(p: Floats, values: Floats, sigma: Floats, families: Sequence[Family]) -> float | None:
    """The p above which another mechanism is at work: two laws, or a law and single points, are better than one law."""
    found, least = None, _least(families, p, values, sigma)[0] - NEAR
    if least <= 3.0 * np.log(p.size):  # the penalty of a constant, one more value and the cut, without any misfit
        return None
    for cut in range(4, p.size):
        rest = p.size - cut
        lower = _least(families, p[:cut], values[:cut], sigma[:cut])
        upper = _least(families, p[cut:], values[cut:], sigma[cut:])[0] if rest >= 4 else rest * np.log(p.size)
        both = lower[0] + upper + np.log(p.size)
        if both < least and abs(float(lower[1](p[cut])[0]) / values[cut] - 1.0) > APART:
            found, least = float(p[cut - 1]), both
    return found


def _least(families: Sequence[Family], p: Floats, values: Floats, sigma: Floats) -> tuple[float, Curve]:
    fits = _fit_all(families, p, values[None], sigma)
    best = min(fits, key=lambda fit: float(_criterion(fit, p.size)[0]))
    return float(_criterion(best, p.size)[0]), best.curve()


def _doubts(law: FittedLaw, fits: list[Fits], wide: float) -> list[str]:
    doubts = []
    if law.change is not None:
        after = law.p[law.p > law.change]
        off = law.values[law.described.size] / float(law.curve(after[0])[0])
        doubts.append(
            f"Another mechanism is at work above p = {law.change:g}: at p = {after[0]:g} the value is {off:.2f} times what the law of "
            "the smaller p says. The law holds up to there."
        )
    if wide**2 > UNLIKELY and law.worst > POOR:
        doubts.append(
            f"No family describes the points: the best misses one by {law.worst:.0%}, {wide:.0f} times what their scatter allows."
        )
    n = law.described.size
    if n < 4 or (n < 5 and n - law.curve.family.parameters <= 1):
        doubts.append(f"{n} values of p are too few to hold a law against them.")
    twice = 2.0 * float(law.described[-1])
    own = float(law.curve(twice)[0])
    rivals = [fit for fit in fits if fit.family.name != law.family]
    rival = min(rivals, key=lambda fit: law.criterion[fit.family.name], default=None)
    if rival is not None and law.criterion[rival.family.name] <= law.criterion[law.family] + NEAR:
        apart = abs(float(rival.curve()(twice)[0]) / own - 1.0)
        if apart > APART:
            doubts.append(
                f"p values or repeats are too few to choose a family: {law.family} and {rival.family.name} describe the points "
                f"alike, and differ by {apart:.0%} at p = {twice:g}."
            )
    return doubts
