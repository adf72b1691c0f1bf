"""DONIO's test writes the files of the paper, and its figures name the slower side."""

import numpy as np
import pytest
from benchmarks.programs.donio_ranks import GRIDS, columns
from benchmarks.suites import donio

from tests.shared import shared_path

SIZES = {"81x81x61": 12_288_000, "121x121x91": 41_472_000}


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("ranks", [1, 3])
def test_the_columns_of_all_ranks_are_the_file_of_the_paper(grid, ranks):
    parts = [columns(GRIDS[grid], rank, ranks) for rank in range(ranks)]
    offsets = np.sort(np.concatenate([part.offsets for part in parts]))
    assert sum(part.data.size for part in parts) == SIZES[grid]
    assert (offsets == np.arange(offsets.size) * parts[0].length).all()


def test_an_element_has_the_numbers_of_its_eight_vertices():
    nx, ny, nz = 3, 4, 5
    vertices = np.arange(nx * ny * nz).reshape(nx, ny, nz)
    elements = columns((nx, ny, nz), 0, 1).data.view(np.int32).reshape(nx - 1, ny - 1, nz - 1, 8)
    for i, j, k in np.ndindex(*elements.shape[:3]):
        assert elements[i, j, k].tolist() == vertices[i : i + 2, j : j + 2, k : k + 2].ravel().tolist()


def test_the_tables_have_the_figures_of_the_paper_and_a_figure_is_the_peer_in_units_of_ours():
    shared_path("reference/donio_tables.csv")  # the paper's
    ways = {what: {name: [[scale] * 6] * 3 for name, scale in names.items()} for what, names in WAYS.items()}
    found = {"bytes": SIZES["81x81x61"], "writes": 6400, "checksums": ["a"], **ways}
    lines = donio.table("81x81x61", found).splitlines()
    assert lines[1].split() == ["ranks", *donio.PHASES]
    assert next(line.split()[-6:] for line in lines if "NX, Table 2" in line) == ["1.71", "241.02", "0.25", "1.75", "182.80", "0.18"]
    assert next(line.split()[-7:] for line in lines if "every write" in line) == ["2", *6 * ["0.50000"]]
    values = {figure.name: (figure.value, figure.passed) for figure in donio.of_grid("g", found, idle=True)}
    assert values["g, every write durable / memory file"] == (50.0, True)
    assert values["g, 0.2 ms a request / memory file"] == (2.0, False)
    assert values["g, page cache, one fsync / memory file, write and read"] == (2.5, False)
    assert values["g, page cache, one fsync / memory file"] == (2.5, True)
    assert values["g, page cache, one fsync / memory file, worst round"] == (2.5, True)


WAYS = {
    "cached": {donio.OURS: 10, donio.CACHED: 25, "memory file, image forgotten": 20, "MPI-IO, one sync": 30},
    "durable": {donio.OURS: 10, "every write durable": 500, "memory file, 0.2 ms a request": 50, "page cache, 0.2 ms a request": 100},
}
