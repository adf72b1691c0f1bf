from pathlib import Path

import numpy as np
import xarray

from steppe.grid import Points, Raster
from steppe.ingest import generate
from steppe.io import scan
from steppe.io.forcing.variables import WEATHER

PLACES = np.array([[-25.9, 139.35], [-23.44, 144.25], [-27.4, 152.6], [-17.5, 146.0]])  # Birdsville, Longreach, Brisbane, Innisfail


def opened(path: Path) -> xarray.Dataset:
    return xarray.open_zarr(path, consolidated=False, chunks=None)


def test_generated_weather_is_possible_and_says_what_it_is(tmp_path: Path) -> None:
    grid = Points(("a", "b", "c", "d"), *PLACES.T)
    assert generate(tmp_path / "w.zarr", grid, "1990-01-01", "1991-06-30", seed=3) == 0.0
    assert scan(tmp_path / "w.zarr", WEATHER) == []
    found = opened(tmp_path / "w.zarr")
    assert found.attrs["weather"] == "generated"
    assert "not observed" in found.attrs["title"]
    assert "No observation" in found.attrs["summary"]
    assert "extrapolated" not in found.attrs["summary"]
    assert found.attrs["seed"] == 3
    assert found.sizes["time"] == 546
    assert float((found.tmax - found.tmin).min()) > 0.85


def test_a_climate_that_is_extrapolated_is_told(tmp_path: Path) -> None:
    grid = Points(("longreach", "broome"), np.array([-23.44, -18.0]), np.array([144.25, 122.2]))
    assert generate(tmp_path / "w.zarr", grid, "1990-01-01", "1990-01-31") == 0.5
    assert "In 50% of the cells" in opened(tmp_path / "w.zarr").attrs["summary"]


def test_any_grid_and_any_period_hold_the_same_weather(tmp_path: Path) -> None:
    whole = Raster(-20.0, -0.5, 140.0, 0.5, np.ones((9, 70), dtype=bool))
    part = Raster(-21.0, -0.5, 150.0, 1.0, np.ones((3, 4), dtype=bool))  # every second column of some rows
    generate(tmp_path / "whole.zarr", whole, "1990-01-01", "1990-04-30", seed=2)
    generate(tmp_path / "part.zarr", part, "1990-02-27", "1990-03-03", seed=2)
    one, two = opened(tmp_path / "whole.zarr"), opened(tmp_path / "part.zarr")
    cells = [whole.locate(lon, lat) for lat, lon in zip(part.cell_lat, part.cell_lon, strict=True)]
    for name in WEATHER:
        np.testing.assert_array_equal(two[name].values, one[name].values[57:62, cells])


def test_progress_goes_from_nothing_to_one(tmp_path: Path) -> None:
    parts: list[float] = []
    generate(tmp_path / "w.zarr", Points(("a",), *PLACES[:1].T), "1990-01-01", "1990-12-31", progress=parts.append)
    assert parts == sorted(parts)
    assert len(parts) == 6
    assert parts[-1] == 1.0
