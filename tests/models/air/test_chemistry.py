"""The chemistry of lanes beside a step in dense matrices, and what a cell's result does not depend on."""

import numpy as np
import pytest

from steppe.kernels import field_kernel
from steppe.models.air.chemistry import SUN_C, SUN_FIRST, SUN_LIT, SUN_PHASE, SUN_S, SUN_SECOND, TURN, Chemistry, darkness
from steppe.models.air.chemistry_box import ChemistryBox
from steppe.models.air.conditions import Conditions
from steppe.models.air.mechanism_file import read_mechanism
from steppe.models.air.program import Program
from steppe.models.air.rosenbrock import Attempt, attempt

from .plain import change, jacobian

# A -> B (light), B + C -> A + 2 D, 2 D -> C, -> A, D ->
EQUATIONS = [((0,), [(1, 1.0)]), ((1, 2), [(0, 1.0), (3, 2.0)]), ((3, 3), [(2, 1.0)]), ((), [(0, 1.0)]), ((3,), [])]
SPECIES = 4


def rodas3(k0, k1, dk, y, h):
    """One step in dense matrices."""
    a = np.eye(SPECIES) * 2.0 / h - jacobian(EQUATIONS, k0, y)
    ft = change(EQUATIONS, dk, y)
    u1 = np.linalg.solve(a, change(EQUATIONS, k0, y) + 0.5 * h * ft)
    u2 = np.linalg.solve(a, change(EQUATIONS, k0, y) + 4.0 / h * u1 + 1.5 * h * ft)
    u3 = np.linalg.solve(a, change(EQUATIONS, k1, y + 2.0 * u1) + (u1 - u2) / h)
    z = y + 2.0 * u1 + u3
    u4 = np.linalg.solve(a, change(EQUATIONS, k1, z) + (u1 - u2 - 8.0 / 3.0 * u3) / h)
    return z + u4, u4


def cells(n, seed=1):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 2.0, (SPECIES, n)), rng.uniform(0.01, 0.3, (len(EQUATIONS), n))


def advance(y, k, seconds, sun=None, lanes=64, carried=0.1, rtol=1e-4, atol=1e-6):
    """With a sun the first process follows it."""
    n, varying = y.shape[1], [] if sun is None else [0]
    solver = Chemistry(Program.of(SPECIES, EQUATIONS, varying), np.ones(len(varying)), rtol, atol, lanes)
    c, steps = y.copy(), np.full(n, carried)
    outcome = solver.advance(seconds, k, darkness(n) if sun is None else sun, c, np.arange(n), steps)
    return c, steps, outcome


@field_kernel
def step_of_five(program: Program, step: Attempt) -> None:
    attempt(5, program, step)


def test_a_step_is_that_of_dense_matrices():
    lanes, h = 5, np.array([0.1, 0.5, 1.0, 3.0, 20.0])
    program = Program.of(SPECIES, EQUATIONS, [0])
    y, k = cells(lanes)
    later, slope = k[:1] * 1.1, k[:1] * 0.01
    step = Attempt.room(program, lanes)._replace(h=h, now=k[:1].copy(), later=later, slope=slope, k=k.copy(), y=y)
    step_of_five(program, step)
    z, error = step.z, step.error
    for i in range(lanes):
        k1, dk = k[:, i].copy(), np.zeros(len(EQUATIONS))
        k1[0], dk[0] = later[0, i], slope[0, i]
        expected = rodas3(k[:, i], k1, dk, y[:, i], h[i])
        np.testing.assert_allclose(z[:, i], expected[0], rtol=1e-12)
        np.testing.assert_allclose(error[:, i], expected[1], rtol=1e-9, atol=1e-15)


def test_the_program_has_no_element_that_stays_empty():
    program = Program.of(3, [((0,), [(1, 1.0)]), ((1,), [(2, 1.0)])])
    assert program.elements == 5  # the diagonal, and what a chain has below it


