"""Ends of colours that fit one map."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from steppe.api.query import MapQuery
from steppe.control import Refused
from steppe.service.maps import fit, outward
from steppe.service.service import Service


def fitted(values: list[int]) -> tuple[float, float]:
    """The ends for one map of whole numbers."""
    array = np.array(values, np.int32)
    head = {"shape": array.shape, "dtype": "<i4", "step": 3}

    async def get(*question: Any) -> tuple[dict[str, object], bytes]:
        return head, array.tobytes()

    stub = SimpleNamespace(
        variable=lambda *named: SimpleNamespace(name="count"),
        known=lambda run: None,
        scenario=lambda *named: {},
        run=lambda run: SimpleNamespace(get=get),
    )
    found = asyncio.run(fit(cast(Service, stub), "run", "count", MapQuery()))
    return found.low, found.high


def test_the_number_that_stands_for_no_value_widens_no_colours() -> None:
    nothing = np.iinfo(np.int32).min
    assert fitted([nothing, *range(10, 21), nothing]) == outward(*np.percentile(range(10, 21), [2, 98]))
    with pytest.raises(Refused, match="No cell"):
        fitted([nothing, nothing])
