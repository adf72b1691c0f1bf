"""SILO's annual files, from a folder and from a server that fails in the ways of servers."""

from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.errors import DamagedError, Failure, FolderError, ForcingError
from steppe.grid import builtin_grid
from steppe.ingest import Choices, fetch_silo, ingest_silo
from steppe.ingest.download import fetch
from steppe.io import ForcingStore
from tests.ingest.daily_maps import UNITS, known_maps, write_year
from tests.ingest.web_server import serving

YEARS = range(1990, 1991)


def nothing(path: Path) -> None:
    """A check that is content."""


@pytest.fixture(scope="module")
def there(tmp_path_factory) -> Path:
    """A server's folder: each variable has one of its own."""
    folder = tmp_path_factory.mktemp("there")
    for file in write_year(folder / "all"):
        name = file.name.split(".")[1]
        (folder / name).mkdir()
        file.rename(folder / name / file.name)
    return folder


def get(served, target: Path, **how) -> None:
    fetch_silo(served.address, target, YEARS, {}, pause=0.01, **how)


def assert_same(there: Path, here: Path) -> None:
    assert sorted(path.name for path in here.iterdir()) == sorted(f"1990.{name}.nc" for name in UNITS)
    for name in UNITS:
        assert (here / f"1990.{name}.nc").read_bytes() == (there / name / f"1990.{name}.nc").read_bytes()


def test_a_year_is_fetched_once(there, tmp_path):
    parts: list[float] = []
    with serving(there) as served:
        get(served, tmp_path / "here", progress=parts.append)
        assert len(served.requests) == 6
        get(served, tmp_path / "here")
        assert len(served.requests) == 6
    assert_same(there, tmp_path / "here")
    assert parts == sorted(parts)
    assert parts[-1] == 1.0


def test_files_that_lie_beside_each_other_are_found_too(there, tmp_path):
    (tmp_path / "flat").mkdir()
    for file in there.rglob("*.nc"):
        (tmp_path / "flat" / file.name).write_bytes(file.read_bytes())
    with serving(tmp_path / "flat") as served:
        get(served, tmp_path / "here")
    assert_same(there, tmp_path / "here")


def test_what_breaks_off_goes_on_where_it_was(there, tmp_path):
    with serving(there, drops=5) as served:
        get(served, tmp_path / "here")
        spans = [span for _, span in served.requests]
    assert_same(there, tmp_path / "here")
    assert spans[:4] == ["", "bytes=5000-", "bytes=10000-", "bytes=15000-"]


def test_a_server_without_ranges_gives_the_whole_file_again(there, tmp_path):
    with serving(there, drops=2, ranges=False) as served:
        get(served, tmp_path / "here")
        assert [span for _, span in served.requests][:3] == ["", "bytes=5000-", "bytes=5000-"]
    assert_same(there, tmp_path / "here")


def test_without_a_mark_of_its_version_a_file_begins_anew(there, tmp_path):
    with serving(there, drops=2, etag="") as served:
        get(served, tmp_path / "here")
        assert [span for _, span in served.requests][:3] == ["", "", ""]
    assert_same(there, tmp_path / "here")


def test_a_file_that_changed_on_the_server_is_not_mixed_with_the_old_one(there, tmp_path):
    target = tmp_path / "here" / "1990.vp.nc"
    with serving(there, drops=9, bytes_before=0) as served, pytest.raises(Failure, match="gave no more in 6 tries"):
        fetch(f"{served.address}/vp/1990.vp.nc", target, nothing, pause=0.001)
    target.with_name("1990.vp.nc.part").write_bytes(b"old bytes")
    with serving(there, etag='"two"') as served:
        fetch(f"{served.address}/vp/1990.vp.nc", target, nothing, pause=0.001)
    assert target.read_bytes() == (there / "vp" / "1990.vp.nc").read_bytes()


def test_a_download_that_was_whole_but_had_no_name_yet_is_not_repeated(there, tmp_path):
    content = (there / "vp" / "1990.vp.nc").read_bytes()
    part = tmp_path / "a.nc.part"
    part.write_bytes(content)
    part.with_name("a.nc.part.json").write_text('{"validator": "\\"one\\""}')
    with serving(there) as served:
        fetch(f"{served.address}/vp/1990.vp.nc", tmp_path / "a.nc", nothing)
        assert len(served.requests) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.nc"]


