import math

import numpy as np
import pytest

from steppe.errors import ModelError
from steppe.kernels.vecmath import exp
from steppe.models import pasture
from steppe.models.declare import Choice
from steppe.models.pasture import forcing, uptake, water
from steppe.models.pasture.options import DEFICIT, DYNAMIC, MINIMUM_TEMPERATURE, ON, ORIGINAL, PORT, RADIATION
from tests.models.pasture_reference import constants, fresh, parameters, run, step

OPTIONS = pasture.Options()
EMPTY = {"green_leaf": 0.0, "green_stem": 0.0, "dead_leaf": 0.0, "dead_stem": 0.0, "litter": 0.0, "grass_basal_area": 0.0}


def weather(rain=0.0, tmin=15.0, tmax=30.0, radiation=20.0, vp=15.0, deficit=0.0, pan=7.0, burn=0.0):
    return pasture.Forcing(rain, tmin, tmax, radiation, vp, deficit, pan, burn)


def layers(state):
    return tuple(state[:4])


def one_day(state, f, p, day=1.0, month=1.0, o=OPTIONS):
    return step(state, f, p, constants(p, o), pasture.Today(day, month), o)


def water_state(p, *layers, **others):
    return fresh(p, **{f"soil_water_{i}": mm for i, mm in enumerate(layers, start=1)}, **others)


# --- the worked numbers of the specification: float64, to their last printed digit ------------------------------------------------------
def test_bare_moist_soil_evaporates_from_the_first_layer_as_the_original_program_prints_it():
    p = parameters("narayen-ref")
    state, day = one_day(water_state(p, 19, 76, 95, 95, **EMPTY), weather(), p)
    assert day.soil_evaporation_1 == pytest.approx(5.597194388777556, abs=1e-14)
    assert day.soil_evaporation_2 == 0
    assert state.soil_water_1 == pytest.approx(13.402805611222444, abs=1e-14)


def test_heavy_rain_on_bare_soil_runs_off_by_the_curve_number():
    p = parameters("narayen-ref")
    state, day = one_day(water_state(p, 12, 60, 80, 90, **EMPTY), weather(rain=60.0), p)
    assert day.runoff == pytest.approx(41.63342421138654, abs=1e-13)
    assert day.soil_evaporation_1 == 6.0  # the most there can be
    assert layers(state) == pytest.approx((14.4, 69.96657578861345, 80, 90), abs=1e-13)
    assert day.deep_drainage == 0


def test_heavy_rain_runs_off_by_its_intensity():
    p = parameters("narayen-ref")
    state = water_state(p, 12, 60, 80, 90, **{**EMPTY, "litter": 1500.0})
    _, day = one_day(state, weather(rain=60.0, tmin=20.5), p, o=OPTIONS._replace(runoff=water.INTENSITY))
    assert day.runoff == pytest.approx(10.362756825541453, abs=1e-13)


GRAZED_DAY = parameters("brigalow67", "brigalow67", stocking_rate=0.2, animal_weight=400.0, intake_yield=300.0, kangaroo_density=10.0)
GRAZED_POOLS = {
    "green_leaf": 700.0,
    "green_stem": 600.0,
    "dead_leaf": 500.0,
    "dead_stem": 400.0,
    "litter": 800.0,
    "nitrogen_transpiration": 80.0,
    "nitrogen_growth": 2500.0,
}
FEBRUARY = weather(tmin=18.0, tmax=33.0, radiation=24.0, vp=17.0)


