"""The past of a model with neighbours, of which each rank has a box."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

from steppe.engine import Session
from tests.client.conftest import SLOW
from tests.engine.sessions import OWN, on_session, seen, setting, to


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_step_of_boxes_that_is_over_is_computed_again(tmp_path: Path, ranks: int) -> None:
    lat, lon = -20.0 - 0.5 * np.arange(4), 140.0 + 0.5 * np.arange(5)
    axes = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})}
    xarray.Dataset({"land_mask": (("lat", "lon"), np.ones((4, 5), "int8"))}, axes).to_zarr(tmp_path / "box.zarr", consolidated=False)
    (tmp_path / "run.toml").write_text(SLOW)

    def work(session: Session) -> Any:
        session.load(1, OWN)
        expected = {}
        for step in (3, 9, 11, 12, 20):
            to(session, step)
            expected[step] = seen(session, "concentration").tolist()
            if step == 9:
                session.apply(1, 1, "set", setting("concentration", 7.0))
        for step, values in expected.items():
            assert seen(session, "concentration", step=step).tolist() == values
        assert session.position(1) == (20, 0)

    on_session(tmp_path / "run.toml", work, ranks)