def test_a_folder_for_downloads_that_cannot_be_made_is_a_failure(there, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with serving(there) as served, pytest.raises(Failure, match=r'file/1990\.daily_rain\.nc" cannot be written'):
        get(served, tmp_path / "file")


def test_two_downloads_into_one_folder_do_not_write_one_file(there, tmp_path):
    refused: list[str] = []

    def meanwhile(part: float) -> None:
        if not refused:
            with pytest.raises(FolderError, match=r'Another process is making ".*1990\.daily_rain\.nc"') as error:
                get(served, tmp_path / "here")
            refused.append(str(error.value))

    with serving(there) as served:
        get(served, tmp_path / "here", progress=meanwhile)
    assert len(refused) == 1
    assert_same(there, tmp_path / "here")


def test_a_busy_server_is_asked_again_and_a_dead_one_is_named(there, tmp_path):
    with serving(there, busy=3) as served:
        get(served, tmp_path / "here")
        address = served.address
    assert_same(there, tmp_path / "here")
    with pytest.raises(
        Failure, match=r"daily_rain.nc\" broke off after 0 bytes and gave no more in 6 tries .*refused.* continues from there"
    ):
        fetch_silo(address, tmp_path / "new", YEARS, {}, pause=0.001)


def test_a_year_that_is_not_there_is_named(there, tmp_path):
    with serving(there) as served, pytest.raises(ForcingError, match=r"daily_rain/1991.daily_rain.nc\": the server has no such file \(404"):
        fetch_silo(served.address, tmp_path / "here", range(1990, 1992), {}, pause=0.001)
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["1990.daily_rain.nc"]


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [(b"<html>Log in</html>", ForcingError, "is no NetCDF file: it begins with b'<htm'"), (None, DamagedError, "It may be cut short")],
)
def test_a_wrong_file_is_removed(there, tmp_path, content, error, says):
    (tmp_path / "bad").mkdir()
    whole = (there / "daily_rain" / "1990.daily_rain.nc").read_bytes()
    (tmp_path / "bad" / "1990.daily_rain.nc").write_bytes(content or whole[: len(whole) // 2])
    with serving(tmp_path / "bad") as served, pytest.raises(error, match=says) as caught:
        get(served, tmp_path / "here")
    assert f"{served.address}/1990.daily_rain.nc" in str(caught.value)
    assert list((tmp_path / "here").iterdir()) == []


def test_a_folder_becomes_a_store(there, tmp_path):
    report = ingest_silo(there, tmp_path / "w.zarr", None, YEARS, Choices())
    assert (report.cells, report.days) == (42, 365)
    store = ForcingStore.open(tmp_path / "w.zarr")
    assert set(store.variables) == {"rain", "tmin", "tmax", "radiation", "vp", "pan"}
    assert store.attributes["weather"] == "silo"
    assert "CC BY 4.0" in store.attributes["licence"]


def test_a_shifted_pan_takes_its_last_day_from_the_next_year(there, tmp_path):
    with pytest.raises(ForcingError, match=r"pan lacks 1 of the 365 days from 1990-01-01 to 1990-12-31: 1990-12-31"):
        ingest_silo(there, tmp_path / "w.zarr", None, YEARS, Choices(day_shift={"pan": -1}))
    for name in UNITS:
        (tmp_path / f"1990.{name}.nc").symlink_to(there / name / f"1990.{name}.nc")
    next_year = write_year(tmp_path / "next", 1991, 2)[-1]
    next_year.rename(tmp_path / next_year.name)
    ingest_silo(tmp_path, tmp_path / "w.zarr", None, YEARS, Choices(day_shift={"pan": -1}))
    with steppe.open(tmp_path / "w.zarr") as dataset:
        expected = known_maps("evap_pan", 1)[0, ::-1].ravel()[dataset["cell"].values]
        np.testing.assert_allclose(dataset["pan"].values[-1], expected, atol=1e-5)


def test_files_that_lack_are_counted(tmp_path):
    write_year(tmp_path / "here")
    (tmp_path / "here" / "1990.vp.nc").unlink()
    with pytest.raises(ForcingError, match=r"lacks 7 of 12 files: 1991.daily_rain.nc, .* and 2 more"):
        ingest_silo(tmp_path / "here", tmp_path / "w.zarr", None, range(1990, 1992), Choices())


def test_two_days_of_the_whole_of_australia(tmp_path):
    """The full size: 681 x 841 points, from the south, onto Queensland's tenth of a degree."""
    lat, lon = np.round(-44.0 + 0.05 * np.arange(681), 2), np.round(112.0 + 0.05 * np.arange(841), 2)
    write_year(tmp_path / "silo", 1990, 2, lat=lat, lon=lon)
    grid = builtin_grid("queensland")
    ingest_silo(tmp_path / "silo", tmp_path / "w.zarr", grid, YEARS, Choices(end="1990-01-02"))
    maps_ = known_maps("max_temp", 2, lat, lon)
    row, column = np.searchsorted(lat, -24.6), np.searchsorted(lon, 144.3)  # a cell whose centre is a point of the grid
    weights = np.outer([0.25, 0.5, 0.25], [0.25, 0.5, 0.25])
    cell = grid.locate(144.35, -24.65)
    with steppe.open(tmp_path / "w.zarr") as dataset:
        found = dataset["tmax"].values[:, cell]
    around = maps_[:, row - 2 : row + 1, column : column + 3]
    np.testing.assert_allclose(found, (around * weights).sum(axis=(1, 2)), atol=0.0502)
