"""Choices between formulas. They are constants when the model is compiled: a formula not chosen costs nothing."""

from typing import Annotated, NamedTuple

from steppe.models.declare import Choice

CURVE_NUMBER, INTENSITY = 0, 1
FIXED, DYNAMIC = 0, 1
OFF, ON = 0, 1
VAPOUR_PRESSURE, DEFICIT, MINIMUM_TEMPERATURE = 0, 1, 2
GIVEN, RADIATION = 0, 1
ZERO, PORT = 0, 1
BOUNDED, ORIGINAL = 0, 1

RUNOFF = Choice(
    "How runoff is computed",
    {"cn": "curve number of soil and cover", "intensity": "rainfall intensity against the infiltration capacity"},
)
BASAL_AREA = Choice(
    "Grass basal area",
    {"fixed": "stays as it is", "dynamic": "follows the evapotranspiration of summer"},
)
REDISTRIBUTION = Choice(
    "Slow movement of water between layers below the drained upper limit",
    {"off": "not computed", "on": "computed"},
)
HUMIDITY = Choice(
    "Where the humidity of the air comes from; if not set, by what the weather holds",
    {
        "vapour_pressure": "the forcing vp",
        "deficit": "the forcing deficit",
        "minimum_temperature": "air that is saturated at tmin",
    },
)
PAN = Choice(
    "Where pan evaporation comes from; if not set, by what the weather holds",
    {"given": "the forcing pan", "radiation": "computed from radiation, tmin and tmax"},
)
RESET = Choice(
    "What an accumulator holds after its reset day",
    {"ours": "zero", "port": "what that day brought, as in APSIM's port of GRASP; growth with its sign turned, a slip of the port"},
)
SOIL_EVAPORATION = Choice(
    "How soaked soil evaporates",
    {
        "bounded": "a layer wetter than its drained limit as one at that limit, which deviates from soilwat2",
        "original": "both curves run over their poles as in soilwat2 (APSIM 6.1), and soaked soil stops evaporating",
    },
)


class Options(NamedTuple):
    """The formulas of a run, each with its default."""

    runoff: Annotated[int, RUNOFF] = CURVE_NUMBER
    basal_area: Annotated[int, BASAL_AREA] = FIXED
    redistribution: Annotated[int, REDISTRIBUTION] = OFF
    humidity: Annotated[int, HUMIDITY] = VAPOUR_PRESSURE
    pan: Annotated[int, PAN] = GIVEN
    reset: Annotated[int, RESET] = ZERO
    soil_evaporation: Annotated[int, SOIL_EVAPORATION] = BOUNDED
