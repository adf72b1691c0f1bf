"""The run file: one TOML text says everything about a run. Unknown keys are errors with the nearest known one."""

import re
import tomllib
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from pydantic_core import ErrorDetails

from steppe.clock import DAY, length
from steppe.costs import RETIRED, SPREAD
from steppe.engine.run_file_values import Moment, Name
from steppe.engine.toml_advice import toml_advice
from steppe.errors import RunFileError, nearest

Reduction = Literal["mean", "sum", "min", "max", "last"]
INTERVAL = "Interval of a record: 1 day, 10 days, 1 week, 1 month, 1 year; of shorter steps also 1 hour, 30 minutes, 0.25 days."
REDUCE = "What is kept of an interval."
FILES = (".yaml", ".yml", ".json")  # ends of texts in [parameters] that are files
OVER = "What is kept of the cells of a region: their mean, weighted by area, the least or the greatest value."
LENGTH = r"\d{1,9}(\.\d+)? (second|minute|hour|day)s?"
Interval = Annotated[str, StringConstraints(pattern=rf"^({LENGTH}|[1-9]\d{{0,5}} (week|month|year)s?)$")]
Cadence = Annotated[str, StringConstraints(pattern=r"^[1-9]\d* days?$")]
EXAMPLES = {
    "checkpoint": '"auto", "none" or "90 days"',
    "step": '"10 minutes" or "1 day"',
    "spread": '"auto", "own", "node" or "readers:2"; for "fields" "own" or "one"',
    "name": '"daily": it names a folder',
    "writers": '"private", "gather" or "aggregate:4"',
}
Region = Any  # a name or a table; the grid says what is wrong with it
Precision = Literal["exact", "float32", "12 bits"]
PRECISION = (
    "exact: the bits of the model; float32: a float64 model's numbers rounded to a relative error of 6e-8, half the size; "
    "12 bits: rounded to a relative error of 1.2e-4, half the size again."
)


