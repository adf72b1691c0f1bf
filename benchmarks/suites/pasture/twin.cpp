// The Pasture Model written by hand for g++: what a programmer would do who knows the model, the machine and nothing of Steppe.
//
// The default options with trees, grazing and the yearly fire. The formulas and their order are those of `steppe.models.pasture.step`; what is
// the same in all cells on a day (the season of grazing, the dry season, summer) is taken out of the loop by hand. Nothing is checked:
// neither limits of the forcing nor finite states.
//
//     block of BLOCK cells ── copied in ──> day 1, day 2, ... day n ── states copied out ──> next block
//
// A compiler that vectorises the loop over cells needs: no references to minima, no call inside a choice, one array a variable.
// REAL, float or double, and BLOCK are given on the command line.

#include <cmath>
#include <cstdint>
#include <cstring>

using real = REAL;

constexpr real operator""_r(long double x) { return static_cast<real>(x); }

// The order of rows and numbers; Python reads it from `layout`.
#define STATES(X) \
    X(soil_water_1) X(soil_water_2) X(soil_water_3) X(soil_water_4) X(green_leaf) X(green_stem) X(dead_leaf) X(dead_stem) X(litter) \
    X(grass_basal_area) X(nitrogen_transpiration) X(nitrogen_growth) X(sward_height) X(litter_dryness) X(summer_evapotranspiration) \
    X(grazing_eaten) X(grazing_growth)
#define CELLS(X) \
    X(wilting_1) X(wilting_2) X(wilting_3) X(wilting_4) X(drained_1) X(drained_2) X(drained_3) X(drained_4) \
    X(saturated_1) X(saturated_2) X(saturated_3) X(saturated_4) X(available_1) X(available_2) X(available_3) X(available_4) \
    X(dry_1) X(evaporable_1) X(evaporable_2) X(wetness_1) X(wetness_2) X(wetness_3) X(wetness_4) \
    X(drainage_rate_1) X(drainage_rate_2) X(drainage_rate_3) X(drainage_rate_4) X(curve_number) \
    X(grass_weight_1) X(grass_weight_2) X(grass_weight_3) X(grass_weight_4) X(grass_angle_1) X(grass_angle_2) X(grass_angle_3) \
    X(transpiration_decay) X(radiation_decay) X(unit_height) X(transpiration_efficiency) X(regrowth) X(growth_stop_index) \
    X(full_green_index) X(nitrogen_rate) X(nitrogen_ceiling) X(lowest_nitrogen) X(nitrogen_slope) X(dry_leaf_detachment) \
    X(dry_stem_detachment) X(wet_leaf_detachment) X(wet_stem_detachment) X(transpiration_reset_day) X(growth_reset_day) X(summer_reset_day)
#define NUMBERS(X) \
    X(curve_number_reduction) X(curve_number_cover) X(highest_soil_evaporation) X(grass_angle_4) X(screen_height) X(ground_factor) \
    X(radiation_efficiency) X(base_temperature) X(highest_temperature) X(warming) X(cooling) X(radiation_scale) X(nitrogen_base) \
    X(highest_nitrogen) X(frost_starts) X(frost_slope) X(drought_death) X(background_death) X(leaf_death_ratio) X(stem_death_ratio) \
    X(leaf_share) X(leaf_only) X(dry_season_start) X(dry_season_end) X(summer_start) X(summer_end) X(litter_area) \
    X(highest_decomposition) X(decomposition_temperature) X(decomposition_dryness) X(wetting_rain) X(decomposing_litter) \
    X(tree_share) X(tree_weight_1) X(tree_weight_2) X(tree_weight_3) X(tree_weight_4) X(summer_intake) X(autumn_intake) \
    X(winter_intake) X(spring_intake) X(kangaroo_intake) X(intake_at_rest) X(intake_slope) X(intake_yield) X(leaf_factor) X(trampling) \
    X(grazing_reset_day) X(burn_day) X(fire_sward_loss) X(fire_litter_loss)
