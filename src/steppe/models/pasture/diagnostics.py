"""What a day did: fluxes, covers and indices, and sums of the state at its end."""

from typing import Annotated, NamedTuple

from steppe.variable import Var

WATER = ("soil_water_1", "soil_water_2", "soil_water_3", "soil_water_4")
GREEN = ("green_leaf", "green_stem")
SWARD = (*GREEN, "dead_leaf", "dead_stem")

EXPORTS = (
    *WATER,
    "soil_water_index",
    *SWARD,
    "total_standing_dry_matter",
    "litter",
    "total_cover",
    "growth",
    "transpiration",
    "soil_evaporation",
    "runoff",
    "deep_drainage",
    "nitrogen_index",
)
"""The eighteen variables that people look at first."""


class Diagnostics(NamedTuple):
    """Computed anew each day; covers and indices are those that the day's fluxes were computed with."""

    # Water
    rainfall: Annotated[float, Var("mm d-1", "Rainfall", logarithmic=True)]
    runoff: Annotated[float, Var("mm d-1", "Runoff", logarithmic=True)]
    infiltration: Annotated[float, Var("mm d-1", "Infiltration")]
    deep_drainage: Annotated[float, Var("mm d-1", "Drainage below the soil")]
    pan_evaporation: Annotated[float, Var("mm d-1", "Class A pan evaporation")]
    potential_soil_evaporation: Annotated[float, Var("mm d-1", "Soil evaporation under this cover, were the soil wet")]
    soil_evaporation: Annotated[float, Var("mm d-1", "Soil evaporation")]
    soil_evaporation_1: Annotated[float, Var("mm d-1", "Soil evaporation from layer 1")]
    soil_evaporation_2: Annotated[float, Var("mm d-1", "Soil evaporation from layer 2")]
    tree_transpiration: Annotated[float, Var("mm d-1", "Transpiration of trees")]
    potential_transpiration: Annotated[float, Var("mm d-1", "Transpiration of the pasture, were the soil wet")]
    transpiration: Annotated[float, Var("mm d-1", "Transpiration of the pasture")]
    transpiration_1: Annotated[float, Var("mm d-1", "Transpiration of the pasture from layer 1")]
    transpiration_2: Annotated[float, Var("mm d-1", "Transpiration of the pasture from layer 2")]
    transpiration_3: Annotated[float, Var("mm d-1", "Transpiration of the pasture from layer 3")]
    transpiration_4: Annotated[float, Var("mm d-1", "Transpiration of the pasture from layer 4")]
    # Indices and covers
    water_supply_1: Annotated[float, Var("1", "Supply index of layer 1 for the pasture")]
    water_supply_2: Annotated[float, Var("1", "Supply index of layer 2 for the pasture")]
    water_supply_3: Annotated[float, Var("1", "Supply index of layer 3 for the pasture")]
    water_supply_4: Annotated[float, Var("1", "Supply index of layer 4 for the pasture")]
    soil_water_index: Annotated[float, Var("1", "Soil water index", settable_by=WATER)]
    temperature_index: Annotated[float, Var("1", "Temperature index")]
    radiation_index: Annotated[float, Var("1", "Radiation index")]
    nitrogen_index: Annotated[float, Var("1", "Nitrogen index", settable_by=("nitrogen_transpiration", "nitrogen_growth"))]
    green_cover: Annotated[float, Var("1", "Cover of green", settable_by=GREEN)]
    sward_cover: Annotated[float, Var("1", "Cover of green and standing dead", settable_by=SWARD)]
    litter_cover: Annotated[float, Var("1", "Cover of litter", settable_by=("litter",))]
    runoff_cover: Annotated[float, Var("1", "Cover that holds runoff back")]
    total_cover: Annotated[float, Var("1", "Total cover", settable_by=(*SWARD, "litter"))]
    # Growth
    vapour_pressure_deficit: Annotated[float, Var("hPa", "Vapour pressure deficit at screen height")]
    water_use_efficiency: Annotated[float, Var("kg ha-1 mm-1", "Growth for each millimetre transpired")]
    nitrogen_uptake: Annotated[float, Var("kg ha-1", "Nitrogen taken up since its reset", settable_by=("nitrogen_transpiration",))]
    nitrogen_share: Annotated[float, Var("%", "Nitrogen in what grew since its reset")]
    growth_by_transpiration: Annotated[float, Var("kg ha-1 d-1", "Growth that water allows")]
    growth_by_radiation: Annotated[float, Var("kg ha-1 d-1", "Growth that radiation allows")]
    growth_by_regrowth: Annotated[float, Var("kg ha-1 d-1", "Regrowth from tussocks")]
    growth: Annotated[float, Var("kg ha-1 d-1", "Growth")]
    # Losses
    frost: Annotated[float, Var("d-1", "Part of the green that frost kills")]
    death: Annotated[float, Var("kg ha-1 d-1", "Green that dies")]
    detachment: Annotated[float, Var("kg ha-1 d-1", "Standing dead that falls")]
    decomposition: Annotated[float, Var("kg ha-1 d-1", "Litter that decomposes")]
    consumption: Annotated[float, Var("kg ha-1 d-1", "Eaten by stock and kangaroos")]
    stock_consumption: Annotated[float, Var("kg ha-1 d-1", "Eaten by stock")]
    kangaroo_consumption: Annotated[float, Var("kg ha-1 d-1", "Eaten by kangaroos and other grazers")]
    trampled: Annotated[float, Var("kg ha-1 d-1", "Standing dead trampled to litter")]
    burnt: Annotated[float, Var("kg ha-1 d-1", "Sward that burns")]
    burnt_litter: Annotated[float, Var("kg ha-1 d-1", "Litter that burns")]
    # Sums
    green_dry_matter: Annotated[float, Var("kg ha-1", "Green dry matter: leaf and stem", settable_by=GREEN)]
    total_standing_dry_matter: Annotated[float, Var("kg ha-1", "Total standing dry matter", settable_by=SWARD)]
    water_error: Annotated[float, Var("mm d-1", "Gain of soil water that no flux explains: round-off")]
    sward_error: Annotated[float, Var("kg ha-1 d-1", "Gain of the sward that no flux explains: round-off")]
    litter_error: Annotated[float, Var("kg ha-1 d-1", "Gain of litter that no flux explains: round-off")]