def test_a_whole_grazed_day_in_february_has_the_numbers_of_the_specification():
    start = water_state(GRAZED_DAY, 20, 40, 42, 3, sward_height=200.0, **GRAZED_POOLS)
    state, day = one_day(start, FEBRUARY, GRAZED_DAY, 32.0, 2.0)
    expected = {
        "vapour_pressure_deficit": 25.87970801,
        "sward_cover": 0.4818510952,
        "litter_cover": 0.2738509629,
        "potential_soil_evaporation": 2.680392629,
        "soil_evaporation_1": 0.7971254602,
        "soil_evaporation_2": 0.0,
        "water_supply_1": 0.5748598335,
        "water_supply_2": 0.492224094,
        "water_supply_3": 0.3543971301,
        "soil_water_index": 1.0,
        "potential_transpiration": 3.014239194,
        "transpiration": 3.014239194,
        "nitrogen_share": 1.8,
        "nitrogen_index": 1.0,
        "radiation_index": 0.9311334899,
        "water_use_efficiency": 19.32015615,
        "growth_by_transpiration": 58.2355719,
        "growth_by_radiation": 124.0144125,
        "growth_by_regrowth": 40.96987356,
        "growth": 58.2355719,
        "death": 2.6,
        "detachment": 0.0,
        "decomposition": 37.66508714,
        "stock_consumption": 2.01939425,
        "kangaroo_consumption": 0.09,
        "trampled": 0.6731314167,
        "nitrogen_uptake": 45.0,
    }
    assert {name: getattr(day, name) for name in expected} == pytest.approx(expected, rel=1e-9)
    ends = (17.9838888687, 38.9562427524, 41.2485037251, 3, 725.961009636, 627.650282987, 500.73557368, 401.106179929, 763.008044275)
    assert tuple(state[:9]) == pytest.approx(ends, rel=1e-11)
    assert state.nitrogen_transpiration == pytest.approx(83.0142391936, rel=1e-11)
    assert state.nitrogen_growth == pytest.approx(2558.2355719, rel=1e-11)
    assert state.litter_dryness == pytest.approx(2.68039262931, rel=1e-11)
    assert state.sward_height == pytest.approx(220, rel=1e-13)


def test_a_short_sward_transpires_more_and_uses_water_worse():
    start = water_state(GRAZED_DAY, 20, 40, 42, 3, sward_height=100.0, **GRAZED_POOLS)
    state, day = one_day(start, FEBRUARY, GRAZED_DAY, 32.0, 2.0)
    expected = {
        "vapour_pressure_deficit": 25.87970801443,
        "potential_soil_evaporation": 2.680392629307,
        "soil_evaporation_1": 0.7971254601941,
        "soil_water_index": 1.0,
        "potential_transpiration": 3.334607731757,
        "transpiration": 3.334607731757,
        "nitrogen_share": 1.8,
        "growth_by_transpiration": 51.54011366585,
        "growth_by_radiation": 124.0144125375,
        "growth_by_regrowth": 40.96987355511,
        "growth": 51.54011366585,
    }
    assert {name: getattr(day, name) for name in expected} == pytest.approx(expected, rel=1e-12)
    ends = (
        17.85432892593,
        38.84530696991,
        41.16863091222,
        3,
        722.6134900356,
        624.3027822426,
        500.7351899729,
        401.1061257481,
        763.0080442752,
    )
    assert tuple(state[:9]) == pytest.approx(ends, rel=1e-12)
    assert state.nitrogen_transpiration == pytest.approx(83.33460773176, rel=1e-12)
    assert state.nitrogen_growth == pytest.approx(2551.540113666, rel=1e-12)
    assert state.sward_height == pytest.approx(220, rel=1e-13)


# --- the step as it stands ---------------------------------------------------------------------------------------------------------------
def test_the_step_with_steppes_own_functions_agrees_with_the_c_library():
    start = water_state(GRAZED_DAY, 20, 40, 42, 3, sward_height=100.0, **GRAZED_POOLS)
    arguments = (FEBRUARY, GRAZED_DAY, constants(GRAZED_DAY, OPTIONS), pasture.Today(32.0, 2.0), OPTIONS)
    own, library = pasture.step(start, *arguments), step(start, *arguments)
    assert tuple(own[0]) == pytest.approx(tuple(library[0]), rel=1e-13)


def test_the_step_in_single_precision_stays_single_and_near():
    start = water_state(GRAZED_DAY, 20, 40, 42, 3, sward_height=100.0, **GRAZED_POOLS)
    d, t = constants(GRAZED_DAY, OPTIONS), pasture.Today(32.0, 2.0)

    def single(group):
        return type(group)(*map(np.float32, group))

    state, _ = pasture.step(single(start), single(FEBRUARY), single(GRAZED_DAY), single(d), single(t), OPTIONS)
    assert {type(value) for value in state[:9]} == {np.float32}
    assert tuple(map(float, state[:9])) == pytest.approx(tuple(step(start, FEBRUARY, GRAZED_DAY, d, t, OPTIONS)[0][:9]), rel=1e-5)