#define FORCING(X) X(rain) X(tmin) X(tmax) X(radiation) X(vp) X(pan)

#define ROW(name) alignas(64) real name[BLOCK];
#define NUMBER(name) real name;
#define PACKED(name) Packed name;
#define TEXT(name) #name " "

struct State { STATES(ROW) };
struct Cell { CELLS(ROW) };
struct Number { NUMBERS(NUMBER) };

struct Packed {
    const int16_t *row;
    real scale, offset;
    real operator[](long i) const { return static_cast<real>(row[i]) * scale + offset; }
};
struct Weather { FORCING(PACKED) };

static_assert(sizeof(State) % (sizeof(real) * BLOCK) == 0 && sizeof(Cell) % (sizeof(real) * BLOCK) == 0, "BLOCK leaves gaps between rows");

static inline real least(real a, real b) { return a < b ? a : b; }
static inline real most(real a, real b) { return a > b ? a : b; }
static inline real clamp(real x, real low, real high) { return least(high, most(low, x)); }
static inline real join(real one, real other) { return 1.0_r - (1.0_r - one) * (1.0_r - other); }
static inline real competition(real x, real factor) { return factor * x / (x * (factor - 1.0_r) + 1.0_r); }
static inline real saturation(real temperature) { return 6.1078_r * std::exp(17.269_r * temperature / (237.3_r + temperature)); }

static inline real layer_supply(real available, real weight, real angle)
{
    const real wave = std::sin(clamp(available, 0.0_r, 1.0_r) * angle);
    return least(1.0_r, weight * wave * wave);
}

// Water that leaves a layer.
static inline real outflow(real water, real saturated, real drained, real rate)
{
    const real over = most(0.0_r, water - saturated);
    return over + rate * most(0.0_r, water - over - drained);
}

// Stem in what is taken from leaf and stem.
static inline real stem_taken(real leaf, real stem, real taken, real share) { return least(stem, taken - least(leaf, share * taken)); }

static inline real leaf_share(real leaf, real stem, real factor)
{
    const real both = leaf + stem;
    const real share = competition(leaf / both, factor);
    return both > 0.0_r ? share : 0.0_r;
}

static inline real season_intake(const Number &u, real month)
{
    if (month < 3.0_r || month > 11.0_r)
        return u.summer_intake;
    return month < 6.0_r ? u.autumn_intake : month < 9.0_r ? u.winter_intake : u.spring_intake;
}

