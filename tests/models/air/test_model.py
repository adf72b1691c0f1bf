"""The air model on a grid: the same bits for any cut, what it keeps, and what it tells."""

import re

import numpy as np
import pytest

from steppe.comm import Serial
from steppe.engine.plan import Plan
from steppe.errors import Mistake, ModelError
from steppe.models.air.column import AIR
from steppe.models.air.declarations import TERMS
from steppe.models.air.model import NANO
from steppe.testing import run_threads
from tests.air import air_run
from tests.models.same_bits import advanced, assert_same, states, whole

SHAPE, STEPS, DAWN = (12, 12), 4, 24  # the first step of a morning


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("air")


@pytest.fixture(scope="module")
def plan(folder):
    return Plan.of(air_run(folder))


@pytest.fixture(scope="module")
def expected(plan):
    """The state after some steps on one rank."""
    return whole([states(Serial(), plan, steps=STEPS, first=DAWN)], SHAPE)


# each cut, one of them with the queue and without
@pytest.mark.parametrize(
    ("ranks", "dims", "even"), [(2, None, "on"), (2, None, "off"), (4, {"y": 2, "x": 2}, "on"), (3, {"y": 1, "x": 3}, "off")]
)
def test_ranks_in_any_cut_with_the_queue_and_without_give_the_same_bits(folder, expected, ranks, dims, even):
    plan = Plan.of(air_run(folder, f'even_chemistry = "{even}"'))
    parts = run_threads(ranks, lambda world: states(world, plan, dims, steps=STEPS, first=DAWN), 60.0)
    assert_same(whole(parts, SHAPE), expected)


def test_ranks_of_two_hosts_give_the_same_bits(plan, expected):
    parts = run_threads(3, lambda world: states(world, plan, steps=STEPS, first=DAWN), 60.0, ["a", "b", "a"])
    assert_same(whole(parts, SHAPE), expected)


def test_any_number_of_lanes_gives_the_same_bits(folder, expected):
    plan = Plan.of(air_run(folder, "lanes = 128"))
    assert_same(whole([states(Serial(), plan, steps=STEPS, first=DAWN)], SHAPE), expected)


def test_steps_in_pieces_and_from_a_copy_give_the_same_bits(plan, expected):
    _, model = advanced(Serial(), plan, steps=2, first=DAWN)
    rest = states(Serial(), plan, steps=2, pieces=2, first=DAWN + 2, copy=model.remember())
    assert_same(whole([rest], SHAPE), expected)


def test_a_copy_with_looks_tells_the_same_diagnostics(plan):
    _, model = advanced(Serial(), plan, steps=2, first=DAWN)
    again = plan.again().model
    again.recall(model.remember(looks=True), model.box, model.reach)
    for name in ("rate_r39", "production_O3", "loss_NO", "deposited_O3", "sun", "w_residual"):
        np.testing.assert_array_equal(again.export(name), model.export(name), err_msg=name)


def test_an_even_mixing_ratio_stays_even_in_wind_that_spreads(folder):
    """Without chemistry, emission and deposition; what comes in is the same."""
    plan = Plan.of(air_run(folder, "boundary_CO = 150.0"))

    def still(model):
        model.set("CO", 150.0)
        for name in [name for name in model.parameters if name.startswith("rate_factor_")]:
            model.set(name, 0.0)

    _, model = advanced(Serial(), plan, steps=STEPS, prepare=still)
    assert abs(model.state["CO"] / 150.0 - 1.0).max() < 1e-13
    assert model.state["O3"].max() < 20.0


