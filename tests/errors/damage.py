"""What people and disks do to data. Each function takes the folder of a scenario and may give a function that undoes it afterwards."""

import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from steppe.engine import Simulation
from steppe.grid import read_grid
from steppe.ingest import generate
from steppe.io import ForcingStore, pack_store
from steppe.io.sealed import read_sealed, write_sealed
from steppe.io.shard import write_shard
from tests.ingest.daily_maps import LAT, LON, known_maps, write_maps
from tests.small_disk import mount_small_disk

CELL, ROW = 4, 2  # third day of the store


def forget_early_actions(run: Path) -> None:
    """Makes the checkpoints below a folder those of an earlier version, which did not hold the actions before them."""
    found = list(run.rglob("checkpoints/*/manifest.json"))
    assert found
    for path in found:
        content = read_sealed(path, "")
        del content["manifest"]["early"]
        write_sealed(path, content)


def _described(folder: Path, what: str = "") -> Path:
    return folder / "weather.zarr" / what / "zarr.json"


def _change_attributes(path: Path, changes: dict[str, Any]) -> None:
    content = json.loads(path.read_text())
    content["attributes"].update(changes)
    path.write_text(json.dumps(content))


def _change_value(folder: Path, name: str, raw: int, row: int = ROW) -> None:
    store = ForcingStore.open(folder / "weather.zarr")
    layout = store[name].layout
    rows = store[name].axis.rows
    values = np.concatenate([store.chunk(name, (k, 0)) for k in range(-(-rows // layout.chunk[0]))])[:rows, : store.n_cells].copy()
    values[row, CELL] = raw
    write_shard(store.path, name, (0, 0), values, layout)


def _shard(folder: Path) -> Path:
    return folder / "weather.zarr" / "tmax" / "c" / "0" / "0"


def newer_format(folder: Path) -> None:
    """A store that a later Steppe made."""
    _change_attributes(_described(folder), {"steppe_format": 99})


def other_grid(folder: Path) -> None:
    """A store made for points elsewhere."""
    (folder / "points.csv").write_text("id,lat,lon\na,-25.0,150.0\nb,-25.5,150.0\n")
    shutil.rmtree(folder / "weather.zarr")
    generate(folder / "weather.zarr", read_grid(points=folder / "points.csv"), "1990-01-01", "1990-08-15")


def wrong_unit(folder: Path) -> None:
    """Rain in degrees."""
    _change_attributes(_described(folder, "rain"), {"units": "degC"})


def no_radiation(folder: Path) -> None:
    """A variable was removed."""
    shutil.rmtree(folder / "weather.zarr" / "radiation")


def missing_day(folder: Path) -> None:
    """The time axis jumps over 10 February."""
    from steppe.io.shard import write_small

    store = ForcingStore.open(folder / "weather.zarr")
    axis = store["rain"].axis
    bounds = np.stack([axis.starts, axis.stops], axis=1).astype(np.int32)
    bounds[40:] += 1
    shutil.rmtree(folder / "weather.zarr" / "time_bnds")
    write_small(store.path, "time_bnds", bounds, {"units": "days since 1850-01-01", "calendar": "standard"}, ("time", "bnds"))


def missing_value(folder: Path) -> None:
    """A fill value on an active cell."""
    _change_value(folder, "rain", -32768)


def negative_rain(folder: Path) -> None:
    """-1 mm."""
    _change_value(folder, "rain", -10)


def negative_rain_later(folder: Path) -> None:
    """-1 mm within the run."""
    _change_value(folder, "rain", -10, row=11)


def tmin_above_tmax(folder: Path) -> None:
    """44 degC at night and 40 by day."""
    _change_value(folder, "tmax", 400)
    _change_value(folder, "tmin", 440)


def truncated_shard(folder: Path) -> None:
    """The end of a file is gone."""
    data = _shard(folder).read_bytes()
    _shard(folder).write_bytes(data[: len(data) // 2])


def flipped_byte(folder: Path) -> None:
    """One bit is not what it was."""
    data = bytearray(_shard(folder).read_bytes())
    data[60] ^= 1
    _shard(folder).write_bytes(bytes(data))


def flipped_byte_of_the_fast_copy(folder: Path) -> None:
    """Changes one byte in the copy of a shard."""
    pack_store(folder / "weather.zarr")
    file = folder / "weather.zarr" / "pack" / "tmax" / "0.0.sbp"
    data = bytearray(file.read_bytes())
    data[-100] ^= 1
    file.write_bytes(data)


def missing_shard(folder: Path) -> None:
    """A file is gone."""
    _shard(folder).unlink()


def folder_of_another_run(folder: Path) -> None:
    """The run folder was made with another end."""
    command = [sys.executable, "-m", "steppe", "run", "run.toml", "--set", "time.end=1990-05-01", "--quiet"]
    subprocess.run(command, cwd=folder, check=True)


def run_half_way(folder: Path) -> None:
    """A run that was stopped in April."""
    subprocess.run([sys.executable, "-m", "steppe", "run", "run.toml", "--until", "1990-04-10", "--quiet"], cwd=folder, check=True)


def foreign_folder(folder: Path) -> None:
    """The run folder holds somebody's thesis."""
    (folder / "out").mkdir()
    (folder / "out" / "thesis.tex").write_text("very important")


def _run_until(folder: Path, day: str) -> Path:
    """The run folder of a run that was begun."""
    with Simulation(folder / "run.toml") as simulation:
        simulation.run(day)
    return folder / "out"


def newer_output(folder: Path) -> None:
    """A later Steppe began the run."""
    _change_attributes(_run_until(folder, "1990-02-15") / "output.zarr" / "zarr.json", {"steppe_format": 99})


def newer_checkpoint(folder: Path) -> None:
    """A later Steppe wrote the checkpoints."""
    for path in (_run_until(folder, "1990-02-15") / "checkpoints").glob("*/manifest.json"):
        write_sealed(path, read_sealed(path, "") | {"format": 99})


def changed_progress(folder: Path) -> None:
    """The file that says how far the run is, is not what it was."""
    path = _run_until(folder, "1990-02-15") / "progress.json"
    path.write_bytes(path.read_bytes().replace(b"37", b"38", 1))


def no_checkpoint_left(folder: Path) -> None:
    """Both checkpoints lost their ends."""
    for path in (_run_until(folder, "1990-02-15") / "checkpoints").glob("*/arrays.bin"):
        path.write_bytes(path.read_bytes()[:-1])


def missing_output(folder: Path) -> None:
    """A file of the results was removed."""
    (_run_until(folder, "1990-02-15") / "output.zarr/series/means/growth/c/0/0").unlink()


def full_disk(folder: Path) -> Any:
    """No file may grow beyond 2,000 bytes: what a disk does that fills up in mid-run."""
    _run_until(folder, "1990-02-15")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before)


def small_disk(folder: Path) -> Any:
    """The run folder lies on a disk that is too small by far."""
    return mount_small_disk(folder / "out", "100k")


def folder_in_use(folder: Path) -> Any:
    """Another process holds the run folder."""
    text = (
        "import sys, time; from pathlib import Path; from steppe.io import RunFolder\n"
        "held = RunFolder(Path('out'), {}); print('held', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", text], cwd=folder, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"

    def end() -> None:
        process.stdout.close()
        process.kill()
        process.wait()

    return end


def tokens_that_others_can_read(folder: Path) -> None:
    """Tokens as a text editor writes them."""
    (folder / "tokens").write_text("admin not-a-secret-token\n")
    (folder / "tokens").chmod(0o644)


def tokens_that_hold_none(folder: Path) -> None:
    """A file that is still to be filled."""
    (folder / "tokens").write_text("# role token\n")
    (folder / "tokens").chmod(0o600)


def points_without_latitude(folder: Path) -> None:
    """A list of points that does not say where they are."""
    (folder / "points.csv").write_text("id,lon\na,150.0\n")


def _maps(folder: Path, changed: Callable[[dict[str, Any]], None] = lambda maps: None, days: int = 20, **how: Any) -> None:
    """a.nc: rain, tmin and tmax of some days, changed."""
    maps = {name: known_maps(name, days) for name in ("daily_rain", "min_temp", "max_temp")}
    changed(maps)
    write_maps(folder / "a.nc", maps, **how)


def maps(folder: Path) -> None:
    """Nothing is wrong with a.nc."""
    _maps(folder)


def maps_with_gaps(folder: Path) -> None:
    """Two gaps."""
    _maps(folder, time=[*range(8), 9, *range(12, 23)])


def maps_with_a_day_twice(folder: Path) -> None:
    """The tenth map is of the ninth day."""
    _maps(folder, time=[*range(9), 8, *range(9, 19)])


def maps_unsorted(folder: Path) -> None:
    """The last map is of the first day."""
    _maps(folder, time=[*range(1, 20), 0])


def maps_every_six_hours(folder: Path) -> None:
    """Four maps a day."""
    _maps(folder, time=[day / 4 for day in range(20)])


def maps_of_weeks(folder: Path) -> None:
    """Time bounds say a week."""
    starts = 7.0 * np.arange(20)
    _maps(folder, time=list(starts), bounds=np.stack([starts, starts + 7.0], axis=1))


def maps_in_two_files(folder: Path) -> None:
    """b.nc begins on the last day of a.nc."""
    _maps(folder)
    write_maps(folder / "b.nc", {"daily_rain": known_maps("daily_rain", 5)}, start="1990-01-20")


def maps_of_two_calendars(folder: Path) -> None:
    """b.nc knows no leap years."""
    _maps(folder)
    write_maps(folder / "b.nc", {"vp": known_maps("vp", 20)}, calendar="noleap")


def maps_of_an_unknown_calendar(folder: Path) -> None:
    """The calendar of Caesar."""
    _maps(folder, calendar="julian")


def maps_in_a_strange_unit(folder: Path) -> None:
    """Rain in a unit that nobody knows."""
    _maps(folder, units={"daily_rain": "smoot"})


def maps_without_a_unit(folder: Path) -> None:
    """Rain without a unit."""
    _maps(folder, units={"daily_rain": ""})


def maps_with_heights(folder: Path) -> None:
    """The file holds rain at three heights, too."""
    _maps(folder)
    with xarray.open_dataset(folder / "a.nc") as found:
        whole = found.load()
    whole["rain_aloft"] = whole["daily_rain"].expand_dims(height=3, axis=1)
    whole.to_netcdf(folder / "a.nc")


def maps_with_9999(folder: Path) -> None:
    """A missing value that is a number, on the third day."""
    _maps(folder, lambda maps: maps["daily_rain"].__setitem__((2, 0, 1), 999.9 * 3.0))


def maps_with_tmin_above_tmax(folder: Path) -> None:
    """A warm night."""
    _maps(folder, lambda maps: maps["min_temp"].__setitem__((4, 0, 1), 39.0))


def maps_with_a_hole(folder: Path) -> None:
    """One value on the fifth day is missing."""
    _maps(folder, lambda maps: maps["max_temp"].__setitem__((4, 0, 1), np.nan))


def maps_of_another_mask(folder: Path) -> None:
    """Two cells are never there."""
    _maps(folder, lambda maps: maps["max_temp"].__setitem__((slice(None), 0, slice(1, 3)), np.nan))


def maps_shifted_by_half_a_cell(folder: Path) -> None:
    """Somebody took corners for centres."""
    _maps(folder, lat=LAT + 0.125, lon=LON + 0.125)


def maps_elsewhere(folder: Path) -> None:
    """Of a place 10 degrees to the south."""
    _maps(folder, lat=LAT - 10.0)


def maps_of_large_cells(folder: Path) -> None:
    """Half a degree."""
    _maps(folder, lat=-22.0 + 0.5 * np.arange(7), lon=143.0 + 0.5 * np.arange(6))


def maps_unevenly_spaced(folder: Path) -> None:
    """One row is off."""
    _maps(folder, lat=LAT + 0.1 * (np.arange(7) == 3))


def maps_with_two_rains(folder: Path) -> None:
    """Both could be rain."""
    _maps(folder, lambda maps: maps.__setitem__("precip", maps["daily_rain"]), units={"precip": "mm"})


def maps_of_something_else(folder: Path) -> None:
    """No name that is known."""
    write_maps(folder / "a.nc", {"RAINNC": known_maps("daily_rain", 3)}, units={"RAINNC": "mm"})


def maps_cut_short(folder: Path) -> None:
    """The end of a file is gone."""
    _maps(folder)
    content = (folder / "a.nc").read_bytes()
    (folder / "a.nc").write_bytes(content[: len(content) // 2])


def page_in_place_of_maps(folder: Path) -> None:
    """What a portal gives to those who are not logged in."""
    (folder / "a.nc").write_text("<html>Please log in</html>")


def _met(folder: Path, header: str, *days: str) -> None:
    (folder / "dalby.met").write_text("\n".join([header, "year day radn maxt mint rain", "() () (MJ/m^2) (oC) (oC) (mm)", *days]))


def met_without_a_place(folder: Path) -> None:
    """The header does not say how far east."""
    _met(folder, "latitude = -27.16", "1990 1 25 30 18 0")


def met_with_vpd(folder: Path) -> None:
    """A column "vpd" near saturation at tmin, and a list of points with a misspelt id."""
    head = "latitude = -27.16\nlongitude = 151.26\nyear day radn maxt mint rain vpd\n() () (MJ/m^2) (oC) (oC) (mm) (hPa)"
    (folder / "dalby.met").write_text(f"{head}\n1990 1 25 32 20 0 21.0\n1990 2 25 30 18.4 0 19.4\n")
    (folder / "points.csv").write_text("id,lat,lon\ndalbi,-27.16,151.26\n")


def met_that_lacks_a_day(folder: Path) -> None:
    """The second day is the third."""
    _met(folder, "latitude = -27.16\nlongitude = 151.26", "1990 1 25 30 18 0", "1990 3 25 30 18 0")
