"""The weather of one day, what a run needs of it, and what is derived from it."""

from collections.abc import Collection
from typing import Annotated, NamedTuple

from steppe.kernels.vecmath import exp
from steppe.models.declare import Pick
from steppe.models.pasture.options import DEFICIT, MINIMUM_TEMPERATURE, RADIATION, VAPOUR_PRESSURE, Options
from steppe.variable import Var


class Forcing(NamedTuple):
    """Weather of a day, and fire. What has an initial value need not be in a store."""

    rain: Annotated[float, Var("mm d-1", "Rainfall", low=0, high=2000, logarithmic=True)]
    tmin: Annotated[float, Var("degC", "Minimum air temperature", low=-60, high=50)]
    tmax: Annotated[float, Var("degC", "Maximum air temperature", low=-50, high=65)]
    radiation: Annotated[float, Var("MJ m-2 d-1", "Solar radiation", low=0, high=50)]
    vp: Annotated[float, Var("hPa", "Vapour pressure", low=0, high=70, initial=0)]
    deficit: Annotated[float, Var("hPa", "Vapour pressure deficit", low=0, high=200, initial=0)]
    pan: Annotated[float, Var("mm d-1", "Class A pan evaporation", low=0, high=50, initial=0)]
    burn: Annotated[float, Var("1", "Part of the cell that burns today", low=0, high=1, initial=0)]


class Today(NamedTuple):
    """What is the same in every cell."""

    day_of_year: Annotated[float, Var("1", "Day of year, from 1")]
    month: Annotated[float, Var("1", "Month, from 1")]


def requirements(o: Options) -> tuple[str, ...]:
    """The forcing that a run with these options must be given."""
    humidity = {VAPOUR_PRESSURE: ("vp",), DEFICIT: ("deficit",)}.get(o.humidity, ())
    return ("rain", "tmin", "tmax", "radiation", *humidity, *(() if o.pan == RADIATION else ("pan",)))


def choose(available: Collection[str]) -> dict[str, Pick]:
    """Humidity and pan evaporation by what the forcing holds, for a run file that does not set them.

    Examples
    --------
    >>> choose({"rain", "tmin", "tmax", "radiation", "vp"})["pan"]
    Pick(word='radiation', reason='the weather holds no pan')
    """
    if "vp" in available:
        humidity = Pick("vapour_pressure", "the weather holds vp")
    elif "deficit" in available:
        humidity = Pick("deficit", "the weather holds deficit and no vp")
    else:
        humidity = Pick("minimum_temperature", "the weather holds neither vp nor deficit")
    pan = Pick("given", "the weather holds pan") if "pan" in available else Pick("radiation", "the weather holds no pan")
    return {"humidity": humidity, "pan": pan}


def saturation(temperature: float) -> float:
    """Saturation vapour pressure [hPa] at a temperature [degC] (Tetens 1930, constants of APSIM 6.1)."""
    return 6.1078 * exp(17.269 * temperature / (237.3 + temperature))


def vapour_pressure_deficit(f: Forcing, o: Options) -> float:
    """Deficit of the day [hPa]: three parts of the warmest, one of the coldest hour (weights of APSIM 6.1)."""
    if o.humidity == DEFICIT:
        return f.deficit
    coldest = saturation(f.tmin)
    vapour = coldest if o.humidity == MINIMUM_TEMPERATURE else f.vp
    return max(0.0, 0.75 * saturation(f.tmax) + 0.25 * coldest - vapour)


def pan_evaporation(f: Forcing, o: Options) -> float:
    """Class A pan evaporation [mm d-1], given or 1.25 times the equilibrium evaporation of soilwat2 (APSIM 6.1) with albedo 0.23.

    The factor is the mean of observed pan over equilibrium evaporation at Miles, Dalby, Narayen and Brigalow since 1975.
    """
    if o.pan != RADIATION:
        return f.pan
    equilibrium = 23.8846 * f.radiation * (0.000204 - 0.000183 * 0.23) * (0.6 * f.tmax + 0.4 * f.tmin + 29.0)
    advection = 1.1
    if f.tmax > 35.0:
        advection = 1.1 + 0.05 * (f.tmax - 35.0)
    elif f.tmax < 5.0:
        advection = 0.01 * exp(0.18 * (f.tmax + 20.0))
    return max(0.0, 1.25 * advection * equilibrium)
