"""Mistakes in Python are refused in the sentences of `steppe.Simulation`, before anything is ordered."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest
import xarray

import steppe
from steppe.client import RefusedError, Run, StaleError, UnknownError
from steppe.client.refusals import raised
from steppe.client.words import region
from steppe.errors import Mistake, ModelError, RangeError, RequestError
from tests.client.served import TOKENS, Served


@pytest.mark.parametrize("value", ["wet", "3.5", None, True, ["wet"]])
def test_a_value_that_is_no_number_is_refused_as_in_python(run: Run, shared_server: Served, value: object) -> None:
    orders = len(run.log())
    with pytest.raises(ModelError, match=r'The value for "water" is .*; expected a number, or an array of numbers \[mm\]') as served:
        run.set("water", value)
    apart = {"path": shared_server.folder / "apart", "fresh": True}
    with steppe.Simulation(shared_server.folder / "run.toml", **apart) as alone, pytest.raises(ModelError) as in_python:
        alone.set("water", value)
    assert str(served.value) == str(in_python.value)
    assert len(run.log()) == orders


def test_reduce_without_pixels_is_refused(run: Run) -> None:
    for operation in ("mean", "max"):
        with pytest.raises(Mistake, match=r"`reduce` takes the cells of a pixel together\. Give width or height"):
            run.get("water", box=(143.4, -23.1, 144.1, -21.9), reduce=operation)
    assert run.get("water", box=(143.4, -23.1, 144.1, -21.9), reduce="max", width=1, height=1).shape == (1, 1)


def test_a_box_with_latitude_first_is_refused(run: Run) -> None:
    for ask in (run.get, lambda name, box: run.set(name, 1.0, box=box), run.series):
        with pytest.raises(
            Mistake, match=r"^The box -23, 143, -21, 144 has a latitude beyond 90 degrees\. Give west, south, east, north\."
        ):
            ask("water", box=(-23.0, 143.0, -21.0, 144.0))


def test_keys_that_give_no_map_of_numbers_are_refused_by_name(run: Run) -> None:
    for key, value in {"dtype": "int16", "time": "step:3", "format": "csv", "packed": True, "style": "oslo", "chosen": b""}.items():
        with pytest.raises(Mistake, match=rf"^get takes no `{key}`\. "):
            run.get("water", **{key: value})
    with pytest.raises(TypeError, match="nonsense"):
        run.get("water", nonsense=3)
    for step in (2.0, "2"):
        with pytest.raises(Mistake, match=rf"A step is a whole number; step={step!r} is none\."):
            run.get("water", step=step)


def test_a_region_that_is_too_long_for_an_address_is_refused_with_its_length(run: Run) -> None:
    turn = np.linspace(0.0, 2.0 * np.pi, 600)[:-1]
    circle = np.column_stack([144.0 + np.cos(turn), -22.0 + np.sin(turn)])
    for ask in (lambda: run.get("water", polygon=circle), lambda: run.set("water", np.ones(9), polygon=circle)):
        with pytest.raises(Mistake, match=r"polygon= has 599 corners, 1.,... characters in an address, which holds 6,000\. Give fewer"):
            ask()
    with pytest.raises(Mistake, match=r"cells= has 3,000 cells, .* Give fewer cells at once\."):
        run.get("water", cells=range(3000))
    some = run.get("water", cells=[7, 5])
    np.testing.assert_array_equal(run.get("water", cells=some.packed), some)
    with pytest.raises(Mistake, match=r"cells= takes packed numbers; .* Give the coordinate `packed`"):
        run.get("water", cells=some.cell)
    assert run.set("water", 3.0, polygon=circle).state == "done"


def test_a_polygon_with_holes_or_parts_is_refused_and_not_filled() -> None:
    ring = SimpleNamespace(coords=[(0, 0), (9, 0), (9, 9), (0, 0)])  # as shapely has it
    assert region(polygon=SimpleNamespace(exterior=ring, interiors=[]))["polygon"] == [[0, 0], [9, 0], [9, 9]]
    for polygon in (SimpleNamespace(exterior=ring, interiors=[ring]), SimpleNamespace(geoms=[ring])):
        with pytest.raises(Mistake, match=r"A polygon is one outline without holes\. Give its parts"):
            region(polygon=polygon)


def test_a_data_set_is_no_value(run: Run) -> None:
    with pytest.raises(ModelError, match=r'is a data set\. Give one of its variables, such as dataset\["water"\]'):
        run.set("water", run["water"].to_dataset(name="water"))


@pytest.mark.parametrize("steps", ["3", 1.5, 0, -1])
def test_a_number_of_steps_is_whole(run: Run, steps: object) -> None:
    with pytest.raises(RequestError, match=rf"step\(steps\) computes a whole number of steps, one or more; steps is {steps!r}\."):
        run.step(steps)
    assert run.step(np.int64(1)).state == "done"


@pytest.mark.parametrize("speed", [float("nan"), float("inf"), 0, -1.0, "3"])
def test_a_speed_is_a_finite_number_over_0(run: Run, speed: object) -> None:
    with pytest.raises(RequestError, match=rf"step\(speed\) takes a number over 0, the most steps a second; speed is {speed!r}\."):
        run.step(1, speed=speed)


def test_an_array_without_a_number_in_a_cell_is_refused_with_its_place(run: Run) -> None:
    run.step(1)
    water = run["water"]
    row, column = np.argwhere(water.notnull().values)[20]
    lon, lat = float(water.lon[column]), float(water.lat[row])
    for given in (water.copy(), water.values.copy()):
        given[row, column] = np.nan
        with pytest.raises(RangeError, match=rf'"water" is nan at index 20, .*longitude {lon:g}, latitude {lat:g}\. Give each'):
            run.set("water", given)
    with pytest.raises(RangeError, match=r'"water" is inf at index 1, .*, and no finite number at 1 more\. Give each'):
        run.set("water", [1.0, np.inf, np.nan], cells=[3, 4, 5])
    run.set("water", water)  # nan where no cell lies


def test_a_map_goes_by_the_coordinates_of_its_axes_or_is_refused(run: Run) -> None:
    run.step(1)
    water, orders = run["water"], len(run.log())
    for given in (water.rename(lat="b", lon="a").drop_attrs(), water.drop_vars("lat")):
        with pytest.raises(ModelError, match=r'"water" has the dims \(.*\), and not the coordinates .*; expected \(lat, lon\)'):
            run.set("water", given)
    with pytest.raises(ModelError, match=r"has the dims \(place\), and not the coordinates"):
        run.set("water", run.get("water", cells=range(144)).rename(cell="place"))
    with pytest.raises(ModelError, match=r"has the dims \(time, lat, lon\); expected \(lat, lon\)"):
        run.set("water", water.expand_dims("time"))
    assert len(run.log()) == orders
    for names in ({"lat": "latitude", "lon": "longitude"}, {"lat": "y", "lon": "x"}):
        run.set("water", 0.0)
        run.set("water", water[::-1].rename(names))
        xarray.testing.assert_equal(run["water"], water)


def test_a_unit_is_given_once(run: Run) -> None:
    centimetres = (run["water"] / 10.0).assign_attrs(units="cm")
    with pytest.raises(ModelError, match=r'has the attribute units = "cm", and units="mm" is given\. Give one of them'):
        run.set("water", centimetres, units="mm")
    run.set("water", centimetres, units="cm")


def test_an_unknown_scenario_is_named_with_the_nearest_one(run: Run, shared_server: Served) -> None:
    scenarios = run.scenarios
    assert "nope" not in scenarios
    assert scenarios.get("nope") is None
    with pytest.raises(UnknownError, match=r'There is no scenario "mian" in "out"\. Did you mean "main"') as unknown:
        scenarios["mian"]
    assert isinstance(unknown.value, KeyError)
    assert "main" in unknown.value.allowed
    with pytest.raises(UnknownError, match='There is no scenario "nope" in "out"'):
        run.scenarios["nope"]

    async def look() -> None:
        async with await steppe.connect_async(shared_server.address, TOKENS["view"]) as other:
            (await other.scenarios)["nope"]

    with pytest.raises(UnknownError, match='There is no scenario "nope" in "out"'):
        asyncio.run(look())


def test_a_widget_is_asked_of_a_run_that_has_one(shared_server: Served) -> None:
    async def ask() -> None:
        async with await steppe.connect_async(shared_server.address, TOKENS["view"]) as other:
            other.widget("water")

    with pytest.raises(Mistake, match=r"A widget needs a run of steppe\.connect: steppe\.connect\(address, token\)\.widget\(\)"):
        asyncio.run(ask())


def test_a_single_place_needs_no_list(run: Run) -> None:
    run.step(2)
    assert run.series("water", at=(143.5, -20.5)).identical(run.series("water", at=[(143.5, -20.5)]))
    for at in ((143.5, -20.5, 1.0), [(143.5,)], ("a", "b")):
        with pytest.raises(Mistake, match=r"A place is longitude, latitude, such as at=\[\(144\.05, -21\.95\)\]; it is "):
            run.series("water", at=at)


def test_what_is_no_name_or_no_box_is_refused_in_a_sentence(run: Run) -> None:
    with pytest.raises(UnknownError, match=r"A variable is known by its name, a text such as .*; 3 is none\."):
        run[3]
    with pytest.raises(RefusedError, match=r"The box 145, -22, 144, -20 is empty: west must be less than east"):
        run.get("water", box=(145, -22, 144, -20))


def test_a_date_may_be_an_array_of_no_dimensions(run: Run) -> None:
    run.step(5)
    times = run.series("water", [(143.5, -20.5)]).time
    for date in (times[3], np.array(times.values[3])):
        assert run.get("water", date=date).identical(run.get("water", date=times.values[3]))
        assert run.series("water", [(143.5, -20.5)], date=(times[1], date)).sizes["time"] == 3
    assert run.get("water", step=times.step[2]).step == 3
    run.rewind(times[3])
    assert run["water"].step == 4
    run.rewind(times[1])
    run.step(until=times[2])
    assert run["water"].step == 3


def test_a_stale_order_names_the_orders_that_came_first(run: Run, shared_server: Served) -> None:
    with shared_server.connect("steer") as other:
        stepped = other.step(1)
    with pytest.raises(StaleError, match=rf"came first: step \({stepped.id}, by .+\); call run\.info\(\) and give the order again\.$"):
        run.set("water", 1.0)


def test_a_stale_order_without_a_list_points_to_the_log() -> None:
    error = raised({"status": 412, "code": "version-stale", "detail": "So it is."})
    assert str(error) == "So it is. All orders are in run.log(); call run.info() and give the order again."
    changed = [{"seq": number, "kind": "set", "who": "admin"} for number in range(9)]
    assert "set (7, by admin), ...;" in str(raised({"status": 412, "code": "version-stale", "detail": "So.", "changed": changed}))
