"""How years differ, fitted to station records: the slow fields of `days.toml`. Part of `scripts/data/fit_generator.py`.

`slow` and `pan` follow from the covariance of annual means: that of the records, less what the days of a year bring by themselves.
`drought` is chosen by trial: weather is generated with each of TRIALS, and its annual rain is compared with that of the records.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from verification.generator.compare import LEAST_YEARS, annual_totals, make, of_years
from verification.generator.records import Record, detrended, yearly

from steppe.ingest.generator.climate import days
from steppe.ingest.generator.lattice import TAPS, along_time
from steppe.ingest.generator.weather import PAN, SLOW, WARM_DAYS
from steppe.ingest.meteorology import pan_evaporation

Values = NDArray[np.float64]

DAYS = 365  # [d] of a year
TRIALS = (0.004, 0.007, 0.010, 0.013, 0.016, 0.020)  # [1] of drought
SEEDS = range(101, 109)  # thirty years each; verification has others
APART = ((150.0, 250.0), (550.0, 700.0), (900.0, 1200.0))  # [km] between the stations of a pair
LEAST_SHARE = 1e-4  # [1] of a slow field in the variance of a variable


class Daily(NamedTuple):
    """What the days of a year are made of.

    couplings (4, 3) of tmax, tmin, cloud and ln vp with wetness; covariance (4, 4) of what these do not explain; lags: correlation of
    wetness with that of the same day and of the days before; memory [1]: share of tmax's own part that lasts.
    """

    couplings: Values
    covariance: Values
    lags: tuple[float, ...]
    memory: float


def annual_covariance(stations: list[tuple[Record, list[Values]]]) -> Values:
    """Covariance of the annual means of standard days, detrended, mean of the stations; standard days: some series (days,) a station."""
    found = []
    for record, series in stations:
        left = np.stack([detrended(*yearly(values, record.year)) for values in series])
        years = (~np.isnan(left)).sum(axis=1).max()
        if years >= LEAST_YEARS:
            left = left[:, ~np.isnan(left).all(axis=0)]
            found.append(left @ left.T / (years - 2))
    mean: Values = np.nanmean(found, axis=0)
    return mean


def fit_slow(annual: Values, daily: Daily, drought: float) -> tuple[Values, Values]:
    """The rows `slow` and `own` of `days.toml` from the annual covariance (5, 5) of wetness, tmax, tmin, cloud and ln vp.

    Slow and own fields share what the couplings with wetness do not explain, so that the covariance of days stays that of the records.
    """
    by_wetness = daily.couplings.sum(axis=1)
    follows = np.concatenate([[1.0], by_wetness])
    wet = (1.0 - drought + 2.0 * sum(lag - drought for lag in daily.lags[1:])) / DAYS
    warm = float(WARM_DAYS.sum() ** 2 / (WARM_DAYS**2).sum())  # [d] that a mean of what lasts counts as one
    lasting = np.array([daily.memory * warm + 1.0 - daily.memory, warm, 1.0, 1.0])
    own = np.linalg.cholesky(daily.covariance)
    for _ in range(10):
        fast = wet * np.outer(follows, follows)
        fast[1:, 1:] += (own * lasting) @ own.T / DAYS
        loads = np.linalg.cholesky(positive((annual - fast) / variance_of_mean(SLOW[0].days)))[1:]
        own = np.linalg.cholesky(daily.covariance - (loads @ loads.T - drought * np.outer(by_wetness, by_wetness)))
    loads[:, 0] -= by_wetness * np.sqrt(drought)  # the couplings bring it
    return loads, own


def fit_pan(records: list[Record]) -> float:
    """Standard deviation of ln of a slow factor that gives the formula's annual pan evaporation the spread of measured pans."""
    found = []
    for record in records:
        counts = record.pan > 0.0
        measured, formula = (
            detrended(*yearly(np.where(counts, np.log(np.where(counts, values, 1.0)), np.nan), record.year))
            for values in (record.pan, pan_evaporation(record.radiation, record.tmax, record.tmin))
        )
        if (~np.isnan(measured)).sum() >= LEAST_YEARS:
            found.append((np.nanstd(measured), np.nanstd(formula)))
    measured, formula = np.transpose(found)
    more = float(np.median(measured**2 - formula**2))
    print(f"standard deviation of ln of annual pan: measured {np.median(measured):.3f}, formula {np.median(formula):.3f}, medians")
    return float(np.sqrt(more / variance_of_mean(PAN.days)))


def fit_drought(records: list[Record], write: Callable[[float], None]) -> float:
    """The share of the slow field in wetness whose annual rain is nearest to the records; `write` writes `days.toml` for one.

    Compared are the mean ln of the ratio of standard deviations, and the correlation of stations at distances APART. An error counts in
    units of the spread between thirty years and other thirty years.
    """
    mean, chance = [], []
    for trial in TRIALS:
        write(trial)
        days.cache_clear()
        found = np.array([annual_rain(records, seed) for seed in SEEDS])
        mean.append(found.mean(axis=0))
        chance.append(found.std(axis=0, ddof=1))
        apart = mean[-1][1:].round(3).tolist()
        print(f"drought {trial:.3f}: ln of ratio of sd, less seen: {mean[-1][0]:+.3f}; correlation less seen: {apart}")
    size = np.mean(chance, axis=0)
    loss = ((np.array(mean) / size) ** 2).sum(axis=1)
    curve = np.polyfit(TRIALS, loss, 2)
    best = float(np.clip(-curve[1] / (2.0 * curve[0]), TRIALS[0], TRIALS[-1]))
    print(f"chance of thirty years: {size.round(3).tolist()}; loss {loss.round(2).tolist()}, least at drought {best:.4f}")
    return best


def annual_rain(records: list[Record], seed: int) -> list[float]:
    """Errors of thirty years of one seed: of ln of the standard deviation of annual totals, and of their correlations."""
    made = make(records, range(seed, seed + 1))
    seen = [(i, totals) for i, record in enumerate(records) if len(totals := record.annual_rain()) >= LEAST_YEARS]
    spread = np.mean([np.log(annual_totals(made, i).std(ddof=1) / totals.std(ddof=1)) for i, totals in seen])
    together = [of_years(records, made, low, high) for low, high in APART]
    return [float(spread), *(pair.made - pair.seen for pair in together)]


def variance_of_mean(apart: int, years: int = 40) -> float:
    """Variance [1] of the mean of a year of a field of variance 1 whose noise is `apart` days apart."""
    day = np.arange(years * DAYS)
    _, row, weights = along_time(day.astype(np.float64), apart)
    of_noise = np.zeros((day.size, row[-1] + TAPS))
    for tap in range(TAPS):
        of_noise[day, row + tap] += weights[:, tap]
    means = of_noise.reshape(years, DAYS, -1).mean(axis=1)
    return float((means**2).sum(axis=1).mean())


def positive(covariance: Values) -> Values:
    """The nearest matrix without eigenvalues below LEAST_SHARE: chance in the records leaves some."""
    values, vectors = np.linalg.eigh(covariance)
    return (vectors * np.maximum(values, LEAST_SHARE)) @ vectors.T
