"""A bell that goes round the Earth, also over both poles (Williamson et al. 1992, case 1), beside an independent code."""

import pytest

from verification.transport.diagnostics import norms
from verification.transport.runs import FULL, VARIANTS, days_of, grid, outcome, references

ANGLES = {"0.0000": 0.0, "0.0500": 2.8647889756541160, "1.5208": 90.0 - 2.8647889756541160, "1.5708": 90.0}  # rad of the table: degrees
STEPS = 72, 256, 576
RUNS = [(steps, angle, variant) for steps in STEPS for angle in ANGLES for variant in VARIANTS]
QUICK = [run for run in RUNS if run[0] == 72 or (run[0] == 256 and run[2] in ("free", "limited"))]
QUICK += [(576, "1.5708", "free"), (576, "1.5208", "limited, fixed")]
PRINTED = 1e-5  # the last digit of the table


@pytest.mark.parametrize(("steps", "angle", "variant"), RUNS if FULL else QUICK)
def test_errors_are_those_of_the_reference(steps, angle, variant, measured):
    limited, fixed = ("01"[word == "on"] for word in VARIANTS[variant])
    (row,) = (
        row
        for row in references("slt_ref_tc1_T42")
        if (row["alpha"], int(row["steps"]), row["limited"], row["fix"]) == (angle, steps, limited, fixed)
    )
    days = days_of(steps)
    run = outcome(grid(64, "gauss"), steps, days, ("bell",), variant, wind="rotation", angle=ANGLES[angle], period=float(days))
    found = norms(run.last["bell"], run.first["bell"], run.mass)
    case = f"Williamson 1, T42, {steps} steps, angle {angle}, ccm {variant}"
    for name in ("l1", "l2", "linf"):
        expected = float(row[name])
        measured(case, name, getattr(found, name), f"{expected:.5f}, 2 %")
        assert abs(getattr(found, name) - expected) <= 0.02 * expected, name
    for name, value in (("max", found.dmax), ("min", found.dmin)):
        assert abs(value - float(row[name])) <= 0.02 * abs(float(row[name])) + 1e-3, name
    if fixed == "1":
        measured(case, "mass, relative change", found.dmass, f"<= 1e-14 a step, {steps * 1e-14:g}")
        assert abs(found.dmass) <= steps * 1e-14
    else:
        expected = float(row["mass"])
        measured(case, "mass, relative change", found.dmass, f"{expected:.5f}, 3 %")
        assert abs(found.dmass - expected) <= 0.03 * abs(expected) + PRINTED


@pytest.mark.parametrize("variant", ["free", "limited, fixed"])
@pytest.mark.parametrize("scheme", ["ccm", "best"])
def test_rows_on_the_poles_do_as_well_as_rows_beside_them(scheme, variant, measured):
    """The bell goes over both poles."""
    steps, found = 72, {}
    for kind in ("latlon", "poles"):
        days = days_of(steps)
        said = {"wind": "rotation", "angle": 90.0, "period": float(days), "scheme": scheme}
        run = outcome(grid(64, kind), steps, days, ("bell", "one"), variant, **said)
        found[kind] = norms(run.last["bell"], run.first["bell"], run.mass)
        assert (run.last["one"] == 1.0).all()
    case = f"Williamson 1, 65 x 128 with rows on the poles, {steps} steps, {scheme} {variant}"
    for name in ("l1", "l2", "linf"):
        beside = getattr(found["latlon"], name)
        measured(case, name, getattr(found["poles"], name), f"{beside:.5f} of 64 x 128, 12 %")
        assert getattr(found["poles"], name) <= 1.12 * beside, name
    if "fixed" in variant:
        assert abs(found["poles"].dmass) <= steps * 1e-14
