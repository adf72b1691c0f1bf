"""Days of weather from the climate and from random fields. `docs/generator.md` has the equations, their fit and their errors.

Wetness z is a standard normal field, a sum of fields from months and 1,500 km to a day and 25 km. Rain is a function of it alone
(`amount.py`); the other variables go with the wetness of the day, of the day before and of the day after, and have fields of their own.
What lasts from day to day is a finite sum over the noise of the days before, so a day needs nothing but its number.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.io.ingest.generator.amount import rain_of, threshold_and_scale
from steppe.io.ingest.generator.climate import YEAR, days, read_spread, read_surfaces, season, southern
from steppe.io.ingest.generator.lattice import TAPS, Lattice, Patch, along_time
from steppe.io.ingest.meteorology import Values, extraterrestrial_radiation, pan_evaporation, saturation_vapour_pressure

SLOW = Lattice(1500.0, stream=0, days=90)
LARGE, MIDDLE, SMALL, FINE = Lattice(650.0, stream=1), Lattice(220.0, stream=2), Lattice(70.0, stream=3), Lattice(25.0, stream=4)
DROUGHT = 0.010  # [1] share of the slow field in the variance of wetness
SHOWERS = {MIDDLE: 0.20, SMALL: 0.45, FINE: 0.35}  # [1] shares of the fields in the variance of showers
SHOWERY = 0.29  # [1] share of showers in the variance of wetness, mean of the year ...
SEASONAL = 0.18  # [1] ... and by how much it is more in summer at 25 S; none at 35 S
FEWEST, MOST = 0.10, 0.50  # [1] bounds of that share
WET_DAYS = np.array([1.0, 1.1, 0.7, 0.25])  # weights of the last days in what lasts of wetness
LAG_ONE = float((WET_DAYS[:-1] * WET_DAYS[1:]).sum() / (WET_DAYS**2).sum())  # correlation of what lasts with the day before, 0.74
WARM_DAYS: Values = 0.75 ** np.arange(14.0)  # ... and in what lasts of warmth
STEPS = 36  # of the year at which the climate is worked out; straight lines between
LEAST_RANGE, LEAST_MEAN_RANGE = 1.0, 4.0  # [K] between tmin and tmax of a day, and of the climate where it is extrapolated
DIMMEST = 0.08  # [1] clearness of the darkest day
SUPERSATURATION = 3.0  # [hPa] of vp above saturation at tmin; the vapour pressure is that of 9 a.m.


class Climate(NamedTuple):
    """What days are made of, (steps or days, cells): see `Surfaces` and `Spread`, `threshold_and_scale`.

    lasting, fleeting, showers: shares of the variance of wetness [1] that are large and last, are large and do not, and are small.
    """

    threshold: Values
    scale: Values
    tmax: Values
    tmin: Values
    vp: Values
    clearness: Values
    spread_tmax: Values
    spread_tmin: Values
    spread_vp: Values
    lasting: Values
    fleeting: Values
    showers: Values


class Generator:
    """Days of weather for some cells. latitude, longitude (cells,) [degrees]; the same seed gives the same weather.

    A cell's values depend on seed, day and its latitude and longitude alone, to the bit, whatever other cells and days are made with it.
    """

    def __init__(self, latitude: Values, longitude: Values, seed: int) -> None:
        self.latitude, self.seed = latitude, seed
        self._patches = {lattice: Patch(lattice, latitude, longitude) for lattice in (SLOW, LARGE, MIDDLE, SMALL, FINE)}
        self._climate, self._memory = make_climate(latitude, longitude)
        self._days = days()

    def weather(self, first: int, count: int) -> dict[str, Values]:
        """Name -> (days, cells) of rain, tmin, tmax, radiation, vp and pan on `count` days from `first` on, counted from 1850-01-01."""
        day_of_year = days_of_year(first, count)
        climate = _on_days(self._climate, day_of_year)
        wetness, own = self._fields(first, count)
        around = (wetness[:-2], wetness[1:-1], wetness[2:])
        mixing = zip(self._days["couplings"], self._days["own"], strict=True)
        tmax, tmin, cloud, vp = (_sum((*by_wetness, *by_own), (*around, *own)) for by_wetness, by_own in mixing)
        rain = rain_of(around[1] - climate.threshold, climate.scale)
        tmax = climate.tmax + climate.spread_tmax * tmax
        tmin = np.minimum(climate.tmin + climate.spread_tmin * tmin, tmax - LEAST_RANGE)
        clear, bend = self._days["clear"], self._days["bend"]
        deficit = (clear - climate.clearness) / (1.0 + bend * bend) * (cloud + bend) ** 2
        radiation = np.maximum(clear - deficit, DIMMEST) * extraterrestrial_radiation(self.latitude, day_of_year)
        vp = np.exp(climate.vp + climate.spread_vp * (vp - 0.5 * climate.spread_vp))
        vp = np.minimum(vp, saturation_vapour_pressure(tmin) + SUPERSATURATION)
        pan = pan_evaporation(radiation, tmax, tmin)
        return {"rain": rain, "tmin": tmin, "tmax": tmax, "radiation": radiation, "vp": vp, "pan": pan}

    def _fields(self, first: int, count: int) -> tuple[Values, list[Values]]:
        """Wetness of `count` days and of the day before and after, and four fields that are the variables' own, (days, cells)."""
        before = max(len(WET_DAYS), len(WARM_DAYS))
        large = self._patches[LARGE].noise(first - before, count + before + 1, self.seed)
        small = {lattice: self._patches[lattice].noise(first - 1, count + 2, self.seed) for lattice in SHOWERS}
        slow = self._patches[SLOW].spread(np.sqrt(DROUGHT) * self._slow(first - 1, count + 2))
        lasting = self._patches[LARGE].spread(_lasting(large[0], WET_DAYS, count + 2, before - 1))
        fleeting = self._patches[LARGE].spread(large[3, before - 1 :])
        showers = np.zeros_like(slow)
        for lattice, share in SHOWERS.items():
            showers += self._patches[lattice].spread(np.sqrt(share) * small[lattice][0])
        day_of_year = days_of_year(first - 1, count + 2)
        shares = (_on_steps(values, day_of_year) for values in (self._climate.lasting, self._climate.fleeting, self._climate.showers))
        wetness = slow
        for field, variance in zip((lasting, fleeting, showers), shares, strict=True):
            wetness += np.sqrt(variance) * field
        warm, damp = (self._patches[LARGE].spread(_lasting(large[word], WARM_DAYS, count, before)) for word in (1, 2))
        brief, cloud, vapour = (self._patches[MIDDLE].spread(small[MIDDLE][word, 1:-1]) for word in (1, 2, 3))
        warmth = np.sqrt(self._memory) * warm + np.sqrt(1.0 - self._memory) * brief
        return wetness, [warmth, damp, cloud, vapour]

    def _slow(self, first: int, count: int) -> Values:
        """The noise of drought and plenty at its lattice points on days, (days, points)."""
        start, row, weights = along_time(first, count, SLOW.days)
        noise = self._patches[SLOW].noise(start, int(row[-1]) + TAPS, self.seed)[0]
        return sum((noise[row + tap] * weights[:, tap, None] for tap in range(TAPS)), np.zeros((count, noise.shape[1])))


