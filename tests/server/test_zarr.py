"""A scenario as a Zarr group over HTTP, read by xarray, zarr and fsspec as their users do."""

from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
import xarray
from aiohttp import ClientResponseError

import steppe
from steppe.api import by_name
from steppe.client import NotAtHandError
from steppe.grid import Points, Projected, Raster
from steppe.server import Limits
from steppe.server.application import application
from steppe.service import zarr_view
from steppe.service.service import RunDescription, variable_info
from tests.grid.test_plain import ALBERS
from tests.server.asking import TOKENS, Client, access_of_all, bearer, problem
from tests.server.listening import listening
from tests.server.toy import Toy, facts_of

STEPS = 365


@pytest.fixture
def port(toy: Toy) -> Iterator[int]:
    with listening(application({"toy": toy}, access_of_all(), Limits())) as port:
        yield port


def opened(port: int, scenario: str = "main", **more: Any) -> xarray.Dataset:
    address, headers = f"http://127.0.0.1:{port}/api/v1/runs/toy/zarr/{scenario}", {"headers": bearer("view")}
    return xarray.open_zarr(address, storage_options=headers, chunks=None, decode_coords="all", **more)


def order(port: int, path: str, **content: Any) -> None:
    headers = {**bearer("admin"), "Idempotency-Key": path.replace("/", "-") + str(content.get("steps", ""))}
    answer = httpx.post(f"http://127.0.0.1:{port}/api/v1/runs/toy/{path}", json=content, headers=headers)
    assert answer.status_code < 300, answer.text


def test_xarray_opens_a_run_with_its_coordinates_and_units(port: int, raster: Raster) -> None:
    found = opened(port)
    assert dict(found.sizes) == {"time": STEPS, "lat": 8, "lon": 6, "bnds": 2}
    assert np.array_equal(found.lat, raster.lat)
    assert np.array_equal(found.lon, raster.lon)
    assert str(found.time.values[0])[:10] == "2001-01-01"
    assert str(found.time.values[-1])[:10] == "2001-12-31"
    assert sorted(found.data_vars) == ["green", "rain", "temperature"]  # neither parameters nor what is derived from them
    assert (found.green.units, found.green.dtype) == ("kg ha-1", np.float32)
    assert found.attrs["steppe_steps_done"] == 0
    assert np.array_equal(found.lat_bnds, raster.lat_bnds)
    assert np.array_equal(found.lon_bnds, raster.lon_bnds)
    assert np.array_equal(found.cell_area, raster.unpack(raster.cell_area), equal_nan=True)
    assert np.array_equal(found.time_bnds[30], found.time[30:32])
    assert found.crs.grid_mapping_name == "latitude_longitude"
    assert (found.green.encoding["grid_mapping"], found.green.encoding["cell_measures"]) == ("crs", "area: cell_area")


def test_what_is_not_computed_yet_is_nan_and_comes_to_who_has_the_run_open(port: int, toy: Toy, raster: Raster) -> None:
    found = opened(port)
    assert np.isnan(found.green.sel(time="2001-01-03")).all()
    order(port, "step", steps=3)
    day = found.green.sel(time="2001-01-03")
    assert np.array_equal(day, raster.unpack(toy.state[1]["green"]), equal_nan=True)
    assert np.isnan(found.green[3:]).all()


def test_the_past_is_that_of_the_scenario(port: int, toy: Toy) -> None:
    order(port, "step", steps=4)
    found = opened(port)
    days = found.green[:4, 0, 0].values
    assert (np.diff(days) == 1).all()  # which the toy grows by a step
    order(port, "scenarios", name="dry", **{"from": {"scenario": "main", "step": 2}})
    branch = opened(port, "dry")
    assert branch.attrs["title"].endswith("scenario dry")
    assert np.isfinite(branch.green[1, 0, 0])
    assert np.isnan(branch.green[2:4, 0, 0]).all()


