"""How days differ from the climate, fitted to station records: `days.toml`. Part of `scripts/data/fit_generator.py`."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import multivariate_normal, norm
from scripts.data.fit_generator_slow import Daily, annual_covariance, fit_drought, fit_pan, fit_slow
from verification.generator.records import WET, Record, departures

from steppe.ingest.generator.climate import YEAR, local, waves
from steppe.ingest.meteorology import extraterrestrial_radiation

Values = NDArray[np.float64]

LENGTH = np.array([31, 28.25, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])  # [d] of the months
ANGLE = 2.0 * np.pi * (np.cumsum(LENGTH) - LENGTH / 2.0) / YEAR  # of their middles
DRIEST = 0.03  # [mm d-1] a month with less counts as this
MANY = 1400.0  # [d] of a month in 46 years: weight 1
PENALTY = 0.02  # what the stations do not tell stays near nothing
CLEAR = 0.77  # [1] clearness of a sky without a cloud: the greatest share of the radiation above the air that is seen
LEAST_DENSITY = 0.08  # [1] of a standard normal number at the threshold of wet days: in drier months a wet day would count too much
LASTING = 0.75  # lag-1 correlation of the field of warmth that lasts; weather.py, WARM_DAYS
LAGS = (1.0, 0.46, 0.22, 0.10)  # correlation of wetness with that of as many days before; median of the stations
LATENT = np.array([[LAGS[abs(i - j)] for j in range(3)] for i in range(3)])  # of wetness on three days
FOLLOWING = np.array([[LAGS[abs(1 + i - j)] for j in range(3)] for i in range(3)])  # ... and on three days from the day before


class Memory(NamedTuple):
    """What is known of how long the warmth of a station lasts."""

    record: Record
    lag: float  # [1] correlation of tmax with that of the day before


class Days(NamedTuple):
    """How the variables of a day go together.

    couplings (4, 3) of tmax, tmin, cloud and ln vp with wetness; covariance (4, 4) of what these do not explain; bend of the law of cloud.
    """

    couplings: Values
    covariance: Values
    bend: float
    memories: list[Memory]


def write_days(records: list[Record], path: Path) -> None:
    """Fits and writes `days.toml`."""
    dry, by_rain = fit_dry(records)
    spread = {name: fit_spread(records, name) for name in ("tmax", "tmin", "vp")}
    persistence = fit_persistence(records)
    fitted, annual = fit_couplings(records), annual_covariance(records_of_years(records))
    pan = fit_pan(records)

    def write(drought: float) -> None:
        rough = fit_memory(fitted, np.linalg.cholesky(fitted.covariance)[0, 0] ** 2, 0.0)
        slow, own = fit_slow(annual, Daily(fitted.couplings, fitted.covariance, LAGS, float(rough[0, 0])), drought)
        lasts = (slow[0, 0] + np.sqrt(drought) * fitted.couplings[0].sum()) ** 2 + (slow[0, 1:] ** 2).sum()
        memory = fit_memory(fitted, own[0, 0] ** 2, lasts - drought * fitted.couplings[0].sum() ** 2)
        lines = [
            "# How days and years differ from the climate. Fitted to station records by scripts/data/fit_generator.py, for weather.py.",
            "# Rows of a surface: mean, cos1, sin1 of the year.",
            "# Columns: 1, l = (latitude + 25) / 10, near = exp(-coast / 50 km), near l, exp(-coast / 250 km).",
            f"clear = {CLEAR}  # [1] clearness of a sky without a cloud",
            f"bend = {fitted.bend:.2f}  # [1] of the law of cloud: the less, the more skewed",
            f"dry_by_rain = {by_rain:.3f}  # [1] by which the normal quantile of the share of wet days grows with ln of the mean rain",
            f"dry = {rows(dry)}  # that quantile at 1 mm d-1",
            f"persistence = {rows(persistence)}  # [1] correlation of wetness with that of the day before",
            *(
                f"{name} = {rows(values)}  # ln of the standard deviation [{'ln hPa' if name == 'vp' else 'degC'}]"
                for name, values in spread.items()
            ),
            f"memory = {rows(memory)}  # [1] share of tmax's own variance that lasts",
            "# tmax, tmin, cloud, ln vp of a day, standard normal, by the wetness of the day before, of the day and of the day after ...",
            f"couplings = {rows(fitted.couplings)}",
            "# ... by the five slow fields, which last for months and of which the first moves wetness too ...",
            f"slow = {rows(slow)}",
            "# ... and what is their own: the root of its correlations",
            f"own = {rows(own)}",
            f"drought = {drought:.4f}  # [1] share of the first slow field in the variance of wetness",
            f"pan = {pan:.3f}  # [1] standard deviation of ln of pan evaporation over that of the formula; it lasts for more than a year",
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    write(fit_drought(records, write))


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


def fit_couplings(records: list[Record]) -> Days:
    """How tmax, tmin, cloud and vp go with wetness and with each other.

    The covariance of a standard normal y with "wet" is the correlation of y with wetness times the normal density at the threshold.
    """
    bends, slopes, correlations, memories = [], [], [], []
    for record in whole(records):
        days, bend = standard_days(record)
        bends.append(bend)
        wet = (record.filled >= WET).astype(float)
        with_wet = np.zeros((4, 3))
        inner = slice(1, -1)
        for m in range(12):
            of = record.month[inner] == m
            density = norm.pdf(ndtri(wet[inner][of].mean()))
            for j, moved in enumerate((wet[:-2], wet[1:-1], wet[2:])):
                with_wet[:, j] += [np.mean(y[inner][of] * (moved[of] - moved[of].mean())) / density / 12.0 for y in days]
        slope = np.linalg.solve(LATENT, with_wet.T).T
        slopes.append(slope)
        correlations.append(np.corrcoef(days) - slope @ LATENT @ slope.T)
        memories.append(Memory(record, float(np.mean(days[0][:-1] * days[0][1:]))))
    couplings: Values = np.nanmean(slopes, axis=0)
    covariance: Values = np.nanmean(correlations, axis=0)
    np.fill_diagonal(covariance, 1.0 - np.einsum("ij,jk,ik->i", couplings, LATENT, couplings))
    print("couplings with wetness", couplings.round(2).tolist(), "spread over stations", np.nanstd(slopes, axis=0).round(2).tolist())
    return Days(couplings, covariance, float(np.median(bends)), memories)


def fit_memory(fitted: Days, own: float, slow: float) -> Values:
    """What lasts of tmax's own part, of variance `own`: its lag-1 correlation less what wetness and the slow fields bring."""
    by_wetness = fitted.couplings[0] @ FOLLOWING @ fitted.couplings[0]
    share = np.array([(lag - by_wetness - slow) / own / LASTING for _, lag in fitted.memories])
    here = np.array([local(np.array([r.latitude]), np.array([r.longitude]))[:, 0] for r, _ in fitted.memories])
    memory = np.zeros((3, here.shape[1]))
    memory[0] = regress(here, share, np.ones(len(share)))
    return memory


