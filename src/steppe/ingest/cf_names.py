"""The names that maps and station files use for the weather that Steppe knows: one table, no guesses. Other names need --map."""

from collections.abc import Mapping

PRODUCT_NAMES: Mapping[str, str] = {
    # SILO (Queensland Government)
    "daily_rain": "rain",
    "max_temp": "tmax",
    "min_temp": "tmin",
    "vp": "vp",
    "radiation": "radiation",
    "evap_pan": "pan",
    # AGCD (Bureau of Meteorology); its two vapour pressures are of 9 and 15 hours and must be chosen between
    "precip": "rain",
    "tmax": "tmax",
    "tmin": "tmin",
    # CMIP and CORDEX
    "pr": "rain",
    "tasmax": "tmax",
    "tasmin": "tmin",
    "rsds": "radiation",
    # APSIM
    "radn": "radiation",
    "maxt": "tmax",
    "mint": "tmin",
    # Steppe's own
    "rain": "rain",
    "pan": "pan",
}

DEFICIT = "deficit"  # [hPa] of vapour pressure: a station's vp is computed from it
OF_STATIONS: Mapping[str, str] = {"evap": "pan", DEFICIT: DEFICIT}  # "evap" of a map may be the evaporation of the land
DOUBTFUL = "vpd"  # vapour pressure in many public APSIM files, its deficit in others

STANDARD_NAMES: Mapping[str, str] = {
    "lwe_precipitation_rate": "rain",
    "precipitation_flux": "rain",
    "precipitation_amount": "rain",
    "lwe_thickness_of_precipitation_amount": "rain",
    "rainfall_flux": "rain",
    "rainfall_rate": "rain",
    "rainfall_amount": "rain",
    "thickness_of_rainfall_amount": "rain",
    "surface_downwelling_shortwave_flux_in_air": "radiation",
    "water_vapor_partial_pressure_in_air": "vp",
}
EXTREMES: Mapping[str, str] = {"maximum": "tmax", "minimum": "tmin"}  # cell_methods of air_temperature


def weather_name(name: str, attributes: Mapping[str, object]) -> str | None:
    """The weather that a variable of a file holds; None if the table does not have it."""
    if name in PRODUCT_NAMES:
        return PRODUCT_NAMES[name]
    standard = attributes.get("standard_name")
    if standard == "air_temperature":
        found = [ours for word, ours in EXTREMES.items() if f"time: {word}" in str(attributes.get("cell_methods", ""))]
        return found[0] if len(found) == 1 else None
    return STANDARD_NAMES.get(str(standard))


def station_names() -> Mapping[str, str]:
    """All names of a station's columns, in small letters -> the weather that the column holds."""
    return {**PRODUCT_NAMES, **OF_STATIONS}
