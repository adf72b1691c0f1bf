"""The work that is measured: some weeks of Queensland with two land types and a water capacity of its own in each cell."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.clock import Clock
from steppe.models import Packed, Role, pasture
from steppe.models.cell_declaration import CellDeclaration

Array = NDArray[Any]

FORCING = ("rain", "tmin", "tmax", "radiation", "vp", "pan")
SCALE = np.array([0.1, 0.01, 0.01, 0.01, 0.01, 0.01])  # of the packed integers, as in a forcing store
USE = {"stocking_rate": 0.1, "kangaroo_density": 10.0, "intake_yield": 300.0}
CLAY, LOAM = ("mitchell", "open-downs"), ("native", "roma-red-earth")  # plant and soil of the land types


@dataclass(frozen=True)
class Case:
    """What every program is given.

    constants: parameter or derived constant -> number or array (cells,), float64. state: state -> array (cells,), float64.
    forcing: int16 rows of `FORCING`, one for each variable and day, and how to unpack them. clock: its step 0 is the first day.
    """

    cells: int
    days: int
    constants: Mapping[str, Any]
    state: Mapping[str, Array]
    forcing: Packed
    clock: Clock

    @property
    def cell_days(self) -> int:
        """The work of one run."""
        return self.cells * self.days

    @property
    def calendar(self) -> tuple[Array, Array]:
        """(day of year, month) of each day."""
        fields = self.clock.fields(range(self.days))
        return fields.day_of_year, fields.month


def make_case(cells: int, days: int, start: str = "1995-06-15", seed: int = 1, trees: float = 0.0, burn_day: float = 0.0) -> Case:
    """A case that is the same for the same arguments."""
    random = np.random.default_rng(seed)
    clock = Clock.daily(start)
    constants = _constants(random, cells, {**USE, "tree_basal_area": trees, "burn_day": burn_day})
    return Case(cells, days, constants, _state(random, constants, cells), _weather(random, clock, cells, days), clock)


def _constants(random: np.random.Generator, cells: int, use: Mapping[str, float]) -> dict[str, Any]:
    declaration = CellDeclaration(pasture)
    default = {name: variable.initial for name, variable in declaration.of(Role.PARAMETER).items()}
    sets = pasture.sets()
    clay, loam = ({**default, **sets["plant"][plant], **sets["soil"][soil]} for plant, soil in (CLAY, LOAM))
    water = random.uniform(50.0, 200.0, cells)
    is_clay = water >= 100.0  # [mm]
    types = {name: (np.asarray(clay[name]), np.asarray(loam[name])) for name in default}
    values = {name: one if one == other else np.where(is_clay, one, other) for name, (one, other) in types.items()}
    values |= {name: np.asarray(value) for name, value in use.items()} | {"plant_available_water": water}
    p, d = declaration.derive(values, declaration.options({}))
    return {**p._asdict(), **d._asdict()}


def _state(random: np.random.Generator, constants: Mapping[str, Any], cells: int) -> dict[str, Array]:
    """Anything between a bare, dry paddock and a tall, wet one; of some cells nothing stands."""

    def between(low: Any, high: Any) -> Array:
        return np.asarray(low + (high - low) * random.random(cells))

    bare = random.random(cells) < 0.02
    pools = {name: np.where(bare, 0.0, between(0.0, 1500.0)) for name in ("green_leaf", "green_stem", "dead_leaf", "dead_stem")}
    return {
        **{f"soil_water_{k}": between(constants[f"wilting_{k}"], constants[f"saturated_{k}"]) for k in (1, 2, 3, 4)},
        **pools,
        "litter": between(0.0, 3000.0),
        "grass_basal_area": between(1.0, 5.0),
        "nitrogen_transpiration": between(0.0, 300.0),
        "nitrogen_growth": between(0.0, 4000.0),
        "sward_height": between(0.0, 900.0),
        "litter_dryness": between(0.0, 30.0),
        "summer_evapotranspiration": between(0.0, 200.0),
        "last_basal_area": np.zeros(cells),
        "grazing_eaten": between(0.0, 500.0),
        "grazing_growth": between(0.0, 4000.0),
    }


def _weather(random: np.random.Generator, clock: Clock, cells: int, days: int) -> Packed:
    """Days that are each drawn by themselves: frost and heat, drought and cloudburst all occur."""
    shape = (days, cells)
    day_of_year = clock.fields(range(days)).day_of_year
    summer = np.cos(2.0 * np.pi * (day_of_year - 15.0) / 365.25)[:, None]
    tmin = 13.0 + 8.0 * summer + random.normal(0.0, 3.5, shape)
    tmax = tmin + np.maximum(1.0, random.normal(13.0, 3.0, shape))
    values = {
        "rain": np.where(random.random(shape) < 0.2 + 0.12 * summer, random.gamma(0.7, 14.0, shape), 0.0),
        "tmin": tmin,
        "tmax": tmax,
        "radiation": np.clip(18.0 + 6.0 * summer + random.normal(0.0, 4.0, shape), 2.0, 32.0),
        "vp": np.clip(6.11 * np.exp(17.27 * tmin / (tmin + 237.3)) * random.uniform(0.5, 1.1, shape), 1.0, 45.0),
        "pan": np.clip(5.5 + 3.0 * summer + random.normal(0.0, 1.5, shape), 0.2, 16.0),
    }
    rows = np.empty((len(FORCING) * days, cells), np.int16)
    for k, name in enumerate(FORCING):
        rows[k * days : (k + 1) * days] = np.rint(values[name] / SCALE[k])
    row_of = np.arange(len(FORCING) * days, dtype=np.int32).reshape(len(FORCING), days)
    return Packed(rows, row_of, SCALE.copy(), np.zeros(len(FORCING)))
