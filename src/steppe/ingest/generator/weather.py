"""Days of weather from the climate and from random fields. `docs/generator.md` has the equations, their fit and their errors.

Wetness z is a standard normal field, a sum of fields from months and 1,500 km to a day and 25 km. Rain is a function of it alone
(`amount.py`). The other variables follow the wetness of the day before, of the day and of the day after, and have fields of their own.
Slow fields move wetness and all other variables for months: they make one year differ from another. They are computed at the STEPS of the
year, with straight lines between, as the climate is. The part that lasts from day to day is a finite sum over the noise of the days
before. So a day needs its number only.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from steppe.array_types import Integers
from steppe.ingest.generator.amount import rain_of, threshold_and_scale
from steppe.ingest.generator.climate import YEAR, days, read_spread, read_surfaces, season, southern
from steppe.ingest.generator.lattice import TAPS, Lattice, Patch, along_time
from steppe.ingest.meteorology import Values, extraterrestrial_radiation, pan_evaporation, saturation_vapour_pressure

SLOW = (Lattice(1500.0, stream=0, days=90), Lattice(1500.0, stream=5, days=90))  # four kinds of noise each; five are used
PAN = Lattice(200.0, stream=6, days=500)  # exposure of pans: neighbours share it, stations 600 km apart do not
LARGE, MIDDLE, SMALL, FINE = Lattice(650.0, stream=1), Lattice(220.0, stream=2), Lattice(70.0, stream=3), Lattice(25.0, stream=4)
SHOWERS = {MIDDLE: 0.20, SMALL: 0.45, FINE: 0.35}  # [1] shares of the fields in the variance of showers
SHOWERY = 0.29  # [1] share of showers in the variance of wetness, mean of the year ...
SEASONAL = 0.18  # [1] ... and by how much it is more in summer at 25 S; none at 35 S
FEWEST, MOST = 0.10, 0.50  # [1] bounds of that share
WET_DAYS = np.array([1.0, 1.1, 0.7, 0.25])  # weights of the last days in the lasting part of wetness
LAG_ONE = float(
    (WET_DAYS[:-1] * WET_DAYS[1:]).sum() / (WET_DAYS**2).sum()
)  # correlation of the lasting part with that of the day before, 0.74
WARM_DAYS: Values = 0.75 ** np.arange(14.0)  # ... and in the lasting part of warmth
STEPS = 36  # of the year at which the climate is worked out; straight lines between
LEAST_RANGE, LEAST_MEAN_RANGE = 1.0, 4.0  # [K] between tmin and tmax of a day, and of the climate where it is extrapolated
DIMMEST = 0.08  # [1] clearness of the darkest day
SUPERSATURATION = 5.0  # [hPa] of the 9 a.m. vapour pressure above saturation at tmin; one recorded day in 200 has more


class Climate(NamedTuple):
    """The parameters of days, (steps or days, cells): see `Surfaces`, `ClimateSpread` and `threshold_and_scale`."""

    threshold: Values
    scale: Values
    tmax: Values
    tmin: Values
    vp: Values
    clearness: Values
    spread_tmax: Values
    spread_tmin: Values
    spread_vp: Values


class Parts(NamedTuple):
    """Standard deviations [1] of the parts of wetness (steps, cells): large and lasting, large and brief, small."""

    lasting: Values
    fleeting: Values
    showers: Values


class Slow(NamedTuple):
    """The departure of the year from the climate, (steps or days, cells).

    wetness, tmax, tmin, cloud, vp: in standard deviations of a day [1]; pan: factor [1].
    """

    wetness: Values
    tmax: Values
    tmin: Values
    cloud: Values
    vp: Values
    pan: Values


class Steps(NamedTuple):
    """The steps of the year about some days.

    number: of the steps, counted from 1850-01-01 (steps,). before: row of the step before each day (days,). part: of the way from
    there to the next step [1] (days, 1).
    """

    number: Integers
    before: Integers
    part: Values

    def without_ends(self) -> "Steps":
        """The same without the first and the last day."""
        return Steps(self.number, self.before[1:-1], self.part[1:-1])


class Generator:
    """Days of weather for some cells. latitude, longitude (cells,) [degrees]; the same seed gives the same weather.

    A cell's values depend on seed, day and its latitude and longitude alone, to the bit, whatever other cells and days are made with it.
    """

    def __init__(self, latitude: Values, longitude: Values, seed: int) -> None:
        self.latitude, self.seed = latitude, seed
        self._patches = {lattice: Patch(lattice, latitude, longitude) for lattice in (*SLOW, PAN, LARGE, MIDDLE, SMALL, FINE)}
        self._climate, self._parts, self._memory = make_climate(latitude, longitude)
        self._days = days()

    def weather(self, first: int, count: int) -> dict[str, Values]:
        """Name -> (days, cells) of rain, tmin, tmax, radiation, vp and pan on `count` days from `first` on, counted from 1850-01-01."""
        steps = steps_about(first - 1, count + 2)
        slow = self._slow(steps.number)
        typical = Climate(*(values[steps.number % STEPS] for values in self._climate))
        wetness, own = self._fields(first, count, slow.wetness, steps)
        climate = Climate(*(_on_days(values, steps.without_ends()) for values in _moved(typical, slow)))
        around = (wetness[:-2], wetness[1:-1], wetness[2:])
        mixing = zip(self._days["couplings"], self._days["own"], strict=True)
        tmax, tmin, cloud, vp = (_sum((*by_wetness, *by_own), (*around, *own)) for by_wetness, by_own in mixing)
        rain = rain_of(around[1] - climate.threshold, climate.scale)
        tmax = climate.tmax + climate.spread_tmax * tmax
        tmin = np.minimum(climate.tmin + climate.spread_tmin * tmin, tmax - LEAST_RANGE)
        clear, bend = self._days["clear"], self._days["bend"]
        cloud += _on_days(slow.cloud + bend, steps.without_ends())
        deficit = (clear - climate.clearness) / (1.0 + bend * bend) * cloud**2
        above = extraterrestrial_radiation(self.latitude, days_of_year(first, count))
        radiation = np.maximum(clear - deficit, DIMMEST) * above
        vp = np.exp(climate.vp + climate.spread_vp * (vp - 0.5 * climate.spread_vp))
        vp = np.minimum(vp, saturation_vapour_pressure(tmin) + SUPERSATURATION)
        pan = pan_evaporation(radiation, tmax, tmin) * _on_days(slow.pan, steps.without_ends())
        return {"rain": rain, "tmin": tmin, "tmax": tmax, "radiation": radiation, "vp": vp, "pan": pan}

    def _fields(self, first: int, count: int, slow: Values, steps: Steps) -> tuple[Values, list[Values]]:
        """Wetness of `count` days and of the day before and after, and four fields that are the variables' own, (days, cells)."""
        before = max(len(WET_DAYS), len(WARM_DAYS))
        large = self._patches[LARGE].noise(first - before, count + before + 1, self.seed)
        small = {lattice: self._patches[lattice].noise(first - 1, count + 2, self.seed) for lattice in SHOWERS}
        lasting = self._patches[LARGE].spread(_lasting(large[0], WET_DAYS, count + 2, before - 1))
        fleeting = self._patches[LARGE].spread(large[3, before - 1 :])
        showers = np.zeros_like(lasting)
        for lattice, share in SHOWERS.items():
            showers += self._patches[lattice].spread(np.sqrt(share) * small[lattice][0])
        wetness = _on_days(slow, steps)
        for field, deviation in zip((lasting, fleeting, showers), self._parts, strict=True):
            field *= _on_days(deviation[steps.number % STEPS], steps)
            wetness += field
        warm, damp = (self._patches[LARGE].spread(_lasting(large[word], WARM_DAYS, count, before)) for word in (1, 2))
        brief, cloud, vapour = (self._patches[MIDDLE].spread(small[MIDDLE][word, 1:-1]) for word in (1, 2, 3))
        warmth = np.sqrt(self._memory) * warm + np.sqrt(1.0 - self._memory) * brief
        return wetness, [warmth, damp, cloud, vapour]

    def _slow(self, number: Integers) -> Slow:
        """The slow fields at steps (steps, cells)."""
        noise = [kind for lattice in SLOW for kind in self._lasting_for_months(lattice, number)]
        roots = [(np.sqrt(self._days["drought"]), 0.0, 0.0, 0.0, 0.0), *self._days["slow"]]
        moved = (self._patches[SLOW[0]].spread(_sum(root, noise[: len(root)])) for root in roots)
        exposure = self._patches[PAN].spread(self._lasting_for_months(PAN, number)[0])
        wetness, tmax, tmin, cloud, vp = moved
        return Slow(wetness, tmax, tmin, cloud, vp, np.exp(self._days["pan"] * (exposure - 0.5 * self._days["pan"])))

    def _lasting_for_months(self, lattice: Lattice, number: Integers) -> Values:
        """Noise of four kinds at the points of a slow lattice, at steps: (4, steps, points)."""
        start, row, weights = along_time(np.multiply(number, YEAR / STEPS), lattice.days)
        noise = self._patches[lattice].noise(start, int(row[-1]) + TAPS, self.seed)
        nothing = np.zeros((len(noise), len(number), noise.shape[2]))
        return sum((noise[:, row + tap] * weights[:, tap, None] for tap in range(TAPS)), nothing)