class Section(BaseModel):
    """A table of the run file: no unknown keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True)


class TimeSection(Section):
    """When: from the first day to the last, both inclusive, or from one instant to another; and the step."""

    start: Moment = Field(description="First simulated day, as 1990-01-01; of shorter steps also an instant, as 1990-01-01T06:00:00.")
    end: Moment = Field(description="Last simulated day, inclusive; of shorter steps also the instant of the end.")
    step: Annotated[str, StringConstraints(pattern=rf"^{LENGTH}$")] | None = Field(
        default=None, description="Step of a field model: 10 minutes, 37.5 seconds, 10 days. Default: 1 day."
    )

    @model_validator(mode="after")
    def _divides(self) -> "TimeSection":
        if self.step is None:
            return self
        try:
            step = self.length
        except RunFileError as error:
            raise ValueError(f"step: {str(error).rstrip('.')}") from None
        if DAY % step and step % DAY:
            raise ValueError(
                f'step = "{self.step}" does not divide a day without remainder, and is no number of days; write one such as "10 minutes"'
            )
        return self

    @property
    def length(self) -> timedelta:
        """How long a step is."""
        return DAY if self.step is None else length(self.step)


class RectangleSection(Section):
    """A raster without a mask: each of its cells takes part."""

    north: float = Field(
        ge=-90, le=180, description="Latitude of its northern edge [degrees]; 90 and half a cell where the first row lies on the pole."
    )
    west: float = Field(ge=-180, lt=360, description="Longitude of its western edge [degrees].")
    rows: int = Field(ge=1, le=65_535, description="Cells from north to south.")
    columns: int = Field(ge=1, le=65_535, description="Cells from west to east.")
    cell: float = Field(gt=0, le=180, description="Width and height of a cell [degrees].")


class GridSection(Section):
    """Where: a built-in region, a CF raster with a mask, a store, points, a rectangle or the globe. Without it: the grid of the weather."""

    region: str | None = Field(default=None, description="A built-in raster, such as queensland.")
    file: Path | None = Field(default=None, strict=False, description="A CF raster with a mask, Zarr or NetCDF; or a forcing store.")
    points: Path | None = Field(default=None, strict=False, description="A CSV file of places: id, latitude, longitude.")
    rectangle: RectangleSection | None = Field(
        default=None, description="A raster by its edges, its rows and columns, and the width of a cell."
    )
    gaussian: int | None = Field(default=None, description="The globe: an even number N of Gaussian latitudes, and 2N longitudes from 0.")

    @model_validator(mode="after")
    def _one(self) -> "GridSection":
        if len(self.model_dump(exclude_none=True)) != 1:
            raise ValueError('give exactly one of "region", "file", "points", "rectangle" and "gaussian"')
        return self


class ForcingSection(Section):
    """The weather: a forcing store, a folder of station files for a grid of points, or fields. map, units: of columns of station files."""

    store: Path | None = Field(default=None, strict=False, description="A forcing store, made by `steppe ingest`.")
    stations: Path | None = Field(
        default=None, strict=False, description="A folder of station files; the grid is points with the same ids."
    )
    fields: Path | None = Field(
        default=None, strict=False, description="A CF Zarr store of maps on the grid of the run, for a field model; it is read as it is."
    )
    map: dict[str, str] = Field(default={}, description="Of station files: variable -> column, such as vp -> vpd.")
    units: dict[str, str] = Field(default={}, description="Of station files: variable -> unit of its column, such as vp -> kPa.")
    cadence: dict[str, Cadence] = Field(default={}, description="Variable -> interval over which its mean is taken, as 7 days.")
    spread: Annotated[str, StringConstraints(pattern=rf"^({SPREAD}|{RETIRED}|one)$")] = Field(
        default="auto",
        description="Which ranks read for which: own, node, readers:2, or auto: the fastest by time; of fields own or one.",
    )

    @model_validator(mode="after")
    def _one(self) -> "ForcingSection":
        if sum(value is not None for value in (self.store, self.stations, self.fields)) != 1:
            raise ValueError('give exactly one of "store", "stations" and "fields"')
        if self.fields is not None and self.cadence:
            raise ValueError('"cadence" is for "store"; records of "fields" are as far apart as their times say')
        if self.spread not in ("auto", "own") and (self.spread == "one") == (self.fields is None):
            known = '"own" or "one"' if self.fields else '"auto", "own", "node" or "readers:2"'
            raise ValueError(f'spread = "{self.spread}" is not for "{"fields" if self.fields else "store"}"; write {known}')
        if self.stations is None and (self.map or self.units):
            raise ValueError('"map" and "units" are for "stations"; a store has names and units of its own')
        return self


class EventSection(Section):
    """A change of states, parameters or event inputs at the start of a day."""

    date: Moment = Field(description="The day at whose start it happens; of shorter steps also an instant.")
    set: dict[str, float] = Field(min_length=1, description="State, parameter or event input -> its new value.")
    region: Region = Field(default="all", description="The cells that it happens to.")
    level: int | str | None = Field(
        default=None, description='Of variables with levels the one that is set, a number or a value such as "850 hPa"; default: all.'
    )


class SeriesSection(Section):
    """Means of regions over time, or their least or greatest values."""

    name: Name = Field(description="Name of the series in the store.")
    variables: list[str] = Field(min_length=1, description="What is recorded.")
    every: Interval = Field(default="1 day", description=INTERVAL)
    reduce: Reduction = Field(default="mean", description=REDUCE)
    over: Literal["mean", "min", "max"] = Field(default="mean", description=OVER)
    region: Region = Field(default="all", description="A region, or a list of them, each a column.")

    @property
    def where(self) -> str:
        """What messages call it."""
        return f'[[output.series]] "{self.name}"'


class MapsSection(Section):
    """More maps, on a time axis of their own."""

    name: Name = Field(description="Name of these maps in the store.")
    variables: list[str] = Field(min_length=1, description="What is recorded.")
    every: Interval = Field(default="1 day", description=INTERVAL)
    reduce: Reduction = Field(default="mean", description=REDUCE)
    precision: Precision = Field(default="exact", description=PRECISION)

    @property
    def where(self) -> str:
        """What messages call it."""
        return f'[[output.maps]] "{self.name}"'


class OutputSection(Section):
    """The results of the run, and their place."""

    path: Path = Field(strict=False, description="The run folder.")
    variables: list[str] = Field(default=[], description="Maps that are recorded.")
    every: Interval = Field(default="1 month", description=INTERVAL)
    reduce: Reduction = Field(default="mean", description=REDUCE)
    precision: Precision = Field(default="exact", description=PRECISION)
    maps: list[MapsSection] = []
    series: list[SeriesSection] = []

    @property
    def where(self) -> str:
        """What messages call it."""
        return "[output]"


class EngineSection(Section):
    """How it is computed. Nothing here changes a result except `dtype`."""

    threads: Annotated[int, Field(ge=1, le=1024)] | None = Field(default=None, description="Default: the cores that this process may use.")
    dtype: Literal["float32", "float64"] | None = Field(
        default=None, description="Precision of the state. Default: float32 for a cell model, what the model declares for a field model."
    )
    checkpoint: Annotated[str, StringConstraints(pattern=rf"^(auto|none|{LENGTH})$")] = Field(
        default="auto",
        description="auto: as often as costs little; none: only at the end; or every 90 days or 6 hours of the run.",
    )
    on_bad_cell: Literal["stop", "freeze"] = Field(default="stop", description="What happens when a cell leaves its limits.")
    write_behind: bool = Field(default=True, description="Results and checkpoints are written in a thread; false: steps wait for them.")
    step_limit: Annotated[float, Field(ge=1)] = Field(
        default=30.0, description="Seconds that a step of a served run may take; then its engine hangs, and another one is started."
    )
    writers: Annotated[str, StringConstraints(pattern=r"^(private|gather|aggregate:[1-9]\d*)$")] = Field(
        default="private", description="Which ranks write: private: all; gather: the first; aggregate:4: one of every four."
    )


class RunFile(Section):
    """A whole run file. Paths are absolute once it is read."""

    model: str = Field(description="Name of a model, or a Python file that holds one.")
    time: TimeSection
    grid: GridSection | None = Field(default=None, description="Where; default: the grid of the forcing store, or all stations.")
    forcing: ForcingSection | None = None
    parameters: dict[str, Any] = Field(default={}, description="Named sets, numbers for all cells, variables of a store for each, options.")
    land_type: list[dict[str, Any]] = Field(default=[], description="Sets and numbers for the cells of one type.")
    initial: dict[str, Any] = Field(default={}, description="State before the first day.")
    event: list[EventSection] = []
    output: OutputSection
    engine: EngineSection = EngineSection()

    @model_validator(mode="after")
    def _whole(self) -> "RunFile":
        if self.grid is None and self.forcing is None:
            raise ValueError("give a [grid] table, or [forcing], whose grid the run then takes")
        if str(self.time.end)[:10] < str(self.time.start)[:10]:
            raise ValueError(f"time.end {self.time.end} is before time.start {self.time.start}")
        return self

    def as_toml(self) -> str:
        """The whole run file with every default that does not depend on the model, as TOML text."""
        import tomli_w

        return tomli_w.dumps(_plain(self.model_dump(exclude_none=True)))


def _plain(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def read_run_file(path: Path | str, changes: Mapping[str, str] | None = None) -> RunFile:
    """Reads and checks a run file. changes: dotted key -> TOML value, as given by `--set`.

    Raises
    ------
    RunFileError
        The file cannot be read, is no TOML, or has an unknown key or a value of the wrong kind.
    """
    if not isinstance(path, str | Path):
        raise RunFileError(f"A run begins with a run file: its path, or what `read_run_file` returns. This is a {type(path).__name__}.")
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise RunFileError(f'Run file "{path}" cannot be read: {error.strerror}. `steppe new run` writes one.') from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        more = toml_advice(str(error), path.read_text(encoding="utf-8-sig", errors="replace"))
        raise RunFileError(f'Run file "{path}" is not valid TOML: {error}.{more}') from None
    return checked(table, path, changes)


def checked(table: dict[str, Any], path: Path, changes: Mapping[str, str] | None = None) -> RunFile:
    """The run of a table as it would stand in the file `path`, which need not be there; paths in it begin at its folder.

    Raises
    ------
    RunFileError
        There is an unknown key or a value of the wrong kind.
    """
    for key, text in (changes or {}).items():
        _change(table, key, text)
    try:
        run = RunFile.model_validate(table)
    except ValidationError as error:
        raise RunFileError(f'Run file "{path}": ' + " ".join(_sentence(item, table) for item in error.errors())) from None
    return _with_absolute_paths(run, path.parent.absolute())


def _change(table: dict[str, Any], key: str, text: str) -> None:
    *parents, last = key.split(".")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    for parent in parents:
        table = table.setdefault(parent, {})
        if not isinstance(table, dict):
            raise RunFileError(f'--set {key}: "{parent}" is not a table of the run file.')
    table[last] = value


def _known_keys(location: tuple[str | int, ...]) -> list[str]:
    """The keys that the table at `location` may have."""
    section: Any = RunFile
    for part in location:
        if isinstance(part, str) and hasattr(section, "model_fields") and part in section.model_fields:
            found = re.findall(r"(\w+Section)", str(section.model_fields[part].annotation))
            section = globals()[found[0]] if found else None
    return list(section.model_fields) if section is not None else []


def _sentence(item: ErrorDetails, table: Mapping[str, object]) -> str:
    location = tuple(part for part in item["loc"] if not str(part).startswith(("function-", "union")))
    key = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    if item["type"] == "extra_forbidden":
        return f'Key "{key}" is not known.{nearest(str(location[-1]), _known_keys(location[:-1]))}'
    if item["type"] == "missing":
        return f'Key "{key}" is missing.'
    if item["type"] == "value_error":
        return f"{f'Table [{key}]: ' if key else ''}{item['ctx']['error']}."
    given, name = item["input"], str(location[-1])
    example = EXAMPLES.get(name, '"1 month" or "10 days"')
    no_table, no_text = "is no table of names and values", "is no text; write it in quotes"
    wanted = {
        "string_pattern_mismatch": f"is not of the form that is expected here, such as {example}",
        "date_type": "is not a date; write it as 1990-01-31",
        "too_short": "is empty; name one or more, or remove the table",
        "folder_name": 'is no name of a folder in the store; choose another than "zarr.json", of 255 bytes at most',
        "zone": "has a zone; write it without one, as 1990-01-31T06:00:00",
        "list_type": f"is one table; write [[{key}]] instead of [{key}]" if isinstance(given, dict) else "is no list; write it in [ ]",
        "model_type": f"is a list; write [{key}] once, not [[{key}]]" if isinstance(given, list) else no_table,
        "dict_type": no_table,
        "string_type": no_text + (f", such as {example}" if name in ("every", *EXAMPLES) else ""),
        "path_type": no_text,
    }.get(item["type"], "does not fit: " + item["msg"][0].lower() + item["msg"][1:])
    shown = "" if given and isinstance(given, dict | list) else f" = {given if isinstance(given, date) else repr(given)}"
    return f'Key "{key}"{shown} {wanted}.'


def _with_absolute_paths(run: RunFile, folder: Path) -> RunFile:
    def absolute(value: object) -> Any:
        if isinstance(value, Path):
            return folder / value.expanduser()
        if isinstance(value, BaseModel):
            return value.model_copy(update={name: absolute(getattr(value, name)) for name in type(value).model_fields})
        if isinstance(value, dict) and "store" in value:
            return {**value, "store": str(folder / value["store"])}
        if isinstance(value, dict):
            return {key: absolute(item) for key, item in value.items()}
        if isinstance(value, list):
            return [absolute(item) for item in value]
        return value

    whole: RunFile = absolute(run)
    state = whole.initial.get("state", "default")
    if isinstance(state, str) and state != "default":  # a checkpoint
        whole = whole.model_copy(update={"initial": {**whole.initial, "state": str(folder / state)}})
    files = {name: str(folder / text) for name, text in whole.parameters.items() if isinstance(text, str) and text.endswith(FILES)}
    whole = whole.model_copy(update={"parameters": {**whole.parameters, **files}})
    if whole.model.endswith(".py"):
        whole = whole.model_copy(update={"model": str(folder / whole.model)})
    return whole
