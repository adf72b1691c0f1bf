"""What may be wrong with a store of fields: each function makes the run of a field model that reads one, with one mistake."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray

MODEL = """\
from steppe.models import FieldModel, Needs, Role, Variable

class Blown(FieldModel):
    name, version = "blown", "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    variables = {
        "smoke": Variable("smoke", ("y", "x"), "1", "float64", Role.STATE, "Smoke", initial=1.0),
        "u": Variable("u", ("y", "x"), "m s-1", "float32", Role.FORCING, "Wind to the east", high=100.0),
    }

    def compute(self, where):
        self.new[(0, *where)] = self.now[(0, *where)] + 0.001 * self.forcing["u"][where]

MODEL = Blown
"""
RUN = """\
model = "blown.py"
time = { start = 1990-01-10, end = 1990-01-11, step = "1 hour" }
grid = { rectangle = { north = -20.0, west = 143.0, rows = 4, columns = 6, cell = 0.25 } }
output = { path = "out", variables = ["smoke"] }

[forcing]
fields = "winds.zarr"
"""


def fields(folder: Path, changed: Callable[[xarray.Dataset], xarray.Dataset] = lambda winds: winds, **run: str) -> None:
    """Nothing is wrong. run: text of the model or of the run file -> other text."""
    lat, lon = -20.125 - 0.25 * np.arange(4), 143.125 + 0.25 * np.arange(6)
    axes: dict[str, Any] = {
        "time": ("time", 6.0 * np.arange(13), {"units": "hours since 1990-01-09", "calendar": "standard"}),
        "lat": ("lat", lat, {"units": "degrees_north"}),
        "lon": ("lon", lon, {"units": "degrees_east"}),
    }
    u = np.random.default_rng(3).normal(0.0, 5.0, (13, 4, 6))
    winds = changed(xarray.Dataset({"u": (("time", "lat", "lon"), u, {"units": "m s-1"})}, axes))
    winds.to_zarr(
        folder / "winds.zarr", encoding={name: {"chunks": (1, *winds[name].shape[1:])} for name in winds.data_vars}, consolidated=False
    )
    (folder / "blown.py").write_text(replaced(MODEL, run))
    (folder / "run.toml").write_text(replaced(RUN, run))


def replaced(text: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


def _u_with(**attributes: str) -> Callable[[xarray.Dataset], xarray.Dataset]:
    return lambda winds: winds.assign(u=winds["u"].assign_attrs(attributes))


def fields_without_u(folder: Path) -> None:
    """The wind has another name."""
    fields(folder, lambda winds: winds.rename(u="ua"))


def fields_without_any(folder: Path) -> None:
    """A store of coordinates alone."""
    fields(folder, lambda winds: winds.drop_vars(list(winds.data_vars)))


def fields_in_another_unit(folder: Path) -> None:
    """A wind in kelvins."""
    fields(folder, _u_with(units="K"))


def fields_on_another_grid(folder: Path) -> None:
    """Corners for centres."""
    fields(folder, lambda winds: winds.assign_coords(lat=winds["lat"] + 0.125))


def fields_with_levels(folder: Path) -> None:
    """One dim more than the model has."""
    fields(folder, lambda winds: winds.expand_dims(level=[850.0], axis=1))


LEVELS = {
    "Needs, Role": "Needs, Space, Role",
    "    variables =": '    spaces = {"level": Space((1000.0, 850.0), "hPa")}\n    variables =',
    '"u", ("y", "x")': '"u", ("level", "y", "x")',
    '"float64", Role.STATE': '"float32", Role.STATE',
    'self.forcing["u"][where]': 'self.forcing["u"][0][where]',
}


def fields_of_other_levels(folder: Path) -> None:
    """900 hPa for 850."""
    fields(
        folder, lambda winds: xarray.concat([winds.assign_coords(level=each) for each in (1000.0, 900.0)], "level", join="exact"), **LEVELS
    )


def fields_with_a_missing_level(folder: Path) -> None:
    """One cell has no value on one level."""

    def changed(winds: xarray.Dataset) -> xarray.Dataset:
        found = xarray.concat([winds.assign_coords(level=each) for each in (85000.0, 100000.0)], "level", join="exact")
        found["level"].attrs["units"] = "Pa"
        found["u"][0, 6, 1, 3] = np.nan
        return found

    fields(folder, changed, **LEVELS)


def fields_of_levels_in_packed_weather(folder: Path) -> None:
    """One value a cell where the model has several."""
    grid = next(line for line in RUN.splitlines() if line.startswith("grid"))
    fields(folder, **LEVELS, **{grid: "", ', step = "1 hour"': "", 'fields = "winds.zarr"': 'store = "weather.zarr"'})


def _with_event(folder: Path, level: str, **model: str) -> None:
    grid = next(line for line in RUN.splitlines() if line.startswith("grid"))
    event = f"{grid}\nevent = [{{ date = 1990-01-10T03:00:00, set = {{ smoke = 2.0 }}, level = {level} }}]"
    spaces = {name: LEVELS[name] for name in ("Needs, Role", "    variables =")}
    fields(folder, **spaces, **model, **{grid: event})


def fields_with_an_event_on_no_level(folder: Path) -> None:
    """A third level of two."""
    _with_event(folder, "2", **{'"smoke", ("y", "x")': '"smoke", ("level", "y", "x")'})


def fields_with_an_event_on_a_level_of_a_map(folder: Path) -> None:
    """Smoke has no levels."""
    _with_event(folder, '"850 hPa"')


def fields_that_end_too_soon(folder: Path) -> None:
    """The last day is not there."""
    fields(folder, lambda winds: winds.isel(time=slice(0, 9)))


def fields_with_a_gap(folder: Path) -> None:
    """A record lacks."""
    fields(folder, lambda winds: winds.isel(time=[*range(6), *range(7, 13)]))


def fields_in_disorder(folder: Path) -> None:
    """Two records are exchanged."""
    fields(folder, lambda winds: winds.isel(time=[0, 1, 2, 3, 5, 4, *range(6, 13)]))


def fields_of_an_unknown_calendar(folder: Path) -> None:
    """The calendar of Caesar."""
    fields(folder, lambda winds: winds.assign_coords(time=winds["time"].assign_attrs(calendar="julian")))


def fields_with_a_missing_value(folder: Path) -> None:
    """One cell has none at one time."""
    fields(folder, lambda winds: winds.where((winds["time"] != 36.0) | (winds["lat"] != -20.375) | (winds["lon"] != 143.875)))


def fields_beyond_a_limit(folder: Path) -> None:
    """A storm that the model does not know."""
    fields(folder, lambda winds: winds.assign(u=winds["u"].where(winds["time"] != 36.0, 200.0)))


def fields_with_a_chunk_cut_short(folder: Path) -> None:
    """The end of a chunk is gone."""
    fields(folder)
    chunk = folder / "winds.zarr" / "u" / "c" / "6" / "0" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-20])


def fields_in_a_netcdf_file(folder: Path) -> None:
    """What most archives have."""
    fields(folder, **{"winds.zarr": "winds.nc"})
    with xarray.open_zarr(folder / "winds.zarr", consolidated=False, decode_times=False) as winds:
        winds.to_netcdf(folder / "winds.nc")


def fields_that_are_not_there(folder: Path) -> None:
    """A wrong name."""
    fields(folder, **{"winds.zarr": "wind.zarr"})


def fields_in_a_store_of_cells(folder: Path) -> None:
    """Packed weather."""
    fields(folder, **{"winds.zarr": "weather.zarr"})


def fields_read_by_two(folder: Path) -> None:
    """A spread that only packed weather has."""
    fields(folder, **{'"winds.zarr"': '"winds.zarr"\nspread = "readers:2"'})


def fields_at_noon(folder: Path) -> None:
    """An instant of a step that is none."""
    fields(folder, **{'"x": 1})': '"x": 1}, forcing_at="noon")'})


def fields_that_are_cubic(folder: Path) -> None:
    """A way between records that is none."""
    fields(folder, **{"high=100.0": 'between="cubic"'})
