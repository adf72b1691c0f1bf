"""Deformation and back (Lauritzen et al. 2012): norms, order, mixing, filaments of `ccm` beside an independent code, and of `best`."""

import numpy as np
import pytest

from steppe.models.transport.declarations import PATH
from verification.transport.diagnostics import THRESHOLDS, filaments, mixing, norms
from verification.transport.runs import FIELDS, FULL, VARIANTS, days_of, grid, lauritzen, named, opened, outcome, references

# rows, kind, steps: all of the references, and those of them that are quick. 480 rows take minutes.
ALL = [(60, "latlon", 60), (60, "latlon", 300), (64, "gauss", 64), (120, "latlon", 120), (120, "latlon", 600), (128, "gauss", 128)]
ALL += [(240, "latlon", 240)]
FINE = (240, "latlon", 240)
QUICK = [(60, "latlon", 60), (64, "gauss", 64), (120, "latlon", 120)]
RUNS = [(*case, variant) for case in ALL for variant in VARIANTS if FULL or case in QUICK]
RUNS += [] if FULL else [(60, "latlon", 300, "limited, fixed"), (*FINE, "free"), (*FINE, "limited")]
MASS = {"free": 2e-4, "limited": 2e-6}  # relative: what 3 iterations change of what is nearly 0, and what is printed
CURVE = 2001  # points of the curve from which the references take the distance of a pair
EXTREME = 1e-3  # of the range


def title(rows, kind, steps, variant):
    return f"Lauritzen {named(rows, kind)}, {steps} steps, ccm {variant}"


def of_references(name, rows, kind, steps, variant):
    """The rows of a table that belong to a run."""
    limited, fixed = ("01"[word == "on"] for word in VARIANTS[variant])
    return [
        row
        for row in references(name)
        if (int(row["nlat"]), row["grid"], int(row["steps"]), row["limited"], row.get("fix", "0")) == (rows, kind, steps, limited, fixed)
    ]


def compare(found, row, case, form, measured):
    """Norms of a tracer beside a row of the references."""
    worst = max(abs(getattr(found, name) / float(row[name]) - 1.0) for name in ("l1", "l2", "linf"))
    measured(case, f"{form}, l2", found.l2, f"{float(row['l2']):.6f}, 2 %")
    measured(case, f"{form}, worst of l1, l2, linf, relative deviation", worst, "<= 0.02")
    assert worst <= 0.02
    for name in ("dmax", "dmin"):
        assert abs(getattr(found, name) - float(row[name])) <= EXTREME + 0.02 * abs(float(row[name])), name


@pytest.mark.parametrize(("rows", "kind", "steps", "variant"), RUNS)
def test_errors_are_those_of_the_reference(rows, kind, steps, variant, measured):
    run, case = lauritzen(rows, kind, steps, variant), title(rows, kind, steps, variant)
    expected = of_references("slt_ref_lauritzen", rows, kind, steps, variant)
    assert len(expected) == len(FIELDS)
    for row in expected:
        form = FIELDS[row["field"]]
        found, dmass = norms(run.last[form], run.first[form], run.mass), float(row["dmass"])
        compare(found, row, case, form, measured)
        if variant == "limited":
            assert found.dmin >= 0.0 >= found.dmax, "within its range to the last bit"
        if variant.endswith("fixed"):
            measured(case, f"{form}, mass, relative change", found.dmass, f"<= 1e-14 a step, {steps * 1e-14:g}")
            assert abs(found.dmass) <= steps * 1e-14
        else:
            measured(case, f"{form}, mass, relative change", found.dmass, f"{dmass:.6f}, 3 % + {MASS[variant]:g}")
            assert abs(found.dmass - dmass) <= 0.03 * abs(dmass) + MASS[variant]