def standard_days(record: Record) -> tuple[list[Values], float]:
    """tmax, tmin, cloud and ln vp (days,) over their standard deviation of the month, and the bend of the law of cloud."""
    above = extraterrestrial_radiation(np.array([record.latitude]), record.day_of_year)[:, 0]
    clearness = record.radiation / above
    mean = np.array([clearness[record.month == m].mean() for m in range(12)])[record.month]
    deficit = np.clip(CLEAR - clearness, 0.0, None) / (CLEAR - mean)
    bend = bend_of(deficit.std())
    vp = np.full(len(mean), np.nan) if np.isnan(record.vp).any() else np.log(np.maximum(record.vp, 0.5))
    cloud = np.sqrt(deficit * (1.0 + bend * bend)) - bend
    return [standard(values, record) for values in (record.tmax, record.tmin, cloud, vp)], bend


def records_of_years(records: list[Record]) -> list[tuple[Record, list[Values]]]:
    """Standard days of wetness, tmax, tmin, cloud and ln vp of each station.

    Wetness is not seen. "Wet" less its mean, over the normal density at the threshold, has the same covariance with any normal number.
    """
    found = []
    for record in whole(records):
        wet = (record.filled >= WET).astype(float)
        share = np.array([wet[record.month == m].mean() for m in range(12)])
        wetness = (wet - share[record.month]) / np.maximum(norm.pdf(ndtri(share)), LEAST_DENSITY)[record.month]
        found.append((record, [wetness, *standard_days(record)[0]]))
    return found


def whole(records: list[Record]) -> list[Record]:
    """Those with temperatures."""
    return [record for record in records if not np.isnan(record.tmax).any()]


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