def test_a_stranger_sees_an_error_and_not_nan(port: int) -> None:
    with pytest.raises(ClientResponseError, match="401"):
        xarray.open_zarr(f"http://127.0.0.1:{port}/api/v1/runs/toy/zarr/main", chunks=None)


def test_a_step_that_is_not_at_hand_ends_in_the_sentence_of_the_server(port: int, toy: Toy) -> None:
    order(port, "step", steps=3)
    del toy.past[1, 1]
    with steppe.connect(f"http://127.0.0.1:{port}", TOKENS["view"]) as run:
        whole = run.dataset()
        assert np.isfinite(whole.green[1, 0, 0])
        with pytest.raises(NotAtHandError, match=r"^Step 1 is not kept\.$"):
            whole.green[0].load()


GREEN = [".zarray", "c.0.0", "c.1.0.0", "c.01.0.0", "c.0.1.0", "c.-1.0.0", "c.99999999999.0.0", "c.٣.0.0"]


@pytest.mark.parametrize("part", [".zgroup", "lat/c.1", "rate/c", "rate/zarr.json", *(f"green/{each}" for each in GREEN)])
def test_what_is_not_there_is_a_404(client: Client, part: str) -> None:
    client.post("/step", {"steps": 1})
    assert client.get("/zarr/main/green/c.0.0.0").status_code == 200
    answer = client.get(f"/zarr/main/{part}")
    assert answer.status_code == 404
    assert problem(answer)["code"] == "unknown-path"


def test_an_unknown_scenario_and_a_rewind(client: Client) -> None:
    assert problem(client.get("/zarr/mian/zarr.json"))["nearest"] == "main"
    client.post("/step", {"steps": 3})
    assert client.get("/zarr/main/green/c.2.0.0").status_code == 200
    client.post("/scenarios/main/rewind", {"step": 1})
    assert client.get("/zarr/main/green/c.2.0.0").status_code == 404
    assert client.get("/zarr/main@1/green/c.2.0.0").status_code == 200  # what was left has another name
    assert client.get("/zarr/main~1/green/c.2.0.0").status_code == 200  # and the same number
    assert client.get("/zarr/main~2/green/c.2.0.0").status_code == 404
    assert client.get("/zarr/main~3/green/c.2.0.0").status_code == 409  # 404 would be a map without values


def test_points_projections_and_models_without_time_say_where_and_when() -> None:
    points = Points(("a", "b"), np.array([-20.0, -21.5]), np.array([143.0, 150.25]))
    found = zarr_view.arrays(known(points))
    assert (found["green"]["shape"], found["green"]["dimension_names"]) == ((10, 2), ("time", "cell"))
    assert found["green"]["attributes"]["coordinates"] == "lat lon"
    assert zarr_view.coordinates_of(known(points))["lon"].values().tolist() == [143.0, 150.25]
    projected = Projected.project(-2.7e6, -5e3, 1e6, 5e3, np.ones((4, 5), bool), ALBERS)
    found = zarr_view.arrays(known(projected))
    assert (found["green"]["dimension_names"], found["green"]["attributes"]["grid_mapping"]) == (("time", "y", "x"), "crs")
    assert found["crs"]["attributes"]["crs_wkt"] == projected.crs["crs_wkt"]
    assert {found[name]["dimension_names"] for name in ("lat", "lon", "cell_area")} == {("y", "x")}
    assert (found["y"]["attributes"]["bounds"], found["y_bnds"]["shape"]) == ("y_bnds", (4, 2))
    iterating = known(points, {"start": "2001-01-01T00:00:00", "step": None, "calendar": "standard"})
    assert zarr_view.arrays(iterating)["time"]["attributes"]["units"] == "1"
    assert zarr_view.coordinates_of(iterating)["time"].values().tolist() == list(range(1, 11))


def known(grid: Any, clock: dict[str, Any] | None = None) -> RunDescription:
    facts = facts_of(grid, steps=10)
    facts["clock"] = clock or facts["clock"]
    return RunDescription(facts, by_name(map(variable_info, facts["variables"])), grid)
