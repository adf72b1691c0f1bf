"""`steppe box`: the chemistry of one cell of air."""

import sys
from math import isfinite
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from steppe.cli.making import CountBar
from steppe.errors import Mistake, some

RATES, UNITS = ("model", "exact"), ("molecule cm-3", "mol m-3", "ppb")


def box(
    mechanism: str,
    /,
    *,
    hours: Annotated[float | None, Parameter(metavar="HOUR")] = None,
    conditions: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    set: Annotated[list[str] | None, Parameter(metavar="NAME=VALUE")] = None,
    plot: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    csv: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    species: Annotated[list[str] | None, Parameter(metavar="NAME")] = None,
    units: Annotated[str, Parameter(metavar="UNIT")] = UNITS[0],
    every: Annotated[float, Parameter(metavar="MINUTES")] = 60.0,
    step: Annotated[float, Parameter(metavar="SECONDS")] = 600.0,
    rates: Annotated[str, Parameter(metavar="model|exact")] = RATES[0],
    rtol: float = 1e-2,
    atol: float = 1e4,
    quiet: bool = False,
) -> None:
    """Run the chemistry of one cell of air, and print, write or draw its concentrations.

    --set replaces conditions of --conditions, and both replace those of the mechanism. A file of conditions has a name and a value on
    each line, or names in its first line and values in its second. Names are ENV.temperature, CONC.O3, PHOTO.jno2, USER.x and SURF.x,
    with the unit in brackets; without one the units are K, Pa, mol m-3, s-1 and m.

    Examples:

        steppe box emep66 --hours 116 --plot box.png
        steppe box emep66 --set temperature=285 --set O3=1.0e12 \\
            --set rate_factor_r36=0.5 --csv box.csv
        steppe box ts4.json --conditions initial_conditions.csv --hours 1

    Parameters
    ----------
    mechanism
        emep66, or a file: plain YAML, or an OpenAtmos v1 configuration (JSON or YAML).
    hours
        The hour at which the run ends, from midnight of the first day. Default: the end that the mechanism gives, or a day after the start.
    conditions
        A CSV file of conditions.
    set
        A single condition. May be given several times. O3 without a unit is in molecule cm-3, CONC.O3 in mol m-3.
    plot
        The picture to write, a PNG file.
    csv
        The table to write (CSV), a row for each time.
    species
        A species to print and to draw. May be given several times.
    units
        Unit of the concentrations in the output: molecule cm-3, mol m-3 or ppb.
    every
        Minutes between two rows.
    step
        Step of the model in seconds. Rates are constant within a step, except those of photolysis.
    rates
        model: as in the air-quality model. exact: all rates at the times of the solver, to compare with reference solutions.
    rtol
        Relative tolerance of the solver.
    atol
        Absolute tolerance of the solver in molecule cm-3.
    quiet
        No progress, and no list.
    """
    from steppe.jobs.box_run import read_conditions, run_box, shown, write_picture, write_table
    from steppe.models.air.chemistry_box import ChemistryBox

    _check_places(csv, plot)
    for name, value, words in (("rates", rates, RATES), ("units", units, UNITS)):
        if value not in words:
            raise Mistake(f'--{name} "{value}" is unknown. Write one of {", ".join(words)}.')
    for name, number in (("every", every), ("step", step), ("rtol", rtol), ("atol", atol)):
        if not number > 0.0 or not isfinite(number):
            raise Mistake(f"--{name} {number:g} is {'too small' if number <= 0.0 else 'no amount'}. Write a number above 0.")
    if rtol >= 1.0:
        raise Mistake(f"--rtol {rtol:g} is too large. Write a number below 1, such as 0.01.")
    if hours is not None and not isfinite(hours):
        raise Mistake(f"--hours {hours:g} is no hour. Write a number, such as --hours 28.")
    known = read_conditions(mechanism, conditions, set or (), species or (), units)
    _remark(known.remarks)
    with CountBar("box", quiet) as tell:
        run = run_box(ChemistryBox(known, rtol, atol, step, rates == "exact"), hours, every, units, tell)
    _remark(run.remarks)
    names = species or shown(run)
    if csv is not None:
        write_table(run, csv)
    if plot is not None:
        write_picture(run, plot, names)
    if quiet:
        return
    width = max(map(len, names))
    steps = f"{run.steps:,} steps of the solver, {run.rejected:,} rejected"
    absent = f"; {len(run.absent)} species begin at 0: {some(run.absent, 5)}" if run.absent else ""
    print(f"{run.mechanism}: {len(run.values)} species, hour {run.hours[0]:g} to {run.hours[-1]:g}, {steps}{absent}")
    if run.clipped:
        worst = max(run.clipped, key=lambda name: run.clipped[name])
        most = f"{run.clipped[worst]:.3g} molecule cm-3"
        print(f"{len(run.clipped)} species became negative and were set to 0; {worst} needed most, {most}")
    print(f"{'':{width}}  {'start':>12}  {'end':>12}  {run.units}")
    for name in names:
        print(f"{name:{width}}  {run.values[name][0]:12.5g}  {run.values[name][-1]:12.5g}")
    for made in (csv, plot):
        if made is not None:
            print(made)


def _remark(remarks: list[str]) -> None:
    for remark in remarks:
        sys.stderr.write(f"steppe: {remark}\n")


def _check_places(csv: Path | None, plot: Path | None) -> None:
    """Raises `Mistake` when a file that shall be written at the end cannot be."""
    from steppe.cli.typed_places import check_png
    from steppe.files import check_writable

    check_png("--plot", plot)
    if csv is not None and plot is not None and csv.resolve() == plot.resolve():
        raise Mistake(f'--csv and --plot are both "{plot}". Give each a name of its own.')
    check_writable(csv)
    check_writable(plot)