@pytest.mark.parametrize(("wind", "row", "column"), [("u", 0.0, 1.0), ("v", -1.0, 0.0)])  # rows go from north to south
def test_air_goes_where_the_wind_points(tmp_path, wind, row, column):
    def steady(fields):
        for name in ("u", "v", "w"):
            fields[name][...] = 20.0 if name == wind else 0.0
        return fields

    def blob(model):
        for name in [*model.parameters]:
            if name.startswith("rate_factor_"):
                model.set(name, 0.0)
        model.set("CO", 0.0)
        model.state["CO"][:, 5:7, 5:7] = 1000.0
        model.set("boundary_CO", 0.0)

    plan = Plan.of(air_run(tmp_path, step="30 minutes", change=steady))
    _, model = advanced(Serial(), plan, steps=2, prepare=blob)
    found = model.state["CO"] * model.state["air"]
    cells = np.arange(12) - 5.5
    moved = (found * cells[:, None]).sum() / found.sum(), (found * cells).sum() / found.sum()
    passed = 20.0 * 3600.0 / (model._faces.height if wind == "v" else model._faces.width[3:-3].mean())
    np.testing.assert_allclose(moved, (row * passed, column * passed), atol=0.02)


def test_the_wind_upward_is_that_of_continuity(tmp_path):
    """The meteorology of the example is consistent but for the mass of air that pressure and temperature make."""
    _, model = advanced(Serial(), Plan.of(air_run(tmp_path, cells=32)), steps=1)
    residual, w = abs(model.export("w_residual")), abs(model.export("w"))
    assert residual[:, 1:-1, 1:-1].max() < 0.1 * w.max()
    assert residual.max() < 0.4 * w.max()  # along the edges the wind beyond them is a guess


def test_mass_is_what_the_ledger_says(plan):
    def amounts(model):
        """[mol m-2] of each species and column."""
        return {name: (model.state[name] * model.state["air"]).sum(axis=0) / (NANO * AIR) for name in model.mechanism.species}

    _, model = advanced(Serial(), plan, steps=2, first=DAWN)
    before, area = amounts(model), model._faces.area[3:-3]
    _, model = advanced(Serial(), plan, steps=1, first=DAWN + 2, copy=model.remember())
    signs = dict(zip(TERMS, (1, -1, 1, -1, 1, 1), strict=True))
    for name, after in amounts(model).items():
        change = sum(sign * model.export(f"{term}_{name}") for term, sign in signs.items()) * model.seconds
        whole = (after * area).sum()
        passed = sum(abs(model.export(f"{term}_{name}")).sum() for term in TERMS) * model.seconds * area.max()
        assert abs(((after - before[name] - change) * area).sum()) <= 1e-12 * (whole + passed), name


def test_production_less_loss_is_what_all_reactions_do(plan):
    _, model = advanced(Serial(), plan, steps=1, first=60)
    o3, no = model.mechanism.species.index("O3"), model.mechanism.species.index("NO")
    for which in (o3, no):
        name, net = model.mechanism.species[which], 0.0
        for process in model.mechanism.processes:
            if process.rate.form in ("emission", "deposition"):
                continue
            times = sum(amount for i, amount in process.products if i == which) - process.reactants.count(which)
            if times:
                net = net + times * model.export(f"rate_{process.label}")
        np.testing.assert_allclose(model.export(f"production_{name}") - model.export(f"loss_{name}"), net, rtol=1e-12, atol=1e-6)


def own_mechanism(folder, text):
    """The plan of a run with a mechanism of these lines, which has a species A."""
    (folder / "own.yaml").write_text(text)
    run = air_run(folder, 'mechanism = "own.yaml"')
    run.write_text(run.read_text().replace('"O3"', '"A"'))
    return Plan.of(run)


def test_a_negative_yield_is_a_loss(folder):
    text = 'species: ["A", "B"]\nreactions:\n- {n: 1, eq: "B -> B - 0.25 A", rate: {type: loss, k: 1.0e-6}}\n'
    _, model = advanced(Serial(), own_mechanism(folder, text), steps=1, prepare=lambda model: [model.set(name, 50.0) for name in "AB"])
    np.testing.assert_array_equal(model.export("loss_A"), 0.25 * model.export("rate_r1"))
    assert model.export("loss_A").min() > 0.0
    assert model.export("production_A").max() == 0.0


