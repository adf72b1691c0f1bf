"""Arrays in each format: what has no value says so, and 16 bits hold what they announce."""

import io
from typing import Any

import msgspec
import netCDF4
import numpy as np
import pytest

from steppe.api import by_name
from steppe.grid import Raster
from steppe.service.encode import CellPlaces, encode
from steppe.service.limits import WorkLimits
from steppe.service.service import RunDescription, variable_info
from tests.server.toy import facts_of

GRID = Raster(-11.25, -2.5, 139.25, 2.5, np.array([[True, True, False], [True, False, True]]))
CODES = np.array([[0, 7, -(2**31)], [100, -(2**31), 0]], "<i4")
WHERE = np.array([[True, True, False], [True, False, True]])


def encoded(form: str, values: np.ndarray, dtype: str | None = None) -> bytes:
    """A map of "green" in a format."""
    facts: Any = facts_of(GRID, 10)
    known = RunDescription(facts, by_name(map(variable_info, facts["variables"])), GRID)
    head: Any = {"variable": "green", "units": "kg ha-1", "dtype": values.dtype.str, "shape": list(values.shape), "dims": ["lat", "lon"]}
    head |= {"step": 1, "date": "2001-01-01", "scenario": "main", "box": None}
    cut = {"lat": np.arange(2), "lon": np.arange(3)}
    content = encode(form, head, values.tobytes(), dtype, known, CellPlaces(lat=GRID.lat, lon=GRID.lon, cut=cut), WorkLimits())
    return content.head + bytes(content.body)


def in_netcdf(values: np.ndarray, dtype: str | None = None) -> np.ndarray:
    """A map as readers of NetCDF have it, NaN where there is no value."""
    with netCDF4.Dataset("x", memory=encoded("netcdf", values, dtype)) as data:
        found: np.ndarray = np.ma.filled(data["green"][0].astype(float), np.nan)
    return found


def in_16_bits(values: np.ndarray) -> tuple[np.ndarray, float]:
    """A map that went through 16 bits, and half a level."""
    said = msgspec.json.decode(encoded("json", values, "int16"))
    levels = np.array(said["values"])
    return np.where(levels == said["missing"], np.nan, said["offset"] + said["scale"] * levels), said["scale"] / 2


def test_whole_numbers_have_no_value_where_no_cell_is() -> None:
    wanted = np.where(WHERE, CODES, np.nan)
    for form in ("json", "coverage-json"):
        said = msgspec.json.decode(encoded(form, CODES))
        values = said["values"] if form == "json" else said["ranges"]["green"]["values"]
        np.testing.assert_array_equal(np.array(values, float).reshape(CODES.shape), wanted)
    rows = encoded("csv", CODES).decode().splitlines()[1:]
    assert [row.rsplit(",", 1)[1] for row in rows] == ["0", "7", "", "100", "", "0"]
    np.testing.assert_array_equal(in_netcdf(CODES), wanted)
    for dtype in ("float32", "float64"):
        np.testing.assert_array_equal(np.load(io.BytesIO(encoded("npy", CODES, dtype))), wanted)
        np.testing.assert_array_equal(in_netcdf(CODES, dtype), wanted)
    for found in (in_16_bits(CODES)[0], in_netcdf(CODES, "int16")):
        np.testing.assert_allclose(found, wanted, atol=100 / 65534 / 2)


@pytest.mark.parametrize("value", [0.0, 1e-13, 3e-12, -1e-300, 0.1, 1e300])
def test_16_bits_keep_the_value_of_a_uniform_field(value: float) -> None:
    values = np.where(WHERE, value, np.nan)
    np.testing.assert_array_equal(in_16_bits(values)[0], values)
    np.testing.assert_array_equal(in_netcdf(values, "int16"), values)


@pytest.mark.parametrize("offset", [0.0, 1.0, -1e6, 1e300])
@pytest.mark.parametrize("part", [1e-17, 3e-16, 1e-14, 1e-10, 1e-3, 10.0])
def test_16_bits_err_by_half_a_level_at_most(offset: float, part: float) -> None:
    values = np.random.default_rng(3).uniform(offset, offset + part * (abs(offset) or 1e-310), (20, 30))
    found, half = in_16_bits(values)
    assert np.abs(found - values).max() <= half * (1 + 1e-6)  # same arithmetic: rounding beside levels of 2^20 distances
