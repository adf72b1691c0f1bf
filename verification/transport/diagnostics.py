"""How a tracer differs from what it should be: norms, mixing of a pair of tracers, filaments, mass."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CHI = 0.1, 1.0  # the range of `bells`
XI = tuple(0.9 - 0.8 * np.square(CHI))[::-1]  # the range of `correlated`
THRESHOLDS = tuple(round(0.1 + 0.05 * k, 2) for k in range(19))


class Norms(NamedTuple):
    """Errors relative to the exact solution (l1, l2, linf), to its range (dmax, dmin), and of mass."""

    l1: float
    l2: float
    linf: float
    dmax: float
    dmin: float
    dmass: float


def norms(found: Floats, exact: Floats, mass: Any) -> Norms:
    """Williamson et al. (1992), J. Comput. Phys. 102, equations 82 to 84, and the normalised extremes of their section 3.

    found, exact: of one shape. mass: that of the air of each cell, or the area of the cell, of a shape that broadcasts.
    """
    mass = np.broadcast_to(mass, found.shape)
    error, extent = found - exact, exact.max() - exact.min()
    whole = (mass * exact).sum()
    return Norms(
        float((mass * np.abs(error)).sum() / (mass * np.abs(exact)).sum()),
        float(np.sqrt((mass * error**2).sum() / (mass * exact**2).sum())),
        float(np.abs(error).max() / np.abs(exact).max()),
        float((found.max() - exact.max()) / extent),
        float((found.min() - exact.min()) / extent),
        float(((mass * found).sum() - whole) / whole),
    )


class Mixing(NamedTuple):
    """Real mixing, unmixing within the range of the tracers, overshooting."""

    real: float
    unmixing: float
    over: float


def mixing(chi: Floats, xi: Floats, area: Any, points: int = 0) -> Mixing:
    """Lauritzen and Thuburn (2012), Q. J. R. Meteorol. Soc. 138, section 3: of tracers with xi = 0.9 - 0.8 chi^2 at first.

    chi, xi, area: of one shape, or one that broadcasts. Each cell counts with its area and its distance from the curve, where a range of
    either tracer has length 1: between curve and chord as mixing, elsewhere within both ranges as unmixing, outside them as overshooting.
    points: if not 0, the distance is that from the nearest of so many points of the curve at equal steps of chi.
    """
    distance = np.sqrt(_nearest(chi, xi, points)[0]) if points else _distance(chi, xi)
    area = np.broadcast_to(area, chi.shape)
    outside = (chi < CHI[0]) | (chi > CHI[1]) | (xi < XI[0]) | (xi > XI[1])
    chord = XI[1] + (XI[0] - XI[1]) * (chi - CHI[0]) / (CHI[1] - CHI[0])
    mixed = ~outside & (xi <= 0.9 - 0.8 * chi**2) & (xi >= chord)
    return Mixing(*(float((area * distance)[cells].sum() / area.sum()) for cells in (mixed, ~outside & ~mixed, outside)))


WIDE, HIGH = CHI[1] - CHI[0], XI[1] - XI[0]


def _nearest(chi: Floats, xi: Floats, points: int) -> tuple[Floats, Floats]:
    """The square of the distance from the nearest of some points of the curve, and its chi."""
    found, at = np.full(chi.shape, np.inf), np.zeros(chi.shape)
    for x in np.linspace(*CHI, points):
        square = ((chi - x) / WIDE) ** 2 + ((xi - (0.9 - 0.8 * x**2)) / HIGH) ** 2
        np.copyto(at, x, where=square < found)
        np.minimum(found, square, out=found)
    return found, at


def _distance(chi: Floats, xi: Floats) -> Floats:
    """From the curve between the ends of the range of chi, by Newton's method from the nearest of some points of it."""
    found, at = _nearest(chi, xi, 101)
    for _ in range(8):
        error = 0.9 - 0.8 * at**2 - xi
        first = (at - chi) / WIDE**2 - 1.6 * at * error / HIGH**2
        second = 1.0 / WIDE**2 + (2.56 * at**2 - 1.6 * error) / HIGH**2
        at = np.clip(at - np.where(second > 0.0, first / np.where(second > 0.0, second, 1.0), 0.0), *CHI)
    return np.asarray(np.sqrt(np.minimum(found, ((chi - at) / WIDE) ** 2 + ((xi - 0.9 + 0.8 * at**2) / HIGH) ** 2)))


def filaments(found: Floats, first: Floats, area: Any) -> dict[float, float]:
    """Lauritzen et al. (2012), Geosci. Model Dev. 5, equations 27 and 28: area in percent of the first one, where a tracer is not less than
    each of `THRESHOLDS`; 0 where it was less everywhere.
    """
    area = np.broadcast_to(area, found.shape)
    before = {tau: area[first >= tau].sum() for tau in THRESHOLDS}
    return {tau: float(100.0 * area[found >= tau].sum() / whole) if whole else 0.0 for tau, whole in before.items()}