def test_a_mechanism_may_have_emissions_alone(folder):
    text = 'species: ["A"]\nreactions:\n- {n: 1, eq: "-> A", rate: {type: emission, flux: 6.02214076e+12}}\n'
    _, model = advanced(Serial(), own_mechanism(folder, text), steps=1)
    np.testing.assert_allclose(model.export("emitted_A"), 1e-7, rtol=1e-12)
    assert model.export("production_A").shape == model.state["A"].shape
    assert not model.export("production_A").any()


def test_amounts_of_a_box_are_parts_of_its_air(folder):
    text = 'species: ["A"]\nreactions:\n- {eq: "A ->", rate: {type: loss, k: 0.0}}\nbox: {temperature: 250.0, initial: {A: 1.0e+12}}\n'
    model = own_mechanism(folder, text).model
    air = 1e-6 * 101_325.0 / (1.380649e-23 * 250.0)
    for name in ("A", "boundary_A"):
        assert model.variables[name].initial == pytest.approx(1e21 / air, rel=1e-12)


def test_a_negative_rate_makes_no_matter(folder):
    text = 'species: ["A"]\nreactions:\n- {n: 1, eq: "A ->", rate: {type: arrhenius, A: 1.0e-5, E: -2.0e-5}}\n'
    _, model = advanced(Serial(), own_mechanism(folder, text), steps=1, prepare=lambda model: model.set("A", 50.0))
    assert "cannot go on for A[0]" in model.status().why


@pytest.mark.parametrize("rate", ["{type: arrhenius, A: 1.0e-22, third: [H2O]}", "{type: ho2_ho2}"])
def test_water_that_lacks_is_named_before_the_run(rate, folder):
    text = f'name: own\nspecies: ["A"]\nreactions:\n- {{n: 1, eq: "A ->", rate: {rate}}}\n'
    with pytest.raises(ModelError, match=re.escape("Mechanism own takes H2O, and does not say how much there is. Add h2o, or H2O to")):
        own_mechanism(folder, text)
    assert own_mechanism(folder, f"constants: {{H2O: 4.0e+17}}\n{text}").model.name == "air"


@pytest.mark.parametrize("value", ["-1.0e-5", "nan", "inf"])
def test_a_rate_from_outside_that_cannot_be_is_refused(value, folder):
    (folder / "given.yaml").write_text('species: ["A"]\nreactions:\n- {eq: "A ->", rate: {type: given, id: PHOTO.a}}\n')
    with pytest.raises(ModelError, match=rf"PHOTO\.a is {float(value):g}, and a number of 0 or more is expected\."):
        Plan.of(air_run(folder, f'mechanism = "given.yaml"\ngiven = {{ "PHOTO.a" = {value} }}'))


def test_a_step_in_which_air_passes_too_many_cells_names_the_cell(folder, tmp_path):
    def storm(fields):
        fields["u"][:, 2] = 149.0
        return fields

    plan = Plan.of(air_run(tmp_path, step="8 hours", change=storm))
    _, model = advanced(Serial(), plan, steps=1)
    status = model.status()
    assert status.count == 1
    assert re.search(r"on level 2 the wind along x passes \d\d cells, and at most 20 can be, in half a step of 28800 s.", status.why)
    assert status.variable == "u[2]"


