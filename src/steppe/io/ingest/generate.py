"""Weather made of nothing but a formula and random numbers: for trying things, teaching and tests, never for conclusions about a place.

The climate is a smooth formula of latitude, distance from the east coast of Queensland and season; its coefficients are a rounded
least-squares fit to the shape of Queensland's monthly normals and mean little elsewhere. The days are a Richardson (1981) generator:
wet and dry days a first-order Markov chain, amounts a gamma distribution, the rest conditioned on wet or dry; made alike at neighbouring
cells by smooth random fields (sums of random waves). Random numbers are a function of seed and day alone, so any day can be made without
the days before it.
"""

from datetime import date as Date
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.grid import Grid
from steppe.io.axis import Axis
from steppe.io.forcing_variables import WEATHER
from steppe.io.forcing_writer import About, ForcingWriter, Written
from steppe.io.ingest.meteorology import Values, extraterrestrial_radiation, pan_evaporation, saturation_vapour_pressure

COAST_LATITUDE = (-29.2, -28.0, -25.0, -24.0, -22.5, -20.0, -19.3, -18.5, -16.0, -14.5, -10.7)  # [degrees] the east coast ...
COAST_LONGITUDE = (153.6, 153.5, 153.0, 151.7, 150.5, 148.5, 147.0, 146.2, 145.5, 144.0, 142.6)  # [degrees] ... read off a map
PERSISTENCE = 0.3  # [1] p(wet after wet) - p(wet after dry); Queensland stations have 0.25-0.35
MEMORY = 16  # [d] a chain undecided for longer (1 in 2e8) is dry: what makes a day independent of how many came before it
CARRY = 0.6 ** np.arange(6)  # [1] weight of the last six days in the temperature of a day
WAVES = 64
LENGTH = 200.0  # [km] over which days are alike
PIECE = 2048  # cells made at a time: their days fit into the cache, three times as fast as ten thousand
FIELDS = 4  # occurrence, amount, warmth, cloud


class Climate(NamedTuple):
    """The formula, (days, cells): rain [mm d-1], wet [1] chance of rain, tmin, tmax [degC]; inland (cells,) [1]."""

    rain: Values
    wet: Values
    tmin: Values
    tmax: Values
    inland: Values


class Generator:
    """Days of weather for some cells. latitude, longitude (cells,) [degrees]; the same seed gives the same weather."""

    def __init__(self, latitude: Values, longitude: Values, seed: int) -> None:
        self.latitude, self.longitude, self.seed = latitude, longitude, seed
        kilometres = 111.2 * np.stack([latitude, longitude * np.cos(np.radians(22.0))])
        phase = (_normal(seed, 2**63, WAVES * 2).reshape(WAVES, 2) / LENGTH) @ kilometres
        self._waves = np.concatenate([np.cos(phase), np.sin(phase)]) / np.sqrt(WAVES)

    def weather(self, first: int, day_of_year: NDArray[np.int64]) -> dict[str, Values]:
        """Name -> (days, cells) of rain, tmin, tmax, radiation, vp and pan from day `first` on, counted from 1850-01-01."""
        climate = make_climate(self.latitude, self.longitude, day_of_year)
        days = len(day_of_year)
        occurrence, amount, warmth, cloud = self._fields(first - MEMORY, days + MEMORY)
        wet = _chain(occurrence, climate.wet)
        rain = np.where(wet, climate.rain / climate.wet * amount[MEMORY:] ** 2, 0.0)  # a squared normal is a gamma of shape 1/2, mean 1
        lasting = sum(weight * warmth[MEMORY - lag : MEMORY - lag + days] for lag, weight in enumerate(CARRY)) / np.sqrt((CARRY**2).sum())
        excess = wet - climate.wet
        tmax = climate.tmax + 2.5 * lasting - 3.0 * excess
        tmin = np.minimum(climate.tmin + 1.8 * lasting + 1.0 * cloud[MEMORY:] + 1.5 * excess, tmax - 1.0)
        above = extraterrestrial_radiation(self.latitude, day_of_year)
        radiation = np.clip(0.66 - 0.22 * wet - 0.05 * cloud[MEMORY:], 0.08, 0.78) * above
        vp = np.clip(0.92 - 0.22 * climate.inland + 0.08 * excess, 0.4, 1.0) * saturation_vapour_pressure(tmin)
        pan = pan_evaporation(radiation, tmax, tmin)
        return {"rain": rain, "tmin": tmin, "tmax": tmax, "radiation": radiation, "vp": vp, "pan": pan}

    def _fields(self, first: int, days: int) -> Values:
        """Smooth standard normal fields, (FIELDS, days, cells)."""
        numbers = np.stack([_normal(self.seed, day, FIELDS * 2 * WAVES) for day in range(first, first + days)])
        fields: Values = numbers.reshape(days, FIELDS, 2 * WAVES).transpose(1, 0, 2) @ self._waves
        return fields


