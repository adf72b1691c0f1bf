"""One day of a pasture in one cell, after GRASP as APSIM 6.1 has it.

    rain -> runoff, infiltration -> layers 1 to 4 -> deep drainage        morning: covers, from yesterday's pools
                 soil evaporation, trees, pasture take their water
    radiation, warmth, nitrogen, water -> growth -> green -> dead -> litter -> decomposed
                                                      stock, kangaroos, fire

`s` is yesterday's end; growth sees the soil after evaporation and trees, before its own uptake.
"""

from steppe.kernels.vecmath import exp
from steppe.models.pasture.covers import green_covers, ground_covers
from steppe.models.pasture.curves import join
from steppe.models.pasture.decline import death, decomposition, detachment, frost_death
from steppe.models.pasture.derived import Derived
from steppe.models.pasture.diagnostics import Diagnostics
from steppe.models.pasture.forcing import Forcing, Today, pan_evaporation, vapour_pressure_deficit
from steppe.models.pasture.growth import basal_area, most_of, nitrogen, radiation_index, temperature_index
from steppe.models.pasture.options import ON, PORT, Options
from steppe.models.pasture.parameters import Parameters
from steppe.models.pasture.state import State
from steppe.models.pasture.uptake import grass_supply, grass_uptake, height_factor, tree_uptake
from steppe.models.pasture.use import diet, intakes, leaf_and_stem, leaf_share
from steppe.models.pasture.water import evaporate, infiltrate, redistribute, runoff