def test_a_run_that_stops_and_goes_on_has_the_same_bits():
    p = parameters("mitchell", "open-downs", stocking_rate=0.1)
    days = [(weather(rain=20.0 * (n % 9 == 0), tmin=5.0 + n % 13), pasture.Today(1.0 + n, 1.0 + n // 31)) for n in range(120)]
    whole = run(fresh(p), days, p)
    assert run(whole[59][0], days[60:], p) == whole[60:]


# --- parts -------------------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("available", [0.0, 0.2, 0.5, 0.77, 1.0])
def test_the_supply_of_a_layer_follows_both_curves_of_grasp(available):
    p = parameters(root_depth=750.0)  # roots end in the third layer
    d = constants(p, OPTIONS)
    upper = uptake.layer_supply(available, d.grass_weight_2, d.grass_angle_2)
    deepest = uptake.layer_supply(available, d.grass_weight_3, d.grass_angle_3)
    assert upper == pytest.approx(min(1.0, 0.5 * (1 + math.sin((available - 0.5) * math.pi))), abs=1e-15)
    assert deepest == pytest.approx(0.5 * 0.5 * (1 - math.cos(available * math.pi / 2)), abs=1e-15)
    assert uptake.layer_supply(available, d.grass_weight_4, d.grass_angle_4) == 0


@pytest.mark.parametrize(
    ("depth", "weights"),
    [(750, (1, 1, 0.5, 0)), (1000, (1, 1, 1, 0)), (500, (1, 1, 0, 0)), (50, (0.5, 0, 0, 0)), (9000, (1, 1, 1, 1))],
)
def test_roots_reach_as_far_as_they_are_deep(depth, weights):
    p = parameters(root_depth=float(depth), extraction_4=0.5)
    d = constants(p, OPTIONS)
    assert [getattr(d, f"grass_weight_{i}") for i in (1, 2, 3, 4)] == pytest.approx(weights)
    angles = [getattr(d, f"grass_angle_{i}") for i, weight in enumerate(weights, start=1) if weight]
    assert angles == pytest.approx([math.pi / 2] * (len(angles) - 1) + [math.pi / 4])


def test_soaked_soil_evaporates_at_the_full_rate_and_in_the_original_form_not_at_all():
    p = parameters("narayen-ref", saturation_1=0.5, saturation_2=0.5)
    d = constants(p, OPTIONS)
    original = OPTIONS._replace(soil_evaporation=ORIGINAL)
    assert water.evaporate(50.0, 200.0, p, d, OPTIONS, 3.0) == pytest.approx((3.0, 0.0), abs=1e-14)
    assert water.evaporate(50.0, 200.0, p, d, original, 3.0) == (0, 0)


@pytest.mark.parametrize(("part", "share"), [(0.9, 0.117 * 0.9 / (1 - 0.883 * 0.9)), (1.1, 1.0), (1.2, 0.0)])
def test_the_original_form_stops_past_the_pole_of_both_layers(part, share):
    p = parameters("narayen-ref", saturation_2=0.5)
    d = constants(p, OPTIONS)
    upper, lower = 10.0, part * 55.0 - 5.0 + 40.0  # [mm]; drained, both layers have 55 mm that can evaporate, the upper one 15
    from_1 = 3.0 * 0.285 * (5.0 / 15.0) / (1 - 0.715 * (5.0 / 15.0))
    expected = (from_1, max(0.0, 3.0 * share - from_1))
    bounded = (from_1, 3.0 * (share if part < 1 else 1.0) - from_1)
    assert water.evaporate(upper, lower, p, d, OPTIONS._replace(soil_evaporation=ORIGINAL), 3.0) == pytest.approx(expected, rel=1e-12)
    assert water.evaporate(upper, lower, p, d, OPTIONS, 3.0) == pytest.approx(bounded, rel=1e-12)


def test_layers_of_equal_wetness_exchange_only_what_gravity_pulls():
    p = parameters("narayen-ref")
    d = constants(p, OPTIONS)
    before = (15.0, 60.0, 75.0, 75.0)
    after = water.redistribute(*before, p, d)
    assert sum(after) == pytest.approx(sum(before), abs=1e-13)
    flow = 40.0 * math.exp(16.0 * 0.05) * 2.0e-5
    assert after[0] == pytest.approx(15.0 - flow, abs=1e-12)


def test_dry_soil_draws_water_up_and_never_over_its_drained_limit():
    p = parameters("narayen-ref", diffusivity=1e4)
    d = constants(p, OPTIONS)
    after = water.redistribute(5.0, 80.0, 50.0, 100.0, p, d)
    assert after[0] > 5.0
    assert after[2] > 50.0
    assert all(value <= limit + 1e-12 for value, limit in zip(after, (20.0, 80.0, 100.0, 100.0), strict=True))


def test_water_above_the_drained_limit_is_left_to_drainage():
    p = parameters("narayen-ref", diffusivity=1e4)
    assert water.slow_flow(20.5, 0.0, 80.5, 10.0, 40.0, 20.0, 80.0, 100.0, 400.0, p) == 0


def test_a_layer_that_has_given_water_upward_still_counts_as_drained():
    p = parameters("narayen-ref", diffusivity=1e4)
    before = (5.0, 80.5, 104.0, 90.0)  # [mm]; layers 2 and 3 hold more than their drained limits of 80 and 100
    after = water.redistribute(*before, p, constants(p, OPTIONS))
    assert after[0] - before[0] == pytest.approx(before[1] - after[1], abs=1e-12)  # layer 2 gave water to layer 1 alone
    assert after[1] < 80.0


# --- options -----------------------------------------------------------------------------------------------------------------------------
def test_humidity_comes_from_what_was_chosen():
    f = weather(tmin=15.0, tmax=30.0, vp=10.0, deficit=12.5)
    coldest, warmest = forcing.saturation(15.0), forcing.saturation(30.0)
    assert forcing.vapour_pressure_deficit(f, OPTIONS) == pytest.approx(0.75 * warmest + 0.25 * coldest - 10.0, rel=1e-14)
    assert forcing.vapour_pressure_deficit(f, OPTIONS._replace(humidity=DEFICIT)) == 12.5
    least = forcing.vapour_pressure_deficit(f, OPTIONS._replace(humidity=MINIMUM_TEMPERATURE))
    assert least == pytest.approx(0.75 * (warmest - coldest), rel=1e-14)
    assert forcing.vapour_pressure_deficit(f._replace(vp=60.0), OPTIONS) == 0


@pytest.mark.parametrize(("tmax", "factor"), [(30.0, 1.1), (40.0, 1.35), (3.0, 0.01 * exp(0.18 * 23.0))])
def test_pan_evaporation_follows_radiation_where_it_was_not_measured(tmax, factor):
    f = weather(tmin=2.0, tmax=tmax, radiation=25.0, pan=99.0)
    equilibrium = 23.8846 * 25.0 * (0.000204 - 0.000183 * 0.23) * (0.6 * tmax + 0.4 * 2.0 + 29.0)
    assert forcing.pan_evaporation(f, OPTIONS._replace(pan=RADIATION)) == pytest.approx(1.25 * factor * equilibrium, rel=1e-14)
    assert forcing.pan_evaporation(f, OPTIONS) == 99.0


def test_the_ports_resets_keep_the_day_itself_and_turn_the_sign_of_growth():
    p = parameters("native", growth_stop_index=0.0)
    start = fresh(p, nitrogen_transpiration=100.0, nitrogen_growth=500.0)
    ours, day = one_day(start, weather(), p, 273.0, 9.0)
    port, _ = one_day(start, weather(), p, 273.0, 9.0, OPTIONS._replace(reset=PORT))
    assert day.growth > 0
    assert (ours.nitrogen_transpiration, ours.nitrogen_growth) == (0, 0)
    assert (port.nitrogen_transpiration, port.nitrogen_growth) == (day.transpiration, -day.growth)


def test_basal_area_follows_two_summers_when_it_is_dynamic():
    p = parameters("native", basal_area_efficiency=6.0)
    start = fresh(p, summer_evapotranspiration=300.0, last_basal_area=1.5)
    fixed, day = one_day(start, weather(), p, 59.0, 2.0)
    moved, _ = one_day(start, weather(), p, 59.0, 2.0, OPTIONS._replace(basal_area=DYNAMIC))
    term = 0.006 * (300.0 + day.soil_evaporation + day.transpiration)
    assert fixed.grass_basal_area == start.grass_basal_area
    assert moved.last_basal_area == pytest.approx(term, rel=1e-14)
    assert moved.grass_basal_area == pytest.approx(term + 1.5, rel=1e-14)


def test_slow_redistribution_moves_water_only_when_it_is_chosen():
    p = parameters("narayen-ref")
    start = water_state(p, 12, 75, 60, 90, **EMPTY)
    off, _ = one_day(start, weather(), p)
    on, day = one_day(start, weather(), p, o=OPTIONS._replace(redistribution=ON))
    assert layers(on) != layers(off)
    assert day.water_error == pytest.approx(0, abs=1e-12)


def test_fire_takes_its_part_on_its_day_or_on_request():
    p = parameters("native", burn_day=244.0)
    start = fresh(p)
    before, _ = one_day(start, weather(), p, 243.0, 8.0)
    calendar, day = one_day(start, weather(), p, 244.0, 9.0)
    request, _ = one_day(start, weather(burn=1.0), p, 243.0, 8.0)
    half, _ = one_day(start, weather(burn=0.5), p, 243.0, 8.0)
    assert request[:9] == calendar[:9]
    assert calendar.dead_leaf == pytest.approx(0.05 * before.dead_leaf, rel=1e-13)
    assert calendar.litter == pytest.approx(0.30 * before.litter, rel=1e-13)
    assert half.dead_leaf == pytest.approx(0.525 * before.dead_leaf, rel=1e-13)
    assert day.burnt > 0


def test_a_run_needs_only_the_forcing_that_its_options_read():
    assert pasture.requirements(OPTIONS) == ("rain", "tmin", "tmax", "radiation", "vp", "pan")
    assert pasture.requirements(OPTIONS._replace(humidity=DEFICIT)) == ("rain", "tmin", "tmax", "radiation", "deficit", "pan")
    least = OPTIONS._replace(humidity=MINIMUM_TEMPERATURE, pan=RADIATION)
    assert pasture.requirements(least) == ("rain", "tmin", "tmax", "radiation")


def test_humidity_and_pan_are_chosen_by_what_the_weather_holds():
    def words(available: set[str]) -> list[str]:
        return [pick.word for pick in pasture.choose(available).values()]

    assert list(pasture.choose(set())) == ["humidity", "pan"]
    assert words({"vp", "deficit", "pan"}) == ["vapour_pressure", "given"]
    assert words({"deficit"}) == ["deficit", "radiation"]
    assert words(set()) == ["minimum_temperature", "radiation"]
    assert {pick.reason for pick in pasture.choose(set()).values()} == {
        "the weather holds neither vp nor deficit",
        "the weather holds no pan",
    }


def test_a_choice_names_the_nearest_word():
    words = {"cn": "curve number", "intensity": "rainfall intensity"}
    assert Choice("Runoff", words) == Choice("Runoff", dict(words))
    with pytest.raises(ModelError, match=r'"intensiti" is not one of the choices cn, intensity. Did you mean "intensity"?'):
        Choice("Runoff", words).index("intensiti")


@pytest.mark.parametrize(
    "given", [("", {"a": "first", "b": "second"}), ("Runoff", {"a": "first"}), ("cn", "intensity"), ("R", {"a": "", "b": "x"})]
)
def test_a_choice_without_meanings_is_refused(given):
    with pytest.raises(ModelError, match="needs a meaning, and at least two words with the meaning of each"):
        Choice(*given)