def make_climate(latitude: Values, longitude: Values) -> tuple[Climate, Parts, Values]:
    """The climate of cells (cells,) [degrees] and the parts of their wetness at STEPS angles of the year; the memory of tmax (cells,)."""
    angle = np.arange(float(STEPS)) * (2.0 * np.pi / STEPS)
    surfaces = read_surfaces(latitude, longitude, angle)
    spread = read_spread(latitude, longitude, angle, surfaces.rain)
    threshold, scale = threshold_and_scale(spread.dry, surfaces.rain)
    tmin = np.minimum(surfaces.tmin, surfaces.tmax - LEAST_MEAN_RANGE)
    north = np.clip((southern(latitude) + 35.0) / 10.0, 0.0, 1.3)  # 0 at 35 S, 1 at 25 S; 22 S and beyond alike, where stations end
    showers = np.clip(SHOWERY + SEASONAL * north * np.cos(season(angle, latitude)), FEWEST, MOST)
    drought = days()["drought"]
    large = 1.0 - drought - showers
    lasting = np.clip((spread.persistence - drought) / LAG_ONE, 0.0, large)
    spreads = (np.exp(values) for values in (spread.tmax, spread.tmin, spread.vp))
    climate = Climate(threshold, scale, surfaces.tmax, tmin, surfaces.vp, surfaces.clearness, *spreads)
    parts = Parts(*(np.sqrt(share) for share in (lasting, large - lasting, showers)))
    return climate, parts, np.clip(spread.memory[0], 0.0, 1.0)


