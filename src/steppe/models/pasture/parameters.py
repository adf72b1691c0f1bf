"""The constants of soil, plant and use. Defaults: plant set "native" and soil set "narayen-ref"; the other sets lie in two TOML files."""

from typing import Annotated, NamedTuple

from steppe.variable import Var

STD = "APSIM 6.1 Standard.xml"
XML = "APSIM 6.1 grasp.xml"
REF = "APSIM 6.1 grasp refdata.par"
WATER = "APSIM 6.1 soilwat2"
LITTER = "APSIM 6.1 surfaceom.xml"
GRAZ = "APSIM 6.1 graz"
TREE = "APSIM 6.1 tree"
OURS = "judgement of Steppe's authors"


class Parameters(NamedTuple):
    """One number for all cells, or one for each."""

    layer_thickness_1: Annotated[float, Var("mm", "Thickness of layer 1", low=1, initial=100, heading="Soil", source=REF)]
    layer_thickness_2: Annotated[float, Var("mm", "Thickness of layer 2", low=1, initial=400, source=REF)]
    layer_thickness_3: Annotated[float, Var("mm", "Thickness of layer 3", low=1, initial=500, source=REF)]
    layer_thickness_4: Annotated[float, Var("mm", "Thickness of layer 4", low=1, initial=500, source=REF)]
    air_dry_1: Annotated[float, Var("m3 m-3", "Air-dry water, layer 1", low=0, high=1, initial=0.05, source=REF)]
    wilting_point_1: Annotated[float, Var("m3 m-3", "Water at wilting, layer 1", low=0, high=1, initial=0.1, source=REF)]
    wilting_point_2: Annotated[float, Var("m3 m-3", "Water at wilting, layer 2", low=0, high=1, initial=0.1, source=REF)]
    wilting_point_3: Annotated[float, Var("m3 m-3", "Water at wilting, layer 3", low=0, high=1, initial=0.1, source=REF)]
    wilting_point_4: Annotated[float, Var("m3 m-3", "Water at wilting, layer 4", low=0, high=1, initial=0.1, source=REF)]
    drained_limit_1: Annotated[float, Var("m3 m-3", "Water after drainage, layer 1", low=0, high=1, initial=0.2, source=REF)]
    drained_limit_2: Annotated[float, Var("m3 m-3", "Water after drainage, layer 2", low=0, high=1, initial=0.2, source=REF)]
    drained_limit_3: Annotated[float, Var("m3 m-3", "Water after drainage, layer 3", low=0, high=1, initial=0.2, source=REF)]
    drained_limit_4: Annotated[float, Var("m3 m-3", "Water after drainage, layer 4", low=0, high=1, initial=0.2, source=REF)]
    saturation_1: Annotated[float, Var("m3 m-3", "Water at saturation, layer 1", low=0, high=1, initial=0.21, source=REF)]
    saturation_2: Annotated[float, Var("m3 m-3", "Water at saturation, layer 2", low=0, high=1, initial=0.21, source=REF)]
    saturation_3: Annotated[float, Var("m3 m-3", "Water at saturation, layer 3", low=0, high=1, initial=0.21, source=REF)]
    saturation_4: Annotated[float, Var("m3 m-3", "Water at saturation, layer 4", low=0, high=1, initial=0.21, source=REF)]
    drainage_rate_1: Annotated[float, Var("d-1", "Part of drainable water that leaves layer 1", low=0, high=1, initial=0.6, source=REF)]
    drainage_rate_2: Annotated[float, Var("d-1", "Part of drainable water that leaves layer 2", low=0, high=1, initial=0.6, source=REF)]
    drainage_rate_3: Annotated[float, Var("d-1", "Part of drainable water that leaves layer 3", low=0, high=1, initial=0.4, source=REF)]
    drainage_rate_4: Annotated[float, Var("d-1", "Part of drainable water that leaves layer 4", low=0, high=1, initial=0.4, source=REF)]
    plant_available_water: Annotated[
        float, Var("mm", "Water between wilting and drained limit of layers 1 to 3; 0: as in the soil set", low=0, initial=0, source=OURS)
    ]
    curve_number: Annotated[float, Var("1", "Curve number of bare soil, medium wet", low=1, high=100, initial=95, source=REF)]
    curve_number_reduction: Annotated[float, Var("1", "What cover takes off the curve number", low=0, high=99, initial=42, source=REF)]
    curve_number_cover: Annotated[float, Var("1", "Cover from which on it takes no more", low=0.01, high=1, initial=0.8, source=REF)]
    runoff_depth: Annotated[float, Var("mm", "Depth of soil whose wetness counts for runoff", low=1, initial=1200, source=REF)]
    bare_infiltration: Annotated[float, Var("mm h-1", "Mean infiltration capacity, bare", low=1, initial=45, source=OURS)]
    covered_infiltration: Annotated[float, Var("mm h-1", "Mean infiltration capacity, covered", low=1, initial=400, source=OURS)]
    highest_soil_evaporation: Annotated[float, Var("mm d-1", "Soil evaporation at most", low=0, initial=6, source=REF)]
    diffusivity: Annotated[float, Var("mm2 d-1", "Diffusivity of water at wilting", low=0, initial=40, source=f"{WATER}: clays")]
    diffusivity_slope: Annotated[float, Var("1", "Growth of the diffusivity with water", low=0, initial=16, source=f"{WATER}: clays")]

    extraction_1: Annotated[float, Var("1", "Weight of layer 1 in extraction", low=0, high=1, initial=0.5, heading="Plant", source=STD)]
    extraction_2: Annotated[float, Var("1", "Weight of layer 2 in water extraction", low=0, high=1, initial=0.5, source=STD)]
    extraction_3: Annotated[float, Var("1", "Weight of layer 3 in water extraction", low=0, high=1, initial=0.5, source=STD)]
    extraction_4: Annotated[float, Var("1", "Weight of layer 4 in water extraction", low=0, high=1, initial=0, source=STD)]
    root_depth: Annotated[float, Var("mm", "Root depth", low=1, initial=750, source=STD)]
    radiation_yield: Annotated[float, Var("kg ha-1", "Green that takes half of the radiation", low=1, initial=1000, source=f"{STD} p046")]
    transpiration_yield: Annotated[float, Var("kg ha-1", "Green that transpires half of pan", low=1, initial=1000, source=f"{STD} p045")]
    runoff_yield: Annotated[float, Var("kg ha-1", "Dry matter that halves runoff", low=1, initial=1000, source=f"{STD} p271")]
    runoff_power: Annotated[float, Var("1", "Power of dry matter in runoff", low=0.01, initial=0.95, source=f"{STD} p272")]
    unit_height: Annotated[float, Var("mm", "Height of a sward of 1000 kg/ha", low=0, initial=100, source=f"{STD} p096")]
    screen_height: Annotated[float, Var("mm", "Height of the weather screen", low=1, initial=200, source=f"{STD} p095")]
    ground_factor: Annotated[float, Var("1", "Factor of deficit and pan at the ground", low=1, initial=1.5, source=f"{STD} p094")]
    transpiration_efficiency: Annotated[float, Var("kg ha-1 mm-1", "Growth per water at 20 hPa", low=0, initial=10, source=f"{STD} p007")]
    radiation_efficiency: Annotated[float, Var("kg ha-1 MJ-1 m2", "Growth per radiation", low=0, initial=12, source=f"{XML} p008")]
    base_temperature: Annotated[float, Var("degC", "Mean temperature up to which nothing grows", initial=14, source=XML)]
    lower_optimum: Annotated[float, Var("degC", "Mean temperature from which growth is full", initial=24, source=XML)]
    upper_optimum: Annotated[float, Var("degC", "Mean temperature up to which growth is full", initial=45, source=XML)]
    highest_temperature: Annotated[float, Var("degC", "Mean temperature from which nothing grows", initial=50, source=XML)]
    radiation_scale: Annotated[float, Var("MJ m-2 d-1", "Scale of the radiation index", low=0.1, initial=8.97, source=STD)]
    regrowth: Annotated[float, Var("kg ha-1 d-1", "Regrowth for each percent of basal area", low=0, initial=3, source=f"{STD} p006")]
    growth_stop_index: Annotated[float, Var("1", "Water index at which growth stops", low=0, high=1, initial=0.4, source=f"{STD} p149")]
    full_green_index: Annotated[float, Var("1", "Water index that keeps all green", low=0.001, high=1, initial=0.1, source=f"{STD} p009")]
    nitrogen_base: Annotated[float, Var("kg ha-1", "Nitrogen always in the plant", low=0, initial=5, source=f"{STD} p097")]
    nitrogen_rate: Annotated[float, Var("kg ha-1", "Nitrogen taken up with 100 mm", low=0, initial=5, source=f"{STD} p098")]
    nitrogen_limit: Annotated[float, Var("kg ha-1", "Nitrogen taken up in a year at most", low=0, initial=15, source=f"{STD} p099")]
    lowest_nitrogen: Annotated[float, Var("%", "Nitrogen in growth at which it stops", low=0, initial=0.4, source=f"{STD} p101")]
    full_nitrogen: Annotated[float, Var("%", "Nitrogen in growth at which it is full", low=0, initial=0.5, source=f"{STD} p102")]
    highest_nitrogen: Annotated[float, Var("%", "Nitrogen in growth at most", low=0, initial=2.5, source=f"{STD} p100")]
    frost_starts: Annotated[float, Var("degC", "Minimum temperature at which frost begins", initial=2, source=f"{STD} p125")]
    frost_kills: Annotated[float, Var("degC", "Minimum temperature that kills all green", initial=0, source=f"{STD} p011")]
    drought_death: Annotated[float, Var("d-1", "Death without soil water", low=0, high=1, initial=0.013, source=f"{STD} p051")]
    background_death: Annotated[float, Var("d-1", "Death at all times", low=0, high=1, initial=0.002, source=f"{STD} p010")]
    leaf_death_ratio: Annotated[float, Var("1", "Factor of this death for leaf", low=0, initial=1, source=f"{STD} p133")]
    stem_death_ratio: Annotated[float, Var("1", "Factor of this death for stem", low=0, initial=1, source=f"{STD} p134")]
    leaf_share: Annotated[float, Var("1", "Part of growth that becomes leaf", low=0, high=1, initial=0.5, source=f"{STD} p123")]
    leaf_only: Annotated[float, Var("kg ha-1", "Green up to which all growth is leaf", low=0, initial=0, source=f"{STD} p124")]
    dry_leaf_detachment: Annotated[float, Var("d-1", "Dead leaf falling, dry season", low=0, high=1, initial=0.002, source=f"{STD} p130")]
    dry_stem_detachment: Annotated[float, Var("d-1", "Dead stem falling, dry season", low=0, high=1, initial=0.002, source=f"{STD} p131")]
    wet_leaf_detachment: Annotated[float, Var("d-1", "Dead leaf falling, wet season", low=0, high=1, initial=0.002, source=f"{STD} p128")]
    wet_stem_detachment: Annotated[float, Var("d-1", "Dead stem falling, wet season", low=0, high=1, initial=0.002, source=f"{STD} p129")]
    dry_season_start: Annotated[float, Var("1", "First day of year of the dry season", low=1, high=366, initial=91, source=STD)]
    dry_season_end: Annotated[float, Var("1", "Last day of year of the dry season", low=1, high=366, initial=274, source=STD)]
    transpiration_reset_day: Annotated[
        float, Var("1", "Day of reset of transpiration", whole=True, low=1, high=366, initial=273, source=STD)
    ]
    growth_reset_day: Annotated[float, Var("1", "Day of reset of growth", whole=True, low=1, high=366, initial=273, source=f"{STD} p112")]
    summer_start: Annotated[float, Var("1", "First day of year of summer", low=1, high=366, initial=335, source=STD)]
    summer_end: Annotated[float, Var("1", "Last day of year of summer", low=1, high=366, initial=59, source=STD)]
    summer_reset_day: Annotated[float, Var("1", "Day of reset of summer's sum", whole=True, low=1, high=366, initial=273, source=STD)]
    basal_area_at_start: Annotated[float, Var("%", "Grass basal area of a fresh run", low=0, high=100, initial=2, source=f"{OURS}; p005")]
    basal_area_efficiency: Annotated[float, Var("kg ha-1 mm-1", "Basal area per water of summer", low=0, initial=6, source=f"{OURS}; p288")]

    litter_area: Annotated[float, Var("ha kg-1", "Area that litter covers", low=0, initial=4e-4, heading="Litter", source=LITTER)]
    decomposition_rate: Annotated[float, Var("d-1", "Decomposition of litter at best", low=0, high=1, initial=0.1, source=LITTER)]
    decomposition_temperature: Annotated[float, Var("degC", "Mean temperature from which it is best", low=1, initial=20, source=LITTER)]
    decomposition_dryness: Annotated[float, Var("mm", "Soil evaporation demand that ends it", low=0.1, initial=20, source=LITTER)]
    wetting_rain: Annotated[float, Var("mm d-1", "Rain above which litter is wet again", low=0, initial=4, source=LITTER)]
    carbon_nitrogen_ratio: Annotated[float, Var("1", "Carbon to nitrogen in litter", low=1, initial=80, source=OURS)]
    decomposing_litter: Annotated[float, Var("kg ha-1", "Litter that touches the soil at most", low=1, initial=2000, source=LITTER)]

    tree_basal_area: Annotated[float, Var("m2 ha-1", "Tree basal area", low=0, initial=0, heading="Trees", source=OURS)]
    tree_demand: Annotated[float, Var("ha m-2", "Part of pan that a unit of tree basal area asks for", low=0, initial=0.025, source=OURS)]
    tree_extraction_1: Annotated[float, Var("1", "Weight of layer 1 for trees", low=0, high=1, initial=0.25, source=OURS)]
    tree_extraction_2: Annotated[float, Var("1", "Weight of layer 2 for trees", low=0, high=1, initial=0.25, source=OURS)]
    tree_extraction_3: Annotated[float, Var("1", "Weight of layer 3 for trees", low=0, high=1, initial=0.25, source=OURS)]
    tree_extraction_4: Annotated[float, Var("1", "Weight of layer 4 for trees", low=0, high=1, initial=0.25, source=OURS)]
    tree_root_depth: Annotated[float, Var("mm", "Root depth of trees", low=1, initial=1500, source=TREE)]

    stocking_rate: Annotated[float, Var("ha-1", "Head of cattle per hectare", low=0, initial=0, heading="Stock, kangaroos, fire")]
    animal_weight: Annotated[float, Var("kg", "Live weight of a head", low=1, initial=400)]
    summer_gain: Annotated[
        float, Var("kg", "Potential weight gain, December to February", initial=70, heading="Stock, kangaroos, fire", source=GRAZ)
    ]
    autumn_gain: Annotated[float, Var("kg", "Potential weight gain, March to May", initial=25, source=GRAZ)]
    winter_gain: Annotated[float, Var("kg", "Potential weight gain, June to August", initial=10, source=GRAZ)]
    spring_gain: Annotated[float, Var("kg", "Potential weight gain, September to November", initial=25, source=GRAZ)]
    intake_at_rest: Annotated[float, Var("1", "Restriction of intake without utilisation", low=0, initial=1.05, source=GRAZ)]
    intake_slope: Annotated[float, Var("1", "Its change with utilisation", high=0, initial=-0.30, source=GRAZ)]
    intake_yield: Annotated[float, Var("kg ha-1", "Dry matter below which intake falls", low=1, initial=50, source="BSc4past.par")]
    leaf_preference: Annotated[float, Var("1", "Leaf in the diet from a sward half leaf", low=0.51, high=0.99, initial=0.85, source=GRAZ)]
    edible: Annotated[float, Var("1", "Part of what stock take down that they eat", low=0.01, high=1, initial=0.75, source=GRAZ)]
    grazing_reset_day: Annotated[
        float, Var("1", "Day of reset of eaten and grown", whole=True, low=1, high=366, initial=335, source="p015")
    ]
    kangaroo_density: Annotated[float, Var("km-2", "Kangaroos and other grazers", low=0, initial=0, source=OURS)]
    burn_day: Annotated[float, Var("1", "Day of year on which the cell burns each year; 0: none", whole=True, low=0, high=366, initial=0)]
    fire_sward_loss: Annotated[float, Var("1", "Part of the sward that a fire takes", low=0, high=1, initial=0.95, source=OURS)]
    fire_litter_loss: Annotated[float, Var("1", "Part of the litter that a fire takes", low=0, high=1, initial=0.70, source=OURS)]