@pytest.mark.parametrize(("rows", "kind", "steps", "variant"), [(*case, v) for case in ALL[0:3:2] for v in VARIANTS])
def test_paths_found_as_those_of_the_reference_have_all_its_digits(rows, kind, steps, variant, tmp_path, measured):
    """Five iterations from the arrival point in each step, and not three from the last middle."""
    days, (limiter, fixer) = days_of(steps), VARIANTS[variant]
    said = {"wind": "deforming", "period": float(days), "iterations": 5, "scheme": "ccm", "limiter": limiter, "fixer": fixer}
    with opened(tmp_path, grid(rows, kind), steps, days, tuple(FIELDS.values()), **said) as simulation:
        model = simulation.model
        first = {name: values.copy() for name, values in model.state.items()}
        for _ in range(steps):
            for name in PATH:
                model.state[name][...] = first[name]
            simulation.step()
        worst = 0.0
        for row in of_references("slt_ref_lauritzen", rows, kind, steps, variant):
            form = FIELDS[row["field"]]
            found = norms(model.state[form], first[form], model.sphere.weights[:, None])
            worst = max(worst, *(abs(value - float(row[name])) for name, value in found._asdict().items()))
    case = title(rows, kind, steps, variant) + ", 5 iterations"
    measured(case, "worst deviation of all norms, extremes, masses", worst, "<= 1e-6, as printed")
    assert worst <= 1e-6


def test_three_iterations_from_the_last_middle_are_enough(measured):
    for rows, kind, steps in (ALL[2], ALL[3]):
        for form in FIELDS.values():
            few, many = (
                norms(run.last[form], run.first[form], run.mass).l2
                for run in (lauritzen(rows, kind, steps, "free", iterations=n) for n in (3, 30))
            )
            case = f"Lauritzen {named(rows, kind)}, {steps} steps, ccm free"
            measured(case, f"{form}, l2, 3 iterations from the last middle over 30, relative change", few / many - 1.0, "<= 0.005")
            assert abs(few / many - 1.0) <= 0.005


@pytest.mark.parametrize("variant", ["free", "limited"])
def test_flow_that_diverges_has_the_errors_of_the_reference(variant, measured):
    days = days_of(64)
    run = outcome(grid(64, "gauss"), 64, days, tuple(FIELDS.values()), variant, wind="divergent", period=float(days))
    for row in of_references("slt_ref_divergent_T42", 64, "gauss", 64, variant):
        form = FIELDS[row["field"]]
        compare(norms(run.last[form], run.first[form], run.mass), row, f"Lauritzen divergent T42, 64 steps, ccm {variant}", form, measured)


@pytest.mark.parametrize(("variant", "least"), [("free", 2.4), ("limited", 1.7)])
def test_errors_fall_with_the_order_of_the_scheme(variant, least, measured):
    coarse, fine = (lauritzen(rows, "latlon", rows, variant) for rows in (120, 240))
    errors = [norms(run.last["hills"], run.first["hills"], run.mass).l2 for run in (coarse, fine)]
    order = np.log2(errors[0] / errors[1])
    measured(f"Lauritzen, 120 and 240 steps, ccm {variant}", "order from 1.5 to 0.75 degree, l2 of hills", order, f">= {least:g}")
    assert order >= least


@pytest.mark.parametrize(("rows", "kind", "steps", "variant"), RUNS)
def test_mixing_is_that_of_the_reference(rows, kind, steps, variant, measured):
    run, case = lauritzen(rows, kind, steps, variant), title(rows, kind, steps, variant) + ", half-way"
    (row,) = of_references("slt_ref_mixing_filament", rows, kind, steps, variant)
    found = mixing(run.middle["bells"], run.middle["correlated"], run.mass, CURVE)
    exact = mixing(run.middle["bells"], run.middle["correlated"], run.mass)
    measured(case, "real mixing l_r, distance from the curve itself", exact.real, "printed alone")
    measured(case, "unmixing l_u, distance from the curve itself", exact.unmixing, "printed alone")
    for what, value, expected in (("real mixing l_r", found.real, row["lr"]), ("unmixing l_u", found.unmixing, row["lu"])):
        measured(case, what, value, f"{expected}, 3 %")
        assert abs(value - float(expected)) <= 0.03 * float(expected), what
    limited = variant == "limited"
    measured(case, "overshooting l_o", found.over, "0 (exactly)" if limited else row["lo"])
    assert found.over == 0.0 if limited else abs(found.over - float(row["lo"])) <= 0.03 * float(row["lo"]) + 1e-9
    areas = filaments(run.middle["bells"], run.first["bells"], run.mass)
    for tau in THRESHOLDS:
        expected = f"{row[f'lf_{tau:.2f}']}" + (", 0.05" if tau == 0.1 and limited else ", printed alone")
        measured(case, f"filaments l_f({tau:.2f}) [%]", areas[tau], expected)
    if limited:
        assert abs(areas[0.1] - 100.0) <= 0.05


