"""The anomaly method: daily weather of every cell from the departures of a few stations and the normals of the cell.

Rain of a month is the cell's normal times the donors' ratios, weighted with the inverse square of distance; it falls on the days on which
it fell at the nearest donor that had any. (Averaging the donors' days would make drizzle: wet days twice as often and half as strong.)
Averaging the donors' months makes years too alike far from any donor; *variance restoring* stretches the logarithms of a cell's annual
totals to the spread that a place of this dryness has, and keeps the mean of 1961-90.
"""

from functools import cached_property

import numpy as np

from steppe.array_types import Floats
from steppe.errors import ForcingError
from steppe.grid.earth import distances
from steppe.ingest.donors import BASE, TEMPERATURES, Donors
from steppe.ingest.meteorology import Values, extraterrestrial_radiation, pan_evaporation, saturation_vapour_pressure
from steppe.ingest.normals import Normals
from steppe.io.forcing.variables import WEATHER

NEAREST = 1.0  # [km] nearer than this is the same place
RADIATION_LIMITS = (0.08, 0.78)  # [1] of the radiation above the air: heavy overcast, clearest day; judgement
ABOVE_SATURATION = 3.0  # [hPa] by which vapour pressure may exceed saturation at the day's tmin; judgement
VARIATION_WET, VARIATION_DRY = 0.25, 0.60  # [1] coefficient of variation of annual rain: our stations; Boulia, from its published range
WET, DRY = 500.0, 200.0  # [mm] annual rain between which the coefficient rises
LITTLE = 1e-3  # [mm] stands for a year without rain in a logarithm


class StationSpread:
    """Weather of some cells. latitude, longitude (cells,) [degrees]; normals of the cells; variance: whether it is restored.

    Raises
    ------
    ForcingError
        No donor covers a month that is asked for.
    """

    def __init__(self, donors: Donors, normals: Normals, latitude: Values, longitude: Values, variance: bool = True) -> None:
        self.donors = donors
        self.normals = normals
        self.latitude = latitude
        self.variance = variance
        places = zip(donors.longitude, donors.latitude, strict=True)
        away = np.stack([distances(lon, lat, longitude, latitude) for lon, lat in places], axis=1) / 1000.0
        self.distances = away  # [km] (cells, donors)
        self._weights = np.maximum(away, NEAREST) ** -2.0
        self._by_distance = away.argsort(axis=1, kind="stable")

    @cached_property
    def monthly_rain(self) -> Values:
        """Rain of every month of the donors, (months, cells) [mm month-1], variance restored when asked for."""
        ratio = self.donors.rain_ratio
        plain = np.full((len(ratio), len(self.latitude)), np.nan)
        for month in np.flatnonzero(np.isfinite(ratio).any(axis=1)):
            plain[month] = self.normals.rain[month % 12] * self._blend(ratio[month : month + 1], int(month))[0]
        return plain * np.repeat(self._year_factor(plain), 12, axis=0) if self.variance else plain

    def weather(self, days: range) -> dict[str, Values]:
        """Name -> (days, cells) of rain, tmin, tmax, radiation, vp and pan; pan by formula, for there are no normals of it."""
        found = {name: np.empty((len(days), len(self.latitude))) for name in WEATHER}
        for month, part in self.donors.months.pieces(days):
            for name, values in self._month(month, part).items():
                found[name][part.start - days.start : part.stop - days.start] = values
        return found

    def _month(self, month: int, days: range) -> dict[str, Values]:
        """The weather of days of one month."""
        months = self.donors.months
        usual = {name: months.interpolate(getattr(self.normals, name), days) for name in self.donors.departure}
        departure = {name: self._blend(table[days.start : days.stop], month) for name, table in self.donors.departure.items()}
        tmin, tmax = (usual[name] + departure[name] for name in TEMPERATURES)
        crossed = tmin > tmax
        tmin[crossed] = tmax[crossed] = (tmin[crossed] + tmax[crossed]) / 2.0  # two blends can cross on a day without a daily cycle
        above = extraterrestrial_radiation(self.latitude, months.day_of_year[days.start : days.stop])
        radiation = np.clip(usual["radiation"] * departure["radiation"], RADIATION_LIMITS[0] * above, RADIATION_LIMITS[1] * above)
        vp = np.minimum(usual["vp"] * departure["vp"], saturation_vapour_pressure(tmin) + ABOVE_SATURATION)
        pan = pan_evaporation(radiation, tmax, tmin)
        return {"rain": self._rain(month, days), "tmin": tmin, "tmax": tmax, "radiation": radiation, "vp": vp, "pan": pan}

    def _blend(self, departure: Values, month: int) -> Values:
        """Departures (days, donors) of one month at the cells, (days, cells): mean of the donors that have it, weighted 1/d2."""
        there = np.isfinite(departure[0])
        if not there.any():
            raise ForcingError(
                f"No donor covers {self.donors.months.name(month)} from its first to its last day. Take a period that some station covers."
            )
        weights = self._weights[:, there]
        blended: Values = departure[:, there] @ (weights / weights.sum(axis=1, keepdims=True)).T
        return blended

    def _rain(self, month: int, part: range) -> Values:
        """Daily rain (days, cells): the month's total on the days of the nearest donor with rain in it, 0 when all donors are dry."""
        total = self.monthly_rain[month]
        if np.isnan(total).any():
            self._blend(self.donors.rain_ratio[month : month + 1], month)  # raises when it is this month that no donor covers
            year = self.donors.months.first_year + month // 12
            raise ForcingError(f"No donor covers some month of {year}: its variance cannot be restored. End before it, or switch it off.")
        wet = self.donors.rain_ratio[month] > 0.0
        giver = np.take_along_axis(self._by_distance, wet[self._by_distance].argmax(axis=1)[:, None], axis=1)[:, 0]
        share = np.nan_to_num(self.donors.rain_share[part.start : part.stop])
        rain: Values = share[:, giver] * total
        return rain

    def _year_factor(self, plain: Values) -> Values:
        """The factor of each year's rain (years, cells) that gives its logarithm the required variance over the base period."""
        annual = np.maximum(plain.reshape(-1, 12, plain.shape[1]).sum(axis=1), LITTLE)
        first = BASE[0] - self.donors.months.first_year
        base = annual[first : first + BASE[1] - BASE[0] + 1]
        base = base[np.isfinite(base[:, 0])]
        if len(base) < 2:
            raise ForcingError(f"The donors cover {len(base)} years of {BASE[0]}-{BASE[1]}, too few to restore variance. Switch it off.")
        logarithm = np.log(base)
        mean, spread = logarithm.mean(axis=0), logarithm.std(axis=0, ddof=1)
        wanted = np.sqrt(np.log1p(variation(self.normals.rain.sum(axis=0)) ** 2))
        stretch = np.maximum(1.0, wanted / np.maximum(spread, LITTLE))

        def stretched(totals: Values) -> Values:
            found: Values = np.exp(mean + stretch * (np.log(totals) - mean))
            return found

        kept = base.mean(axis=0) / stretched(base).mean(axis=0)
        factor: Values = stretched(annual) * kept / annual
        return factor


def variation(annual_rain: Values) -> Floats:
    """Coefficient of variation [1] of annual rain [mm] that a place should have: 0.25 above 500 mm, rising to 0.60 at 200 mm."""
    dryness = np.clip((WET - annual_rain) / (WET - DRY), 0.0, 1.0)
    return VARIATION_WET + (VARIATION_DRY - VARIATION_WET) * dryness
