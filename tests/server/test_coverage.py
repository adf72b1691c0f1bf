"""CoverageJSON held to what OGC 21-069r2 demands of its parts."""

import re
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest

from steppe.grid import Points, Raster
from steppe.server import Access
from steppe.server.application import application
from tests.server.asking import Client, problem
from tests.server.toy import Toy

MEDIA = "application/vnd.cov+json"
# Domain type -> axes that it must have, axes that it may have, those with one value only (sections 6.1.1 and 9 of the standard).
KINDS = {
    "Grid": ({"x", "y"}, {"z", "t"}, set()),
    "PointSeries": ({"x", "y", "t"}, {"z"}, {"x", "y", "z"}),
    "MultiPoint": ({"composite"}, {"t"}, {"t"}),
    "MultiPointSeries": ({"composite", "t"}, set(), set()),
}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def check_domain(domain: Any, kind: str, referencing: Any) -> dict[str, int]:
    """The lengths of the axes of a domain that is as it must be."""
    assert domain["type"] == "Domain"
    axes = domain["axes"]
    needed, possible, single = KINDS[kind]
    assert needed <= axes.keys() <= needed | possible
    for name, axis in axes.items():
        values = axis["values"]
        assert len(values) == 1 or (len(values) > 1 and name not in single)
        if name == "composite":
            assert axis["dataType"] == "tuple"
            assert axis["coordinates"] in (["x", "y"], ["x", "y", "z"])
            assert all(len(each) == len(axis["coordinates"]) for each in values)
        elif name == "t":
            assert all(TIME.fullmatch(each) for each in values)
            assert values == sorted(set(values))
        else:
            assert len(set(np.sign(np.diff(values)))) <= 1, "An axis rises or falls."
    systems = {tuple(each["coordinates"]): each["system"] for each in referencing}
    assert systems[("x", "y")] == {"type": "GeographicCRS", "id": "http://www.opengis.net/def/crs/OGC/1.3/CRS84"}
    assert (("t",) in systems) == ("t" in axes)
    assert (("z",) in systems) == ("z" in axes or "z" in axes.get("composite", {}).get("coordinates", ()))
    if ("z",) in systems:
        (axis,) = systems[("z",)]["cs"]["csAxes"]
        assert (systems[("z",)]["type"], axis["direction"]) in (("VerticalCRS", "up"), ("VerticalCRS", "down"))
        assert axis["name"]["en"]
    if "t" in axes:
        assert systems[("t",)]["type"] == "TemporalRS"
        assert systems[("t",)]["calendar"] == "Gregorian" or systems[("t",)]["calendar"].startswith("https://")
    return {name: len(axis["values"]) for name, axis in axes.items()}


def check_ranges(ranges: Any, parameters: Any, lengths: dict[str, int]) -> None:
    assert ranges.keys() <= parameters.keys()
    for parameter in parameters.values():
        assert parameter["type"] == "Parameter"
        assert parameter["observedProperty"]["label"]["en"]
        if "categories" in parameter["observedProperty"]:
            assert "unit" not in parameter
            assert {each["id"] for each in parameter["observedProperty"]["categories"]} == parameter["categoryEncoding"].keys()
            assert all(isinstance(each["label"]["en"], str) for each in parameter["observedProperty"]["categories"])
        else:
            assert isinstance(parameter["unit"]["symbol"], str)
    for found in ranges.values():
        assert found["type"] == "NdArray"
        assert found["dataType"] in ("float", "integer")
        assert found["shape"] == [lengths[name] for name in found["axisNames"]]
        assert {name for name, length in lengths.items() if length > 1} <= set(found["axisNames"])
        assert len(found["values"]) == prod(found["shape"])


