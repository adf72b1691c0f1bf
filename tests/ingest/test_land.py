import gzip
from pathlib import Path

import numpy as np
import pytest
import xarray

from steppe.errors import ForcingError
from steppe.grid import Points, builtin_grid
from steppe.ingest import ingest_land
from steppe.io import read_static
from tests.shared import shared_path


def table(folder: Path, text: str) -> None:
    (folder / "queensland_grid").mkdir()
    (folder / "queensland_grid" / "queensland_0p1deg.csv.gz").write_bytes(gzip.compress(text.encode()))


def test_a_cell_takes_its_own_soil_or_the_nearest(tmp_path: Path) -> None:
    table(tmp_path, "lat,lon,pawc_1m_mm\n-20.05,140.05,120\n-20.05,140.15,\n-20.05,140.25,80\n")
    grid = Points(("own", "none", "between"), np.array([-20.05, -20.05, -20.05]), np.array([140.25, 140.15, 140.12]))
    assert ingest_land(tmp_path, tmp_path / "land.zarr", grid)
    water = read_static(tmp_path / "land.zarr", "plant_available_water", grid)
    assert water[[0, 2]].tolist() == [80.0, 120.0]
    assert water[1] in (80.0, 120.0)
    kind = read_static(tmp_path / "land.zarr", "land_type", grid)
    np.testing.assert_array_equal(kind, np.where(water >= 100.0, 1.0, 2.0))


def test_without_soil_data_the_land_is_uniform_and_says_so(tmp_path: Path) -> None:
    grid = Points(("a", "b"), np.array([-20.0, -21.0]), np.array([140.0, 141.0]))
    assert not ingest_land(None, tmp_path / "land.zarr", grid)
    assert read_static(tmp_path / "land.zarr", "land_type", grid).tolist() == [1.0, 1.0]
    assert read_static(tmp_path / "land.zarr", "plant_available_water", grid).tolist() == [0.0, 0.0]
    assert "No soil data were given" in xarray.open_zarr(tmp_path / "land.zarr", consolidated=False, chunks=None).attrs["summary"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lat,lon\n-20,140\n", "is no table of soils"),
        ("lat,lon,pawc_1m_mm\n-20,140,deep\n", "is no table of soils"),
        ("lat,lon,pawc_1m_mm\n-20,140,\n", "has no soil within 50 km of latitude -20, longitude 141"),
        ("lat,lon,pawc_1m_mm\n-20,140,100\n", "has no soil within 50 km of latitude -20, longitude 141"),
    ],
)
def test_a_table_that_does_not_serve_is_named(tmp_path: Path, text: str, message: str) -> None:
    table(tmp_path, text)
    with pytest.raises(ForcingError, match=message):
        ingest_land(tmp_path, tmp_path / "land.zarr", Points(("a",), np.array([-20.0]), np.array([141.0])))
    assert not (tmp_path / "land.zarr").exists()


def test_queensland_has_the_soils_of_the_table(tmp_path: Path) -> None:
    grid = builtin_grid("queensland")
    ingest_land(shared_path("data/weather"), tmp_path / "land.zarr", grid)
    water = read_static(tmp_path / "land.zarr", "plant_available_water", grid)
    assert 75.0 < water.mean() < 85.0
    assert 5.0 < water.min() < water.max() < 400.0
