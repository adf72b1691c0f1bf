"""Points take the weather of their own stations, unchanged, straight from the files."""

import gzip
from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.errors import ForcingError, RunFileError

RUN = """\
model = "{model}"
[time]
start = 1990-01-01
end = 1990-03-31
[grid]
points = "points.csv"
[forcing]
stations = "stations"
[output]
path = "out"
variables = ["rain"]
every = "1 day"
"""


@pytest.fixture
def run_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEPPE_CACHE", str(tmp_path / "cache"))
    stations = tmp_path / "stations"
    stations.mkdir()
    (stations / "stations.csv").write_text("id,name,lat,lon\na,A,-25.0,150.0\nb,B,-26.0,151.0\n")
    days = np.arange(np.datetime64("1989-12-01"), np.datetime64("1990-05-01"))
    for k, name in enumerate("ab"):
        lines = [f"{day},{(i * 7 + k) % 31}.{k},{10 + k},{25 + k},20.5,15.25,6,\n" for i, day in enumerate(days)]
        with gzip.open(stations / f"{name}.csv.gz", "wt") as file:
            file.writelines(["date,rain,tmin,tmax,radiation,vp,pan,src\n", *lines])
    (tmp_path / "points.csv").write_text("id,lat,lon\nb,-26.0,151.0\na,-25.0,150.0\n")
    bucket = Path(__file__).parents[2] / "examples" / "bucket.py"
    (tmp_path / "run.toml").write_text(RUN.format(model=bucket))
    return tmp_path / "run.toml"


def test_the_weather_of_a_point_is_that_of_its_station(run_file):
    folder = steppe.run(run_file)
    with steppe.open(folder) as dataset:
        rain = dataset["rain"].load()
        assert dataset["cell_id"].values.tolist() == ["b", "a"]
    assert rain.sel(time="1990-01-01").values.tolist() == pytest.approx([(31 * 7 + 1) % 31 + 0.1, (31 * 7) % 31 + 0.0])


def test_another_station_file_is_another_weather(run_file):
    before = steppe.Plan.of(run_file).identity["forcing"]
    with gzip.open(run_file.parent / "stations" / "a.csv.gz", "rt") as file:
        text = file.read().replace("1990-01-05,7", "1990-01-05,8")
    with gzip.open(run_file.parent / "stations" / "a.csv.gz", "wt") as file:
        file.write(text + "1990-05-01,0,10,25,20,15,6,\n")
    assert steppe.Plan.of(run_file).identity["forcing"] != before


def test_stations_are_refused_for_a_raster(run_file):
    run_file.write_text(run_file.read_text().replace('points = "points.csv"', 'region = "queensland"'))
    with pytest.raises(RunFileError, match="for a grid of points with the same ids"):
        steppe.Plan.of(run_file)


def test_a_station_that_is_missing_is_named(run_file):
    (run_file.parent / "stations" / "b.csv.gz").unlink()
    with pytest.raises(ForcingError, match=r"b\.csv\.gz"):
        steppe.Plan.of(run_file)
