"""Choices between formulas. They are constants when the model is compiled: a formula not chosen costs nothing."""

from typing import Annotated, NamedTuple

from steppe.models.declare import Choice

CURVE_NUMBER, INTENSITY = 0, 1
FIXED, DYNAMIC = 0, 1
OFF, ON = 0, 1
VAPOUR_PRESSURE, DEFICIT, MINIMUM_TEMPERATURE = 0, 1, 2
GIVEN, RADIATION = 0, 1
ZERO, PORT = 0, 1


class Options(NamedTuple):
    """What can be chosen, the default first.

    runoff: curve number of soil and cover, or rainfall intensity against the infiltration capacity.
    basal_area: grass basal area stays as it is, or follows the evapotranspiration of summer.
    redistribution: slow movement of water between layers below the drained upper limit.
    humidity: vapour pressure `vp`, or `deficit`, or the air saturated at the minimum temperature.
    pan: pan evaporation `pan`, or computed from radiation and temperature.
    reset: on its reset day an accumulator becomes zero, or, as in APSIM's port of GRASP, what that day brought (growth with its sign
    turned, a slip of the port).
    """

    runoff: Annotated[int, Choice("cn", "intensity")] = CURVE_NUMBER
    basal_area: Annotated[int, Choice("fixed", "dynamic")] = FIXED
    redistribution: Annotated[int, Choice("off", "on")] = OFF
    humidity: Annotated[int, Choice("vapour_pressure", "deficit", "minimum_temperature")] = VAPOUR_PRESSURE
    pan: Annotated[int, Choice("given", "radiation")] = GIVEN
    reset: Annotated[int, Choice("ours", "port")] = ZERO
