"""Answers of a server as arrays of xarray, without a server."""

import asyncio
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from steppe.api import GridInfo, encode_head
from steppe.client.run_places import Places
from steppe.grid import Raster
from steppe.service.service import variable_info
from tests.server.toy import facts_of

WHERE = np.array([[True, False, True], [True, True, False], [False, True, True]])
GRID = Raster(-11.25, -2.5, 139.25, 2.5, WHERE)


class Line:
    """Answers what `Places` asks of a server."""

    async def ask(self, method: str, path: str, query: object = None) -> Any:
        if path.endswith("/grid"):
            axes = {"lat": GRID.lat.tolist(), "lon": GRID.lon.tolist()}
            found = GridInfo(
                kind="raster", dims=list(GRID.shape), shape=list(GRID.shape.values()), axes=axes, cells=GRID.n_cells, digest="", bounds=[]
            )
            return SimpleNamespace(content=msgspec.json.encode(found))
        rows = np.array([np.arange(GRID.n_cells), GRID.order, GRID.cell_lon, GRID.cell_lat])
        return SimpleNamespace(content=encode_head({"dtype": "<f8", "shape": list(rows.shape)}) + rows.tobytes())


@pytest.mark.parametrize("stride", [1, 2])
def test_whole_numbers_are_nan_where_no_cell_is(stride: int) -> None:
    codes = np.where(WHERE, np.arange(9).reshape(3, 3), -(2**31)).astype("<i4")[::stride, ::stride]
    places: Any = Places(Line(), "runs/out")  # type: ignore[arg-type]
    head: Any = {"dims": ["lat", "lon"], "step": 1, "date": "2001-01-01", "scenario": "main"}
    variable: Any = variable_info(facts_of(GRID, 10)["variables"][0])
    found = asyncio.run(places.labelled(head, codes, {}, variable, "standard", stride))
    np.testing.assert_array_equal(found, np.where(WHERE, np.arange(9).reshape(3, 3), np.nan)[::stride, ::stride])
    assert found.dtype == np.float64