def make_climate(latitude: Values, longitude: Values) -> tuple[Climate, Values]:
    """The climate of cells (cells,) [degrees] at STEPS angles of the year, and the memory of their tmax (cells,)."""
    angle = np.arange(float(STEPS)) * (2.0 * np.pi / STEPS)
    surfaces = read_surfaces(latitude, longitude, angle)
    spread = read_spread(latitude, longitude, angle, surfaces.rain)
    threshold, scale = threshold_and_scale(spread.dry, surfaces.rain)
    tmin = np.minimum(surfaces.tmin, surfaces.tmax - LEAST_MEAN_RANGE)
    north = np.clip((southern(latitude) + 35.0) / 10.0, 0.0, 1.3)  # 0 at 35 S, 1 at 25 S; 22 S and beyond alike, where stations end
    showers = np.clip(SHOWERY + SEASONAL * north * np.cos(season(angle, latitude)), FEWEST, MOST)
    large = 1.0 - DROUGHT - showers
    lasting = np.clip((spread.persistence - DROUGHT) / LAG_ONE, 0.0, large)
    typical = (surfaces.tmax, tmin, surfaces.vp, surfaces.clearness)
    climate = Climate(
        threshold, scale, *typical, np.exp(spread.tmax), np.exp(spread.tmin), np.exp(spread.vp), lasting, large - lasting, showers
    )
    return climate, np.clip(spread.memory[0], 0.0, 1.0)


def days_of_year(first: int, count: int) -> NDArray[np.int64]:
    """The day of the year (days,) [1 = 1 January] of `count` days from `first` on, counted from 1850-01-01, in the standard calendar."""
    dates = np.datetime64("1850-01-01") + np.arange(first, first + count)
    since_new_year: NDArray[np.int64] = (dates - dates.astype("datetime64[Y]").astype("datetime64[D]")).astype(np.int64)
    return since_new_year + 1


def _on_days(climate: Climate, day_of_year: NDArray[np.int64]) -> Climate:
    """The climate on days of the year, (days, cells)."""
    return Climate(*(_on_steps(values, day_of_year) for values in climate))


def _on_steps(values: Values, day_of_year: NDArray[np.int64]) -> Values:
    """Values at STEPS angles of the year on days of the year, (days, cells)."""
    position = (day_of_year - 0.5) * (STEPS / YEAR)
    step = np.floor(position).astype(np.int64)
    part = (position - step)[:, None]
    found: Values = values[step % STEPS]
    found += (values[(step + 1) % STEPS] - found) * part
    return found


def _lasting(noise: Values, weights: Values, count: int, before: int) -> Values:
    """A moving sum over the days up to each of `count` days, the first of which is day `before` of the noise (days, points); variance 1."""
    total = np.zeros((count, noise.shape[1]))
    for lag, weight in enumerate(weights / np.sqrt((weights**2).sum())):
        total += weight * noise[before - lag : before - lag + count]
    return total


def _sum(factors: tuple[float, ...], fields: tuple[Values, ...]) -> Values:
    """Sum of fields times factors, in their order."""
    total = factors[0] * fields[0]
    for factor, field in zip(factors[1:], fields[1:], strict=True):
        if factor:
            total += factor * field
    return total