BEST = [(120, {"hills": 0.019, "bells": 0.041, "slotted": 0.262}), (240, {"hills": 0.0046, "bells": 0.0089, "slotted": 0.196})]


@pytest.mark.parametrize(("steps", "most"), BEST, ids=["1.5", "0.75"])
def test_best_is_exact_monotone_and_conservative_together(steps, most, measured):
    run, case = lauritzen(steps, "latlon", steps, "limited, fixed", scheme="best"), f"Lauritzen {180 / steps:g} degree, {steps} steps, best"
    for form, limit in most.items():
        found = norms(run.last[form], run.first[form], run.mass)
        measured(case, f"{form}, l2", found.l2, f"<= {limit:g}")
        measured(case, f"{form}, mass, relative change", found.dmass, f"<= 1e-14 a step, {steps * 1e-14:g}")
        assert found.l2 <= limit
        assert abs(found.dmass) <= steps * 1e-14
        for values in (run.middle[form], run.last[form]):
            assert values.min() >= run.first[form].min()
            assert values.max() <= run.first[form].max()
    found = mixing(run.middle["bells"], run.middle["correlated"], run.mass)
    measured(case, "half-way, overshooting l_o", found.over, "0 (exactly)")
    measured(case, "half-way, real mixing l_r", found.real, "printed alone")
    measured(case, "half-way, unmixing l_u", found.unmixing, "printed alone")
    assert found.over == 0.0
    for tau, area in filaments(run.middle["bells"], run.first["bells"], run.mass).items():
        measured(case, f"half-way, filaments l_f({tau:.2f}) [%]", area, "printed alone")


@pytest.mark.parametrize("steps", [60, 120, 288, 600] if FULL else [60, 120])
def test_the_error_depends_on_the_step_as_the_page_on_transport_says(steps, measured):
    """At long steps the path counts, at short ones the interpolation: `best` is the better one of both."""
    errors = {}
    for scheme in ("ccm", "best"):
        run = lauritzen(120, "latlon", steps, "limited, fixed", scheme=scheme)
        for form in ("hills", "slotted"):
            errors[scheme, form] = norms(run.last[form], run.first[form], run.mass).l2
            measured(f"choose the step, 1.5 degree, {steps} steps, {scheme}", f"{form}, l2", errors[scheme, form], "best < 0.9 ccm")
    for form in ("hills", "slotted"):
        assert errors["best", form] < 0.9 * errors["ccm", form]


def test_best_resolves_bells_on_a_coarse_grid(measured):
    """The spacing at which l2 of the bells is 0.033 (Lauritzen et al. 2014, Geosci. Model Dev. 7), on a line between logarithms."""
    rows = 120, 144
    errors = []
    for n in rows:
        run = lauritzen(n, "latlon", n, "limited, fixed", scheme="best")
        errors.append(norms(run.last["bells"], run.first["bells"], run.mass).l2)
        measured(f"Lauritzen {180 / n:g} degree, {n} steps, best", "bells, l2", errors[-1], "0.033 between")
    spacing = np.exp(np.interp(np.log(0.033), np.log(errors[::-1]), np.log([180.0 / n for n in rows[::-1]])))
    measured("Lauritzen, as many steps as rows, best", "minimal resolution, l2 of bells 0.033 [degree]", spacing, ">= 1.35")
    assert spacing >= 1.35