def step(s: State, f: Forcing, p: Parameters, d: Derived, t: Today, o: Options) -> tuple[State, Diagnostics]:
    """The state at the end of a day, and what the day did."""
    day = t.day_of_year
    pan = pan_evaporation(f, o)
    deficit = vapour_pressure_deficit(f, o)
    temperature = 0.5 * (f.tmin + f.tmax)
    transpiring, shading = green_covers(s, d)
    green_cover, sward_cover, litter_cover, runoff_cover = ground_covers(s, p, transpiring)

    # Water: in, down, up
    run_off = runoff(s, f, p, d, o, runoff_cover)
    infiltration = f.rain - run_off
    water_1, water_2, water_3, water_4, drainage = infiltrate(s, p, d, infiltration)
    # exp of the second term is the part that litter leaves open, to the power 0.44
    evaporation_demand = pan * exp(-1.7 * sward_cover - 0.44 * p.litter_area * s.litter)
    evaporation_1, evaporation_2 = evaporate(water_1, water_2, p, d, o, evaporation_demand)
    water_1, water_2 = water_1 - evaporation_1, water_2 - evaporation_2
    if o.redistribution == ON:
        water_1, water_2, water_3, water_4 = redistribute(water_1, water_2, water_3, water_4, p, d)
    tree_demand = d.tree_share * pan
    tree_1, tree_2, tree_3, tree_4 = tree_uptake(water_1, water_2, water_3, water_4, d, tree_demand)
    water_1, water_2, water_3, water_4 = water_1 - tree_1, water_2 - tree_2, water_3 - tree_3, water_4 - tree_4

    # Transpiration: a short sward stands in drier air, more so over a dry surface
    supply_1, supply_2, supply_3, supply_4 = grass_supply(water_1, water_2, water_3, water_4, d)
    supply = supply_1 + supply_2 + supply_3 + supply_4
    index = min(1.0, supply)
    height = height_factor(s.sward_height, p, d)
    clothesline = 1.0 + (height - 1.0) * (1.0 - supply_1)
    potential = min(pan * transpiring * clothesline, max(0.0, 1.3 * pan - tree_demand))
    share = potential / max(1.0, supply)
    uptake_1 = grass_uptake(water_1, d.wilting_1, share * supply_1)
    uptake_2 = grass_uptake(water_2, d.wilting_2, share * supply_2)
    uptake_3 = grass_uptake(water_3, d.wilting_3, share * supply_3)
    uptake_4 = grass_uptake(water_4, d.wilting_4, share * supply_4)
    water_1, water_2, water_3, water_4 = water_1 - uptake_1, water_2 - uptake_2, water_3 - uptake_3, water_4 - uptake_4
    transpiration = uptake_1 + uptake_2 + uptake_3 + uptake_4

    # Growth
    uptake_nitrogen, nitrogen_share, nitrogen_index = nitrogen(s, p, d)
    warmth = temperature_index(temperature, p, d)
    light = radiation_index(f.radiation, d)
    efficiency = 20.0 * p.transpiration_efficiency / max(1.0, deficit * height)
    by_transpiration = potential * index * efficiency
    by_radiation = shading * f.radiation * p.radiation_efficiency * min(warmth, nitrogen_index)
    by_regrowth = p.regrowth * s.grass_basal_area * nitrogen_index * warmth * light * index
    growth = most_of(index, by_transpiration, by_radiation, by_regrowth, p)
    green = s.green_leaf + s.green_stem
    leaf_growth = p.leaf_share * growth if green > p.leaf_only else growth

    # Death, fall, decomposition
    frost = frost_death(f, p, d)
    leaf_death, stem_death = death(s, p, d, frost, index)
    leaf_fall, stem_fall = detachment(s, p, day)
    green_leaf = s.green_leaf + leaf_growth - leaf_death
    green_stem = s.green_stem + (growth - leaf_growth) - stem_death
    dead_leaf = s.dead_leaf + leaf_death - leaf_fall
    dead_stem = s.dead_stem + stem_death - stem_fall
    dryness, decomposed = decomposition(s, f, p, d, evaporation_demand, temperature)

    # Grazing: max(0) takes the round-off of a pool that is eaten whole
    standing = (green_leaf + green_stem) + (dead_leaf + dead_stem)
    stock, kangaroos = intakes(s, p, d, t.month, standing)
    eaten = stock + kangaroos
    eaten_green, eaten_dead = diet(green_leaf + green_stem, dead_leaf + dead_stem, eaten)
    dead_share = leaf_share(dead_leaf, dead_stem, d)
    eaten_leaf, eaten_stem = leaf_and_stem(green_leaf, green_stem, eaten_green, leaf_share(green_leaf, green_stem, d))
    green_leaf, green_stem = max(0.0, green_leaf - eaten_leaf), max(0.0, green_stem - eaten_stem)
    eaten_leaf, eaten_stem = leaf_and_stem(dead_leaf, dead_stem, eaten_dead, dead_share)
    dead_leaf, dead_stem = max(0.0, dead_leaf - eaten_leaf), max(0.0, dead_stem - eaten_stem)
    trampled = min(dead_leaf + dead_stem, d.trampling * stock)
    trampled_leaf, trampled_stem = leaf_and_stem(dead_leaf, dead_stem, trampled, dead_share)
    dead_leaf, dead_stem = max(0.0, dead_leaf - trampled_leaf), max(0.0, dead_stem - trampled_stem)
    litter = s.litter + (leaf_fall + stem_fall) - decomposed + trampled

    # Fire
    fire = 1.0 if day == p.burn_day else f.burn
    left = 1.0 - p.fire_sward_loss * fire
    before_fire = (green_leaf + green_stem) + (dead_leaf + dead_stem)
    green_leaf, green_stem, dead_leaf, dead_stem = left * green_leaf, left * green_stem, left * dead_leaf, left * dead_stem
    after_fire = (green_leaf + green_stem) + (dead_leaf + dead_stem)
    burnt_litter = p.fire_litter_loss * fire * litter
    litter = litter - burnt_litter

    # Sums and their resets
    evaporation = evaporation_1 + evaporation_2
    in_summer = day >= p.summer_start or day <= p.summer_end
    summer = s.summer_evapotranspiration + (evaporation + transpiration if in_summer else 0.0)
    basal, basal_term = basal_area(s, p, o, day, summer)
    if day == p.summer_reset_day:
        summer = 0.0
    nitrogen_growth, nitrogen_transpiration = s.nitrogen_growth + growth, s.nitrogen_transpiration + transpiration
    if day == p.growth_reset_day:
        nitrogen_growth = -growth if o.reset == PORT else 0.0
    if day == p.transpiration_reset_day:
        nitrogen_transpiration = transpiration if o.reset == PORT else 0.0
    grazing_eaten, grazing_growth = s.grazing_eaten + eaten, s.grazing_growth + growth
    if day == p.grazing_reset_day:
        grazing_eaten, grazing_growth = 0.0, green_leaf + green_stem

    # Balances
    trees = tree_1 + tree_2 + tree_3 + tree_4
    water_gain = (water_1 - s.soil_water_1) + (water_2 - s.soil_water_2) + (water_3 - s.soil_water_3) + (water_4 - s.soil_water_4)
    sward_gain = after_fire - (s.green_leaf + s.green_stem + s.dead_leaf + s.dead_stem)
    fallen = leaf_fall + stem_fall
    burnt = before_fire - after_fire

    return (
        State(
            soil_water_1=water_1,
            soil_water_2=water_2,
            soil_water_3=water_3,
            soil_water_4=water_4,
            green_leaf=green_leaf,
            green_stem=green_stem,
            dead_leaf=dead_leaf,
            dead_stem=dead_stem,
            litter=litter,
            grass_basal_area=basal,
            nitrogen_transpiration=nitrogen_transpiration,
            nitrogen_growth=nitrogen_growth,
            sward_height=1.0e-3 * p.unit_height * (s.green_leaf + s.green_stem + s.dead_leaf + s.dead_stem),
            litter_dryness=dryness,
            summer_evapotranspiration=summer,
            last_basal_area=basal_term,
            grazing_eaten=grazing_eaten,
            grazing_growth=grazing_growth,
        ),
        Diagnostics(
            rainfall=f.rain,
            runoff=run_off,
            infiltration=infiltration,
            deep_drainage=drainage,
            pan_evaporation=pan,
            potential_soil_evaporation=evaporation_demand,
            soil_evaporation=evaporation,
            soil_evaporation_1=evaporation_1,
            soil_evaporation_2=evaporation_2,
            tree_transpiration=trees,
            potential_transpiration=potential,
            transpiration=transpiration,
            transpiration_1=uptake_1,
            transpiration_2=uptake_2,
            transpiration_3=uptake_3,
            transpiration_4=uptake_4,
            water_supply_1=supply_1,
            water_supply_2=supply_2,
            water_supply_3=supply_3,
            water_supply_4=supply_4,
            soil_water_index=index,
            temperature_index=warmth,
            radiation_index=light,
            nitrogen_index=nitrogen_index,
            green_cover=green_cover,
            sward_cover=sward_cover,
            litter_cover=litter_cover,
            runoff_cover=runoff_cover,
            total_cover=join(sward_cover, litter_cover),
            vapour_pressure_deficit=deficit,
            water_use_efficiency=efficiency,
            nitrogen_uptake=uptake_nitrogen,
            nitrogen_share=nitrogen_share,
            growth_by_transpiration=by_transpiration,
            growth_by_radiation=by_radiation,
            growth_by_regrowth=by_regrowth,
            growth=growth,
            frost=frost,
            death=leaf_death + stem_death,
            detachment=fallen,
            decomposition=decomposed,
            consumption=eaten,
            stock_consumption=stock,
            kangaroo_consumption=kangaroos,
            trampled=trampled,
            burnt=burnt,
            burnt_litter=burnt_litter,
            green_dry_matter=green_leaf + green_stem,
            total_standing_dry_matter=after_fire,
            water_error=water_gain - (infiltration - drainage - evaporation - trees - transpiration),
            sward_error=sward_gain - (growth - fallen - eaten - trampled - burnt),
            litter_error=(litter - s.litter) - (fallen + trampled - decomposed - burnt_litter),
        ),
    )
