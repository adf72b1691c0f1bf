"""The weather that Steppe knows by name: units, limits, CF names and packing, for station files, stores and checks.

All are rates, not amounts: a value of a day and a mean of a week have one unit. A variable has a CF standard name if one exists for
this quantity: class A pan evaporation has none.
"""

from steppe.variable import Role, Variable


def _weather(name: str, units: str, long_name: str, standard_name: str, low: float, high: float, cell_methods: str) -> Variable:
    return Variable(name, ("time", "cell"), units, "int16", Role.FORCING, long_name, standard_name, low, high, cell_methods=cell_methods)


WEATHER: dict[str, Variable] = {
    variable.name: variable
    for variable in (
        _weather("rain", "mm d-1", "rainfall", "lwe_precipitation_rate", 0.0, 2000.0, "time: mean"),
        _weather("tmin", "degC", "minimum air temperature", "air_temperature", -95.0, 60.0, "time: minimum"),
        _weather("tmax", "degC", "maximum air temperature", "air_temperature", -95.0, 65.0, "time: maximum"),
        _weather("radiation", "MJ m-2 d-1", "solar radiation", "surface_downwelling_shortwave_flux_in_air", 0.0, 50.0, "time: mean"),
        _weather("vp", "hPa", "vapour pressure", "water_vapor_partial_pressure_in_air", 0.0, 60.0, "time: mean"),
        _weather("pan", "mm d-1", "class A pan evaporation", "", 0.0, 40.0, "time: mean"),
    )
}
SCALE = 0.1  # [unit of the variable] of a packed integer; the station records themselves are given to 0.1
