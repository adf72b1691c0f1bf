"""Whatever the state, the weather, the parameters and the options: nothing is lost, and nothing is less than nothing."""

from math import fsum

from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.models import pasture
from steppe.models.cell_declaration import CellDeclaration
from tests.models.pasture_reference import constants, parameters, step

KINDS = pasture.sets()
POOL = st.one_of(st.just(0.0), st.floats(1e-300, 1e-3), st.floats(0, 20_000))


@st.composite
def places(draw):
    """(parameters, options) of a cell in use."""
    p = parameters(
        draw(st.sampled_from(sorted(KINDS["plant"]))),
        draw(st.sampled_from(sorted(KINDS["soil"]))),
        stocking_rate=draw(st.floats(0, 5)),
        animal_weight=draw(st.floats(100, 700)),
        kangaroo_density=draw(st.floats(0, 200)),
        tree_basal_area=draw(st.floats(0, 50)),
        plant_available_water=draw(st.one_of(st.just(0.0), st.floats(5, 250))),
        burn_day=draw(st.sampled_from([0.0, 100.0])),
    )
    choices = CellDeclaration(pasture).choices.values()
    return p, pasture.Options(*(draw(st.integers(0, len(choice.words) - 1)) for choice in choices))


@st.composite
def states(draw, d):
    """Any state: water from air dry, or wilting, to saturated; pools from nothing to lush."""
    part = st.floats(0, 1)
    driest = (d.dry_1, *d[1:4])
    water = [low + draw(part) * (wet - low) for low, wet in zip(driest, d[8:12], strict=True)]
    pools = [draw(POOL) for _ in range(5)]
    basal, transpired, grown = draw(st.floats(0, 10)), draw(st.floats(0, 900)), draw(st.floats(0, 9000))
    height, dryness, summer = draw(st.floats(0, 4000)), draw(st.floats(0, 400)), draw(st.floats(0, 900))
    return pasture.State(*water, *pools, basal, transpired, grown, height, dryness, summer, draw(st.floats(0, 9)), *map(draw, [POOL, POOL]))


@st.composite
def days(draw):
    """A day's weather, hot, cold, wet or dry, and its date."""
    tmin = draw(st.floats(-15, 30))
    f = pasture.Forcing(
        draw(st.one_of(st.just(0.0), st.floats(0, 500))),
        tmin,
        tmin + draw(st.floats(0, 25)),
        draw(st.floats(0, 35)),
        draw(st.floats(0, 40)),
        draw(st.floats(0, 80)),
        draw(st.floats(0, 20)),
        draw(st.sampled_from([0.0, 0.0, 0.5, 1.0])),
    )
    return f, pasture.Today(float(draw(st.integers(1, 366))), float(draw(st.integers(1, 12))))


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_every_day_closes_its_balances_and_leaves_no_pool_below_zero(data):
    p, o = data.draw(places())
    d = constants(p, o)
    state = data.draw(states(d))
    for f, t in data.draw(st.lists(days(), min_size=1, max_size=5)):
        before = state
        state, day = step(before, f, p, d, t, o)
        out = [-day.deep_drainage, -day.soil_evaporation_1, -day.soil_evaporation_2, -day.tree_transpiration, -day.transpiration]
        water = fsum([*state[:4], *(-w for w in before[:4]), -f.rain, day.runoff, *(-x for x in out)])
        losses = [day.detachment, day.stock_consumption, day.kangaroo_consumption, day.trampled, day.burnt]
        sward = fsum([*state[4:8], *(-x for x in before[4:8]), -day.growth, *losses])
        litter = fsum([state.litter, -before.litter, -day.detachment, -day.trampled, day.decomposition, day.burnt_litter])
        assert abs(water) <= 1e-10
        assert abs(sward) <= 1e-9
        assert abs(litter) <= 1e-9
        assert min(state[:9]) >= 0
        assert state.soil_water_1 >= d.dry_1 * (1 - 1e-12)
        assert all(w >= low * (1 - 1e-12) for w, low in zip(state[1:4], d[1:4], strict=True))
        assert min(day.runoff, day.deep_drainage, day.soil_evaporation, day.transpiration, day.tree_transpiration, day.growth) >= 0
