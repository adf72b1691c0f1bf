"""`steppe new`: a run file or a model to start from."""

import json
import os
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from cyclopts import App

from steppe.cli.commands import COMMANDS
from steppe.errors import FolderError, ForcingError
from steppe.variable import Role, Variable

if TYPE_CHECKING:
    from steppe.io import FieldStore
    from steppe.models import Choice, Model

COLUMN = 43  # where the comments begin
TEMPLATE = """\
#:schema {schema}
# A run of Steppe: `steppe check {file}`, then `steppe run {file}`. Paths are relative to this file.
{model}# `steppe describe {name}` shows its variables, units and parameters

[time]
start = {start}
{end}
{step}
{grid}
{forcing}[parameters]                               # a named set, a number for all cells, or a variable of a store for each cell
{parameters}

# land_type = {{ store = "land.zarr", variable = "land_type" }}
# [[land_type]]                            # sets and numbers for the cells of one type
# id = 1

# [[event]]                                # a change at the start of a day
# date = 1995-10-01
# set = {{ {event} = 1.0 }}
# region = {{ box = [144.0, -24.0, 146.0, -22.0] }}

[output]
{path}# the run folder
variables = {variables}
{every}# or "1 day", "10 days", "1 year"
{reduce}# mean, sum, min, max, last
# precision = "12 bits"                    # or "float32"; rounded: half the size

# [[output.maps]]                          # more maps, with keys as above and a time axis of their own
# name = "daily"
# variables = {variables}
# every = "1 day"

[[output.series]]                          # area means; the first series is also the table of years that a run ends with
name = "means"
variables = {variables}
every = "1 day"
region = "all"                             # or a box, a polygon, a cell, or a list of them

# [engine]
# threads = 2                              # default: the cores of this machine
# dtype = "float32"                        # or "float64"
# checkpoint = "auto"                      # or "90 days", "none"
# on_bad_cell = "stop"                     # or "freeze"
# writers = "private"                      # which ranks write: all; "aggregate:4": one of every four; "gather": the first
"""

GRID = """\
[grid]                                     # without this table: the grid of the forcing store
region = "queensland"                      # built in; or
# file = "mask.zarr"                       # a CF raster with a mask, or a store; or
# points = "places.csv"                    # a list of cells: id, latitude, longitude
"""
FORCING = """\
[forcing]
{store}# made by `steppe ingest`
# cadence.tmin = "7 days"                  # weekly means of a daily store, formed while reading
# spread = "auto"                          # or "own", "node", "readers:2": which ranks read the weather

"""
GRID_OF_FIELDS = """\
[grid]
gaussian = 64                              # 64 x 128 cells round the Earth; or
# rectangle = { north = 90, west = 0, rows = 60, columns = 120, cell = 3.0 }
"""
FIELDS = """\
[forcing]
{store}# CF fields on the grid

"""
STEP = """\
step = "1 hour"                            # or "10 minutes", "1 day"
"""
OF_FIELDS = "# The grid is that of the fields.\n"
GRID_OF_WEATHER = "# The grid is that of the forcing store: {cells}.\n"


class WeatherOfRun(NamedTuple):
    """The weather of a run file. start, end: as TOML. grid: the table, or a comment. store: its key and path, as written."""

    start: str = "1990-01-01"
    end: str = "1999-12-31"
    grid: str = GRID
    store: tuple[str, str] = "store", "weather.zarr"


DAYS_OF_FIELDS = "2000-01-01", "2000-01-12"

new = App(name="new", help=COMMANDS["new"], help_format="plaintext")


