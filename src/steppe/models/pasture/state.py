"""What a cell remembers from one day to the next, all values at the end of the day."""

from typing import Annotated, NamedTuple

from steppe.variable import Var


class State(NamedTuple):
    """Twelve quantities that a run starts from, and the bookkeeping that starts at zero.

    Where no initial value stands, `start` computes it from the parameters.
    """

    soil_water_1: Annotated[float, Var("mm", "Soil water of layer 1", low=0)]
    soil_water_2: Annotated[float, Var("mm", "Soil water of layer 2", low=0)]
    soil_water_3: Annotated[float, Var("mm", "Soil water of layer 3", low=0)]
    soil_water_4: Annotated[float, Var("mm", "Soil water of layer 4", low=0)]
    green_leaf: Annotated[float, Var("kg ha-1", "Green leaf", low=0, initial=200)]
    green_stem: Annotated[float, Var("kg ha-1", "Green stem", low=0, initial=200)]
    dead_leaf: Annotated[float, Var("kg ha-1", "Standing dead leaf", low=0, initial=400)]
    dead_stem: Annotated[float, Var("kg ha-1", "Standing dead stem", low=0, initial=400)]
    litter: Annotated[float, Var("kg ha-1", "Litter", low=0, initial=500)]
    grass_basal_area: Annotated[float, Var("%", "Grass basal area", low=0, high=100)]
    nitrogen_transpiration: Annotated[float, Var("mm", "Transpiration since the nitrogen reset", low=0, initial=0)]
    nitrogen_growth: Annotated[float, Var("kg ha-1", "Growth since the nitrogen reset", initial=0)]
    sward_height: Annotated[float, Var("mm", "Height of the sward", low=0)]
    litter_dryness: Annotated[float, Var("mm", "Soil evaporation demand since the litter was wet", low=0, initial=0)]
    summer_evapotranspiration: Annotated[float, Var("mm", "Evapotranspiration of this summer", low=0, initial=0)]
    last_basal_area: Annotated[float, Var("%", "Basal area that the summer before gave", low=0, initial=0)]
    grazing_eaten: Annotated[float, Var("kg ha-1", "Eaten since the grazing reset", low=0, initial=0)]
    grazing_growth: Annotated[float, Var("kg ha-1", "Growth since the grazing reset", low=0, initial=0)]