def make_climate(latitude: Values, longitude: Values, day_of_year: NDArray[np.int64]) -> Climate:
    """The climate of cells (cells,) [degrees] on days of the year (days,), by a formula of Steppe's own (see the file's docstring)."""
    south = np.abs(latitude)
    coast = np.maximum((np.interp(latitude, COAST_LATITUDE, COAST_LONGITUDE) - longitude) * 111.2 * np.cos(np.radians(latitude)), 0.0)
    at_coast, inland = np.exp(-coast / 60.0), np.minimum(coast / 600.0, 1.0)
    annual = -250.0 + 1100.0 * np.exp(-coast / 1400.0) + 3800.0 / (1.0 + np.exp((south - 8.0) / 3.4))
    annual = np.maximum(annual + at_coast * (250.0 + 1000.0 * np.exp(-(((south - 17.3) / 1.5) ** 2))), 150.0)
    summer = np.clip(0.6 + 0.11 * (28.0 - south), 0.4, 2.4)  # the nearer to the equator, the more of it falls in summer
    half_year = np.where(latitude > 0.0, np.pi, 0.0)
    season = (2.0 * np.pi / 365.25) * (day_of_year[:, None] - 30.0) + half_year
    rain = annual / 365.25 * np.exp(summer * np.cos(season)) / np.i0(summer)
    wet = np.clip(0.16 * np.sqrt(rain), 0.01, 0.7)
    warm, north = np.cos(season + 0.2), 22.0 - south
    tmax = 27.3 + 0.5 * north + 4.1 * inland - 1.0 * at_coast + np.maximum(3.1 - 0.38 * north + 2.8 * inland + 1.5 * at_coast, 0.5) * warm
    tmin = 14.4 + 0.6 * north + 2.6 * inland + 3.9 * at_coast + np.maximum(5.4 - 0.25 * north + 1.9 * inland - 0.7 * at_coast, 0.5) * warm
    return Climate(rain, wet, tmin, tmax, inland)


def generate(path: Path, grid: Grid, start: str | Date, end: str | Date, seed: int = 1) -> None:
    """Makes a forcing store of generated weather for `grid`, from `start` to `end` inclusive; it says "generated" of itself.

    Raises
    ------
    ForcingError
        There is something at `path`.
    RunFileError
        A date is none.
    """
    axis = Axis.of_days(start, end)
    dates = np.datetime64("1850-01-01") + axis.starts
    day_of_year = (dates - dates.astype("datetime64[Y]").astype("datetime64[D]")).astype(np.int64) + 1
    about = About(
        title=f"Generated weather, seed {seed}: not observed",
        summary="Daily weather generated by Steppe from a formula of latitude, distance from the coast and season and from random numbers. "
        "No observation went into any day of it. Means and seasons are roughly those of Queensland; no day, year or place is real.",
        weather="generated",
        history=f"steppe ingest generate, {axis.period()}, seed {seed}",
        licence="CC0-1.0",
        attributes={"seed": seed},
    )
    with ForcingWriter(path, grid, [Written(variable, axis) for variable in WEATHER.values()], about) as writer:
        for block in writer.blocks("rain"):
            weather = {name: np.empty((len(block.steps), len(block.cells))) for name in WEATHER}
            for cell in range(0, len(block.cells), PIECE):
                cells = block.cells[cell : cell + PIECE]
                generator = Generator(grid.cell_lat[cells.start : cells.stop], grid.cell_lon[cells.start : cells.stop], seed)
                piece = generator.weather(axis.first + block.steps.start, day_of_year[block.steps.start : block.steps.stop])
                for name, values in piece.items():
                    weather[name][:, cell : cell + len(cells)] = values
            for name, values in weather.items():
                writer.write(name, block, values)


def _chain(occurrence: Values, chance: Values) -> NDArray[np.bool_]:
    """Wet days (days, cells) of a Markov chain whose draws (MEMORY + days, cells) decide, or leave the day as the one before."""
    # the normal distribution function to 3e-4; Page (1977), Applied Statistics 26, 75-76
    draw = 0.5 * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (occurrence + 0.044715 * occurrence**3)))
    days, cells = chance.shape
    wet = np.zeros((days, cells), dtype=bool)
    state = np.zeros(cells, dtype=bool)
    decided = np.full(cells, -MEMORY)
    for step in range(len(draw)):
        p = chance[max(step - MEMORY, 0)]
        decides = (draw[step] < p * (1.0 - PERSISTENCE)) | (draw[step] >= p + PERSISTENCE * (1.0 - p))
        state = np.where(decides, draw[step] < p, state & (step - decided < MEMORY))
        decided = np.where(decides, step, decided)
        if step >= MEMORY:
            wet[step - MEMORY] = state
    return wet


def _normal(seed: int, day: int, count: int) -> Values:
    """Standard normal numbers that depend on seed and day alone: Philox (Salmon and others 2011), then Box and Muller (1958)."""
    bits = np.random.Philox(key=np.array([seed % 2**64, day % 2**64], dtype=np.uint64)).random_raw(count)
    uniform = (bits >> np.uint64(11)) * 2.0**-53
    radius, turn = np.sqrt(-2.0 * np.log1p(-uniform[: count // 2])), 2.0 * np.pi * uniform[count // 2 :]
    return np.concatenate([radius * np.cos(turn), radius * np.sin(turn)])