def test_ranks_end_together_where_one_of_them_cannot_go_on(tmp_path):
    def storm(fields):
        fields["u"][:, 2, :, :3] = 149.0
        return fields

    plan = Plan.of(air_run(tmp_path, step="2 hours", every="2 hours", change=storm))
    found = run_threads(3, lambda world: advanced(world, plan, {"y": 1, "x": 3}, steps=2)[1].status(), 60.0)
    assert [status.count for status in found] == [1, 0, 0]
    assert "takes more air than it has" in found[0].why
    (tmp_path / "burst.yaml").write_text(
        'species: ["O3", "NO"]\nreactions:\n- {n: 1, eq: "NO + NO -> 4 NO", rate: {type: loss, k: 1.0e+300}}\n'
    )
    plan = Plan.of(air_run(tmp_path, 'mechanism = "burst.yaml"'))

    def begin(model):
        model.state["NO"][...] = np.where(model.box.origin[1] == 0, 1.0, 0.0)

    found = run_threads(2, lambda world: advanced(world, plan, {"y": 1, "x": 2}, steps=3, prepare=begin)[1].status(), 60.0)
    assert "cannot go on for NO[0]" in found[0].why


def test_a_factor_of_a_reaction_changes_what_it_does(folder, expected):
    plan = Plan.of(air_run(folder, "rate_factor_r39 = 0.5"))
    found = whole([states(Serial(), plan, steps=STEPS, first=DAWN)], SHAPE)
    assert abs(found["O3"] - expected["O3"]).max() > 0.1


def test_emissions_come_from_parameters_and_from_hourly_fields(tmp_path):
    """What the ledger says is emitted is what was given, beside what the mechanism emits and times the factors."""
    rising = 1e-9 * np.arange(12.0)[:, None] * np.ones(12)

    def hourly(fields):
        hours = np.arange(fields.sizes["time"])[:, None, None]
        fields["emission_CO"] = ("time", "lat", "lon"), (hours * rising).astype("f4"), {"units": "mol m-2 s-1"}
        return fields

    given = "emission_NO = 2.0e-9\nemission_O3 = 0.0\nemission_factor_CO = 0.5\nemission_factor = 0.25"
    plan = Plan.of(air_run(tmp_path, given, change=hourly))
    emitting = {each.products[0][0]: each for each in plan.model.mechanism.processes if each.rate.form == "emission"}
    process, of_co = (emitting[plan.model.mechanism.species.index(name)] for name in ("NO", "CO"))
    factor = f"rate_factor_{process.label}"  # of the emission of NO that the mechanism has
    west = np.where(np.arange(144) % 12 < 6, 2.0, 0.0)

    def prepare(model):
        model.set(factor, west)
        model.set("emission_O3", 3e-9, np.arange(12))

    _, model = advanced(Serial(), plan, steps=1, first=DAWN + 2, prepare=prepare)  # from 4:20 to 4:30
    of_mechanism = process.rate.numbers[0] * 1e4 / 6.02214076e23
    np.testing.assert_allclose(model.export("emitted_NO"), 0.25 * (2e-9 + of_mechanism * west.reshape(12, 12)), rtol=1e-12)
    np.testing.assert_allclose(model.export("emitted_O3"), 0.25 * np.where(np.arange(144) < 12, 3e-9, 0.0).reshape(12, 12), rtol=1e-12)
    expected = 0.25 * (of_co.rate.numbers[0] * 1e4 / 6.02214076e23 + 0.5 * (4.0 + 25.0 / 60.0) * rising)
    np.testing.assert_allclose(model.export("emitted_CO"), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("products", "loss", "made"), [("", 1.0, 0.0), ("B", 1.0, 1.0), ("A", 0.0, 0.0), ("0.5 A", 0.5, 0.0), ("A + 2 B", 0.0, 2.0)]
)
def test_a_deposition_takes_its_net_loss_and_makes_its_products(tmp_path, products, loss, made):
    (tmp_path / "q.yaml").write_text(
        f'species: ["A", "B"]\nreactions:\n- {{n: 1, eq: "A -> {products}", rate: {{type: deposition, vd: 1.0}}}}\n'
    )
    run = air_run(tmp_path, 'mechanism = "q.yaml"\nboundary_A = 100.0')
    run.write_text(run.read_text().replace('"O3"', '"A"'))
    plan = Plan.of(run)
    _, model = advanced(Serial(), plan, steps=1, first=72, prepare=lambda model: model.set("A", 100.0))
    moles = model.state["air"][0] / (AIR * model.levels.thickness[0])  # [m-3] of air
    down = 0.01 * 100e-9 * moles  # [mol m-2 s-1] by day, but for what is deposited within the step
    np.testing.assert_allclose(model.export("deposited_A"), loss * down, rtol=0.1)
    np.testing.assert_allclose(model.export("emitted_B"), made * down, rtol=0.1)
    assert model.export("emitted_A").max() == 0.0
    if loss == made:
        np.testing.assert_allclose(model.export("emitted_B"), model.export("deposited_A"), rtol=1e-12)
    total = (model.state["B"] * model.state["air"]).sum() / (NANO * AIR)
    assert total == pytest.approx(model.export("emitted_B").sum() * model.seconds, rel=0.02)  # the rest leaves over the sides


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("emission_NOX = 1.0", "emission_NOX"),
        ("emission_CO = 1.0e-9", 'parameters. "emission_CO": the meteorology has it, too'),
        ('mechanism = "few.yaml"', 'The meteorology has "emission_CO", and mechanism few has no species "CO"'),
    ],
)
def test_an_emission_of_no_species_or_given_twice_is_refused(tmp_path, parameters, message):
    (tmp_path / "few.yaml").write_text('name: few\nspecies: ["O3"]\nreactions:\n- {n: 1, eq: "O3 ->", rate: {type: loss, k: 1.0e-6}}\n')

    def with_co(fields):
        fields["emission_CO"] = 1e-9 * (fields["ps"] > 0.0)
        fields["emission_CO"].attrs["units"] = "mol m-2 s-1"
        return fields

    with pytest.raises(Mistake, match=message):
        Plan.of(air_run(tmp_path, parameters, change=with_co))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("lanes = 0", r"\[parameters\] lanes = 0 must be a whole number from 1 to 4096"),
        ("mechanism = 3", r"\[parameters\] mechanism = 3 must be a text: emep66, or the path of a file"),
        ('mechanism = "emep67"', 'There is no mechanism "emep67". Did you mean "emep66"'),
    ],
)
def test_what_cannot_be_is_refused(folder, parameters, message):
    with pytest.raises(ModelError, match=message):
        Plan.of(air_run(folder, parameters))


