"""What may be wrong with a run of transport and its winds: each function makes the run, with one mistake."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import xarray

from tests.errors.fields import replaced
from tests.models.transport.winds import write_winds

TRACERS, FORCING, GRID, WIND = 'hills = "hills"', 'forcing = { fields = "winds.zarr" }', "grid = { gaussian = 16 }", 'wind = "forcing"'
RUN = f"""\
model = "transport"
time = {{ start = 2000-01-01, end = 2000-01-02, step = "6 hours" }}
{GRID}
{FORCING}
output = {{ path = "out", variables = ["hills"] }}

[parameters]
{WIND}
tracers = {{ {TRACERS} }}
"""
Winds = Callable[[xarray.Dataset], xarray.Dataset]


def globe(folder: Path, changed: Winds = lambda winds: winds, run: dict[str, str] | None = None, **how: Any) -> None:
    """Nothing is wrong. run: text of the run file -> other text; how: of the winds."""
    write_winds(folder / "made.zarr", **how)
    with xarray.open_zarr(folder / "made.zarr", consolidated=False, decode_times=False) as winds:
        changed(winds.load()).drop_encoding().to_zarr(folder / "winds.zarr", consolidated=False)
    (folder / "run.toml").write_text(replaced(RUN, run or {}))


def _tracer(folder: Path, text: str) -> None:
    globe(folder, run={TRACERS: f"{TRACERS}, smoke = {text}"})


def _on_pressures(winds: xarray.Dataset, *pressures: float, units: str = "hPa") -> xarray.Dataset:
    return winds.drop_vars(["hyai", "hybi"]).assign_coords(level=("level", np.array(pressures), {"units": units}))


def globe_with_an_odd_number_of_columns(folder: Path) -> None:
    """Nothing lies opposite of a column: 45 columns of 8 degrees."""
    lat, lon = 85.5 - 9.0 * np.arange(20), 4.0 + 8.0 * np.arange(45)
    globe(folder, run={GRID: ""}, grid=SimpleNamespace(lat=lat, lon=lon))


def globe_that_is_a_part_of_one(folder: Path) -> None:
    """A rectangle over Europe."""
    rectangle = "rectangle = { north = 60, west = -20, rows = 48, columns = 96, cell = 0.5 }"
    globe(folder, run={GRID: f"grid = {{ {rectangle} }}", FORCING: "", WIND: ""})


def globe_with_winds_in_another_unit(folder: Path) -> None:
    """A wind in kelvins."""
    globe(folder, lambda winds: winds.assign(u=winds["u"].assign_attrs(units="K")))


def globe_with_a_missing_wind(folder: Path) -> None:
    """One cell has none at one time on one level."""

    def changed(winds: xarray.Dataset) -> xarray.Dataset:
        winds["u"][6, 2, 3, 5] = np.nan
        return winds

    globe(folder, changed)


def globe_with_a_gap(folder: Path) -> None:
    """A record lacks."""
    globe(folder, lambda winds: winds.isel(time=[*range(5), *range(6, 13)]))


def globe_without_v(folder: Path) -> None:
    """Half a wind."""
    globe(folder, lambda winds: winds.drop_vars("v"))


def globe_whose_hybrid_levels_do_not_rise(folder: Path) -> None:
    """A coefficient is too large."""
    globe(folder, lambda winds: winds.assign(hyai=winds["hyai"].where(winds["hyai"] != winds["hyai"][3], 0.9)))


def globe_whose_coefficients_differ_in_number(folder: Path) -> None:
    """One b too few."""
    globe(folder, lambda winds: winds.assign(hybi=("interface", winds["hybi"].values[:-1])))


def globe_whose_pressures_do_not_rise(folder: Path) -> None:
    """200 hPa behind 300."""
    globe(folder, lambda winds: _on_pressures(winds, 100.0, 300.0, 200.0, 400.0, 500.0, 600.0))


def globe_whose_pressures_are_no_hectopascals(folder: Path) -> None:
    """Pascals, said to be hectopascals."""
    globe(folder, lambda winds: _on_pressures(winds, 10e3, 20e3, 30e3, 50e3, 70e3, 85e3))


def globe_with_the_names_of_era5(folder: Path) -> None:
    """Surface pressure is `sp`, with its CF name."""
    globe(folder, lambda winds: winds.rename(ps="sp").assign(sp=lambda d: d["sp"].assign_attrs(standard_name="surface_air_pressure")))


def globe_whose_time_has_no_unit(folder: Path) -> None:
    """Hours since nothing."""

    def damaged(winds: xarray.Dataset) -> xarray.Dataset:
        del winds["time"].attrs["units"]
        return winds

    globe(folder, damaged)


def globe_whose_winds_say_no_levels(folder: Path) -> None:
    """Numbers of levels are no pressures."""
    globe(folder, lambda winds: _on_pressures(winds, *range(6), units="1"))


def globe_with_three_levels(folder: Path) -> None:
    """Too few for a cubic."""
    globe(folder, lambda winds: winds.isel(level=slice(3), ilev=slice(4)))


def globe_under_a_low_surface(folder: Path) -> None:
    """A surface pressure above the highest mountains."""
    globe(folder, lambda winds: winds.assign(ps=0.2 * winds["ps"]))


def globe_whose_surface_is_above_its_levels(folder: Path) -> None:
    """The first level begins at 900 hPa where the surface pressure is that of the sea, and the surface lies at 500 hPa."""
    a, b = 0.9 - 0.15 * np.arange(7), np.arange(7) / 6.0
    globe(folder, lambda winds: winds.drop_vars("level").assign(hyai=("ilev", a), hybi=("ilev", b), ps=0.5 * winds["ps"]))


def globe_without_winds(folder: Path) -> None:
    """No table of forcing."""
    globe(folder, run={FORCING: ""})


def globe_with_a_tracer_twice(folder: Path) -> None:
    """A list of names."""
    globe(folder, run={f"{{ {TRACERS} }}": '["hills", "smoke", "smoke"]'})


def globe_with_a_tracer_of_a_taken_name(folder: Path) -> None:
    """A tracer is no wind."""
    globe(folder, run={TRACERS: f'{TRACERS}, u = "hills"'})


def globe_with_an_unknown_form(folder: Path) -> None:
    """A typo."""
    _tracer(folder, '"hils"')


def globe_with_an_unknown_key(folder: Path) -> None:
    """A typo."""
    _tracer(folder, '{ halflife = "3 days" }')


def globe_with_a_great_source(folder: Path) -> None:
    """Beyond the limit."""
    _tracer(folder, '{ source = "5 s-1" }')


def globe_with_a_source_in_another_unit(folder: Path) -> None:
    """Kilograms."""
    _tracer(folder, '{ source = "1e-6 kg" }')


def globe_with_a_half_life_below_zero(folder: Path) -> None:
    """It would grow."""
    _tracer(folder, '{ half_life = "-3 days" }')


def globe_with_a_source_on_no_level(folder: Path) -> None:
    """A seventh level of six."""
    _tracer(folder, '{ source = "1e-6 s-1", levels = [6] }')


def globe_with_a_source_upside_down(folder: Path) -> None:
    """South and north mixed up."""
    _tracer(folder, '{ source = "1e-6 s-1", box = [0, 50, 10, 20] }')


def globe_with_a_box_beside_a_map(folder: Path) -> None:
    """Two places of a source."""
    _tracer(folder, '{ source = { store = "sources.zarr", variable = "smoke" }, box = [0, 20, 10, 50] }')


def globe_with_a_source_between_cells(folder: Path) -> None:
    """A box without a cell."""
    _tracer(folder, '{ source = "1e-6 s-1", box = [1, 50, 2, 51] }')


def globe_with_vertical_motion_of_a_formula(folder: Path) -> None:
    """Which moves air as it says."""
    globe(folder, run={FORCING: "", WIND: 'wind = "dcmip12"\nvertical = "none"'})


def globe_with_levels_that_a_wind_by_height_lacks(folder: Path) -> None:
    """The wind of DCMIP is a formula of the height."""
    globe(folder, run={FORCING: "", WIND: 'wind = "dcmip12"\nlevels = "L18"'})


def globe_with_unknown_levels(folder: Path) -> None:
    """A typo."""
    globe(folder, run={FORCING: "", WIND: 'levels = "L19"'})
