"""Transport in three dimensions (DCMIP 1-1 and 1-2, Kent et al. 2014) beside an independent code."""

import numpy as np
import pytest

from verification.transport.diagnostics import norms
from verification.transport.runs import FULL, grid, outcome, references

# test: wind, days, tracers
TESTS = {"11": ("dcmip11", 12, ("q1", "q2", "q3", "q4")), "12": ("dcmip12", 1, ("layer",))}
# test, rows, levels, steps, variant
RUNS = [(test, 45, 30, steps, variant) for test, steps in (("12", 24), ("11", 144)) for variant in ("free", "limited")]
QUICK = [*RUNS, ("12", 90, 30, 24, "free")]
ALL = [*QUICK, ("12", 90, 30, 24, "limited"), ("12", 90, 60, 48, "free"), ("12", 90, 60, 48, "limited"), ("11", 90, 30, 144, "limited")]


def run_of(test, rows, levels, steps, variant):
    wind, days, tracers = TESTS[test]
    return outcome(grid(rows), steps, days, tracers, variant, wind=wind, levels=levels)


def title(test, rows, levels, steps, variant):
    return f"DCMIP {test[0]}-{test[1]}, {180 / rows:g} degree, {levels} levels, {steps} steps, ccm {variant}"


@pytest.mark.parametrize(("test", "rows", "levels", "steps", "variant"), ALL if FULL else QUICK)
def test_errors_are_those_of_the_reference(test, rows, levels, steps, variant, measured):
    run, case = run_of(test, rows, levels, steps, variant), title(test, rows, levels, steps, variant)
    key = (test, str(rows), str(levels), str(steps), str(int(variant == "limited")))
    expected = [row for row in references("slt_ref_dcmip") if (row["test"], row["nlat"], row["nlev"], row["steps"], row["limited"]) == key]
    assert expected
    for row in expected:
        form = "layer" if test == "12" else row["field"]
        found = norms(run.last[form], run.first[form], run.mass)
        for name in ("l1", "l2", "linf"):
            value = float(row[name])
            measured(case, f"{form}, {name}", getattr(found, name), f"{value:.5f}, 3 %")
            assert abs(getattr(found, name) - value) <= 0.03 * value, name
        measured(case, f"{form}, mass, relative change", found.dmass, f"{float(row['dmass']):.6f}, printed alone")


@pytest.mark.parametrize("variant", ["free", "limited"])
def test_four_tracers_have_the_sum_one(variant, measured):
    at = ("11", 45, 30, 144, variant)
    run = run_of(*at)
    found = np.abs(0.3 * (run.last["q1"] + run.last["q2"] + run.last["q3"]) + run.last["q4"] - 1.0).max()
    measured(title(*at), "0.3 (q1 + q2 + q3) + q4 - 1, greatest", found, "<= 1e-13" if variant == "free" else "0.0040, printed alone")
    assert variant == "limited" or found <= 1e-13