@pytest.mark.parametrize("name", ["A/B", "NO3-", "x[0]"])
def test_a_species_whose_levels_could_not_be_named_is_refused(name, folder):
    (folder / "named.yaml").write_text(f'species: ["{name}"]\nreactions: [{{eq: "{name} ->", rate: {{type: loss, k: 1.0e-5}}}}]\n')
    with pytest.raises(ModelError, match=re.escape(f'a grid takes no name "{name}". Write letters, digits and _.')):
        Plan.of(air_run(folder, 'mechanism = "named.yaml"'))


def test_air_follows_from_the_meteorology_and_is_not_set(folder):
    with pytest.raises(Mistake, match=re.escape('[initial] "air" cannot be set: it follows from ps, T, surface_temperature.')):
        Plan.of(air_run(folder, more="initial = { air = 3.0 }"))


def test_a_species_that_begins_above_the_air_is_warned_of(folder):
    assert not Plan.of(air_run(folder, more="initial = { NO = 9.9e7, O3 = 40.0 }")).cautions
    found = Plan.of(air_run(folder, more="initial = { NO = 2.0e9, O3 = 40.0 }")).cautions
    assert found == ["NO is set to 2e+09 nmol mol-1, 200 % of the air."]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("O3[0]", '"O3[0]" to record. Write "O3", which is recorded with all its levels.'),
        ("rate_r999", '"rate_r999" to record. Did you mean'),
    ],
)
def test_what_cannot_be_recorded_is_named_with_what_can_be(name, says, plan):
    with pytest.raises(Mistake, match=re.escape(says)):
        plan.recordable(name, "[output]")
