"""One cell of air as a table and as a picture."""

import csv
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats
from steppe.errors import Mistake, nearest
from steppe.files import write_whole, writing
from steppe.models.air.chemistry_box import BoxState, ChemistryBox
from steppe.models.air.conditions import Conditions, molecules_to
from steppe.models.air.mechanism_file import read_mechanism
from steppe.view import draw_box

SHOWN = ("O3", "NO", "NO2", "PAN", "HNO3", "HCHO", "OH", "HO2")  # in a picture, if no species are given
LEAST = 1e-6  # [s] between rows, and of a step of the model
MOST_ROWS, MOST_STEPS = 1_000_000, 10_000_000  # of a run


class BoxRun(NamedTuple):
    """hours (times,) since midnight of the first day; values: species -> (times,) in `units`. steps, rejected: of the solver."""

    mechanism: str
    units: str
    hours: Floats
    values: dict[str, Floats]
    steps: int
    rejected: int
    clipped: dict[str, float]
    absent: list[str]  # species that begin at 0, as nothing says otherwise
    remarks: list[str]  # on the end


def read_conditions(
    mechanism: str, conditions: Path | None, settings: Sequence[str], species: Sequence[str] = (), units: str = ""
) -> Conditions:
    """A mechanism with its conditions. species: those that will be shown; units: of them.

    Raises
    ------
    ModelError
        The mechanism or its conditions are wrong.
    Mistake
        The mechanism does not have one of the species, or a name is set twice.
    """
    read = read_mechanism(mechanism)
    names = [text.partition("=")[0].strip().removeprefix("CONC.").removeprefix("ENV.") for text in settings]
    if twice := [name for name in names if names.count(name) > 1]:
        given = ", ".join(f'"{text}"' for text, name in zip(settings, names, strict=True) if name == twice[0])
        raise Mistake(f"--set gives {twice[0]} more than once: {given}. Keep one.")
    for name in species:
        if name not in read.species:
            raise Mistake(f"Mechanism {read.name} has no {name}.{nearest(name, read.species)}")
    return Conditions.of(read, conditions, settings, parts=units == "ppb")


def run_box(
    box: ChemistryBox, end: float | None, every: float, units: str, tell: Callable[[float, str], None] = lambda part, now: None
) -> BoxRun:
    """Runs it to an hour since midnight of the first day, with rows so many minutes apart.

    Raises
    ------
    ModelError
        The solver cannot go on.
    Mistake
        The end is not after the start, or there are too many rows or steps up to it.
    """
    known, read = box.conditions, box.conditions.mechanism
    start = known.here["start"]
    last = end if end is not None else float(read.box.get("end", 3600.0 * (start + 24.0))) / 3600.0
    if last <= start:
        raise Mistake(f"--hours {last:g} is not after the start, hour {start:g}. Hours are counted from midnight of the first day.")
    _refuse_many("every", every, 60.0, last - start, "rows", MOST_ROWS)
    if not box.exact:
        _refuse_many("step", box.step, 1.0, last - start, "steps", MOST_STEPS)
    states: list[BoxState] = []
    for state in box.run(3600.0 * last, 60.0 * every):
        states.append(state)
        tell((state.seconds / 3600.0 - start) / (last - start), f"hour {state.seconds / 3600.0:g}")
    factor = molecules_to(units, known.here)
    values = {name: factor * np.array([state.c[i] for state in states]) for i, name in enumerate(read.species)}
    clipped = {name: float(each) for name, each in zip(read.species, states[-1].clipped, strict=True) if each > 0.0}
    hours = np.array([state.seconds / 3600.0 for state in states])
    absent = [name for name in read.species if name not in known.initial]
    begun, ended = (dict(zip(read.species, state.c.tolist(), strict=True)) for state in (states[0], states[-1]))
    remarks = known.remarks_at_end(begun, ended)
    return BoxRun(read.name, units, hours, values, states[-1].steps, states[-1].rejected, clipped, absent, remarks)


def _refuse_many(option: str, value: float, unit: float, hours: float, what: str, most: int) -> None:
    """Raises `Mistake` for an option of so many units [s] that divides the hours of a run into too many parts."""
    if value * unit < LEAST:
        raise Mistake(f"--{option} {value:g} is too small. Write {LEAST / unit:.2g} or more.")
    if (parts := 3600.0 * hours / (value * unit)) > most:
        raise Mistake(f"--{option} {value:g} makes {parts:.3g} {what} in {hours:g} h, and {most:,} are the most. Write a larger number.")


def write_table(run: BoxRun, path: Path) -> None:
    """One row a time: the hour, then all species with their unit."""
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["time [h]", *(f"{name} [{run.units}]" for name in run.values)])
    for n, hour in enumerate(run.hours):
        rows.writerow([repr(float(hour)), *(repr(float(each[n])) for each in run.values.values())])
    with writing(path):
        write_whole(path.resolve(), text.getvalue().encode())  # a link stays one


def shown(run: BoxRun) -> list[str]:
    """The species of a picture, if none are given: well-known ones, or those of which there is most."""
    most = sorted(run.values, key=lambda name: -float(run.values[name].max()))
    return [name for name in SHOWN if name in run.values] or most[: len(SHOWN)]


def write_picture(run: BoxRun, path: Path, species: Sequence[str]) -> None:
    """A panel for each species, over the hours."""
    with writing(path):
        write_whole(path.resolve(), draw_box(run.mechanism, run.units, run.hours, {name: run.values[name] for name in species}))