def days_of_year(first: int, count: int) -> Integers:
    """The day of the year (days,) [1 = 1 January] of `count` days from `first` on, counted from 1850-01-01, in the standard calendar."""
    dates = np.datetime64("1850-01-01") + np.arange(first, first + count)
    since_new_year: Integers = (dates - dates.astype("datetime64[Y]").astype("datetime64[D]")).astype(np.int64)
    return since_new_year + 1


def steps_about(first: int, count: int) -> Steps:
    """The steps about `count` days from `first` on, counted from 1850-01-01; each year begins with a step."""
    year = (np.datetime64("1850-01-01") + np.arange(first, first + count)).astype("datetime64[Y]").astype(np.int64) + 1970 - 1850
    position = (days_of_year(first, count) - 0.5) * (STEPS / YEAR)
    whole = np.floor(position)
    before = year * STEPS + whole.astype(np.int64)
    return Steps(np.arange(before[0], before[-1] + 2), before - before[0], (position - whole)[:, None])


def _moved(climate: Climate, slow: Slow) -> Climate:
    """The climate of the years that the slow fields make, (steps, cells)."""
    return climate._replace(
        tmax=climate.tmax + climate.spread_tmax * slow.tmax,
        tmin=climate.tmin + climate.spread_tmin * slow.tmin,
        vp=climate.vp + climate.spread_vp * slow.vp,
    )


def _on_days(values: Values, steps: Steps) -> Values:
    """Values at steps (steps, cells) on days, (days, cells)."""
    found: Values = values[steps.before]
    rise = np.diff(values, axis=0)[steps.before]
    rise *= steps.part
    found += rise
    return found


def _lasting(noise: Values, weights: Values, count: int, before: int) -> Values:
    """A moving sum over the days up to each of `count` days, the first of which is day `before` of the noise (days, points); variance 1."""
    total = np.zeros((count, noise.shape[1]))
    for lag, weight in enumerate(weights / np.sqrt((weights**2).sum())):
        total += weight * noise[before - lag : before - lag + count]
    return total


def _sum(factors: Sequence[float], fields: Sequence[Values]) -> Values:
    """Sum of fields times factors, in their order."""
    total = factors[0] * fields[0]
    for factor, field in zip(factors[1:], fields[1:], strict=True):
        if factor:
            total += factor * field
    return total