@new.command
def run(model: str = "pasture", /, *, output: Path = Path("run.toml"), weather: Path | None = None) -> None:
    """Write a commented run file, and a schema in .steppe/ with which editors complete and check it.

    Examples:

        steppe new run
        steppe new run --weather own.zarr
        steppe new run examples/bucket.py --output dalby.toml

    Parameters
    ----------
    model
        Name of a model, or a Python file that holds one; default pasture.
    output
        The file to write, default run.toml; an existing file is not changed.
    weather
        A forcing store, or fields for a model of fields: the run takes the weather, the grid and the days. The store must hold the
        variables that the model needs.
    """
    from steppe.cli.schema import schema_text
    from steppe.models import find_model, make_model, sets_of

    module = find_model(model)
    made = make_model(module)
    fields = made.needs.neighbours
    reads = any(v.role is Role.FORCING for v in made.variables.values())
    of_fields = WeatherOfRun(*DAYS_OF_FIELDS, OF_FIELDS if reads else GRID_OF_FIELDS, ("fields", "fields.zarr"))
    ground = _ground(weather, output, module, made) if weather else of_fields if fields else WeatherOfRun()
    kind, path = ground.store
    forcing = (FIELDS if kind == "fields" else FORCING).format(store=_commented(f"{kind} = {_quoted(path)}"))
    help_of_editors = Path(".steppe") / f"{made.name}.json"
    text = TEMPLATE.format(
        schema=help_of_editors,
        file=output.name,
        start=ground.start,
        end=_commented(f"end = {ground.end}") + ("# the end of the last step" if "T" in ground.end else "# inclusive"),
        grid=ground.grid,
        step=STEP if fields else "",
        forcing=forcing if reads or weather else "",  # whether transport reads winds depends on them
        name=model,
        model=_commented(f"model = {_quoted(_path_from(output, model))}"),
        parameters="\n".join(
            [*getattr(module, "PROPOSED", ()), *_parameters(made.variables, sets_of(module)), *_options(module, made.choices)]
        ),
        event=_settable(made.variables),
        path=_commented(f"path = {_quoted(output.stem)}"),
        every=_commented(f'every = "{"1 day" if fields else "1 month"}"'),
        reduce=_commented(f'reduce = "{"last" if fields else "mean"}"'),
        variables=json.dumps(_shown(made.variables, getattr(module, "EXPORTS", made.variables))),
    )
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
        beside = output.parent / help_of_editors
        beside.parent.mkdir(exist_ok=True)
        beside.write_text(schema_text(model), encoding="utf-8")
    except FileExistsError:
        raise FolderError(f'"{output}" is there already; it stays as it is. Give another name with --output.') from None
    except OSError as error:
        raise FolderError(f'"{output}" cannot be written: {error.strerror}. Give another name with --output.') from None
    print(f"{output} is written. Next: steppe check {output}")


@new.command
def model(name: str, /, *, output: Path | None = None) -> None:
    """Write a model to start from: its file, a test, a run file, and generated weather, in a folder of its own.

    Examples:

        steppe new model grass
        steppe new model grass --output models/grass

    Parameters
    ----------
    name
        Name of the model and of its file, such as grass.
    output
        The folder to make, default the name; an existing folder is not changed.
    """
    from steppe.cli.new_model import write_model

    folder = output or Path(name)
    write_model(name, folder)
    print(
        f"{folder} is written: {name}.py, its test, a run file, and generated weather of four places. Next:\n"
        f"  cd {folder}\n"
        "  steppe run run.toml    # compiles the model, a few seconds the first time\n"
        "  steppe plot results\n"
        "  python -m pytest       # change the model and its test, and go on"
    )


def _ground(weather: Path, output: Path, module: ModuleType, made: "Model") -> WeatherOfRun:
    """Returns the days and the grid of a store. Raises ForcingError if a variable that the model needs is missing."""
    from steppe.io import FieldStore, ForcingStore
    from steppe.models import needed_weather, picks_of

    of_fields = made.needs.neighbours and not ForcingStore.is_at(weather)
    store = FieldStore.open(weather) if of_fields else ForcingStore.open(weather)
    picks = picks_of(module, set(store.variables))
    options = {name: pick.word for name, pick in picks.items()}
    missing = [name for name in needed_weather(module, made, options) if name not in store.names]
    if missing:
        raise ForcingError(
            f'"{weather}" has no {", ".join(missing)}, which model "{made.name}" needs; it holds {", ".join(store.names)}. '
            "Make the store with them, or name another model: steppe new run MODEL."
        )
    path = os.path.relpath(weather, output.parent)
    if isinstance(store, FieldStore):
        return WeatherOfRun(*_hours(store), OF_FIELDS, ("fields", path))
    days = [_toml_day(day) for day in store.period]
    cells = f"{store.n_cells:,} cell{'s' if store.n_cells > 1 else ''}"
    return WeatherOfRun(days[0], days[1], GRID_OF_WEATHER.format(cells=cells), ("store", path))


