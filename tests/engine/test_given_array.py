"""Arrays of xarray that a script sets go by their coordinates, under any name that CF files use; a unit is given once."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray

from steppe.engine import Simulation
from steppe.errors import ForcingError, ModelError
from tests.engine.test_stations import run_file

__all__ = ["run_file"]


@pytest.fixture
def simulation(scenario: Path) -> Iterator[Simulation]:
    with Simulation(scenario) as simulation:
        simulation.set("water", np.linspace(1.0, 50.0, simulation.grid.n_cells))
        yield simulation


def flipped(water: xarray.DataArray, **names: str) -> xarray.DataArray:
    return water[::-1, ::-1].rename(names)


@pytest.mark.parametrize("names", [{"lat": "latitude", "lon": "longitude"}, {"lat": "y", "lon": "x"}])
def test_latitude_and_longitude_are_known_by_their_usual_names(simulation, names):
    water = simulation["water"]
    simulation.set("water", 0.0)
    simulation.set("water", flipped(water, **names))
    np.testing.assert_array_equal(simulation["water"], water)


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ({"standard_name": "latitude"}, {"standard_name": "longitude"}),
        ({"units": "degrees_north"}, {"units": "degrees_east"}),
        ({"axis": "Y"}, {"axis": "X"}),
    ],
)
def test_latitude_and_longitude_are_known_by_the_attributes_of_cf(simulation, rows, columns):
    water = simulation["water"]
    given = flipped(water, lat="rows", lon="columns")
    given = given.assign_coords(
        rows=("rows", given["rows"].values, rows),
        columns=("columns", given["columns"].values, columns),
        lat=(("rows", "columns"), np.zeros(given.shape)),  # a map of latitudes beside them is no axis
    )
    simulation.set("water", 0.0)
    simulation.set("water", given)
    np.testing.assert_array_equal(simulation["water"], water)


def test_an_axis_may_have_another_name_than_its_dimension(simulation):
    water = simulation["water"]
    given = xarray.DataArray(
        water.values[::-1], {"lat": ("row", water["lat"].values[::-1]), "lon": ("column", water["lon"].values)}, ("row", "column")
    )
    simulation.set("water", given)
    np.testing.assert_array_equal(simulation["water"], water)


def test_a_map_that_does_not_say_where_its_values_lie_is_refused(simulation):
    water = simulation["water"]
    for given, dims in (
        (water.rename(lat="b", lon="a").drop_attrs(), "b, a"),
        (water.drop_vars("lat"), "lat, lon"),
        (xarray.DataArray(water.values), "dim_0, dim_1"),
    ):
        words = rf'"water" has the dims \({dims}\), and not the coordinates .* expected \(lat, lon\) with coordinates, or \(cell\)'
        with pytest.raises(ModelError, match=words):
            simulation.set("water", given)
    with pytest.raises(ModelError, match=r'"water" has no lat -?[\d.]+; it has 0 to'):
        simulation.set("water", water.rename(lat="y", lon="x").assign_coords(y=range(water.shape[0])))
    simulation.set("water", np.nan_to_num(water.values))  # an array of NumPy goes by position


def test_packed_cells_go_by_their_numbers_alone(simulation):
    water, cells = simulation["water"], {"cell": simulation.grid.order}
    packed = xarray.DataArray(simulation.get("water"), cells, ("cell",))
    simulation.set("water", packed[::-1])
    np.testing.assert_array_equal(simulation["water"], water)
    for given in (packed.rename(cell="place"), packed.drop_vars("cell")):
        with pytest.raises(ModelError, match=r"and not the coordinates that say where its values lie; expected .*\(cell\)"):
            simulation.set("water", given)


def test_a_unit_is_given_once(simulation):
    centimetres = (simulation["water"] / 10.0).assign_attrs(units="cm")
    with pytest.raises(ModelError, match=r'"water" has the attribute units = "cm", and units="mm" is given\. Give one'):
        simulation.set("water", centimetres, units="mm")
    before = simulation.get("water").copy()
    simulation.set("water", centimetres, units="cm")
    np.testing.assert_allclose(simulation.get("water"), before, rtol=1e-5)


def test_a_unit_that_does_not_convert_is_refused_with_advice_for_a_script(simulation):
    for value, given, what in ((simulation["water"].assign_attrs(units="K"), {}, "array"), (3.0, {"units": "K"}, "value")):
        words = rf'The {what} for "water" is in "K", expected "mm" or a unit that converts to it\. Convert it, or give its unit: units="mm"'
        with pytest.raises(ForcingError, match=words) as error:
            simulation.set("water", value, **given)
        assert "ingest" not in str(error.value)


def test_points_go_by_their_names(run_file):
    with Simulation(run_file) as simulation:
        name = next(each.name for each in simulation.plan.variables.values() if each.settable and each.dtype.startswith("float"))
        values = np.arange(1.0, simulation.grid.n_cells + 1.0)
        simulation.set(name, values)
        there = simulation[name]
        simulation.set(name, there[::-1])
        np.testing.assert_array_equal(simulation[name], there)
        with pytest.raises(ModelError, match=r"expected \(cell\) with coordinates\. Give these"):
            simulation.set(name, there.drop_vars("cell_id"))
        with pytest.raises(ModelError, match=r"has no cell \d of the map"):
            simulation.set(name, there.assign_coords(cell_id=("cell", ["no"] * there.size)))