static void advance_day(State &__restrict s, const Cell &__restrict c, const Number &__restrict u, const Weather f, real day, real month)
{
    const real stock_intake = season_intake(u, month);
    const bool dry_season = u.dry_season_start <= day && day <= u.dry_season_end;
    const real *leaf_detachment = dry_season ? c.dry_leaf_detachment : c.wet_leaf_detachment;
    const real *stem_detachment = dry_season ? c.dry_stem_detachment : c.wet_stem_detachment;
    const real in_summer = day >= u.summer_start || day <= u.summer_end ? 1.0_r : 0.0_r;
    const bool grazing_reset = day == u.grazing_reset_day;
    const real fire = day == u.burn_day ? 1.0_r : 0.0_r;
    const real left = 1.0_r - u.fire_sward_loss * fire;

#pragma omp simd
    for (int i = 0; i < BLOCK; i++) {
        const real rain = f.rain[i], tmin = f.tmin[i], tmax = f.tmax[i], radiation = f.radiation[i], pan = f.pan[i];
        const real green = s.green_leaf[i] + s.green_stem[i];
        const real dead = s.dead_leaf[i] + s.dead_stem[i];

        const real deficit = most(0.0_r, 0.75_r * saturation(tmax) + 0.25_r * saturation(tmin) - f.vp[i]);
        const real temperature = 0.5_r * (tmin + tmax);
        const real transpiring = 1.0_r - std::exp(-c.transpiration_decay[i] * green);
        const real shading = 1.0_r - std::exp(-c.radiation_decay[i] * green);
        const real sward_cover = join(green > 1.0_r ? transpiring : 0.0_r, clamp(1.0e-4_r * dead, 0.0_r, 1.0_r));
        const real litter_cover = 1.0_r - std::exp(-u.litter_area * s.litter[i]);
        const real low = clamp((1800.0_r - s.sward_height[i]) / 1200.0_r, 0.0_r, 1.0_r);
        const real runoff_cover = join(sward_cover * low, litter_cover);

        // Water: in, down, up
        const real wetness = c.wetness_1[i] * (s.soil_water_1[i] - c.wilting_1[i]) + c.wetness_2[i] * (s.soil_water_2[i] - c.wilting_2[i])
            + c.wetness_3[i] * (s.soil_water_3[i] - c.wilting_3[i]) + c.wetness_4[i] * (s.soil_water_4[i] - c.wilting_4[i]);
        const real medium = clamp(c.curve_number[i] - u.curve_number_reduction * least(1.0_r, runoff_cover / u.curve_number_cover), 1.0_r, 100.0_r);
        const real driest = medium / (2.334_r - 0.01334_r * medium);
        const real wettest = medium / (0.4036_r + 0.005964_r * medium);
        const real number = driest + (wettest - driest) * clamp(wetness, 0.0_r, 1.0_r);
        const real storage = 254.0_r * (100.0_r / number - 1.0_r);
        const real excess = most(0.0_r, rain - 0.2_r * storage);
        const real run_off = excess * excess / (rain + 0.8_r * storage);

        real water_1 = s.soil_water_1[i] + (rain - (rain > 0.0_r ? run_off : 0.0_r));
        real flow = outflow(water_1, c.saturated_1[i], c.drained_1[i], c.drainage_rate_1[i]);
        water_1 -= flow;
        real water_2 = s.soil_water_2[i] + flow;
        flow = outflow(water_2, c.saturated_2[i], c.drained_2[i], c.drainage_rate_2[i]);
        water_2 -= flow;
        real water_3 = s.soil_water_3[i] + flow;
        flow = outflow(water_3, c.saturated_3[i], c.drained_3[i], c.drainage_rate_3[i]);
        water_3 -= flow;
        real water_4 = s.soil_water_4[i] + flow;
        water_4 -= outflow(water_4, c.saturated_4[i], c.drained_4[i], c.drainage_rate_4[i]);

        const real evaporation_demand = pan * std::exp(-1.7_r * sward_cover - 0.44_r * u.litter_area * s.litter[i]);
        const real above = water_1 - c.dry_1[i];
        const real rate_1 = competition(clamp(above * c.evaporable_1[i], 0.0_r, 1.0_r), 0.285_r);
        const real rate_2 = competition(clamp((above + water_2 - c.wilting_2[i]) * c.evaporable_2[i], 0.0_r, 1.0_r), 0.117_r);
        const real evaporation_1 = most(0.0_r, least(rate_1 * evaporation_demand, least(u.highest_soil_evaporation, above)));
        const real evaporation_2 = most(0.0_r, least((rate_2 - rate_1) * evaporation_demand,
                                                     least(u.highest_soil_evaporation - evaporation_1, water_2 - c.wilting_2[i])));
        water_1 -= evaporation_1;
        water_2 -= evaporation_2;

        const real tree_demand = u.tree_share * pan;
        const real free_1 = most(0.0_r, water_1 - c.wilting_1[i]), free_2 = most(0.0_r, water_2 - c.wilting_2[i]);
        const real free_3 = most(0.0_r, water_3 - c.wilting_3[i]), free_4 = most(0.0_r, water_4 - c.wilting_4[i]);
        const real tree_1 = least(1.0_r, free_1 * c.available_1[i]) * u.tree_weight_1, tree_2 = least(1.0_r, free_2 * c.available_2[i]) * u.tree_weight_2;
        const real tree_3 = least(1.0_r, free_3 * c.available_3[i]) * u.tree_weight_3, tree_4 = least(1.0_r, free_4 * c.available_4[i]) * u.tree_weight_4;
        const real tree_part = tree_demand / most(1.0_r, tree_1 + tree_2 + tree_3 + tree_4);
        water_1 -= least(tree_part * tree_1, free_1);
        water_2 -= least(tree_part * tree_2, free_2);
        water_3 -= least(tree_part * tree_3, free_3);
        water_4 -= least(tree_part * tree_4, free_4);

        // Transpiration
        const real supply_1 = layer_supply((water_1 - c.wilting_1[i]) * c.available_1[i], c.grass_weight_1[i], c.grass_angle_1[i]);
        const real supply_2 = layer_supply((water_2 - c.wilting_2[i]) * c.available_2[i], c.grass_weight_2[i], c.grass_angle_2[i]);
        const real supply_3 = layer_supply((water_3 - c.wilting_3[i]) * c.available_3[i], c.grass_weight_3[i], c.grass_angle_3[i]);
        const real supply_4 = layer_supply((water_4 - c.wilting_4[i]) * c.available_4[i], c.grass_weight_4[i], u.grass_angle_4);
        const real supply = supply_1 + supply_2 + supply_3 + supply_4;
        const real index = least(1.0_r, supply);
        const real height = clamp(1.0_r + (u.ground_factor - 1.0_r) * (1.0_r - s.sward_height[i] / u.screen_height), 1.0_r, u.ground_factor);
        const real clothesline = 1.0_r + (height - 1.0_r) * (1.0_r - supply_1);
        const real potential = least(pan * transpiring * clothesline, most(0.0_r, 1.3_r * pan - tree_demand));
        const real part = potential / most(1.0_r, supply);
        const real uptake_1 = least(part * supply_1, most(0.0_r, water_1 - c.wilting_1[i]));
        const real uptake_2 = least(part * supply_2, most(0.0_r, water_2 - c.wilting_2[i]));
        const real uptake_3 = least(part * supply_3, most(0.0_r, water_3 - c.wilting_3[i]));
        const real uptake_4 = least(part * supply_4, most(0.0_r, water_4 - c.wilting_4[i]));
        const real transpiration = uptake_1 + uptake_2 + uptake_3 + uptake_4;

        // Growth
        const real taken_up = least(u.nitrogen_base + c.nitrogen_rate[i] * s.nitrogen_transpiration[i] / 100.0_r, c.nitrogen_ceiling[i]);
        const real uptake_nitrogen = s.nitrogen_transpiration[i] > 1.0e-7_r ? taken_up : 0.0_r;
        const real found = clamp(100.0_r * uptake_nitrogen / s.nitrogen_growth[i], c.lowest_nitrogen[i], u.highest_nitrogen);
        const real nitrogen_share = s.nitrogen_growth[i] > 1.0e-8_r ? found : u.highest_nitrogen;
        const real nitrogen_index = clamp((nitrogen_share - c.lowest_nitrogen[i]) * c.nitrogen_slope[i], 0.0_r, 1.0_r);
        const real warmth = clamp(least((temperature - u.base_temperature) * u.warming, (u.highest_temperature - temperature) * u.cooling), 0.0_r, 1.0_r);
        const real light = 1.0_r - std::exp(-radiation / u.radiation_scale);
        const real efficiency = 20.0_r * c.transpiration_efficiency[i] / most(1.0_r, deficit * height);
        const real by_transpiration = potential * index * efficiency;
        const real by_radiation = shading * radiation * u.radiation_efficiency * least(warmth, nitrogen_index);
        const real by_regrowth = c.regrowth[i] * s.grass_basal_area[i] * nitrogen_index * warmth * light * index;
        const real growth = index <= c.growth_stop_index[i] ? 0.0_r : most(least(by_transpiration, by_radiation), by_regrowth);
        const real leaf_growth = green > u.leaf_only ? u.leaf_share * growth : growth;

        // Death, fall, decomposition
        const real frost = clamp((u.frost_starts - tmin) * u.frost_slope, 0.0_r, 1.0_r);
        const real background = u.drought_death * (1.0_r - index) + u.background_death;
        const real leaf_background = most(frost, clamp(background * u.leaf_death_ratio, 0.0_r, 1.0_r));
        const real stem_background = most(frost, clamp(background * u.stem_death_ratio, 0.0_r, 1.0_r));
        const real allowed = -std::log(1.0_r - least(0.99_r, index / c.full_green_index[i])) / c.transpiration_decay[i];
        const real surplus = (green - allowed) / green;
        const real leaf_part = s.green_leaf[i] / green;
        const real leaf_rate = green > allowed ? most(leaf_background, leaf_part * surplus) : leaf_background;
        const real stem_rate = green > allowed ? most(stem_background, (1.0_r - leaf_part) * surplus) : stem_background;
        const real leaf_death = least(1.0_r, leaf_rate) * s.green_leaf[i], stem_death = least(1.0_r, stem_rate) * s.green_stem[i];
        const real leaf_fall = leaf_detachment[i] * s.dead_leaf[i], stem_fall = stem_detachment[i] * s.dead_stem[i];
        real green_leaf = s.green_leaf[i] + leaf_growth - leaf_death;
        real green_stem = s.green_stem[i] + (growth - leaf_growth) - stem_death;
        real dead_leaf = s.dead_leaf[i] + leaf_death - leaf_fall;
        real dead_stem = s.dead_stem[i] + stem_death - stem_fall;
        const real dryness = most(0.0_r, (rain <= u.wetting_rain ? s.litter_dryness[i] : 0.0_r) + evaporation_demand - rain);
        const real wet = clamp(1.0_r - dryness / u.decomposition_dryness, 0.0_r, 1.0_r);
        const real warm = clamp(temperature / u.decomposition_temperature, 0.0_r, 1.0_r);
        const real decomposed = u.highest_decomposition * wet * (warm * warm) * least(s.litter[i], u.decomposing_litter);

        // Grazing
        const real green_now = green_leaf + green_stem, dead_now = dead_leaf + dead_stem;
        const real standing = green_now + dead_now;
        const real used = least(1.0_r, s.grazing_eaten[i] / s.grazing_growth[i]);
        const real utilised = s.grazing_growth[i] > 0.01_r ? used : 0.0_r;
        const real wanted_stock = clamp(least(standing / u.intake_yield, u.intake_at_rest + u.intake_slope * utilised), 0.0_r, 1.0_r) * stock_intake;
        const real wanted_kangaroos = least(1.0_r, standing / u.intake_yield) * u.kangaroo_intake;
        const real wanted = wanted_stock + wanted_kangaroos;
        const real shortage = standing / wanted;
        const real served = wanted > standing ? shortage : 1.0_r;
        const real stock = wanted_stock * served;
        const real eaten = stock + wanted_kangaroos * served;
        const real green_part = green_now / standing;
        const real preferred = competition(least(1.0_r, (green_part - 0.1_r) / 0.9_r), 19.0_r);
        const real green_share = green_part > 0.1_r ? preferred : green_part;
        const real from_dead = least(dead_now, eaten - least(green_now, green_share * eaten));
        const real from_green = least(green_now, eaten - from_dead);
        const real eaten_dead = standing > 0.0_r ? from_dead : 0.0_r, eaten_green = standing > 0.0_r ? from_green : 0.0_r;
        const real dead_share = leaf_share(dead_leaf, dead_stem, u.leaf_factor);
        real stem = stem_taken(green_leaf, green_stem, eaten_green, leaf_share(green_leaf, green_stem, u.leaf_factor));
        green_leaf = most(0.0_r, green_leaf - (eaten_green - stem));
        green_stem = most(0.0_r, green_stem - stem);
        stem = stem_taken(dead_leaf, dead_stem, eaten_dead, dead_share);
        dead_leaf = most(0.0_r, dead_leaf - (eaten_dead - stem));
        dead_stem = most(0.0_r, dead_stem - stem);
        const real trampled = least(dead_leaf + dead_stem, u.trampling * stock);
        stem = stem_taken(dead_leaf, dead_stem, trampled, dead_share);
        dead_leaf = most(0.0_r, dead_leaf - (trampled - stem));
        dead_stem = most(0.0_r, dead_stem - stem);
        const real litter = s.litter[i] + (leaf_fall + stem_fall) - decomposed + trampled;

        // Fire, sums and their resets
        const real summer = s.summer_evapotranspiration[i] + in_summer * (evaporation_1 + evaporation_2 + transpiration);
        s.soil_water_1[i] = water_1 - uptake_1;
        s.soil_water_2[i] = water_2 - uptake_2;
        s.soil_water_3[i] = water_3 - uptake_3;
        s.soil_water_4[i] = water_4 - uptake_4;
        s.green_leaf[i] = left * green_leaf;
        s.green_stem[i] = left * green_stem;
        s.dead_leaf[i] = left * dead_leaf;
        s.dead_stem[i] = left * dead_stem;
        s.litter[i] = litter - u.fire_litter_loss * fire * litter;
        s.nitrogen_transpiration[i] = day == c.transpiration_reset_day[i] ? 0.0_r : s.nitrogen_transpiration[i] + transpiration;
        s.nitrogen_growth[i] = day == c.growth_reset_day[i] ? 0.0_r : s.nitrogen_growth[i] + growth;
        s.sward_height[i] = 1.0e-3_r * c.unit_height[i] * (green + dead);
        s.litter_dryness[i] = dryness;
        s.summer_evapotranspiration[i] = day == c.summer_reset_day[i] ? 0.0_r : summer;
        s.grazing_eaten[i] = grazing_reset ? 0.0_r : s.grazing_eaten[i] + eaten;
        s.grazing_growth[i] = grazing_reset ? left * green_leaf + left * green_stem : s.grazing_growth[i] + growth;
    }
}

