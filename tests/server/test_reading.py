import io
import shutil
from pathlib import Path

import numpy as np
import pytest

from steppe.api import decode
from steppe.api.query import MapQuery
from steppe.grid import Raster
from tests.server.asking import CONTRACT, Client, problem
from tests.server.toy import Toy


def test_an_array_arrives_as_it_lies_in_the_engine(client: Client, toy: Toy) -> None:
    client.post("/step", {"steps": 2})
    answer = client.get("/data/green?packed=1")
    facts, values = decode(answer.content)
    assert answer.headers["content-type"] == "application/vnd.steppe.array"
    assert (facts["variable"], facts["units"], facts["step"], facts["scenario"]) == ("green", "kg ha-1", 2, "main")
    assert values.tobytes() == toy.state[1]["green"].tobytes()
    assert answer.headers["server-timing"] == f'moved;desc="{values.nbytes}"'


def test_what_the_client_has_is_not_sent_again_and_moves_nothing(client: Client, toy: Toy) -> None:
    tag = client.get("/data/green").headers["etag"]
    asked = len(toy.asked)
    assert client.get("/data/green", headers={"If-None-Match": f'"x", {tag}'}).status_code == 304
    assert client.get("/data/green", headers={"If-None-Match": "*"}).status_code == 304  # RFC 9110, 13.1.2
    assert len(toy.asked) == asked
    client.post("/step", {"steps": 1})
    assert client.get("/data/green", headers={"If-None-Match": tag}).status_code == 200
    info = client.get("").headers["etag"]
    assert client.get("", headers={"If-None-Match": info}).status_code == 304
    assert client.get("/variables/green", headers={"If-None-Match": info}).status_code == 200


def test_the_contract_has_all_members_of_an_array_in_json(client: Client) -> None:
    client.post("/step", {"steps": 2})
    known = CONTRACT["components"]["schemas"]["ArrayInfo"]["properties"]
    for query in ("", "&dtype=int16", "&time=step:1/2", "&packed=1", "&width=3", "&stride=2"):
        answer = client.get(f"/data/green?format=json{query}").json()
        assert answer.keys() <= known.keys(), query


def test_the_past_holds_until_a_rewind_and_is_then_another(client: Client, toy: Toy) -> None:
    client.post("/step", {"steps": 4})
    past = client.get("/data/green?time=2001-01-03")
    assert past.headers["cache-control"] == "private, no-cache"  # a client that keeps it must ask: a rewind may change it
    client.post("/step", {"steps": 1})
    asked = len(toy.asked)
    assert client.get("/data/green?time=2001-01-03", headers={"If-None-Match": past.headers["etag"]}).status_code == 304
    assert len(toy.asked) == asked
    client.post("/scenarios/main/rewind", {"step": 1})
    client.post("/step", {"steps": 3})
    assert client.get("/data/green?time=2001-01-03", headers={"If-None-Match": past.headers["etag"]}).status_code == 200
    assert client.get("/scenarios").headers["cache-control"] == "no-store"


def test_a_tag_of_a_removed_run_does_not_hold_for_a_new_run_of_its_name(client: Client, toy: Toy, raster: Raster) -> None:
    client.post("/step", {"steps": 4})
    paths = "/data/green", "/data/green?time=2001-01-03", "/image/green.png"
    tags = [client.get(path).headers["etag"] for path in paths]
    toy.close()
    shutil.rmtree(toy.folder)
    again = Toy(toy.folder, raster)
    client.server.context.runs["toy"] = again
    client.post("/step", {"steps": 4})
    assert [client.get(path, headers={"If-None-Match": tag}).status_code for path, tag in zip(paths, tags, strict=True)] == [200] * 3
    again.close()


def test_a_tag_does_not_hold_for_another_engine_before_which_a_script_may_have_changed_the_run(client: Client, toy: Toy) -> None:
    client.post("/step", {"steps": 4})
    tag = client.get("/data/green").headers["etag"]
    toy.state[1]["green"] += 1
    toy.journal.begin_engine(0.0)
    assert client.get("/data/green", headers={"If-None-Match": tag}).status_code == 200


def test_days_are_stacked(client: Client) -> None:
    client.post("/step", {"steps": 4})
    _, values = decode(client.get("/data/green?time=2001-01-01/2001-01-04&packed=1").content)
    assert values.shape == (4, 40)
    assert (np.diff(values, axis=0) == 1).all()


@pytest.mark.parametrize("region", ["cells=3,7", "box=138,-20,143,-10", "polygon=138,-20,143,-20,143,-10,138,-10"])
def test_a_part_of_the_grid_is_cut_where_it_lies(client: Client, toy: Toy, raster: Raster, region: str) -> None:
    _, values = decode(client.get(f"/data/green?packed=1&{region}").content)
    cells = [3, 7] if region.startswith("cells") else raster.select({"box": [138.0, -20.0, 143.0, -10.0]})
    assert (values == toy.state[1]["green"][cells]).all()


