"""Writes the files of `steppe new model`: a small cell model that works, for the user to change step by step."""

import keyword
import shutil
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from steppe.errors import FolderError, Mistake
from steppe.files import place

MODEL = '''\
"""{title}: grass that grows with light and water. A model of one cell and one day, to start from; the numbers are first guesses.

Each number is declared once, with unit and meaning; `step` is plain Python, which Steppe compiles for whole maps. `s` is always
the state at the end of the day before, so no result depends on the order of the lines. Light limits growth (Monteith 1972), in
proportion to the cover of grass (Beer's law; Monsi and Saeki 1953) and to the water in the soil. `steppe describe {name}.py` shows
the declarations.
"""

from typing import Annotated, NamedTuple

from steppe.kernels.vecmath import exp
from steppe.variable import Var

NAME = "{name}"
VERSION = "0.1"  # change it when results change: a run does not continue with another version
LONG_NAME = "{title}"


class State(NamedTuple):  # carried from day to day; `initial` is the value before the first
    water: Annotated[float, Var("mm", "Soil water", low=0, high=1000, initial=50)]
    grass: Annotated[float, Var("kg ha-1", "Standing grass", low=0, high=50000, initial=500)]


class Forcing(NamedTuple):  # the weather of a day, by its names in the forcing store; values outside low and high are bad input
    rain: Annotated[float, Var("mm d-1", "Rainfall", low=0, high=2000)]
    radiation: Annotated[float, Var("MJ m-2 d-1", "Solar radiation", low=0, high=50)]


class Parameters(NamedTuple):  # constant in a run: one number, or one for each cell
    capacity: Annotated[float, Var("mm", "Most water that the soil holds", low=1, high=1000, initial=120)]
    light_use: Annotated[float, Var("kg ha-1 m2 MJ-1", "Growth that light allows", low=0, high=50, initial=5)]
    full_cover: Annotated[float, Var("kg ha-1", "Grass that covers 63 % of the ground", low=1, high=20000, initial=1000)]
    water_use: Annotated[float, Var("kg ha-1 mm-1", "Growth for the water it takes", low=1, high=100, initial=15)]
    loss: Annotated[float, Var("d-1", "Part of the grass that is lost in a day", low=0, high=1, initial=0.01)]


class Diagnostics(NamedTuple):  # results of a day; computed only when they are recorded or requested
    growth: Annotated[float, Var("kg ha-1 d-1", "Growth")]
    runoff: Annotated[float, Var("mm d-1", "Runoff")]


def step(s: State, f: Forcing, p: Parameters) -> tuple[State, Diagnostics]:
    """One day of one cell."""
    wet = s.water + f.rain
    cover = 1.0 - exp(-s.grass / p.full_cover)
    wanted = p.light_use * f.radiation * cover * min(1.0, wet / p.capacity)
    growth = min(wanted, wet * p.water_use)  # limited by the water
    left = wet - growth / p.water_use
    runoff = max(0.0, left - p.capacity)
    return State(water=left - runoff, grass=s.grass + growth - p.loss * s.grass), Diagnostics(growth=growth, runoff=runoff)
'''

TEST = '''\
"""Tests of {name}. `step` is ordinary Python here: a debugger can step through it."""

import pytest
from {name} import Forcing, Parameters, State, step

from steppe.variable import Role, declared, initial_values

P = Parameters(**initial_values(declared(Parameters, Role.PARAMETER)))


def test_water_is_neither_made_nor_lost():
    s = State(water=100.0, grass=800.0)
    for rain in (0.0, 5.0, 90.0, 0.0):
        new, day = step(s, Forcing(rain=rain, radiation=20.0), P)
        used = day.growth / P.water_use
        assert new.water - s.water == pytest.approx(rain - used - day.runoff)
        s = new


def test_nothing_grows_in_the_dark_or_without_water():
    for s, f in (
        (State(water=100.0, grass=800.0), Forcing(rain=0.0, radiation=0.0)),
        (State(water=0.0, grass=800.0), Forcing(rain=0.0, radiation=20.0)),
    ):
        new, day = step(s, f, P)
        assert day.growth == 0.0
        assert new.grass < s.grass


def test_more_rain_more_grass():
    s = State(water=10.0, grass=800.0)
    grown = [step(s, Forcing(rain=rain, radiation=20.0), P)[1].growth for rain in (0.0, 5.0, 20.0)]
    assert grown == sorted(grown)
    assert grown[0] < grown[-1]
'''

RUN = """\
# `steppe run run.toml` runs {name}; `steppe new run {name}.py` writes a run file that shows all keys.
model = "{name}.py"

[time]
start = 1990-01-01
end = 1991-12-31                           # inclusive

[grid]
points = "places.csv"                      # or region = "queensland", with weather made for it

[forcing]
store = "weather.zarr"                     # generated: no day of it is real. `steppe ingest` makes stores of real weather

[parameters]
loss = 0.01                                # the others have the defaults of {name}.py

[output]
path = "results"
variables = ["grass", "growth"]
every = "1 month"
reduce = "mean"

[[output.series]]
name = "means"
variables = ["grass", "water", "growth", "runoff"]
every = "1 day"
region = {regions}
"""

PLACES = {"dalby": (-27.16, 151.26), "roma": (-26.55, 148.77), "longreach": (-23.44, 144.25), "cairns": (-16.87, 145.75)}


def write_model(name: str, folder: Path) -> None:
    """Writes a model with its run file, weather and test; the folder appears whole or not at all.

    Raises
    ------
    Mistake
        The name cannot be that of a Python file.
    FolderError
        There is something at `folder` already, or it cannot be made.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise Mistake(f'"{name}" cannot name a model: it must be a Python name of its own, of letters, digits and _, such as my_grass.')
    if name in (*sys.stdlib_module_names, *packages_distributions(), "steppe"):  # Python would import the file instead of the package
        raise Mistake(f'"{name}" cannot name a model: it is the name of a module of Python or of a package. Choose one such as my_grass.')
    if folder.exists():
        raise FolderError(f'"{folder}" is there already; it stays as it is. Give another name with --output.')
    from steppe.grid import read_grid
    from steppe.ingest import generate

    aside = folder.with_name(folder.name + ".tmp")
    places = "id,latitude,longitude\n" + "".join(f"{place},{lat},{lon}\n" for place, (lat, lon) in PLACES.items())
    regions = str(list(PLACES)).replace("'", '"')
    texts = {f"{name}.py": MODEL, f"test_{name}.py": TEST, "run.toml": RUN, "places.csv": places}
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        for file, text in texts.items():
            (aside / file).write_text(text.format(name=name, title=name.replace("_", " ").capitalize(), regions=regions), encoding="utf-8")
        generate(aside / "weather.zarr", read_grid(points=aside / "places.csv"), "1990-01-01", "1991-12-31")
        place(aside, folder)
    except OSError as error:
        raise FolderError(f'"{folder}" cannot be written: {error.strerror}. Give another name with --output.') from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
