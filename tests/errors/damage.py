"""What people and disks do to data. Each function takes the folder of a scenario and may give something to keep until the command ended."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from steppe.grid import read_grid
from steppe.io import ForcingStore
from steppe.io.ingest import generate
from steppe.io.shard import write_shard

CELL, ROW = 4, 2  # third day of the store


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


def folder_in_use(folder: Path) -> Any:
    """Another process holds the run folder."""
    text = (
        "import sys, time; from pathlib import Path; from steppe.io import RunFolder\n"
        "held = RunFolder(Path('out'), {}); print('held', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", text], cwd=folder, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def points_without_latitude(folder: Path) -> None:
    """A list of points that does not say where they are."""
    (folder / "points.csv").write_text("id,lon\na,150.0\n")