@pytest.mark.parametrize("lanes", [1, 7, 128])
def test_a_cell_has_the_same_bits_in_any_lane(lanes):
    y, k = cells(100)
    expected, steps, _ = advance(y, k, 50.0)
    found, again, _ = advance(y[:, ::-1].copy(), k[:, ::-1].copy(), 50.0, lanes=lanes)
    np.testing.assert_array_equal(found[:, ::-1], expected)
    np.testing.assert_array_equal(again[::-1], steps)


def test_the_order_is_3():
    y, k = cells(1)
    exact, _, _ = advance(y, k, 2.0, rtol=1e-11, atol=1e-13)
    errors = []
    for parts in (8, 16, 32):
        c, solver = y.copy(), Chemistry(Program.of(SPECIES, EQUATIONS), np.zeros(0), 1e9, 1e9, 1)
        for _ in range(parts):
            solver.advance(2.0 / parts, k, darkness(1), c, np.arange(1), np.array([2.0 / parts]))
        errors.append(abs(c - exact).max())
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert ((slopes > 2.8) & (slopes < 3.3)).all()


def test_light_follows_the_sun_within_a_step():
    """A alone, with k = exp(-1 / cos(theta)): beside the integral over time."""
    y = np.array([[1.0], [0.0], [0.0], [0.0]])
    k = np.array([[1e-4], [0.0], [0.0], [0.0], [0.0]])
    sun = darkness(1)
    sun[[SUN_S, SUN_C, SUN_PHASE, SUN_LIT], 0] = 0.3, 0.6, 1.4 * np.pi, 1.0
    c, _, _ = advance(y, k, 7200.0, sun, carried=600.0, rtol=1e-7, atol=1e-9)
    t = np.linspace(0.0, 7200.0, 20001)
    light = np.exp(-1.0 / (0.3 + 0.6 * np.cos(TURN * t + 1.4 * np.pi)))
    assert c[0, 0] == pytest.approx(np.exp(-1e-4 * np.trapezoid(light, t)), rel=1e-6)


