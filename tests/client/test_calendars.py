"""Times of a run with a calendar of its own are the same from every method of the client."""

from pathlib import Path

import cftime
import numpy as np
import pytest
import xarray

from steppe import clock
from steppe.client.labels import NANOSECONDS, times
from steppe.client.live_stream import _time
from steppe.ingest import Choices, Product, ingest_maps
from tests.client.served import Served
from tests.ingest.daily_maps import known_maps, write_maps
from tests.scenario import EXAMPLES

RUN = """\
model = "bucket.py"
time = {{ start = 1990-02-{first}, end = 1990-03-20 }}
grid = {{ file = "weather.zarr" }}
forcing = {{ store = "weather.zarr" }}
output = {{ path = "out", variables = ["water"], every = "1 day" }}
"""


def serve(folder: Path, calendar: str, first: int) -> Served:
    """A server of a run that begins late in February of a calendar."""
    maps = {name: known_maps(name, 120) for name in ("daily_rain", "evap_pan")}
    file = write_maps(folder / "model.nc", maps, calendar=calendar)
    ingest_maps([file], folder / "weather.zarr", None, Choices(day_shift={"rain": 0, "pan": 0}), Product("a test", "a climate model"))
    (folder / "bucket.py").write_text((EXAMPLES / "bucket.py").read_text())
    (folder / "run.toml").write_text(RUN.format(first=first))
    return Served(folder / "run.toml")


@pytest.mark.parametrize("year", [1500, 1677, 2262, 3000])
def test_dates_that_nanoseconds_cannot_have_are_of_cftime(year: int) -> None:
    first, second = times([f"{year}-01-31", f"{year}-02-01T06:00:00.5"], "standard")
    assert first == cftime.datetime(year, 1, 31, calendar="standard")
    assert second == cftime.datetime(year, 2, 1, 6, microsecond=500000, calendar="standard")
    said = {"start": f"{year}-01-01T00:00:00", "step": 86400.0, "calendar": "standard", "units": f"days since {year}-01-01"}
    assert _time(30.0, said)[1] == first
    assert times([f"{year}-01-31", "1990-01-31"], "standard").dtype == object
    assert times(["1678-01-01", "2261-12-31"], "standard").dtype == "datetime64[ns]"
    assert NANOSECONDS == clock.NANOSECONDS  # as in results


@pytest.mark.parametrize(("calendar", "first"), [("360_day", 28), ("noleap", 27), ("standard", 27)])
def test_a_series_has_the_times_that_maps_have(tmp_path: Path, calendar: str, first: int) -> None:
    server = serve(tmp_path, calendar, first)
    try:
        run = server.connect()
        run.step(4)
        maps = [run.get("water", step=step) for step in range(1, 5)]
        lon, lat = float(maps[0].lon[0]), float(maps[0].lat[0])
        series, region = run.series("water", [(lon, lat)]), run.series("water", box=(lon - 1, lat - 1, lon + 1, lat + 1))
        for found in (series, region):
            np.testing.assert_array_equal(found.time.values, [each.time.values[()] for each in maps])
            assert found.time.attrs == maps[0].time.attrs
        if calendar == "standard":
            assert series.time.dtype == "datetime64[ns]"
        else:
            assert isinstance(series.time.values[0], cftime.datetime)
            assert {each.calendar for each in series.time.values} == {calendar}
            assert series.time.values[0] in run.dataset().time.values
        if calendar == "360_day":
            assert [str(each)[:10] for each in series.time.values] == ["1990-02-28", "1990-02-29", "1990-02-30", "1990-03-01"]
        np.testing.assert_array_equal(series.sel(time=maps[1].time.values).squeeze(), maps[1].sel(lon=lon, lat=lat))
        then = run.get("water", date=series.time[1])
        xarray.testing.assert_identical(then, run.get("water", date=series.time.values[1]))
        assert then.step == 2
    finally:
        server.stop()
