"""`steppe export` as a person calls it."""

import csv

import numpy as np
import pytest
import xarray

import steppe
from steppe.cli.typed_places import place_of, region_of
from steppe.errors import Exit, Mistake


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_run_becomes_one_file_that_says_how_it_was_made(call, finished, monkeypatch):
    monkeypatch.setattr("sys.argv", ["steppe", "export", "out", "--netcdf", "a file.nc"])
    code, said, wrong = call("export", str(finished), "--netcdf", "a.nc")
    assert (code, wrong) == (Exit.DONE, "")
    assert said.startswith("a.nc: ")
    maps = steppe.unpack(steppe.open(finished))
    with xarray.open_dataset("a.nc") as found:
        for name in ("water", "runoff"):
            np.testing.assert_array_equal(found[name], maps[name])
        assert found.attrs["history"].endswith("Z steppe export out --netcdf 'a file.nc'")
        assert "generated weather" in found.attrs["title"]


def test_variables_are_given_with_commas_or_one_by_one(call, finished):
    heads = []
    for number, arguments in enumerate([("--variables", "water, runoff"), ("--variable", "water", "--variable", "runoff")]):
        assert call("export", str(finished), "--csv", f"{number}.csv", "--at", "-22,144", *arguments)[0] == Exit.DONE
        with open(f"{number}.csv", newline="") as file:
            heads.append(next(csv.reader(file)))
    assert heads[0] == heads[1] == ["date", "latitude", "longitude", "water [mm]", "runoff [mm d-1]"]


def test_the_series_of_a_run_are_a_table(call, finished):
    assert call("export", str(finished), "--csv", "a.csv", "--variable", "runoff", "--date", "1990-02-01", "--quiet") == (Exit.DONE, "", "")
    with open("a.csv", newline="") as file:
        head, *lines = csv.reader(file)
    assert head == ["date", "region", "runoff [mm d-1]"]
    assert [line[:2] for line in lines] == [["1990-02-01", "all"], ["1990-02-01", "{ box = [144, -22, 145, -20] }"]]


def test_two_cells_are_a_table(call, finished):
    call("export", str(finished), "--csv", "a.csv", "--at", "-22,144", "--at", "-22.5,143.5", "--variables", "water")
    with open("a.csv", newline="") as file:
        lines = list(csv.reader(file))
    assert lines[0] == ["date", "latitude", "longitude", "water [mm]"]
    assert [line[:3] for line in lines[1:3]] == [["1990-01-10", "-22", "144"], ["1990-01-10", "-22.5", "143.5"]]
    with steppe.open(finished) as dataset:
        cell = int(np.flatnonzero((dataset["cell_lat"] == -22) & (dataset["cell_lon"] == 144))[0])
        np.testing.assert_array_equal(np.array([line[3] for line in lines[1::2]], np.float32), dataset["water"][:, cell])


def test_maps_of_a_region_are_files_in_a_folder(call, finished):
    code, said, _ = call(
        "export", str(finished), "--cog", "maps", "--variables", "water", "--region", "144,-22,145,-20", "--end", "1990-03-01"
    )
    assert code == Exit.DONE
    assert said.startswith("maps: 3 files, ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--netcdf", "a.nc", "--at", "-21,144"], "--at and --series choose the lines of a table."),
        (["--csv", "a.csv", "--date", "1990-02-01", "--end", "1990-03-01"], "--date is one day, --start and --end are a period."),
        (["--csv", "a.csv", "--at", "-21,144", "--series", "means"], "Give one of them."),
        (["--csv", "a.csv", "--series", "mean"], 'has no series "mean". Did you mean "means"?'),
        (["--netcdf", "a.nc", "--maps", "means"], 'There are no maps "means" at '),
        (["--netcdf", "{run}"], "is a run folder, in which only runs write"),
        (["--netcdf", "a.nc", "--region", "atlantis"], 'Region "atlantis" is not known.'),
        (["--netcdf", "a.nc", "--region", "144,-22,145"], "needs 4 numbers"),
        (["--netcdf", "a.nc", "--region", "145,-22,144,-20"], "The box 145, -22, 144, -20 is empty: west must be less than east"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_asked_together_is_said(call, finished, tmp_path, arguments, sentence):
    code, said, wrong = call("export", str(finished), *(each.format(run=finished) for each in arguments))
    assert (code, said) == (Exit.MISTAKE, "")
    assert sentence in wrong
    assert not list(tmp_path.glob("a.*"))


def test_places_and_boxes_are_texts():
    assert place_of("-23.44, 144.25") == (144.25, -23.44)
    assert region_of("west") == "west"
    assert region_of("144,-24,146,-22") == {"box": [144.0, -24.0, 146.0, -22.0]}
    for text in ("", "-23.44", "a,b", "95,10", "1,2,3"):
        with pytest.raises(Mistake, match="is no place"):
            place_of(text)
