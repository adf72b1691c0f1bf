"""Winds that are interpolated in space and time out of records of a store, beside the references with the winds themselves.

An interval counts in a period of 12 days: 288 records are hourly ones, 48 are six-hourly.
"""

import numpy as np
import pytest
from tests.models.transport.winds import write_store

from steppe.grid import Gaussian, Raster
from verification.transport.diagnostics import norms
from verification.transport.runs import FIELDS, FULL, VARIANTS, days_of, grid, named, outcome, references
from verification.transport.winds import of_formula

HALF_HOURLY, HOURLY, SIX_HOURLY = 576, 288, 48
FINE = 240  # rows of a grid with errors so small that those of hourly records, linear in time, are a tenth of them: half-hourly ones count
RUNS = [(64, "gauss", 64), (60, "latlon", 60), (120, "latlon", 120), (240, "latlon", 240)]


@pytest.mark.parametrize("variant", ["free", "limited"])
@pytest.mark.parametrize(("rows", "kind", "steps"), RUNS if FULL else RUNS[:1])
def test_winds_of_records_have_nearly_the_errors_of_the_reference(rows, kind, steps, variant, tmp_path, measured):
    days = days_of(steps)
    limited = "01"[VARIANTS[variant][0] == "on"]
    intervals = [(HOURLY, "hourly", None if rows == FINE else 0.05), (SIX_HOURLY, "six-hourly", None)]
    for records, interval, allowed in [(HALF_HOURLY, "half-hourly", 0.05)] * (rows == FINE) + intervals:
        store, where = tmp_path / f"{records}.zarr", raster(rows, kind)
        wind = of_formula(where, "deforming", days, records)
        write_store(store, where, wind, days * 86_400 // records, [0.0, 0.0], [0.0, 1.0])
        run = outcome(grid(rows, kind), steps, days, tuple(FIELDS.values()), variant, str(store), wind="forcing")
        for row in references("slt_ref_lauritzen"):
            key = row["nlat"], row["grid"], row["steps"], row["limited"], row["fix"]
            if key != (str(rows), kind, str(steps), limited, "0"):
                continue
            form, case = FIELDS[row["field"]], f"Lauritzen {named(rows, kind)}, {steps} steps, {interval} records, ccm {variant}"
            found = norms(run.last[form], run.first[form], run.mass)
            for name in ("l1", "l2", "linf"):
                deviation = getattr(found, name) / float(row[name]) - 1.0
                what = f"{form}, {name}, relative deviation from {float(row[name]):.6f}"
                measured(case, what, deviation, "5 %" if allowed else "printed alone")
                assert allowed is None or abs(deviation) <= allowed, (form, name)


@pytest.mark.parametrize("angle", ["0.0000", "1.5708"])
def test_a_steady_wind_on_the_grid_has_nearly_the_errors_of_the_reference(angle, tmp_path, measured):
    days, degrees = days_of(72), {"0.0000": 0.0, "1.5708": 90.0}[angle]
    records = of_formula(Gaussian(64), "rotation", days, days, float(np.deg2rad(degrees)))
    write_store(tmp_path / "winds.zarr", Gaussian(64), records, 86_400, [0.0, 0.0], [0.0, 1.0])
    run = outcome(grid(64, "gauss"), 72, days, ("bell",), "limited", str(tmp_path / "winds.zarr"), wind="forcing")
    found = norms(run.last["bell"], run.first["bell"], run.mass)
    rows = references("slt_ref_tc1_T42")
    (row,) = (row for row in rows if (row["alpha"], row["steps"], row["limited"], row["fix"]) == (angle, "72", "1", "0"))
    for name in ("l1", "l2", "linf"):
        deviation = getattr(found, name) / float(row[name]) - 1.0
        measured(
            f"Williamson 1, T42, 72 steps, angle {angle}, wind on the grid, ccm limited", f"{name}, relative deviation", deviation, "5 %"
        )
        assert abs(deviation) <= 0.05


def raster(rows, kind):
    if kind == "gauss":
        return Gaussian(rows)
    cell = 180.0 / rows
    return Raster(90.0 - cell / 2.0, -cell, 0.0, cell, np.ones((rows, 2 * rows), bool))
