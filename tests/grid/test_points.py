from pathlib import Path

import numpy as np
import pytest

from steppe.errors import GridError
from steppe.grid import Points
from tests.shared import shared_path


def written(folder: Path, text: str) -> Path:
    path = folder / "points.csv"
    path.write_text(text)
    return path


def test_points_are_a_grid_in_the_order_of_the_file(tmp_path: Path) -> None:
    grid = Points.read(written(tmp_path, "name,lat,id,lon\nFarm,-27.5,0042,152.3\nTown,-20,7,140\n"))
    assert grid.ids == ("0042", "7")
    assert grid.n_cells == 2
    assert grid.shape == {"cell": 2}
    assert grid.cell_lat.tolist() == [-27.5, -20.0]
    assert grid.order.tolist() == [0, 1]
    assert grid.active.all()
    assert grid.cell_area.tolist() == [1.0, 1.0]
    values = np.arange(6.0).reshape(3, 2)
    assert (grid.unpack(values) == values).all()
    assert grid.coordinates()["cell_id"].tolist() == ["0042", "7"]


def test_long_column_names_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    grid = Points.read(written(tmp_path, "\ufeffid, latitude, longitude\na, -27.5, 152.3\n"))
    assert (grid.ids, grid.cell_lon.tolist()) == (("a",), [152.3])


def test_the_stations_beside_the_checkout_are_read_but_for_the_one_without_a_place(tmp_path: Path) -> None:
    path = shared_path("data/weather/stations.csv")
    with pytest.raises(GridError, match='The lon of "cooper" is ""'):
        Points.read(path)
    placed = [line for line in path.read_text().splitlines(keepends=True) if not line.startswith("cooper")]
    grid = Points.read(written(tmp_path, "".join(placed)))
    assert grid.n_cells == len(placed) - 1
    assert grid.select("035027").size == 1


def test_points_are_selected_by_id_region_and_place() -> None:
    grid = Points(("a", "b", "c"), np.array([-27.5, -20.0, -15.0]), np.array([152.3, 140.0, 142.0]))
    assert grid.select("all").tolist() == [0, 1, 2]
    assert grid.select("b").tolist() == [1]
    assert grid.select("west").tolist() == [1]
    assert grid.select({"box": [138.0, -22.0, 150.0, -10.0]}).tolist() == [1, 2]
    assert grid.select({"cell": [152.33, -27.48]}).tolist() == [0]
    with pytest.raises(GridError, match=r'No point lies within 10 km.*nearest is "a".*km away'):
        grid.locate(153.0, -27.5)
    with pytest.raises(GridError, match="neither the id of a point nor a named region"):
        grid.select("d")
    with pytest.raises(GridError, match="holds none of the 3 points"):
        grid.select({"box": [0.0, 0.0, 1.0, 1.0]})


def test_the_digest_follows_ids_places_and_order() -> None:
    lat, lon = np.array([-27.5, -20.0]), np.array([152.3, 140.0])
    grids = [Points(("a", "b"), lat, lon), Points(("b", "a"), lat, lon), Points(("a", "b"), lat[::-1], lon[::-1])]
    assert len({grid.digest for grid in grids}) == 3
    assert grids[0] == Points(("a", "b"), lat.copy(), lon.copy())
    assert Points(("a",), np.array([0.0]), np.array([-0.0])) == Points(("a",), np.array([-1e-12]), np.array([0.0]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,lat\na,-27\n", "no column longitude or lon; the columns are id, lat"),
        ("id,lat,lon\n", "needs one point or more"),
        ("", "the columns are none"),
        ("id,lat,lon\na,-27,x\n", 'The lon of "a" is "x"'),
        ("id,lat,lon\na,-27\n", 'The lon of "a" is ""'),
        ("id,lat,lon\na,-27,150\na,-28,150\n", 'Id "a" is empty or comes more than once'),
        ("id,lat,lon\na,150,-27\n", "which is no place"),
        ("id,lat,lon\na,nan,150\n", "which is no place"),
    ],
)
def test_a_bad_list_of_points_is_explained_with_its_file(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(GridError) as error:
        Points.read(path)
    assert words in str(error.value)
    assert str(path) in str(error.value)


def test_a_missing_list_of_points_is_explained(tmp_path: Path) -> None:
    with pytest.raises(GridError, match="cannot be read as a list of points"):
        Points.read(tmp_path / "none.csv")