def _hours(store: "FieldStore") -> tuple[str, str]:
    """The first and the last whole hour of fields, as TOML. Raises ForcingError if no hour lies between."""
    from steppe.clock import instant_text

    period = store.period
    if period is None:  # nothing changes in time
        return DAYS_OF_FIELDS
    first, last = period
    begin, end = (each.replace(minute=0, second=0, microsecond=0) for each in (first + timedelta(hours=1, microseconds=-1), last))
    if begin >= end:
        held = f"has records from {instant_text(first)} to {instant_text(last)}, which hold no whole hour"
        raise ForcingError(
            f'"{store.path}" {held}. Make a longer store; if nothing changes, one without time: fields.isel(time=0, drop=True).'
        )
    return f'"{instant_text(begin)}"', f'"{instant_text(end)}"'


def _toml_day(day: str) -> str:
    """A date as TOML; in quotes if only another calendar has the day."""
    try:
        date.fromisoformat(day)
    except ValueError:
        return f'"{day}"'
    return day


def _quoted(text: str) -> str:
    """A text as TOML, which escapes as JSON does, but has no pairs of surrogates."""
    return json.dumps(text, ensure_ascii=False)


def _commented(line: str) -> str:
    return line.ljust(COLUMN - 1) + " "


def _path_from(output: Path, model: str) -> str:
    """A model's file as the run file must name it: paths there are relative to the run file."""
    if not model.endswith(".py"):
        return model
    return os.path.relpath(model, output.parent)


def _parameters(variables: Mapping[str, Variable], sets: Mapping[str, Mapping[str, object]]) -> list[str]:
    """A line for each kind of named sets, and the two other ways to give a parameter, by example of the first."""
    lines = [_commented(f'{kind} = "{next(iter(names))}"') + f"# {', '.join(names)}" for kind, names in sets.items()]
    found = [v for v in variables.values() if v.role is Role.PARAMETER]
    for v in found[:1]:
        number = "" if v.initial is None else f"{v.initial:g}"
        lines += [_commented(f"# {v.name} = {number}") + f"# {v.units}"]
    lines += [f'# {v.name} = {{ store = "land.zarr", variable = "{v.name}" }}' for v in [v for v in found if v.dims][:1]]
    return lines


def _options(module: ModuleType, choices: Mapping[str, "Choice"]) -> list[str]:
    """A line for each option: its default, and its words."""
    from steppe.models import default_of

    return [
        _commented(f'# {name} = "{default_of(module, name, choice)}"') + f"# {', '.join(choice.words)}" for name, choice in choices.items()
    ]


def _settable(variables: Mapping[str, Variable]) -> str:
    """A variable for the example of an event: an input that events set, else a parameter or a state."""
    inputs = [name for name, v in variables.items() if v.role is Role.FORCING and v.initial is not None]
    others = [name for name, v in variables.items() if v.role in (Role.PARAMETER, Role.STATE)]
    return [*others[:1], *inputs][-1]


def _shown(variables: Mapping[str, Variable], exports: Iterable[str]) -> list[str]:
    """At most four variables for the first output: diagnostics, or states of a model without diagnostics."""
    names = list(exports)
    found = [name for name in names if variables[name].role is Role.DIAGNOSTIC]
    return (found or [name for name in names if variables[name].role is Role.STATE])[:4]