def test_every_format_says_the_same(client: Client, toy: Toy, raster: Raster, tmp_path: Path) -> None:
    import netCDF4

    client.post("/step", {"steps": 2})
    wanted = raster.unpack(toy.state[1]["green"])
    answer = client.get("/data/green?format=npy")
    assert np.array_equal(np.load(io.BytesIO(answer.content)), wanted, equal_nan=True)
    assert answer.headers["steppe-units"] == "kg ha-1"
    found = client.get("/data/green?format=json").json()
    assert found["values"][0][-1] is None
    assert np.array_equal(np.array(found["values"], float), wanted, equal_nan=True)
    rows = client.get("/data/green?format=csv").text.splitlines()
    assert rows[0] == "time,longitude,latitude,green [kg ha-1]"
    assert len(rows) == 1 + raster.n_cells
    assert rows[1] == f"2001-01-02,139.25,-11.25,{wanted[0, 0]}"
    with netCDF4.Dataset("x", memory=client.get("/data/green?format=netcdf&time=2001-01-01/2001-01-02").content) as data:
        assert data.weather == "generated"
        assert data["green"].dimensions == ("time", "lat", "lon")
        assert np.array_equal(np.ma.filled(data["green"][1], np.nan), wanted, equal_nan=True)
        assert list(netCDF4.num2date(data["time"][:], data["time"].units, data["time"].calendar)[1].timetuple()[:3]) == [2001, 1, 2]
        assert (data["lat"][:] == raster.lat).all()
    box, cells = "138,-20,143,-10", raster.select({"box": [138.0, -20.0, 143.0, -10.0]})
    rows, columns = np.divmod(raster.order[cells], raster.nlon)
    for region in (f"box={box}", f"box={box}&packed=1", "width=3"):
        with netCDF4.Dataset("x", memory=client.get(f"/data/green?format=netcdf&{region}").content) as data:
            assert (data["green"].grid_mapping, data["crs"].grid_mapping_name) == ("crs", "latitude_longitude")
            assert data["time_bnds"][0].tolist() == [1.0, 2.0]
            if region == "width=3":  # pixels are no cells of the grid
                assert not {"cell_area", "lat_bnds"} & set(data.variables)
                continue
            assert data["green"].cell_measures == "area: cell_area"
            assert np.ma.filled(data["cell_area"][:], np.nan)[~np.isnan(data["cell_area"][:])].tolist() == raster.cell_area[cells].tolist()
            if "packed" not in region:
                assert np.array_equal(data["lat_bnds"][:], raster.lat_bnds[rows.min() : rows.max() + 1])
                assert np.array_equal(data["lon_bnds"][:], raster.lon_bnds[columns.min() : columns.max() + 1])
    assert client.get("/data/green?format=png").content.startswith(b"\x89PNG")


@pytest.mark.parametrize(("dtype", "error"), [("float64", 0.0), ("int16", 39 / 65534)])
def test_numbers_of_another_type(client: Client, toy: Toy, dtype: str, error: float) -> None:
    facts, values = decode(client.get(f"/data/green?packed=1&dtype={dtype}").content)
    assert values.dtype == dtype
    back = values * facts.get("scale", 1.0) + facts.get("offset", 0.0)
    assert np.abs(back - toy.state[1]["green"]).max() <= error


def test_numbers_in_text_are_the_shortest_that_give_the_float_back(client: Client, toy: Toy) -> None:
    toy.state[1]["green"][:] = np.float32(0.1)
    assert b"0.1,0.1" in client.get("/data/green?format=json&packed=1").content
    assert client.get("/data/green?format=csv").text.splitlines()[1].endswith(",0.1")


def test_an_image_has_the_size_and_style_that_were_asked_for(client: Client, toy: Toy) -> None:
    answer = client.get("/image/green.png?width=3&style=vik&low=0&high=10")
    assert answer.headers["content-type"] == "image/png"
    assert toy.asked[-1] == MapQuery(name="green", width=3, format="png", style="vik", low=0.0, high=10.0)


def test_a_series_of_some_places(client: Client, toy: Toy, raster: Raster) -> None:
    client.post("/step", {"steps": 4})
    found = client.get("/series/green?at=139,-11&at=144,-20&at=139,-11&time=2001-01-01/2001-01-04").json()
    first = toy.state[1]["green"][raster.locate(139, -11)]
    assert found["values"][0] == [first - 3, first - 2, first - 1, first] == found["values"][2]
    assert found["places"][0] == [139.25, -11.25]
    assert found["dates"] == ["2001-01-01", "2001-01-02", "2001-01-03", "2001-01-04"]
    assert len(client.get("/series/green?at=139,-11&time=2001-01-01/2001-01-04&format=csv").text.splitlines()) == 5


def test_the_journal_is_read_line_by_line(client: Client) -> None:
    for _ in range(3):
        client.post("/step", {"steps": 1})
    rows = client.get("/log?after=1").text.splitlines()
    assert len(rows) == 2
    assert '"kind":"step"' in rows[0]


def test_variables_say_what_may_be_set(client: Client) -> None:
    found = {each["name"]: each for each in client.get("/variables").json()["variables"]}
    assert (found["green"]["settable"], found["cover"]["settable"], found["cover"]["settable_by"]) == (True, False, ["green"])
    assert problem(client.get("/variables/gren"))["nearest"] == "green"
