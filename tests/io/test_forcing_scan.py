from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from steppe.errors import DamagedError, ForcingError
from steppe.io import scan
from steppe.io.forcing.variables import WEATHER
from steppe.io.shard import layout_of, write_shard
from steppe.io.shard_file import read_chunk
from steppe.packed import MISSING
from tests.io.small_store import write_small_store


def change(path: Path, name: str, places: dict[tuple[int, int], int]) -> None:
    """Rewrites the first shard of a variable with some raw values changed."""
    layout = layout_of(path, name)
    shard = np.concatenate([read_chunk(path, name, (0, j), layout) for j in (0, 1)], axis=1)[:, :403].copy()
    for place, value in places.items():
        shard[place] = value
    write_shard(path, name, (0, 0), shard, layout)


def test_a_good_store_has_no_problem(tmp_path: Path) -> None:
    write_small_store(tmp_path / "w.zarr")
    assert scan(tmp_path / "w.zarr", WEATHER) == []


def test_every_fault_is_found_named_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "w.zarr"
    write_small_store(path)
    change(path, "rain", {(2, 300): -1, (9, 1): MISSING, (30, 2): MISSING, (31, 2): 20_500})
    change(path, "tmin", {(4, 7): 440})
    found = {(problem.variable, problem.fault): problem for problem in scan(path, WEATHER)}
    assert set(found) == {
        ("rain", "is missing"),
        ("rain", "is below 0 mm d-1"),
        ("rain", "is above 2000 mm d-1"),
        ("tmin", "is above tmax"),
    }
    missing = found["rain", "is missing"]
    assert (missing.number, missing.day, missing.cell) == (2, "1990-01-10", 1)
    below = found["rain", "is below 0 mm d-1"]
    assert (below.number, below.day, below.cell, below.value) == (1, "1990-01-03", 300, -0.1)
    above = str(found["tmin", "is above tmax"])
    assert above == f'"{path}", tmin, 1990-01-05, cell 7 (latitude -20.05, longitude 140.75): 44 is above tmax'
    assert str(missing).endswith("nan is missing and 1 more")


def test_limits_are_those_of_the_model_in_its_own_units(tmp_path: Path) -> None:
    write_small_store(tmp_path / "w.zarr")
    warm = replace(WEATHER["tmin"], units="K", low=283.15, high=330.0)
    (problem,) = scan(tmp_path / "w.zarr", {"tmin": warm, "tmax": WEATHER["tmax"]})
    assert problem.fault == "is below 10 degC"
    with pytest.raises(ForcingError, match='is in "degC", expected "hPa"'):
        scan(tmp_path / "w.zarr", {"tmin": replace(warm, units="hPa")})


def test_a_damaged_store_cannot_be_scanned(tmp_path: Path) -> None:
    write_small_store(tmp_path / "w.zarr")
    (tmp_path / "w.zarr" / "tmax" / "c" / "0" / "0").write_bytes(b"nothing")
    with pytest.raises(DamagedError, match='Variable "tmax", days 1990-01-01 to 1991-05-27'):
        scan(tmp_path / "w.zarr", WEATHER)