def checked(answer: Any) -> Any:
    """A document that is as it must be."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == MEDIA
    found = answer.json()
    if found["type"] == "CoverageCollection":
        for each in found["coverages"]:
            assert each["type"] == "Coverage"
            lengths = check_domain(each["domain"], found["domainType"], found["referencing"])
            check_ranges(each["ranges"], found["parameters"], lengths)
        return found
    assert found["type"] == "Coverage"
    domain = found["domain"]
    check_ranges(found["ranges"], found["parameters"], check_domain(domain, domain["domainType"], domain["referencing"]))
    return found


def values_of(found: Any, name: str = "green") -> np.ndarray:
    array = found["ranges"][name]
    return np.array(array["values"], float).reshape(array["shape"])


def test_a_map_is_a_grid_with_units_a_date_and_null_in_the_sea(client: Client, toy: Toy, raster: Raster) -> None:
    client.post("/step", {"steps": 2})
    found = checked(client.get("/data/green?format=coverage-json"))
    assert found["domain"]["domainType"] == "Grid"
    assert found["domain"]["axes"]["x"]["values"] == raster.lon.tolist()
    assert found["domain"]["axes"]["y"]["values"] == raster.lat.tolist()
    assert found["domain"]["axes"]["t"]["values"] == ["2001-01-02T00:00:00Z"]
    assert found["parameters"]["green"]["unit"] == {"symbol": "kg ha-1"}
    assert found["ranges"]["green"]["axisNames"] == ["t", "y", "x"]
    assert None in found["ranges"]["green"]["values"]
    assert np.array_equal(values_of(found)[0], raster.unpack(toy.state[1]["green"]), equal_nan=True)


def test_maps_of_some_days_are_one_grid(client: Client, toy: Toy, raster: Raster) -> None:
    client.post("/step", {"steps": 3})
    found = checked(client.get("/data/green?format=coverage-json&time=2001-01-02/2001-01-03&box=138,-20,143,-10"))
    assert found["domain"]["axes"]["t"]["values"] == ["2001-01-02T00:00:00Z", "2001-01-03T00:00:00Z"]
    column, row = found["domain"]["axes"]["x"]["values"], found["domain"]["axes"]["y"]["values"]
    assert values_of(found).shape == (2, len(row), len(column)) == (2, 4, 2)
    assert values_of(found)[1, 0, 0] == toy.state[1]["green"][raster.locate(column[0], row[0])]


@pytest.mark.parametrize(("time", "kind"), [("latest", "MultiPoint"), ("2001-01-01/2001-01-02", "MultiPointSeries")])
def test_cells_are_points(client: Client, toy: Toy, raster: Raster, time: str, kind: str) -> None:
    client.post("/step", {"steps": 2})
    found = checked(client.get(f"/data/green?format=coverage-json&cells=3,7&time={time}"))
    assert found["domain"]["domainType"] == kind
    assert found["domain"]["axes"]["composite"]["values"] == [[raster.cell_lon[cell], raster.cell_lat[cell]] for cell in (3, 7)]
    assert values_of(found)[-1].tolist() == toy.state[1]["green"][[3, 7]].tolist()


def test_points_without_rows_are_points(tmp_path: Path, access: Access) -> None:
    grid = Points(("a", "b"), np.array([-20.0, -21.0]), np.array([140.0, 141.5]))
    toy = Toy(tmp_path / "points", grid)
    found = checked(Client(application({"toy": toy}, access), toy).get("/data/green?format=coverage-json"))
    assert found["domain"]["domainType"] == "MultiPoint"
    assert found["domain"]["axes"]["composite"]["values"] == [[140.0, -20.0], [141.5, -21.0]]
    toy.close()


def test_series_are_a_collection_of_one_a_place(client: Client, toy: Toy, raster: Raster) -> None:
    client.post("/step", {"steps": 4})
    toy.past[1, 2]["green"][:] = np.nan
    answer = client.get("/series/green?at=139,-11&at=144,-20&at=139,-11&time=2001-01-01/2001-01-04&format=coverage-json")
    found = checked(answer)
    assert (found["domainType"], len(found["coverages"])) == ("PointSeries", 3)
    first = toy.state[1]["green"][raster.locate(139, -11)]
    assert found["coverages"][0]["ranges"]["green"]["values"] == [first - 3, None, first - 1, first]
    assert found["coverages"][0]["domain"]["axes"]["x"]["values"] == [139.25]
    assert found["coverages"][0] == found["coverages"][2]


def test_a_calendar_of_a_model_is_named(client: Client, toy: Toy) -> None:
    toy.facts = {**(toy.facts or {}), "clock": {**(toy.facts or {})["clock"], "calendar": "noleap"}}
    system = checked(client.get("/data/green?format=coverage-json"))["domain"]["referencing"][1]["system"]
    assert system["calendar"].endswith("noleap")


def test_steps_within_a_day_have_the_time_of_their_end(client: Client, toy: Toy) -> None:
    toy.facts = {**(toy.facts or {}), "clock": {**(toy.facts or {})["clock"], "step": 21600.0}}
    client.post("/step", {"steps": 3})
    found = checked(client.get("/series/green?at=139,-11&time=step:3&format=coverage-json"))
    assert found["coverages"][0]["domain"]["axes"]["t"]["values"] == ["2001-01-01T18:00:00Z"]


def test_a_model_without_time_has_grids_but_no_series(client: Client, toy: Toy) -> None:
    toy.facts = {**(toy.facts or {}), "clock": {**(toy.facts or {})["clock"], "step": None}}
    client.post("/step", {"steps": 1})
    assert "t" not in checked(client.get("/data/green?format=coverage-json"))["domain"]["axes"]
    assert problem(client.get("/series/green?at=139,-11&time=step:1&format=coverage-json"))["code"] == "not-acceptable"


def test_classes_are_categories_and_flags(client: Client, toy: Toy) -> None:
    facts = toy.facts or {}
    classes = {"1": "dry", "3": "rather moist"}
    toy.facts = {**facts, "variables": [{**each, "classes": classes} if each["name"] == "green" else each for each in facts["variables"]]}
    client.post("/step", {"steps": 1})
    parameter = checked(client.get("/data/green?format=coverage-json"))["parameters"]["green"]
    assert parameter["categoryEncoding"] == {"#1": 1, "#3": 3}
    assert [each["label"]["en"] for each in parameter["observedProperty"]["categories"]] == ["dry", "rather moist"]
    assert "categories" in checked(client.get("/series/green?at=139,-11&format=coverage-json"))["parameters"]["green"]["observedProperty"]
    with netCDF4.Dataset("green", memory=client.get("/data/green?format=netcdf").content) as data:
        assert data["green"].flag_values.tolist() == [1.0, 3.0]
        assert (data["green"].flag_values.dtype, data["green"].flag_meanings) == (data["green"].dtype, "dry rather_moist")
    described = client.get("/zarr/main/green/zarr.json").json()
    assert (described["attributes"]["flag_values"], described["attributes"]["flag_meanings"]) == ([1, 3], "dry rather_moist")


def test_numbers_are_the_shortest_that_give_the_float_back(client: Client, toy: Toy) -> None:
    toy.state[1]["green"][:] = np.float32(0.1)
    assert b"0.1,0.1" in client.get("/data/green?format=coverage-json&packed=1").content


def test_levels_and_too_many_values_are_refused(client: Client, toy: Toy) -> None:
    assert problem(client.get("/data/green?format=coverage-json&dtype=int16"))["position"] == "dtype"
    client.server.context.limits = replace(client.server.context.limits, text_values=39)
    refused = problem(client.get("/data/green?format=coverage-json&packed=1"))
    assert (refused["status"], refused["code"], refused["value"]) == (406, "not-acceptable", 40)
