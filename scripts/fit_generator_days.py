"""How days differ from the climate, fitted to station records: `days.toml`. Part of `scripts/fit_generator.py`."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import multivariate_normal, norm
from verification.generator.records import WET, Record, departures

from steppe.io.ingest.generator.climate import YEAR, local, waves
from steppe.io.ingest.meteorology import extraterrestrial_radiation

Values = NDArray[np.float64]

LENGTH = np.array([31, 28.25, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])  # [d] of the months
ANGLE = 2.0 * np.pi * (np.cumsum(LENGTH) - LENGTH / 2.0) / YEAR  # of their middles
DRIEST = 0.03  # [mm d-1] a month with less counts as this
MANY = 1400.0  # [d] of a month in 46 years: weight 1
PENALTY = 0.02  # what the stations do not tell stays near nothing
CLEAR = 0.77  # [1] clearness of a sky without a cloud: the greatest share of the radiation above the air that is seen
LASTING = 0.75  # lag-1 correlation of the field of warmth that lasts; weather.py, WARM_DAYS
LAGS = (1.0, 0.46, 0.22, 0.10)  # correlation of wetness with that of as many days before; median of the stations
LATENT = np.array([[LAGS[abs(i - j)] for j in range(3)] for i in range(3)])  # of wetness on three days
FOLLOWING = np.array([[LAGS[abs(1 + i - j)] for j in range(3)] for i in range(3)])  # ... and on three days from the day before


def write_days(records: list[Record], path: Path) -> None:
    """Fits and writes `days.toml`."""
    dry, by_rain = fit_dry(records)
    spread = {name: fit_spread(records, name) for name in ("tmax", "tmin", "vp")}
    persistence = fit_persistence(records)
    couplings, own, bend, memory = fit_couplings(records)
    lines = [
        "# How days differ from the climate. Fitted to station records by scripts/fit_generator.py; weather.py says what the numbers mean.",
        "# Rows of a surface: mean, cos1, sin1 of the year.",
        "# Columns: 1, l = (latitude + 25) / 10, near = exp(-coast / 50 km), near l, exp(-coast / 250 km).",
        f"clear = {CLEAR}  # [1] clearness of a sky without a cloud",
        f"bend = {bend:.2f}  # [1] of the law of cloud: the less, the more skewed",
        f"dry_by_rain = {by_rain:.3f}  # [1] by which the normal quantile of the share of wet days grows with ln of the mean rain",
        f"dry = {rows(dry)}  # that quantile at 1 mm d-1",
        f"persistence = {rows(persistence)}  # [1] correlation of wetness with that of the day before",
        *(
            f"{name} = {rows(values)}  # ln of the standard deviation [{'ln hPa' if name == 'vp' else 'degC'}]"
            for name, values in spread.items()
        ),
        f"memory = {rows(memory)}  # [1] share of tmax's own variance that lasts",
        "# tmax, tmin, cloud, ln vp of a day, standard normal, by the wetness of the day before, of the day and of the day after ...",
        f"couplings = {rows(couplings)}",
        "# ... and what is their own: the root of its correlations",
        f"own = {rows(own)}",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def rows(values: Values) -> str:
    """An array of arrays in TOML."""
    return "[" + ", ".join("[" + ", ".join(f"{value:.3f}" for value in row) + "]" for row in values) + "]"


def surface_terms(record: Record) -> Values:
    """The terms of `days.toml` at a station in each month, (12, terms): those of the place by the three of the season."""
    here = local(np.array([record.latitude]), np.array([record.longitude]))[:, 0]
    return np.stack([np.outer(turn, here).ravel() for turn in waves(ANGLE, 3).T])


def regress(terms: Values, values: Values, weight: Values) -> Values:
    """Ridge regression, weighted."""
    weighted = (terms * weight[:, None]).T
    return np.linalg.solve(weighted @ terms + PENALTY * len(values) / 12.0 * np.eye(terms.shape[1]), weighted @ values)


def fit_dry(records: list[Record]) -> tuple[Values, float]:
    """Share of wet days from mean rain, place and season."""
    terms, values, weight, share = [], [], [], []
    for record in records:
        for m, days in enumerate(by_month(record.rain, record.month)):
            days = days[~np.isnan(days)]
            terms.append([np.log(max(days.mean(), DRIEST)), *surface_terms(record)[m]])
            share.append((days >= WET).mean())
            values.append(ndtri(share[-1]))
            weight.append(len(days) / MANY)
    found = regress(np.array(terms), np.array(values), np.array(weight))
    error = np.abs(np.reshape(norm.cdf(np.array(terms) @ found) - share, (-1, 12)).mean(axis=1))
    print(f"share of wet days of a station: median error {np.median(error):.4f}, nine of ten below {np.quantile(error, 0.9):.4f}")
    return found[1:].reshape(3, -1), float(found[0])


def fit_persistence(records: list[Record]) -> Values:
    """Correlation of the normal numbers behind wet and dry on two days, from the share of pairs of days that are both wet."""
    terms, values, weight = [], [], []
    for record in records:
        known = ~np.isnan(record.rain)
        pair = known[:-1] & known[1:]
        wet = record.rain >= WET
        for m in range(12):
            of = pair & (record.month[1:] == m)
            first, second, both = (float(days[of].mean()) for days in (wet[:-1], wet[1:], wet[:-1] & wet[1:]))
            terms.append(surface_terms(record)[m])
            values.append(latent_correlation(first, second, both))
            weight.append(of.sum() / MANY * first)
    found = regress(np.array(terms), np.array(values), np.array(weight) / np.mean(weight))
    error = np.abs(np.mean(np.reshape(np.array(terms) @ found - values, (-1, 12)), axis=1))
    print(f"persistence of wetness at a station: median error {np.median(error):.3f}, greatest {error.max():.3f}")
    return found.reshape(3, -1)


def latent_correlation(first: float, second: float, both: float) -> float:
    """The correlation of two standard normal numbers that exceed thresholds with these chances, alone and together."""
    at = -ndtri([1.0 - first, 1.0 - second])
    excess = lambda r: multivariate_normal.cdf(at, cov=[[1.0, r], [r, 1.0]]) - both  # noqa: E731
    return float(brentq(excess, -0.5, 0.95)) if excess(-0.5) < 0.0 < excess(0.95) else 0.0


def fit_spread(records: list[Record], name: str) -> Values:
    """ln of the standard deviation of departures in a month."""
    terms, values = [], []
    for record in records:
        days = np.log(np.maximum(record.vp, 0.5)) if name == "vp" else getattr(record, name)
        if np.isnan(days).any():
            continue
        left = departures(days, record.day_of_year)
        terms.append(surface_terms(record))
        values.append([np.log(part.std()) for part in by_month(left, record.month)])
    found = regress(np.concatenate(terms), np.concatenate(values), np.ones(np.size(values)))
    error = np.abs(np.expm1(np.concatenate(terms) @ found - np.concatenate(values)))
    print(f"standard deviation of {name} in a month: median error {np.median(error):.3f}, nine of ten below {np.quantile(error, 0.9):.3f}")
    return found.reshape(3, -1)


def fit_couplings(records: list[Record]) -> tuple[Values, Values, float, Values]:
    """How tmax, tmin, cloud and vp go with wetness and with each other; the bend of cloud; the memory of tmax.

    The covariance of a standard normal y with "wet" is the correlation of y with wetness times the normal density at the threshold.
    """
    bends, slopes, correlations, lasting = [], [], [], []
    for record in records:
        if np.isnan(record.tmax).any():
            continue
        above = extraterrestrial_radiation(np.array([record.latitude]), record.day_of_year)[:, 0]
        clearness = record.radiation / above
        mean = np.array([clearness[record.month == m].mean() for m in range(12)])[record.month]
        deficit = np.clip(CLEAR - clearness, 0.0, None) / (CLEAR - mean)
        bend = bend_of(deficit.std())
        bends.append(bend)
        vp = np.full(len(mean), np.nan) if np.isnan(record.vp).any() else np.log(np.maximum(record.vp, 0.5))
        cloud = np.sqrt(deficit * (1.0 + bend * bend)) - bend
        days = [standard(values, record) for values in (record.tmax, record.tmin, cloud, vp)]
        wet = (record.filled >= WET).astype(float)
        with_wet = np.zeros((4, 3))
        inner = slice(1, -1)
        for m in range(12):
            of = record.month[inner] == m
            density = norm.pdf(ndtri(wet[inner][of].mean()))
            for j, moved in enumerate((wet[:-2], wet[1:-1], wet[2:])):
                with_wet[:, j] += [np.mean(y[inner][of] * (moved[of] - moved[of].mean())) / density / 12.0 for y in days]
        lag = np.array([np.mean(y[:-1] * y[1:]) for y in days])
        slope = np.linalg.solve(LATENT, with_wet.T).T
        slopes.append(slope)
        correlations.append(np.corrcoef(days) - slope @ LATENT @ slope.T)
        lasting.append((record, lag[0], slope[0]))
    couplings = np.nanmean(slopes, axis=0)
    covariance = np.nanmean(correlations, axis=0)
    np.fill_diagonal(covariance, 1.0 - np.einsum("ij,jk,ik->i", couplings, LATENT, couplings))
    # what lasts of tmax's own part: its lag-1 correlation less what wetness brings, over the persistence of the lasting field
    explained = 1.0 - covariance[0, 0]
    by_wetness = couplings[0] @ FOLLOWING @ couplings[0]
    share = np.array([(lag - by_wetness) / (1.0 - explained) / LASTING for _, lag, _ in lasting])
    here = np.array([local(np.array([r.latitude]), np.array([r.longitude]))[:, 0] for r, _, _ in lasting])
    memory = np.zeros((3, here.shape[1]))
    memory[0] = regress(here, share, np.ones(len(share)))
    error = np.abs((here @ memory[0] - share) * LASTING * (1.0 - explained))
    print(f"lag-1 of tmax of a station: median error {np.median(error):.3f}, greatest {error.max():.3f}")
    print("couplings with wetness", couplings.round(2).tolist(), "spread over stations", np.nanstd(slopes, axis=0).round(2).tolist())
    return couplings, np.linalg.cholesky(covariance), float(np.median(bends)), memory


def bend_of(variation: float) -> float:
    """The m with which (x + m)^2 / (1 + m^2), x standard normal, has this coefficient of variation."""
    squares = np.linspace(0.0, 50.0, 5001)
    return float(np.sqrt(np.interp(-(variation**2), -(2.0 + 4.0 * squares) / (1.0 + squares) ** 2, squares)))


def standard(values: Values, record: Record) -> Values:
    """Departures over their standard deviation of the month."""
    if np.isnan(values).any():
        return values
    left = departures(values, record.day_of_year)
    of_month = np.array([left[record.month == m].std() for m in range(12)])
    mean = np.array([left[record.month == m].mean() for m in range(12)])
    return (left - mean[record.month]) / of_month[record.month]


def by_month(values: Values, month: NDArray[np.int64]) -> list[Values]:
    """The days of each month."""
    return [values[month == m] for m in range(12)]