extern "C" const char *layout(int group)
{
    static const char *const names[] = {STATES(TEXT), CELLS(TEXT), NUMBERS(TEXT), FORCING(TEXT)};
    return names[group];
}

// Cells first to last - 1, whole blocks, over all days. states (state, cells), parameters (row, cells), numbers (number,),
// rows (rows, cells) of int16, row_of (forcing, days), scale and offset (forcing,), days_of_year and months (days,).
extern "C" void advance(real *states, const real *parameters, const real *numbers, const int16_t *rows, const int32_t *row_of, const real *scale,
                        const real *offset, const real *days_of_year, const real *months, long cells, long first, long last, long days)
{
    constexpr long N_STATES = sizeof(State) / sizeof(State::litter), N_CELLS = sizeof(Cell) / sizeof(Cell::dry_1);
    State s;
    Cell c;
    Number u;
    std::memcpy(&u, numbers, sizeof u);
    for (long start = first; start < last; start += BLOCK) {
        for (long k = 0; k < N_STATES; k++)
            std::memcpy(reinterpret_cast<real *>(&s) + k * BLOCK, states + k * cells + start, BLOCK * sizeof(real));
        for (long k = 0; k < N_CELLS; k++)
            std::memcpy(reinterpret_cast<real *>(&c) + k * BLOCK, parameters + k * cells + start, BLOCK * sizeof(real));
        for (long day = 0; day < days; day++) {
            const auto packed = [&](long k) { return Packed{rows + row_of[k * days + day] * cells + start, scale[k], offset[k]}; };
            const Weather f = {packed(0), packed(1), packed(2), packed(3), packed(4), packed(5)};
            advance_day(s, c, u, f, days_of_year[day], months[day]);
        }
        for (long k = 0; k < N_STATES; k++)
            std::memcpy(states + k * cells + start, reinterpret_cast<const real *>(&s) + k * BLOCK, BLOCK * sizeof(real));
    }
}