def test_light_begins_and_ends_within_a_step():
    y, k = cells(1)
    sun = darkness(1)
    sun[[SUN_S, SUN_C, SUN_PHASE, SUN_LIT, SUN_FIRST, SUN_SECOND], 0] = 0.5, 0.3, 1.0, 0.0, 10.0, 17.0
    whole, _, outcome = advance(y, k, 30.0, sun, rtol=1e-9, atol=1e-11)
    part = y
    for first, last, lit in ((0.0, 10.0, 0.0), (10.0, 17.0, 1.0), (17.0, 30.0, 0.0)):
        sun = darkness(1)
        sun[[SUN_S, SUN_C, SUN_PHASE, SUN_LIT], 0] = 0.5, 0.3, 1.0 + TURN * first, lit
        part, _, _ = advance(part, k, last - first, sun, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(whole, part, rtol=1e-7)
    assert outcome.failed[0] == -1


def test_light_of_a_step_of_days_begins_and_ends_every_day():
    """A alone, with k = exp(-1 / cos(theta)) between 6 and 18 h: each day takes the same part of it."""
    y, k = np.array([[1.0], [0.0], [0.0], [0.0]]), np.array([[1e-5], [0.0], [0.0], [0.0], [0.0]])
    sun = darkness(1)
    sun[[SUN_C, SUN_PHASE, SUN_FIRST, SUN_SECOND], 0] = 1.0, -np.pi, 21_600.0, 64_800.0
    found = [advance(y, k, days * 86_400.0, sun, carried=600.0, rtol=1e-6, atol=1e-9)[0][0, 0] for days in (1, 2, 3, 3.25)]
    np.testing.assert_allclose(found, [found[0], found[0] ** 2, found[0] ** 3, found[0] ** 3], rtol=1e-5)


def test_a_step_that_is_cut_to_end_in_time_does_not_shorten_the_next():
    y, k = cells(1)
    _, steps, _ = advance(y, k, 100.0, carried=40.0, rtol=1e-1, atol=1e-1)
    assert steps[0] >= 40.0


def test_what_comes_out_negative_is_0_and_counted():
    y, k = np.array([[0.0], [1.0], [0.2], [0.0]]), np.array([[0.0], [100.0], [3.0], [0.0], [0.0]])
    expected, _ = rodas3(k[:, 0], k[:, 0], np.zeros(len(EQUATIONS)), y[:, 0], 0.05)  # far too long for B + C
    c, _, outcome = advance(y, k, 0.05, carried=0.05, rtol=1e3, atol=1e3)
    assert expected[2] < 0.0
    assert c[2, 0] == 0.0
    np.testing.assert_allclose(c[:, 0] - outcome.clipped[:, 0], expected, rtol=1e-12)


def box(folder, reactions, begins, rtol, exact=False):
    """The last state after 10 hours."""
    (folder / "own.yaml").write_text('species: ["A", "B", "C"]\nreactions:\n' + "\n".join(reactions))
    conditions = Conditions.of(read_mechanism(folder / "own.yaml"), None, [f"A={begins}"])
    return list(ChemistryBox(conditions, rtol, 1e-12, exact=exact).run(36_000.0))[-1]


@pytest.mark.parametrize("exact", [False, True])
def test_a_step_that_is_more_negative_than_the_tolerance_is_taken_again(exact, tmp_path):
    """The problem of Robertson, whose B came out negative and made 4 % of all matter."""
    rates = {"A -> B": "0.04", "2 B -> B + C": "3.0e+7", "B + C -> A + C": "1.0e+4"}
    last = box(tmp_path, [f'- {{eq: "{eq}", rate: {{type: loss, k: {k}}}}}' for eq, k in rates.items()], 1.0, 0.5, exact)
    assert last.c.sum() == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("exact", [False, True])
def test_what_a_negative_yield_takes_may_come_out_negative(exact, tmp_path):
    last = box(tmp_path, ['- {eq: "A -> B - C", rate: {type: loss, k: 1.0e-4}}'], 1e9, 1e-2, exact)
    assert last.c[2] == 0.0
    assert last.clipped[2] == pytest.approx(last.c[1], rel=1e-2)


def test_a_cell_where_the_solver_cannot_go_on_is_named_and_the_others_go_on():
    y, k = cells(9)
    expected, _, _ = advance(y, k, 50.0)
    bad = k.copy()
    bad[2, 4] = np.nan
    c, _, outcome = advance(y, bad, 50.0)
    assert outcome.failed.tolist() == [-1, -1, -1, -1, outcome.failed[4], -1, -1, -1, -1]
    assert outcome.failed[4] >= 0
    others = np.arange(9) != 4
    np.testing.assert_array_equal(c[:, others], expected[:, others])


@pytest.mark.parametrize("species", [0, 1, 2])
def test_a_species_that_is_no_number_is_named_and_not_those_that_it_spoils(species):
    y, k = cells(9)
    y[species, 4] = np.nan
    assert advance(y, k, 50.0)[2].failed[4] == species


def test_cells_lie_anywhere_in_an_array_in_units_of_their_own():
    y, k = cells(5)
    expected, _, _ = advance(y, k, 5.0)
    at, scale = np.array([11, 0, 7, 3, 8]), np.array([1.0, 2.0, 0.5, 4.0, 0.25])
    c = np.full((SPECIES, 3, 4), -1.0)
    c.reshape(SPECIES, -1)[:, at] = y / scale
    Chemistry(Program.of(SPECIES, EQUATIONS), np.zeros(0), 1e-4, 1e-6).advance(5.0, k, darkness(5), c, at, np.full(5, 0.1), scale)
    flat = c.reshape(SPECIES, -1)
    np.testing.assert_array_equal(flat[:, at] * scale, expected)
    assert (np.delete(flat, at, axis=1) == -1.0).all()
